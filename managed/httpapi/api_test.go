package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/service"
)

// site is the API with endpoints that answer what a test says.
type site struct {
	t   *testing.T
	url string
	log bytes.Buffer
	// serve is what every endpoint does; called counts.
	serve  func(service.Caller, []byte) (any, error)
	called int
	seen   service.Caller
}

func newSite(t *testing.T, change ...func(*Options)) *site {
	t.Helper()
	s := &site{t: t, serve: func(service.Caller, []byte) (any, error) { return map[string]string{"fine": "<&>"}, nil }}
	options := Options{
		Version: "1.2.3", Log: slog.New(slog.NewJSONHandler(&s.log, nil)),
		Identify: func(r *http.Request) (managed.Principal, error) {
			if r.Header.Get("Authorization") != "Bearer alice" {
				return managed.Principal{}, errors.New("there is no token")
			}
			return managed.Principal{ID: "https://id.example.com|alice", Groups: []string{"viewers"}}, nil
		},
	}
	for _, method := range managed.Methods() {
		options.Endpoints = append(options.Endpoints, service.Endpoint{Method: method, Serve: func(_ context.Context, caller service.Caller, body []byte) (any, error) {
			s.called++
			s.seen = caller
			return s.serve(caller, body)
		}})
	}
	for _, do := range change {
		do(&options)
	}
	handler, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	s.url = web.URL
	return s
}

// reply is an answer with its error, if it is one.
type reply struct {
	status int
	header http.Header
	body   string
	fault  *managed.Error
}

func (s *site) do(verb, path, body string, header ...string) reply {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), verb, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer alice")
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var envelope managed.Envelope
	_ = json.Unmarshal(data, &envelope)
	return reply{response.StatusCode, response.Header, string(data), envelope.Error}
}

const get = "/api/compute/kubernetesClusters/get"

func TestEachMethodIsServedUnderItsPath(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, method := range managed.Methods() {
		got := s.do("POST", "/api/compute/kubernetesClusters/"+method.Name, "{}")
		equal(t, method.Name, []any{200, "application/json", "{\"fine\":\"\\u003c\\u0026\\u003e\"}\n"}, []any{got.status, got.header.Get("Content-Type"), got.body})
	}
	equal(t, "called", len(managed.Methods()), s.called)
	equal(t, "caller", managed.Principal{ID: "https://id.example.com|alice", Groups: []string{"viewers"}}, s.seen.Principal)
}

// TestEveryFaultComesInTheEnvelope: whatever is wrong outside the methods is answered as what is wrong inside.
func TestEveryFaultComesInTheEnvelope(t *testing.T) {
	t.Parallel()
	const create = "/api/compute/kubernetesClusters/create"
	for name, test := range map[string]struct {
		verb, path, body string
		header           []string
		status           int
		code             managed.Code
	}{
		"C40 no bearer":         {"POST", create, "{}", []string{"Authorization", ""}, 401, managed.Unauthenticated},
		"no such method":        {"POST", "/api/compute/kubernetesClusters/undelete", "{}", nil, 404, managed.NotFound},
		"no such group":         {"GET", "/api/compute/", "", nil, 404, managed.NotFound},
		"a path with more":      {"POST", create + "/x", "{}", nil, 404, managed.NotFound},
		"another verb":          {"GET", create, "", nil, 405, managed.InvalidInput},
		"another content type":  {"POST", create, "{}", []string{"Content-Type", "text/plain"}, 415, managed.InvalidInput},
		"no content type":       {"POST", create, "{}", []string{"Content-Type", ""}, 415, managed.InvalidInput},
		"another charset":       {"POST", create, "{}", []string{"Content-Type", "application/json; charset=latin1"}, 415, managed.InvalidInput},
		"too large":             {"POST", create, strings.Repeat(" ", 101), nil, 413, managed.InvalidInput},
		"a verb of description": {"POST", "/api/compute/openapi.json", "{}", nil, 405, managed.InvalidInput},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(options *Options) { options.MaxBytes = 100 })
			got := s.do(test.verb, test.path, test.body, test.header...)
			if got.fault == nil {
				t.Fatalf("%d %s", got.status, got.body)
			}
			equal(t, "answer", []any{test.status, test.code, "application/json"}, []any{got.status, got.fault.Code, got.header.Get("Content-Type")})
			equal(t, "called", 0, s.called)
			if got.header.Get(RequestIDHeader) == "" || !strings.Contains(got.fault.Message, ": ") {
				t.Errorf("no request id, or a message without a way out: %q", got.fault.Message)
			}
		})
	}
	s := newSite(t)
	equal(t, "right type with charset", 200, s.do("POST", create, "{}", "Content-Type", "application/json; charset=UTF-8").status)
	equal(t, "the verb that is allowed", "POST", s.do("DELETE", create, "").header.Get("Allow"))
}

