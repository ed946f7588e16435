package identity

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/identity/identitytest"
)

// clock is a clock that a test sets.
type clock struct {
	mutex sync.Mutex
	at    time.Time
}

func newClock() *clock { return &clock{at: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.at
}

func (c *clock) pass(duration time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.at = c.at.Add(duration)
}

// log is what was logged so far.
type log struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *log) Write(data []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(data)
}

func (l *log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// resource is a protected resource for tests, with its clock and log.
type resource struct {
	*Verifier
	clock *clock
	log   *log
}

// newResource trusts the issuer; change adjusts it.
func newResource(t testing.TB, issuer *identitytest.Issuer, change func(*Options)) *resource {
	t.Helper()
	r := &resource{clock: newClock(), log: &log{}}
	options := Options{
		Issuer: issuer.URL(), Authority: issuer.Authority(), PrivateIssuer: true, PrivateKeys: true,
		Audiences: []string{identitytest.Audience, "muster"}, BaseURL: "https://manager.example.com", Path: "/mcp", Forward: true,
		Now: r.clock.now, Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&options)
	}
	var err error
	if r.Verifier, err = New(options); err != nil {
		t.Fatal(err)
	}
	return r
}

// newLoaded is newResource once the keys are read.
func newLoaded(t testing.TB, issuer *identitytest.Issuer, change func(*Options)) *resource {
	t.Helper()
	r := newResource(t, issuer, change)
	if err := r.issuer.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// outcome is what came of a request: the caller that the handler saw, or the refusal.
type outcome struct {
	status      int
	challenge   string
	header      http.Header
	body        string
	code        string
	description string
	caller      *clustermanager.Caller
	// request is what the handler got.
	request *http.Request
}

// ask sends a request with headers, and fails the test where a token of them is told.
func (r *resource) ask(t testing.TB, header http.Header) outcome {
	t.Helper()
	var got outcome
	handler := r.Protect(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		caller, err := CallerFrom(request.Context())
		if err != nil {
			t.Error(err)
		}
		got.caller, got.request = &caller, request
	}), nil)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil)
	request.Header = header
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	got.status, got.header, got.body = answer.Code, answer.Header(), answer.Body.String()
	got.challenge = answer.Header().Get("WWW-Authenticate")
	if got.caller == nil {
		var said map[string]string
		if err := json.Unmarshal(answer.Body.Bytes(), &said); err != nil || len(said) != 2 {
			t.Errorf("body %q: %v", got.body, err)
		}
		got.code, got.description = said["error"], said["error_description"]
	}
	for name, values := range header {
		for _, value := range values {
			r.holdsNone(t, name, value, got.body, got.challenge, r.log.String())
		}
	}
	return got
}

// holdsNone fails the test where a text holds a token of a header, or a part of one.
func (r *resource) holdsNone(t testing.TB, name, value string, texts ...string) {
	t.Helper()
	for _, word := range strings.Fields(value) {
		for part := range strings.SplitSeq(word, ".") {
			for _, text := range texts {
				if len(part) > 12 && strings.Contains(text, part) {
					t.Errorf("a part of %s is told: %s", name, text)
				}
			}
		}
	}
}

func bearing(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
