package session

import (
	"bytes"
	"io"
	"net/http"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// maxRefusalBytes bounds what is read of an answer that refuses: a Status object is a few hundred bytes.
const maxRefusalBytes = 1 << 20

// masked is a transport whose answers do not repeat the token: what a server, or a proxy before it, says when it
// refuses goes into errors, and from there into answers and pull requests.
type masked struct {
	base  http.RoundTripper
	token clustermanager.Secret
}

// RoundTrip implements http.RoundTripper.
func (m *masked) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := m.base.RoundTrip(request)
	if err != nil || response.StatusCode < http.StatusMultipleChoices {
		return response, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRefusalBytes))
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	if token := m.token.Reveal(); token != "" {
		body = bytes.ReplaceAll(body, []byte(token), []byte(clustermanager.Masked))
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("Content-Length")
	return response, nil
}

// stay follows no redirect: client-go would present the token wherever it led.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
