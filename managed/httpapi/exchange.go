package httpapi

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/service"
)

// exchange is a request with its answer under way.
type exchange struct {
	*api
	writer  http.ResponseWriter
	request *http.Request
	id      string
	// began says that the answer's first bytes are out.
	began bool
}

// serve makes a call: who calls, the body, the call itself.
func (e *exchange) serve(endpoint service.Endpoint) {
	principal, err := e.Identify(e.request)
	if err != nil {
		e.fail(managed.Fault(managed.Unauthenticated, "%s: %s: sign in and call again", endpoint, err))
		return
	}
	body, status, fault := e.body(endpoint)
	if fault != nil {
		e.answer(status, managed.Envelope{Error: fault})
		return
	}
	answer, err := endpoint.Serve(e.request.Context(), service.Caller{Principal: principal, RequestID: e.id}, body)
	if err != nil {
		e.fail(err)
		return
	}
	if secret, is := answer.(interface{ Reveal() any }); is {
		answer = secret.Reveal()
	}
	e.answer(http.StatusOK, answer)
}

// body reads the request's body.
func (e *exchange) body(endpoint service.Endpoint) (body []byte, status int, fault *managed.Error) {
	kind, parameters, err := mime.ParseMediaType(e.request.Header.Get("Content-Type"))
	if charset := parameters["charset"]; err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, http.StatusUnsupportedMediaType, managed.Fault(managed.InvalidInput,
			"%s: the content type is not application/json: send a JSON object with that type", endpoint)
	}
	// A client that sends nothing must not hold a connection for ever. Not every writer can do that.
	_ = http.NewResponseController(e.writer).SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err = io.ReadAll(http.MaxBytesReader(e.writer, e.request.Body, e.MaxBytes))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge, managed.Fault(managed.InvalidInput,
			"%s: the body is larger than %d bytes: send a smaller one", endpoint, e.MaxBytes)
	case err != nil:
		return nil, http.StatusBadRequest, managed.Fault(managed.InvalidInput, "%s: the body did not arrive whole: send it again", endpoint)
	}
	return body, http.StatusOK, nil
}

// fail answers an error. One that is no [managed.Error] is a fault of ours.
func (e *exchange) fail(err error) {
	var fault *managed.Error
	if !errors.As(err, &fault) {
		e.Log.ErrorContext(e.request.Context(), "a request could not be served", "request", e.id, "path", e.request.URL.Path, "cause", err)
		fault = e.ours()
	}
	if fault.RetryAfter > 0 {
		e.writer.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(fault.RetryAfter.Seconds()))))
	}
	e.answer(fault.Code.Status(), managed.Envelope{Error: fault})
}

// ours is a fault of the service.
func (e *exchange) ours() *managed.Error {
	return managed.Fault(managed.Internal, "%s: the service is at fault: report the request %s", path(e.request), e.id).
		With(managed.Details{RequestID: e.id})
}

func (e *exchange) wrongVerb(allowed string) {
	e.writer.Header().Set("Allow", allowed)
	e.answer(http.StatusMethodNotAllowed, managed.Envelope{Error: managed.Fault(managed.InvalidInput, "%s: it is called by %s alone: use that", path(e.request), allowed)})
}

// answer writes a status and a body. It is whole before the first byte is out.
func (e *exchange) answer(status int, of any) {
	body, err := json.Marshal(of)
	if err != nil {
		e.Log.ErrorContext(e.request.Context(), "an answer could not be written", "request", e.id, "path", e.request.URL.Path, "cause", err)
		status = http.StatusInternalServerError
		body, _ = json.Marshal(managed.Envelope{Error: e.ours()})
	}
	e.write(status, body)
}

func (e *exchange) write(status int, body []byte) {
	e.began = true
	e.writer.Header().Set("Content-Type", "application/json")
	e.writer.Header().Set("X-Content-Type-Options", "nosniff")
	e.writer.WriteHeader(status)
	_, _ = e.writer.Write(append(body, '\n'))
}

// describe answers the API's description.
func (e *exchange) describe() {
	if e.request.Method != http.MethodGet {
		e.wrongVerb(http.MethodGet)
		return
	}
	e.write(http.StatusOK, e.description)
}

// recover answers for a call that panicked. What it panicked with may hold anything, so that the log has its place alone.
func (e *exchange) recover() {
	cause := recover()
	switch {
	case cause == nil:
		return
	case cause == any(http.ErrAbortHandler), e.began:
		panic(http.ErrAbortHandler) //nolint:forbidigo // it is how net/http breaks off an answer
	}
	e.Log.ErrorContext(e.request.Context(), "a call panicked", "request", e.id, "path", e.request.URL.Path, "stack", string(debug.Stack()))
	e.fail(e.ours())
}

// Refuse writes UNAUTHENTICATED, or with another status UNAVAILABLE, for who stands before the API and tells callers apart.
// The headers that go with it are the caller's to set.
func Refuse(w http.ResponseWriter, status int, description string) {
	fault := managed.Fault(managed.Unavailable, "sign-in: %s: call again later", description)
	if status == http.StatusUnauthorized {
		fault = managed.Fault(managed.Unauthenticated, "sign-in: %s: sign in and call again", description)
	}
	body, err := json.Marshal(managed.Envelope{Error: fault})
	if err != nil {
		body = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(fault.Code.Status())
	_, _ = w.Write(append(body, '\n'))
}
