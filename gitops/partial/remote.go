package partial

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// user is the name that GitHub takes a token under, as the password of basic authentication.
const user = "x-access-token"

// Options say which repository is spoken to, as whom.
type Options struct {
	// URL is the clone URL: https, or http to a loopback host.
	URL string
	// Token is the caller's; the zero Secret asks without authentication.
	Token clustermanager.Secret
	// Transport sends the requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
}

// Remote is one repository as one caller. Its methods may be called concurrently.
type Remote struct {
	// Objects holds what was fetched and what is to be pushed.
	Objects *Store

	name   string
	base   *url.URL
	token  clustermanager.Secret
	client *http.Client

	way          Way
	capabilities map[string]string
	// first is the advertisement of Dial, until its refs are used: later they may be old.
	first atomic.Pointer[advertisement]
	// held is the first commit that was fetched with all it holds.
	held atomic.Pointer[Hash]

	requests atomic.Int64
	down, up atomic.Int64
}

// Stats is what a Remote has cost so far, and by which way. The bytes are of bodies, after HTTP's own decompression.
type Stats struct {
	Way       Way
	Requests  int
	BytesDown int64
	BytesUp   int64
}

// Stats returns the requests and bytes so far.
func (r *Remote) Stats() Stats {
	return Stats{Way: r.way, Requests: int(r.requests.Load()), BytesDown: r.down.Load(), BytesUp: r.up.Load()}
}

// Dial asks the repository for its capabilities. It follows a renamed repository on the same host. Errors: a
// *clustermanager.Refusal where the address may not be spoken to, where the account may not read, and where the server
// lacks shallow fetches or SHA-1, or has too many refs to list them all.
func Dial(ctx context.Context, options Options) (*Remote, error) {
	base, err := parseURL(options.URL)
	if err != nil {
		return nil, err
	}
	remote := &Remote{
		Objects: NewStore(),
		name:    base.Host + strings.TrimSuffix(base.Path, ".git"),
		base:    base,
		token:   options.Token,
	}
	remote.client = &http.Client{Transport: options.Transport, CheckRedirect: remote.checkRedirect}
	said, moved, err := remote.advertisement(ctx)
	if err != nil {
		return nil, err
	}
	remote.base, remote.capabilities = moved, said.capabilities
	if remote.way, err = remote.choose(said); err != nil {
		return nil, err
	}
	remote.first.Store(&said)
	return remote, nil
}

// URL is where the repository is now: the one that was dialed, or where the host sent on to.
func (r *Remote) URL() string { return r.base.String() }

// parseURL refuses every address that a token must not be sent to.
func parseURL(address string) (*url.URL, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" {
		return nil, clustermanager.Refuse("the repository's URL is none that git is spoken to at: it must be https://host/owner/name")
	}
	if parsed.User != nil {
		return nil, clustermanager.Refuse("the URL of the repository at %s holds credentials: leave them out, the caller's own are used", parsed.Host)
	}
	if parsed.Scheme != "https" && (parsed.Scheme != "http" || !clustermanager.IsLoopback(parsed.Hostname())) {
		return nil, clustermanager.Refuse("repository %s%s: git is spoken to over https alone (http only on loopback), not over %q: use an https URL",
			parsed.Host, parsed.Path, parsed.Scheme)
	}
	parsed.Path = strings.TrimSuffix(parsed.Path, "/")
	parsed.RawPath, parsed.RawQuery, parsed.Fragment = "", "", ""
	return parsed, nil
}

// choose takes the best way that the server offers.
func (r *Remote) choose(said advertisement) (Way, error) {
	if format := cmp.Or(said.capabilities["object-format"], objectFormat); format != objectFormat {
		return "", clustermanager.Refuse("repository %s: its object format is %s, this build knows %s alone: use a repository with %s objects", r.name, r.clean(format), objectFormat, objectFormat)
	}
	switch {
	case !said.has("shallow"):
		return "", clustermanager.Refuse("repository %s: the server does not offer shallow clones (the capability shallow), which this build needs: update the git server", r.name)
	case said.version == 0 && !said.has(sideBand):
		return "", clustermanager.Refuse("repository %s: the server does not offer the capability %s, which this build needs: update the git server", r.name, sideBand)
	case said.version == 0:
		return WayVersion0, nil
	case !said.has("filter"):
		return WayShallow, nil
	}
	return WayPartial, nil
}

// checkRedirect follows the redirect of a renamed repository, never to another host, and never for a POST, which would
// become a GET without a body.
func (r *Remote) checkRedirect(request *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case first.Method != http.MethodGet:
		return http.ErrUseLastResponse
	case !strings.EqualFold(request.URL.Host, first.URL.Host) || request.URL.Scheme != first.URL.Scheme:
		return clustermanager.Refuse("repository %s: the host sends on to %s, where the sign-in is not valid: correct the URL in the GitRepository",
			r.name, r.clean(request.URL.Scheme+"://"+request.URL.Host))
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return nil
}
