package partial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// errTooLong is what reading past a limit gives.
var errTooLong = errors.New("the server's answer is longer than any that is expected")

// post sends a request of one service and returns the answer's body, which ends with errTooLong at the limit.
func (r *Remote) post(ctx context.Context, service, doing string, body []byte, limit int64) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base.String()+"/"+service, bytes.NewReader(body))
	if err != nil {
		return nil, r.wrap(doing, err)
	}
	request.Header.Set("Content-Type", "application/x-"+service+"-request")
	request.Header.Set("Accept", "application/x-"+service+"-result")
	r.up.Add(int64(len(body)))
	response, err := r.send(request, doing, limit)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// send does one request with the caller's token and counts it. Any status but 200 is an error.
func (r *Remote) send(request *http.Request, doing string, limit int64) (*http.Response, error) {
	if r.way != WayVersion0 {
		request.Header.Set("Git-Protocol", "version=2")
	}
	request.Header.Set("User-Agent", "git/cluster-manager")
	if !r.token.IsZero() {
		request.SetBasicAuth(user, r.token.Reveal())
	}
	r.requests.Add(1)
	response, err := r.client.Do(request)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, r.wrap(doing, err)
	}
	response.Body = &countedBody{ReadCloser: response.Body, left: limit, count: &r.down}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	words := ""
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxWordsBytes))
		words = r.clean(string(text))
	}
	if wait := response.Header.Get("Retry-After"); wait != "" {
		words += fmt.Sprintf(" (try again after %s)", wait)
	}
	return nil, r.statusError(doing, response.StatusCode, words)
}

// countedBody counts what is read and stops at its limit.
type countedBody struct {
	io.ReadCloser
	left  int64
	count *atomic.Int64
}

// Read implements io.Reader.
func (c *countedBody) Read(buffer []byte) (int, error) {
	n, err := c.ReadCloser.Read(buffer)
	c.count.Add(int64(n))
	c.left -= int64(n)
	if c.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// Close reads a short rest first: a connection whose answer was read to its end is used again.
func (c *countedBody) Close() error {
	_, _ = io.CopyN(io.Discard, c, maxRestBytes)
	return c.ReadCloser.Close()
}
