package charts

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// guarded refuses requests that would leave this machine unencrypted, wherever a redirect or a token's realm points, and
// answers that are larger than any chart.
type guarded struct {
	base  http.RoundTripper
	limit int64
}

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != "https" && !(request.URL.Scheme == "http" && clustermanager.IsLoopback(request.URL.Hostname())) {
		return nil, fmt.Errorf("%s://%s: refused: a registry is asked by https, and by http on this machine alone", request.URL.Scheme, request.URL.Host)
	}
	response, err := g.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = &limitedBody{ReadCloser: response.Body, left: g.limit}
	return response, nil
}

// limitedBody fails once more than its limit was read.
type limitedBody struct {
	io.ReadCloser
	left int64
}

var errTooLarge = errors.New("the answer is larger than a chart may be")

// Read implements io.Reader.
func (b *limitedBody) Read(buffer []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(buffer)) > b.left+1 {
		buffer = buffer[:b.left+1]
	}
	count, err := b.ReadCloser.Read(buffer)
	if b.left -= int64(count); b.left < 0 {
		return count, errTooLarge
	}
	return count, err
}

// unanswered is why a request ended without an answer, less the request's address; nil: that was not what happened.
func unanswered(err error) error {
	var operation *net.OpError
	if errors.As(err, &operation) {
		return operation.Err
	}
	var request *url.Error
	if errors.As(err, &request) && (request.Timeout() || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return request.Err
	}
	return nil
}

// isPrivate says whether a host is an address of a private network, of this link or of this machine. A name is not looked up.
func isPrivate(host string) bool {
	address, err := netip.ParseAddr(host)
	return clustermanager.IsLoopback(host) || err == nil && (address.IsPrivate() || address.IsLinkLocalUnicast() || address.IsUnspecified() || address.IsMulticast())
}
