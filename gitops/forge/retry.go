package forge

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// A request is sent this often in all.
	maximalTries = 3
	// The wait before the second try where the host names none, doubled for each further one.
	firstWait = 200 * time.Millisecond
	// The most that a call without a deadline waits at once, and the most seconds that any host's wait is read for.
	waitWithoutDeadline = time.Second
	maximalSeconds      = 3600
	// What is read of an answer that is given up, so that its connection is used again.
	maximalRest = 4 << 10
)

// Transport carries the requests of one call to a repository's host, the API's and git's. What only reads is sent again
// after a connection that broke before the answer, and after 502, 503 and 504; everything after a limit that names its
// wait, since such a request was not carried out: three times in all, and only where the wait leaves the call half of
// its time. A limit that git's requests meet is an error that is ErrLimited and a *clustermanager.Refusal with the time
// to try again; the API's are told so by [Client]. base nil is http.DefaultTransport.
func Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &retrying{base}
}

type retrying struct{ base http.RoundTripper }

// RoundTrip sends one request, and again where it may.
func (r *retrying) RoundTrip(request *http.Request) (*http.Response, error) {
	for tried := 1; ; tried++ {
		response, err := r.base.RoundTrip(request)
		wait, again := pause(request, response, err, tried)
		if !again {
			return gitLimit(request, response, err)
		}
		if response != nil {
			giveUp(response)
		}
		next, err := rewind(request)
		if err != nil {
			return nil, err
		}
		if err := rest(request.Context(), wait); err != nil {
			return nil, err
		}
		request = next
	}
}

// pause says whether a request is sent again, and after which wait.
func pause(request *http.Request, response *http.Response, err error, tried int) (time.Duration, bool) {
	wait := firstWait << (tried - 1)
	wait = wait/2 + rand.N(wait/2) //nolint:gosec // spreads retries, guards nothing
	switch {
	case tried == maximalTries || request.Context().Err() != nil || request.Body != nil && request.GetBody == nil:
		return 0, false
	case err == nil && (&rejection{status: response.StatusCode, header: response.Header}).limited():
		seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
		if err != nil || seconds < 0 || seconds > maximalSeconds {
			return 0, false
		}
		wait = max(wait, time.Duration(seconds)*time.Second)
	case !onlyReads(request) || !gone(response, err):
		return 0, false
	}
	return wait, wait <= waitable(request.Context())
}

// onlyReads says whether a request may be sent twice: git's fetches are POSTs that change nothing.
func onlyReads(request *http.Request) bool {
	return request.Method == http.MethodGet || strings.HasSuffix(request.URL.Path, "/git-upload-pack")
}

// gone says whether the connection ended before it had an answer, or a gateway has none now.
func gone(response *http.Response, err error) bool {
	if err == nil {
		return slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, response.StatusCode)
	}
	var network *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}

func waitable(ctx context.Context) time.Duration {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return waitWithoutDeadline
	}
	return time.Until(deadline) / 2
}

func rest(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rewind is the request with its body from the start.
func rewind(request *http.Request) (*http.Request, error) {
	if request.Body == nil {
		return request, nil
	}
	next := request.Clone(request.Context())
	var err error
	next.Body, err = request.GetBody()
	return next, err
}

func giveUp(response *http.Response) {
	_, _ = io.CopyN(io.Discard, response.Body, maximalRest)
	_ = response.Body.Close()
}

// gitLimit makes an error of a limit that one of git's requests met: git has no form of its own for it, and its 403
// reads as a missing right.
func gitLimit(request *http.Request, response *http.Response, err error) (*http.Response, error) {
	path := request.URL.Path
	if err != nil || response.StatusCode/100 != 4 || !strings.HasSuffix(path, "/info/refs") && !strings.HasSuffix(path, "/git-upload-pack") && !strings.HasSuffix(path, "/git-receive-pack") {
		return response, err
	}
	words, err := io.ReadAll(io.LimitReader(response.Body, maximalRest))
	if err != nil {
		giveUp(response)
		return nil, err
	}
	n := &rejection{status: response.StatusCode, header: response.Header, message: string(words)}
	if !n.limited() {
		response.Body = &prefixed{io.MultiReader(strings.NewReader(n.message), response.Body), response.Body}
		return response, nil
	}
	giveUp(response)
	return nil, &refusal{clustermanager.Refuse("%s", limited(nil, operation{}, n)), ErrLimited}
}

// prefixed is a body whose beginning was read.
type prefixed struct {
	io.Reader
	io.Closer
}
