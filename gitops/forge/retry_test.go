//nolint:bodyclose // the answers made here are handed on by a transport and closed behind it
package forge_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/forge"
)

// scripted answers requests in order, the last for ever, and keeps the bodies it was sent.
type scripted struct {
	answers []func() (*http.Response, error)
	bodies  []string
}

func (s *scripted) RoundTrip(request *http.Request) (*http.Response, error) {
	body := ""
	if request.Body != nil {
		data, _ := io.ReadAll(request.Body)
		body = string(data)
	}
	s.bodies = append(s.bodies, body)
	return s.answers[min(len(s.bodies), len(s.answers))-1]()
}

func answers(status int, retryAfter, body string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		header := http.Header{}
		if retryAfter != "" {
			header.Set("Retry-After", retryAfter)
		}
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func breaks(err error) func() (*http.Response, error) {
	return func() (*http.Response, error) { return nil, err }
}

func TestWhatIsSentAgain(t *testing.T) {
	const read, fetch, push, write = "GET /api/v3/user", "POST /acme/fleet.git/git-upload-pack", "POST /acme/fleet.git/git-receive-pack", "POST /api/v3/repos/acme/fleet/pulls"
	reset := breaks(&net.OpError{Op: "read", Err: syscall.ECONNRESET})
	ok := answers(200, "", "ok")
	for name, test := range map[string]struct {
		request string
		answers []func() (*http.Response, error)
		budget  time.Duration
		tries   int
		status  int
		atLeast time.Duration
	}{
		"a read after a reset":                   {read, []func() (*http.Response, error){reset, ok}, 9 * time.Second, 2, 200, 100 * time.Millisecond},
		"a fetch after an end":                   {fetch, []func() (*http.Response, error){breaks(io.EOF), ok}, 9 * time.Second, 2, 200, 0},
		"a read after 502 and 503":               {read, []func() (*http.Response, error){answers(502, "", ""), answers(503, "", ""), ok}, 9 * time.Second, 3, 200, 300 * time.Millisecond},
		"a read, three times at most":            {read, []func() (*http.Response, error){answers(504, "", "")}, 9 * time.Second, 3, 504, 0},
		"a read after another error":             {read, []func() (*http.Response, error){breaks(errors.New("certificate")), ok}, 9 * time.Second, 1, 0, 0},
		"a read after 500":                       {read, []func() (*http.Response, error){answers(500, "", "")}, 9 * time.Second, 1, 500, 0},
		"a push after a reset":                   {push, []func() (*http.Response, error){reset, ok}, 9 * time.Second, 1, 0, 0},
		"a write after 503":                      {write, []func() (*http.Response, error){answers(503, "1", ""), ok}, 9 * time.Second, 1, 503, 0},
		"a write after a short limit":            {write, []func() (*http.Response, error){answers(429, "2", ""), ok}, 9 * time.Second, 2, 200, 2 * time.Second},
		"a push after a short limit":             {push, []func() (*http.Response, error){answers(403, "1", ""), ok}, 9 * time.Second, 2, 200, time.Second},
		"a limit longer than the call":           {read, []func() (*http.Response, error){answers(429, "5", ""), ok}, 9 * time.Second, 1, 429, 0},
		"a limit without a time":                 {read, []func() (*http.Response, error){answers(429, "", ""), ok}, 9 * time.Second, 1, 429, 0},
		"a limit with a time that is none":       {read, []func() (*http.Response, error){answers(429, "-1", ""), ok}, 9 * time.Second, 1, 429, 0},
		"a missing right":                        {read, []func() (*http.Response, error){answers(403, "", ""), ok}, 9 * time.Second, 1, 403, 0},
		"a limit in a call without a deadline":   {read, []func() (*http.Response, error){answers(429, "2", ""), ok}, 0, 1, 429, 0},
		"a reset in a call without a deadline":   {read, []func() (*http.Response, error){reset, ok}, 0, 2, 200, 0},
		"a reset when the call has no time left": {read, []func() (*http.Response, error){reset, ok}, 150 * time.Millisecond, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.budget > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.budget)
					defer cancel()
				}
				method, path, _ := strings.Cut(test.request, " ")
				var body io.Reader
				if method == http.MethodPost {
					body = strings.NewReader("body")
				}
				request, err := http.NewRequestWithContext(ctx, method, "https://github.example.com"+path, body)
				if err != nil {
					t.Fatal(err)
				}
				host, start := &scripted{answers: test.answers}, time.Now()
				response, err := forge.Transport(host).RoundTrip(request)
				status := 0
				if err == nil {
					status = response.StatusCode
					_ = response.Body.Close()
				}
				if status != test.status || len(host.bodies) != test.tries || time.Since(start) < test.atLeast {
					t.Errorf("%d after %d tries in %s: %v; want %d after %d", status, len(host.bodies), time.Since(start), err, test.status, test.tries)
				}
				for _, sent := range host.bodies {
					if method == http.MethodPost && sent != "body" {
						t.Errorf("sent again with the body %q", sent)
					}
				}
			})
		})
	}
}

func TestAWaitEndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://github.example.com/api/v3/user", nil)
		if err != nil {
			t.Fatal(err)
		}
		host := &scripted{answers: []func() (*http.Response, error){answers(503, "", "")}}
		ended := make(chan error)
		go func() {
			_, err := forge.Transport(host).RoundTrip(request)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || len(host.bodies) != 1 {
			t.Errorf("%v after %d tries", err, len(host.bodies))
		}
	})
}

func TestALimitOfGitIsNoMissingRight(t *testing.T) {
	for name, test := range map[string]struct {
		path    string
		answer  func() (*http.Response, error)
		limited bool
		words   string
	}{
		"403 with its words":     {"/acme/fleet.git/info/refs", answers(403, "", "You have exceeded a secondary rate limit."), true, "try again in a minute"},
		"403 with a time":        {"/acme/fleet.git/git-receive-pack", answers(403, "60", ""), true, "try again in 60 seconds"},
		"429":                    {"/acme/fleet.git/git-upload-pack", answers(429, "", "slow down"), true, "try again in a minute"},
		"403 for another reason": {"/acme/fleet.git/git-receive-pack", answers(403, "", "Permission denied"), false, "Permission denied"},
		"404":                    {"/acme/fleet.git/info/refs", answers(404, "", "Repository not found."), false, "Repository not found."},
		"the API's, for Client":  {"/api/v3/repos/acme/fleet/pulls", answers(429, "", "slow down"), false, "slow down"},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://github.example.com"+test.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := forge.Transport(&scripted{answers: []func() (*http.Response, error){test.answer}}).RoundTrip(request)
			if limited := errors.Is(err, forge.ErrLimited); limited != test.limited || limited && clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
				t.Fatalf("limited: %t (%v)", limited, err)
			}
			said := ""
			if err != nil {
				said = err.Error()
			} else {
				data, _ := io.ReadAll(response.Body)
				said = string(data)
			}
			if !strings.Contains(said, test.words) {
				t.Errorf("%q, want %q", said, test.words)
			}
		})
	}
}
