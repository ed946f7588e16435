package identity

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// IDTokenHeader carries the id_token where the bearer is a GitHub user token.
const IDTokenHeader = "X-Muster-Id-Token"

// bearer is the header of RFC 6750; its scheme is in any case, as of RFC 9110.
var bearer = regexp.MustCompile(`^(?i:bearer) +([A-Za-z0-9._~+/-]+=*)$`)

// plainToken is a token without a scheme.
var plainToken = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// Protect lets requests through that bring a caller's tokens, with the caller on the context ([CallerFrom]), the id_token
// as the bearer and no [IDTokenHeader]. Others are refused; the writer of their body is refuse, or [RefuseJSON].
func (v *Verifier) Protect(next http.Handler, refuse Refuse) http.Handler {
	if refuse == nil {
		refuse = RefuseJSON
	}
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		caller, idToken, denial := v.identify(request.Context(), request.Header)
		if denial != nil {
			v.deny(writer, request, *denial, refuse)
			return
		}
		request = request.Clone(With(request.Context(), caller))
		request.Header.Del(IDTokenHeader)
		request.Header.Set("Authorization", "Bearer "+idToken.Reveal())
		next.ServeHTTP(writer, request)
	})
}

// deny sets what a client acts on, and has the rest written.
func (v *Verifier) deny(writer http.ResponseWriter, request *http.Request, denial Denial, refuse Refuse) {
	level := slog.LevelInfo
	if denial.missing {
		// It is how a client begins.
		level = slog.LevelDebug
	}
	v.options.Log.Log(request.Context(), level, "request refused", "path", request.URL.Path, "status", denial.Status, "error", denial.Code, "description", denial.Description)
	header := writer.Header()
	header.Set("Cache-Control", "no-store")
	if denial.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", denial.challenge(v.metadataURL()))
	} else {
		header.Set("Retry-After", retryAfter)
	}
	refuse(writer, request, denial)
}

// identify reads who calls off the headers, and the id_token by which they are known.
func (v *Verifier) identify(ctx context.Context, header http.Header) (clustermanager.Caller, clustermanager.Secret, *Denial) {
	token, denial := v.bearer(header)
	if denial != nil {
		return clustermanager.Caller{}, clustermanager.Secret{}, denial
	}
	if v.github == nil {
		caller, denial := v.caller(ctx, token)
		return caller, token, denial
	}
	idToken, denial := v.idToken(header)
	if denial != nil {
		return clustermanager.Caller{}, clustermanager.Secret{}, denial
	}
	// The id_token comes first: a stranger gets nothing asked of GitHub.
	caller, denial := v.caller(ctx, idToken)
	if denial != nil {
		return clustermanager.Caller{}, clustermanager.Secret{}, denial
	}
	login, err := v.github.login(ctx, token)
	switch {
	case errors.Is(err, errNotAccepted):
		return clustermanager.Caller{}, clustermanager.Secret{}, invalid("GitHub does not accept the authorization that came with the call: %s", clustermanager.ConnectGitHub)
	case err != nil:
		caller.NoGitHub = err.Error()
		v.options.Log.WarnContext(ctx, "mode commit is off for this call", "error", err)
	default:
		caller.GitHub = &clustermanager.GitHubIdentity{Login: login, Token: token}
	}
	return caller, idToken, nil
}

// bearer is the request's bearer token.
func (v *Verifier) bearer(header http.Header) (clustermanager.Secret, *Denial) {
	values := header.Values("Authorization")
	if len(values) == 0 {
		if v.github != nil {
			return clustermanager.Secret{}, missing("the request carries no GitHub authorization: " + clustermanager.ConnectGitHub)
		}
		return clustermanager.Secret{}, missing("the request carries no token: sign in at " + v.options.Issuer + " and send its id_token as the bearer")
	}
	if found := bearer.FindStringSubmatch(values[0]); found != nil && len(values) == 1 {
		return clustermanager.NewSecret(found[1]), nil
	}
	return clustermanager.Secret{}, invalid("the header Authorization is not one \"Bearer\" and a token")
}

// idToken is the token beside a GitHub user token.
func (v *Verifier) idToken(header http.Header) (clustermanager.Secret, *Denial) {
	values := header.Values(IDTokenHeader)
	switch {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return clustermanager.Secret{}, invalid("the header %s is missing, which carries the id_token of %s: sign in again, with a client that forwards who you are", IDTokenHeader, v.options.Issuer)
	case len(values) > 1 || !plainToken.MatchString(values[0]):
		return clustermanager.Secret{}, invalid("the header %s is not one token", IDTokenHeader)
	}
	return clustermanager.NewSecret(values[0]), nil
}
