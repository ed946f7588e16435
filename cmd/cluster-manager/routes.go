package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/telemetry"
)

// routes are the paths of the listener.
func routes(opened *installation, clusters *managedAPI, options serveOptions, observed *telemetry.Telemetry) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(writer http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(writer, "ok") })
	mux.HandleFunc("GET /readyz", options.signIn.readyz)
	options.signIn.mount(mux)
	if !options.WithoutMCP {
		mux.Handle(options.MCPPath, options.signIn.protect(limited(observed.Messages(opened.tools.Handler(options.MCPPath)), options.MaxRequestBytes, bodyTimeout)))
	}
	clusters.mount(mux, options.signIn)
	return options.signIn.fromElsewhere(mux, onLoopback(options.Listen))
}

// byLoopbackName refuses requests that name another host than this machine: a page may have its own name point here, and
// is then of the same origin as what it calls.
func byLoopbackName(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		host, _, err := net.SplitHostPort(request.Host)
		if err != nil {
			host = strings.Trim(request.Host, "[]")
		}
		if !clustermanager.IsLoopback(host) {
			http.Error(writer, "this server is asked by a loopback address or localhost alone", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(writer, request)
	})
}

// bodyTimeout is what a client has to send a body in, once its header is there.
const bodyTimeout = 30 * time.Second

// limited refuses larger bodies, whether their length is announced or not, and those that do not come in time.
func limited(handler http.Handler, limit int64, within time.Duration) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		connection := http.NewResponseController(writer)
		// Where a connection knows no deadline, the size alone is limited.
		_ = connection.SetReadDeadline(time.Now().Add(within))
		body, err := io.ReadAll(http.MaxBytesReader(writer, request.Body, limit))
		var larger *http.MaxBytesError
		switch {
		case errors.As(err, &larger):
			http.Error(writer, fmt.Sprintf("the request's body is larger than the %d bytes that --max-request-bytes allows", limit), http.StatusRequestEntityTooLarge)
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			http.Error(writer, fmt.Sprintf("the request's body did not come within %s", within), http.StatusRequestTimeout)
			return
		case err != nil:
			http.Error(writer, "the request's body could not be read", http.StatusBadRequest)
			return
		}
		_ = connection.SetReadDeadline(time.Time{})
		request.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(writer, request)
	})
}
