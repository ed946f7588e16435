package testbed

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// clientID is the provider's one client, and the audience that the API server wants in a token.
	clientID = "kubernetes"
	// redirectURI is where the provider sends a browser after the login. Nobody listens there: the code is read off the
	// address.
	redirectURI = "http://127.0.0.1/callback"
)

// provider is the identity provider.
type provider struct {
	address string
	client  *http.Client
	// passwords are made for one bed, by e-mail.
	passwords map[string]clustermanager.Secret
}

func (p provider) url() string { return "https://" + p.address }

// runProvider starts the identity provider. It comes before the API server, which would look for it again only after ten
// seconds.
func (b *Bed) runProvider(ctx context.Context) error {
	if err := b.makeProvider(); err != nil {
		return fmt.Errorf("test bed: identity provider: %w", err)
	}
	serving, err := b.certificates.issue(b.path("certificates"), "issuer")
	if err != nil {
		return fmt.Errorf("test bed: identity provider: %w", err)
	}
	running, err := b.start(issuer, nil,
		"-listen="+b.provider.address, "-certificate="+serving.certificate, "-key="+serving.key,
		"-users="+b.path("users.json"), "-client="+clientID, "-redirects="+redirectURI)
	if err != nil {
		return err
	}
	return running.ready(ctx, func(ctx context.Context) error {
		return get(ctx, b.provider.client, b.provider.url()+"/.well-known/openid-configuration")
	})
}

func (b *Bed) makeProvider() error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(b.certificates.certificate)
	b.provider = provider{
		address: address,
		client: &http.Client{
			Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Timeout:       30 * time.Second,
		},
		passwords: map[string]clustermanager.Secret{},
	}
	type account struct {
		Email    string   `json:"email"`
		Password string   `json:"password"`
		Groups   []string `json:"groups"`
	}
	var accounts []account
	for _, user := range b.options.Users {
		password := rand.Text()
		b.provider.passwords[user.Email] = clustermanager.NewSecret(password)
		accounts = append(accounts, account{user.Email, password, user.Groups})
	}
	content, err := json.Marshal(accounts)
	if err != nil {
		return err
	}
	return os.WriteFile(b.path("users.json"), content, 0o600)
}

// signIn gets a token for each user, and returns when the API server takes it.
func (b *Bed) signIn(ctx context.Context) error {
	b.users = map[string]clustermanager.Secret{}
	for _, user := range b.options.Users {
		token, err := b.SignIn(ctx, user.Email)
		if err != nil {
			return err
		}
		if err := b.welcome(ctx, user.Email, token); err != nil {
			return err
		}
	}
	return nil
}

// welcome waits until the API server takes a user's token.
func (b *Bed) welcome(ctx context.Context, email string, token clustermanager.Secret) error {
	b.users[email], b.tokens[email] = token, token
	err := Eventually(ctx, func(ctx context.Context) error { return b.answers(ctx, b.Config(email), "/api") })
	if err != nil {
		return fmt.Errorf("test bed: user %s: waiting until the API server knows them: %w", email, err)
	}
	return nil
}

// SignIn signs a user in as a browser would, with a password and the authorization code flow, and returns the id_token.
func (b *Bed) SignIn(ctx context.Context, email string) (clustermanager.Secret, error) {
	token, err := b.provider.signIn(ctx, email)
	if err != nil {
		return clustermanager.Secret{}, fmt.Errorf("test bed: user %s: signing in: %w", email, err)
	}
	return token, nil
}

func (p provider) signIn(ctx context.Context, email string) (clustermanager.Secret, error) {
	verifier := rand.Text() + rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	login, err := p.redirect(ctx, http.MethodGet, "/auth?"+url.Values{
		"client_id": {clientID}, "redirect_uri": {redirectURI}, "response_type": {"code"}, "scope": {"openid email groups"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
		"state": {rand.Text()},
	}.Encode(), nil)
	if err != nil {
		return clustermanager.Secret{}, err
	}
	back, err := p.redirect(ctx, http.MethodPost, login.Path, url.Values{
		"id": {login.Query().Get("authRequestID")}, "username": {email}, "password": {p.passwords[email].Reveal()},
	})
	if err != nil {
		return clustermanager.Secret{}, err
	}
	callback, err := p.redirect(ctx, http.MethodGet, back.RequestURI(), nil)
	if err != nil {
		return clustermanager.Secret{}, err
	}
	return p.exchange(ctx, callback.Query().Get("code"), verifier)
}

// redirect sends a request and returns where the answer points to.
func (p provider) redirect(ctx context.Context, method, path string, form url.Values) (*url.URL, error) {
	response, err := p.send(ctx, method, path, form)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	location, err := response.Location()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %s, no redirect: is the password right?", method, response.Request.URL.Path, response.Status)
	}
	return location, nil
}

// exchange makes a token of a code.
func (p provider) exchange(ctx context.Context, code, verifier string) (clustermanager.Secret, error) {
	response, err := p.send(ctx, http.MethodPost, "/oauth/token", url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirectURI}, "client_id": {clientID},
		"code_verifier": {verifier},
	})
	if err != nil {
		return clustermanager.Secret{}, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		IDToken clustermanager.Secret `json:"id_token"`
		Error   string                `json:"error_description"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return clustermanager.Secret{}, err
	}
	if answer.IDToken.IsZero() {
		return clustermanager.Secret{}, errors.New("no id_token: " + answer.Error)
	}
	return answer.IDToken, nil
}

// send sends a request; a form makes its body. Redirects are not followed.
func (p provider) send(ctx context.Context, method, path string, form url.Values) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, p.url()+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return p.client.Do(request)
}
