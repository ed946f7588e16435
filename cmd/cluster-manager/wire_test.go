package main

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// fault answers a request in a server's place.
type fault func(*http.Request) (status int, header http.Header, body string, ok bool)

// sent is one request as it left the process.
type sent struct {
	method, url string
	header      http.Header
	body        []byte
}

// push says whether the request carries a pack to a repository.
func (s sent) push() bool { return strings.HasSuffix(s.url, "/git-receive-pack") }

// wire is a transport that keeps every request, and breaks those that cut names.
type wire struct {
	mutex    sync.Mutex
	requests []sent
	// before and after say whether the connection breaks: before the request gets there, or before its answer is back.
	before, after func(*http.Request) bool
	// answer may answer in the server's place.
	answer fault
}

var errReset = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	w.mutex.Lock()
	before, after, answer := w.before, w.after, w.answer
	w.mutex.Unlock()
	kept := sent{method: request.Method, url: request.URL.String(), header: request.Header.Clone()}
	if request.Body != nil {
		body, err := io.ReadAll(request.Body)
		_ = request.Body.Close()
		if err != nil {
			return nil, err
		}
		kept.body = body
		request = request.Clone(request.Context())
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	w.mutex.Lock()
	w.requests = append(w.requests, kept)
	w.mutex.Unlock()
	if before != nil && before(request) {
		return nil, errReset
	}
	if answer != nil {
		if status, header, body, ok := answer(request); ok {
			return &http.Response{
				Status: http.StatusText(status), StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: header,
				Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: request,
			}, nil
		}
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil && after != nil && after(request) {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		return nil, errReset
	}
	return response, err
}

// cut breaks connections; nil mends them.
func (w *wire) cut(before, after func(*http.Request) bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.before, w.after = before, after
}

// answers lets a fault answer; nil ends it.
func (w *wire) answers(with fault) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.answer = with
}

// take returns the requests so far and forgets them.
func (w *wire) take() []sent {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	requests := w.requests
	w.requests = nil
	return requests
}

// proxied gives the address of a proxy that sends on to an address through a transport.
func proxied(t *testing.T, address string, through http.RoundTripper) string {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	root := &url.URL{Scheme: target.Scheme, Host: target.Host}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: through, ErrorLog: log.New(io.Discard, "", 0), FlushInterval: -1,
		Rewrite: func(request *httputil.ProxyRequest) {
			// Read first: an answer that starts before the body is passed on ends the reading of it.
			body, _ := io.ReadAll(request.In.Body)
			request.Out.Body = io.NopCloser(bytes.NewReader(body))
			request.SetURL(root)
		},
	})
	t.Cleanup(server.Close)
	return server.URL + target.Path
}

// sink keeps what is written to it, from everywhere.
type sink struct {
	mutex sync.Mutex
	data  bytes.Buffer
}

// Write implements io.Writer.
func (s *sink) Write(data []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.data.Write(data)
}

// take returns what was written so far and forgets it.
func (s *sink) take() []byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	data := bytes.Clone(s.data.Bytes())
	s.data.Reset()
	return data
}

// copied answers as the handler does and keeps the answers, headers included, in the sink.
func copied(handler http.Handler, to *sink) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		copying := &copyingWriter{ResponseWriter: writer, to: to}
		handler.ServeHTTP(copying, request)
		_ = writer.Header().Write(to)
	})
}

type copyingWriter struct {
	http.ResponseWriter
	to *sink
}

// Write implements io.Writer.
func (c *copyingWriter) Write(data []byte) (int, error) {
	_, _ = c.to.Write(data)
	return c.ResponseWriter.Write(data)
}

// Flush implements http.Flusher, which notifications need.
func (c *copyingWriter) Flush() {
	if flusher, ok := c.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
}

// answering is a transport that keeps the answers.
type answering struct{ to *sink }

// RoundTrip implements http.RoundTripper.
func (a *answering) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	_ = response.Header.Write(a.to)
	body := response.Body
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(body, a.to), body}
	return response, nil
}
