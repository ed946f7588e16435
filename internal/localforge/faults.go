package localforge

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Fault is something that goes wrong with some requests: the first fields choose them, the others are what happens, in
// their order. A fault that only waits lets the forge answer then.
type Fault struct {
	// Method and Path choose requests; "" is every one. Path is the decoded path, as a [Rule]'s pattern: **/pulls, or
	// **/git-receive-pack for git's pushes.
	Method, Path string
	// After is how many of these requests pass first, Times how many meet the fault then; 0: all.
	After, Times int

	// Wait holds the request until the channel is closed, or the request is over; nil: not at all.
	Wait <-chan struct{}
	// Reset ends the connection in place of an answer.
	Reset Reset
	// Status and Header are answered in the forge's place, with Message in the form of the API or of git; a Body is
	// answered as it is.
	Status        int
	Header        map[string]string
	Message, Body string
}

// Reset is where a connection ends.
type Reset int

const (
	// ResetBefore is before anything was read of the request's body.
	ResetBefore Reset = iota + 1
	// ResetWithin is in the middle of the request's body.
	ResetWithin
	// ResetAfter is after the request was carried out: only its answer is lost.
	ResetAfter
)

// On is the fault for requests of a method to a path.
func (f Fault) On(method, path string) Fault {
	f.Method, f.Path = method, path
	return f
}

// For is the fault for a number of requests after some others.
func (f Fault) For(after, times int) Fault {
	f.After, f.Times = after, times
	return f
}

// PrimaryLimit is an hour's requests used up, until the reset.
func PrimaryLimit(reset time.Time) Fault {
	return Fault{Status: http.StatusForbidden, Message: "API rate limit exceeded for user ID 1.", Header: map[string]string{
		"X-Ratelimit-Limit": "5000", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": fmt.Sprint(reset.Unix()),
	}}
}

// SecondaryLimit is too much in a short time: 403 or 429, with the seconds of Retry-After or, for 0, without.
func SecondaryLimit(status, seconds int) Fault {
	fault := Fault{Status: status, Message: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}
	if seconds > 0 {
		fault.Header = map[string]string{"Retry-After": fmt.Sprint(seconds)}
	}
	return fault
}

// SingleSignOn is an organization that enforces SAML.
func SingleSignOn(organization string) Fault {
	return Fault{
		Status:  http.StatusForbidden,
		Message: "Resource protected by organization SAML enforcement. You must grant your OAuth token access to this organization.",
		Header:  map[string]string{"X-Github-Sso": "required; url=https://github.com/orgs/" + organization + "/sso?authorization_request=made-for-a-test"},
	}
}

// Archived is a write to an archived repository.
func Archived() Fault {
	return Fault{Status: http.StatusForbidden, Message: "This repository was archived so it is read-only."}
}

// NotPermitted is a permission that the App was not given.
func NotPermitted(permission string) Fault {
	return Fault{
		Status: http.StatusForbidden, Message: "Resource not accessible by integration",
		Header: map[string]string{"X-Accepted-Github-Permissions": permission},
	}
}

// BadToken is a token that has ended.
func BadToken() Fault { return Fault{Status: http.StatusUnauthorized, Message: "Bad credentials"} }

// NotInstalled is a repository that the App is not installed on.
func NotInstalled() Fault { return Fault{Status: http.StatusNotFound, Message: "Not Found"} }

// Unavailable is a host that has no answer now, 502 or 503.
func Unavailable(status int) Fault { return Fault{Status: status, Message: http.StatusText(status)} }

// Inject makes requests meet faults from now on, in place of those injected before; without any the forge is well
// again. Of several that a request could meet it meets the first.
func (f *Forge) Inject(faults ...Fault) {
	f.faults.mutex.Lock()
	defer f.faults.mutex.Unlock()
	f.faults.list, f.faults.passed, f.faults.met = faults, make([]int, len(faults)), 0
}

// Met is how many requests met one of the faults that are injected.
func (f *Forge) Met() int {
	f.faults.mutex.Lock()
	defer f.faults.mutex.Unlock()
	return f.faults.met
}

type faults struct {
	mutex sync.Mutex
	list  []Fault
	// passed counts, for each fault, the requests that it is about.
	passed []int
	met    int
}

// meet returns the fault that a request meets.
func (f *faults) meet(r *http.Request) (met Fault, found bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for i, fault := range f.list {
		if fault.Method != "" && fault.Method != r.Method || !matches(fault.Path, r.URL.Path) {
			continue
		}
		f.passed[i]++
		if n := f.passed[i] - fault.After; n > 0 && (fault.Times == 0 || n <= fault.Times) && !found {
			met, found = fault, true
		}
	}
	if found {
		f.met++
	}
	return met, found
}

// suffer lets a fault happen and says whether that was the answer.
func (f *Forge) suffer(w http.ResponseWriter, r *http.Request, fault Fault) bool {
	if fault.Wait != nil {
		// That a client has left is noticed only once its request was read.
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		select {
		case <-fault.Wait:
		case <-r.Context().Done():
			return true
		}
	}
	switch {
	case fault.Reset != 0:
		f.reset(w, r, fault.Reset)
	case fault.Status != 0:
		fault.answer(w, r)
	}
	return fault.Reset != 0 || fault.Status != 0
}

func (f *Forge) reset(w http.ResponseWriter, r *http.Request, where Reset) {
	switch where {
	case ResetWithin:
		_, _ = io.CopyN(io.Discard, r.Body, max(1, r.ContentLength/2))
	case ResetAfter:
		f.routes.ServeHTTP(lost{}, r)
	}
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		// What net/http offers for an answer that is to break off.
		panic(http.ErrAbortHandler) //nolint:forbidigo // the server recovers this very value
	}
	if plain, ok := connection.(*net.TCPConn); ok {
		// Without lingering the other side sees a reset instead of an end.
		_ = plain.SetLinger(0)
	}
	_ = connection.Close()
}

// lost is an answer that nobody gets.
type lost struct{}

func (lost) Header() http.Header            { return http.Header{} }
func (lost) WriteHeader(int)                {}
func (lost) Write(data []byte) (int, error) { return len(data), nil }

func (f Fault) answer(w http.ResponseWriter, r *http.Request) {
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	switch {
	case f.Body != "":
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body)
	case strings.HasPrefix(r.URL.Path, apiRoot+"/"):
		writeProblem(w, &problem{status: f.Status, message: f.Message})
	default:
		http.Error(w, f.Message, f.Status)
	}
}
