package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v62/github"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var mintingToken = operation{"asking for the installation's token", "contents=write, pull_requests=write, checks=write"}

// tokenReserve is how long before its end a token is not used any more: an hour's token is for many calls.
const tokenReserve = 5 * time.Minute

// App is the GitHub App itself, for what happens after a person's call. It is safe for concurrent use.
type App struct {
	id        int64
	key       clustermanager.Secret
	transport http.RoundTripper
	now       func() time.Time

	mutex  sync.Mutex
	tokens map[tokenScope]appToken
}

// tokenScope is what a token is for: one repository of one installation.
type tokenScope struct {
	api                      string
	installation, repository int64
}

type appToken struct {
	value clustermanager.Secret
	ends  time.Time
}

// NewApp takes the App's id and its private key, PEM. It sends nothing; a key that is none is an error without a word of
// it. transport nil is http.DefaultTransport.
func NewApp(id int64, key clustermanager.Secret, transport http.RoundTripper) (*App, error) {
	if transport == nil {
		transport = http.DefaultTransport
	}
	if _, err := ghinstallation.NewAppsTransport(transport, id, []byte(key.Reveal())); err != nil {
		return nil, clustermanager.Refuse("GitHub App %d: its private key is no RSA key in PEM: download one from the App's page and name its file in the setting github-app-private-key-file", id)
	}
	return &App{id: id, key: key, transport: transport, now: time.Now, tokens: map[tokenScope]appToken{}}, nil
}

// Token returns a token of an installation for one repository alone, with the permissions that the App's part needs and
// no others. It is kept until shortly before its end. Errors are those of [Client].
func (a *App) Token(ctx context.Context, apiURL string, installation, repository int64) (clustermanager.Secret, error) {
	scope := tokenScope{apiURL, installation, repository}
	a.mutex.Lock()
	kept, there := a.tokens[scope]
	a.mutex.Unlock()
	if there && a.now().Before(kept.ends.Add(-tokenReserve)) {
		return kept.value, nil
	}
	made, err := a.mint(ctx, scope)
	if err != nil {
		return clustermanager.Secret{}, err
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for old, token := range a.tokens {
		if !a.now().Before(token.ends) {
			delete(a.tokens, old)
		}
	}
	a.tokens[scope] = made
	return made.value, nil
}

func (a *App) mint(ctx context.Context, scope tokenScope) (appToken, error) {
	root, err := url.Parse(scope.api)
	if err != nil || !allowed(root) {
		return appToken{}, clustermanager.Refuse("GitHub API address: only https is spoken, and http on loopback: correct the setting git-hosts")
	}
	root.Path = strings.TrimSuffix(root.Path, "/") + "/"
	signing, err := ghinstallation.NewAppsTransport(bounding{a.transport}, a.id, []byte(a.key.Reveal()))
	if err != nil {
		return appToken{}, fmt.Errorf("GitHub App %d: its private key cannot be used", a.id)
	}
	// What a refusal must not hold is the key; the signature ends within two minutes.
	client := &Client{host: root.Host, token: a.key}
	client.api = github.NewClient(&http.Client{Transport: signing, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }})
	client.api.BaseURL, client.api.UserAgent = root, userAgent
	write := github.String("write")
	made, _, err := client.api.Apps.CreateInstallationToken(ctx, scope.installation, &github.InstallationTokenOptions{
		RepositoryIDs: []int64{scope.repository}, Permissions: &github.InstallationPermissions{Contents: write, PullRequests: write, Checks: write},
	})
	if err != nil {
		return appToken{}, client.explain(mintingToken, err)
	}
	if made.GetToken() == "" {
		return appToken{}, client.unreadable(mintingToken, "no token in it")
	}
	return appToken{clustermanager.NewSecret(made.GetToken()), made.GetExpiresAt().Time}, nil
}

// bounding limits the size of answers.
type bounding struct{ base http.RoundTripper }

// RoundTrip sends one request.
func (b bounding) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.base.RoundTrip(request)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maximalAnswer)
	}
	return response, err
}
