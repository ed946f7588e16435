package partial

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
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

	name     string
	base     *url.URL
	token    clustermanager.Secret
	client   *http.Client
	requests atomic.Int64
	down, up atomic.Int64
}

// Stats is what a Remote has cost so far. The bytes are of bodies, after HTTP's own decompression.
type Stats struct {
	Requests  int
	BytesDown int64
	BytesUp   int64
}

// Stats returns the requests and bytes so far.
func (r *Remote) Stats() Stats {
	return Stats{Requests: int(r.requests.Load()), BytesDown: r.down.Load(), BytesUp: r.up.Load()}
}

// Dial asks the repository for its capabilities. It follows a renamed repository on the same host. Errors: a
// *clustermanager.Refusal where the address may not be spoken to, where the account may not read, and where the server
// lacks version 2, filters or SHA-1.
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
	capabilities, err := remote.advertisement(ctx)
	if err != nil {
		return nil, err
	}
	if err := remote.require(capabilities); err != nil {
		return nil, err
	}
	return remote, nil
}

// parseURL refuses every address that a token must not be sent to.
func parseURL(address string) (*url.URL, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" {
		return nil, clustermanager.Refuse("the repository's URL is none that git is spoken to at: it must be https://host/owner/name")
	}
	if parsed.User != nil {
		return nil, clustermanager.Refuse("the URL of the repository at %s holds credentials: leave them out, the caller's own are used", parsed.Host)
	}
	if parsed.Scheme != "https" && (parsed.Scheme != "http" || !isLoopback(parsed.Hostname())) {
		return nil, clustermanager.Refuse("repository %s%s: git is spoken to over https alone (http only on loopback), not over %q: use an https URL",
			parsed.Host, parsed.Path, parsed.Scheme)
	}
	parsed.Path = strings.TrimSuffix(parsed.Path, "/")
	parsed.RawPath, parsed.RawQuery, parsed.Fragment = "", "", ""
	return parsed, nil
}

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// require checks the advertised capabilities of version 2.
func (r *Remote) require(capabilities []string) error {
	if len(capabilities) == 0 || capabilities[0] != "version 2" {
		return clustermanager.Refuse("repository %s: the server does not speak git's protocol version 2, which this build needs: update the git server", r.name)
	}
	fetch, format := "", "sha1"
	for _, capability := range capabilities {
		key, value, _ := strings.Cut(capability, "=")
		switch key {
		case "fetch":
			fetch = value
		case "object-format":
			format = value
		}
	}
	if !slices.Contains(strings.Fields(fetch), "filter") {
		return clustermanager.Refuse("repository %s: the server does not offer partial clones (the capability filter), which this build needs: set uploadpack.allowFilter there", r.name)
	}
	if format != "sha1" {
		return clustermanager.Refuse("repository %s: its object format is %s, this build knows sha1 alone: use a repository with sha1 objects", r.name, r.clean(format))
	}
	return nil
}

// checkRedirect follows the redirect of a renamed repository, never to another host, and never for a POST, which would
// become a GET without a body.
func (r *Remote) checkRedirect(request *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case first.Method != http.MethodGet:
		return http.ErrUseLastResponse
	case !strings.EqualFold(request.URL.Host, first.URL.Host) || request.URL.Scheme != first.URL.Scheme:
		return clustermanager.Refuse("repository %s: the host sends on to %s://%s, where the sign-in is not valid: correct the URL in the GitRepository",
			r.name, request.URL.Scheme, request.URL.Host)
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return nil
}
