package identity

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

const (
	// firstRetry and lastRetry bound the pause after the issuer's keys could not be read; it doubles between them.
	firstRetry, lastRetry = time.Second, 30 * time.Second
	// reloadAfter is when keys that nobody missed are read again, so that one that the issuer took back is forgotten.
	reloadAfter = time.Hour
)

// Options say whose tokens are taken, and for what.
type Options struct {
	// Issuer is the OpenID Connect issuer's https URL, as its metadata has it. Authority is the certificate authority that it
	// is known by, PEM, beside the system's; "": the system's alone.
	Issuer, Authority string
	// PrivateIssuer and PrivateKeys allow private and loopback addresses for the issuer's metadata and for its keys.
	PrivateIssuer, PrivateKeys bool
	// Audiences are trusted: an id_token names at least one.
	Audiences []string
	// BaseURL is what clients know this server by, without a slash at its end, and Path the MCP endpoint's path on it.
	BaseURL, Path string
	// Forward puts the id_token into the caller, for API servers. Without it the caller has no Kubernetes token.
	Forward bool
	// GitHubAuthorizationServer is the GitHub App whose user tokens come as the bearer; "": none do. GitHubAPIURL is the
	// root of the API that they are checked at, without a slash at its end.
	GitHubAuthorizationServer, GitHubAPIURL string
	// Now is the clock that tokens are held against; nil: the machine's.
	Now func() time.Time
	Log *slog.Logger
}

// Verifier knows callers by their tokens. It is safe for concurrent use.
type Verifier struct {
	options Options
	issuer  *issuer
	// github checks user tokens; nil: there is no pairing.
	github *pairing
	// wait returns early when the context ends, with its error.
	wait func(context.Context, time.Duration) error
}

// New makes a Verifier, which is not ready before [Verifier.Run] has read the issuer's keys. An authority without a
// certificate is an error.
func New(options Options) (*Verifier, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	metadata, err := newClient(options.Authority, options.PrivateIssuer, "allow-private-oauth-urls")
	if err != nil {
		return nil, err
	}
	keys, err := newClient(options.Authority, options.PrivateKeys, "sso-allow-private-ips")
	if err != nil {
		return nil, err
	}
	verifier := &Verifier{
		options: options, wait: pause,
		issuer: &issuer{url: options.Issuer, metadata: metadata, keys: keys, now: options.Now},
	}
	if options.GitHubAuthorizationServer != "" {
		verifier.github = newPairing(options.GitHubAPIURL, options.Now)
	}
	return verifier, nil
}

// Run reads the issuer's keys until the context ends: again and again while that fails, then now and then.
func (v *Verifier) Run(ctx context.Context) {
	retry := firstRetry
	for {
		next := reloadAfter
		if err := v.issuer.load(ctx); err != nil && ctx.Err() == nil {
			v.options.Log.WarnContext(ctx, "the issuer's keys could not be read", "error", err, "again", retry)
			next, retry = retry, min(2*retry, lastRetry)
		} else {
			retry = firstRetry
		}
		if v.wait(ctx, next) != nil {
			return
		}
	}
}

func pause(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Ready says whether the issuer's keys were read, so that tokens can be held against them.
func (v *Verifier) Ready() bool { return v.issuer.current.Load() != nil }

// unavailable is the answer while a token cannot be judged.
func (v *Verifier) unavailable() *Denial {
	return &Denial{
		Status: http.StatusServiceUnavailable, Code: "temporarily_unavailable",
		Description: "the keys of " + v.options.Issuer + " cannot be read now, so no token can be checked: call again later",
	}
}