// TestErrorsOfCalls holds the statuses of 1.2 on the wire.
func TestErrorsOfCalls(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for code, status := range map[managed.Code]int{
		managed.InvalidInput: 400, managed.Unauthenticated: 401, managed.AccessDenied: 403, managed.NotFound: 404, managed.Conflict: 409,
		managed.InvalidState: 409, managed.Unsupported: 422, managed.QuotaExceeded: 429, managed.RateLimited: 429, managed.Unavailable: 503,
		managed.Internal: 500,
	} {
		s.serve = func(service.Caller, []byte) (any, error) {
			return nil, managed.Fault(code, "a thing: it is so: go on").With(managed.Details{Limit: 3})
		}
		got := s.do("POST", get, "{}")
		want := `{"error":{"code":"` + string(code) + `","message":"a thing: it is so: go on","details":{"limit":3}}}` + "\n"
		equal(t, string(code), []any{status, want}, []any{got.status, got.body})
	}
}

func TestS06RateLimitedSaysWhen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve = func(service.Caller, []byte) (any, error) {
		fault := managed.Fault(managed.RateLimited, "tenant acme: wait")
		fault.RetryAfter = 20 * time.Millisecond
		return nil, fault
	}
	got := s.do("POST", get, "{}")
	equal(t, "answer", []any{429, "1"}, []any{got.status, got.header.Get("Retry-After")})
}

func TestAFaultOfOursIsFoundByItsRequest(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(service.Caller, []byte) (any, error){
		"an error":             func(service.Caller, []byte) (any, error) { return nil, errors.New("inside-made-for-the-test") },
		"a panic":              func(service.Caller, []byte) (any, error) { var none *managed.Cluster; return none.Answer(), nil },
		"an answer that isn't": func(service.Caller, []byte) (any, error) { return make(chan int), nil },
	} {
		s := newSite(t)
		s.serve = serve
		got := s.do("POST", get, `{"tenantId": "body-made-for-the-test"}`)
		if got.status != 500 || got.fault == nil || got.fault.Code != managed.Internal {
			t.Fatalf("%s: %d %s", name, got.status, got.body)
		}
		id := got.fault.Details.RequestID
		if id == "" || id != got.header.Get(RequestIDHeader) || !strings.Contains(s.log.String(), id) {
			t.Errorf("%s: request %q is not in the log: %s", name, id, s.log.String())
		}
		if strings.Contains(got.body, "inside-made") || strings.Contains(s.log.String(), "body-made") {
			t.Errorf("%s: answer or log tells too much", name)
		}
	}
}

// TestK08TheTokenGoesToTheCallerAlone: the masked answer is revealed in the body that goes out, and kept by nobody.
func TestK08TheTokenGoesToTheCallerAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve = func(service.Caller, []byte) (any, error) {
		return managed.CredentialsAnswer{Kubeconfig: clustermanager.NewSecret("kubeconfig-made-for-the-test"), Role: managed.RoleView}, nil
	}
	got := s.do("POST", "/api/compute/kubernetesClusters/credentials", "{}")
	equal(t, "answer", []any{200, "no-store", `{"kubeconfig":"kubeconfig-made-for-the-test","expiresAt":"0001-01-01T00:00:00Z","role":"view"}` + "\n"},
		[]any{got.status, got.header.Get("Cache-Control"), got.body})
	if strings.Contains(s.log.String(), "made-for-the-test") {
		t.Errorf("the log has it: %s", s.log.String())
	}
	equal(t, "get may be kept", "", s.do("POST", get, "{}").header.Get("Cache-Control"))
}

func TestTheDescriptionIsServed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	got := s.do("GET", DescriptionPath, "", "Authorization", "")
	var document struct {
		OpenAPI string         `json:"openapi"`
		Paths   map[string]any `json:"paths"`
	}
	if err := json.Unmarshal([]byte(got.body), &document); err != nil {
		t.Fatal(err)
	}
	equal(t, "document", []any{200, "3.1.0", len(managed.Methods())}, []any{got.status, document.OpenAPI, len(document.Paths)})
}

func TestWhoStandsBeforeTheAPIRefusesAsItDoes(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]managed.Code{401: managed.Unauthenticated, 503: managed.Unavailable} {
		recorder := httptest.NewRecorder()
		Refuse(recorder, status, "the token has expired")
		var envelope managed.Envelope
		if err := json.Unmarshal(recorder.Body.Bytes(), &envelope); err != nil {
			t.Fatal(err)
		}
		equal(t, string(code), []any{status, code}, []any{recorder.Code, envelope.Error.Code})
	}
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
