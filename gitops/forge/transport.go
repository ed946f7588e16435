package forge

import (
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// An answer is read up to this size. The largest that is asked for is a page of a hundred pull requests of up to
	// 65,536 characters each.
	maximalAnswer = 16 << 20
	// GitHub redirects a renamed repository once; a chain may follow several renames.
	maximalRedirects = 5
)

// transport adds the token to requests to the API's own host, counts requests and bounds answers.
type transport struct {
	base     http.RoundTripper
	root     url.URL
	token    clustermanager.Secret
	requests *atomic.Int64
}

// RoundTrip sends one request.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Del("Authorization")
	if request.URL.Scheme == t.root.Scheme && request.URL.Host == t.root.Host {
		request.Header.Set("Authorization", "Bearer "+t.token.Reveal())
	}
	t.requests.Add(1)
	base := t.base
	if base == nil {
		base = http.DefaultTransport
	}
	response, err := base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maximalAnswer)
	return response, nil
}

// checkRedirect follows only what stays the same request: net/http would make a GET of a redirected POST, and a body
// belongs to the host that it was made for.
func checkRedirect(request *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > maximalRedirects:
		return errors.New("redirected too often")
	case !allowed(request.URL):
		return errors.New("redirected to an address that is not https")
	case request.Method != first.Method:
		return http.ErrUseLastResponse
	case request.Method != http.MethodGet && request.URL.Host != first.URL.Host:
		return http.ErrUseLastResponse
	}
	return nil
}

// allowed says whether a URL may be spoken to: https, or http on loopback.
func allowed(address *url.URL) bool {
	return address.Scheme == "https" || address.Scheme == "http" && clustermanager.IsLoopback(address.Hostname())
}
