package httpapi

import (
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/service"
)

// Paths of the API.
const (
	// Root is the path below which every answer is the API's.
	Root = managed.APIPath
	// DescriptionPath has the API's description in OpenAPI 3.1. Nobody is asked who they are there.
	DescriptionPath = managed.APIPath + "openapi.json"
)

// RequestIDHeader is the header of an answer that names its request.
const RequestIDHeader = "X-Request-Id"

// defaultMaxBytes is how large a body may be that no option bounds: far above what the largest input needs.
const defaultMaxBytes = 1 << 20

// bodyTimeout is how long a body may take to arrive.
const bodyTimeout = 30 * time.Second

// Options say what is served and to whom. Endpoints and Identify are required.
type Options struct {
	Endpoints []service.Endpoint
	// Identify tells who makes a request. With an error it is UNAUTHENTICATED, and the error's text is told to the caller.
	Identify func(*http.Request) (managed.Principal, error)
	// MaxBytes bounds a body; 0: 1 MiB.
	MaxBytes int64
	// Version is the product's, for the description.
	Version string
	Log     *slog.Logger
}

// api serves requests.
type api struct {
	Options
	endpoints   map[string]service.Endpoint
	description []byte
}

// New makes the handler of everything below [Root]. An error says why the description cannot be written.
func New(options Options) (http.Handler, error) {
	if options.MaxBytes == 0 {
		options.MaxBytes = defaultMaxBytes
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	description, err := json.Marshal(managed.OpenAPI(options.Version))
	if err != nil {
		return nil, err
	}
	of := &api{Options: options, endpoints: map[string]service.Endpoint{}, description: description}
	for _, endpoint := range options.Endpoints {
		of.endpoints[endpoint.Path()] = endpoint
	}
	return of, nil
}

// ServeHTTP answers a request.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := &exchange{api: a, writer: w, request: r, id: rand.Text()}
	w.Header().Set(RequestIDHeader, e.id)
	defer e.recover()
	if r.URL.Path == DescriptionPath {
		e.describe()
		return
	}
	endpoint, known := a.endpoints[r.URL.Path]
	if !known {
		e.fail(managed.Fault(managed.NotFound, "%s: no such method: see %s", path(r), DescriptionPath))
		return
	}
	if endpoint.NoStore {
		w.Header().Set("Cache-Control", "no-store")
	}
	if r.Method != http.MethodPost {
		e.wrongVerb(http.MethodPost)
		return
	}
	e.serve(endpoint)
}

// path is the request's path, short enough for a message.
func path(r *http.Request) string {
	const most = 200
	if text := r.URL.Path; len(text) > most {
		return text[:most] + "…"
	}
	return r.URL.Path
}
