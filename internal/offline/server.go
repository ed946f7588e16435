package offline

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// apiServer answers the requests of one API server from its store.
type apiServer struct {
	store *store
	token clustermanager.Secret
}

// target is what a request's path names: a resource, or with a name an object.
type target struct {
	version  schema.GroupVersion
	resource string
	name     clustermanager.NamespacedName
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !a.admits(r) {
		answerError(w, apierrors.NewUnauthorized("Unauthorized"))
		return
	}
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if document := a.discovery(segments); document != nil {
		if r.Method != http.MethodGet {
			answerError(w, apierrors.NewMethodNotSupported(schema.GroupResource{}, r.Method))
			return
		}
		answer(w, http.StatusOK, document)
		return
	}
	named, is := targetOf(segments)
	served := a.store.served(named)
	if served == nil || (!is && r.Method == http.MethodGet) {
		answerError(w, errNoSuchPath)
		return
	}
	if !is || isTrue(r.URL.Query().Get("watch")) {
		// A subresource, such as the status, is what a controller writes, and none runs here.
		answerError(w, apierrors.NewMethodNotSupported(served.groupResource(), verbOf(r)))
		return
	}
	code, document, err := a.do(r, served, named)
	if err != nil {
		answerError(w, err)
		return
	}
	answer(w, code, document)
}

func (a *apiServer) do(r *http.Request, served *resource, named target) (int, any, error) {
	if r.Method != http.MethodGet {
		return a.write(r, served, named)
	}
	document, err := a.read(r, served, named)
	return http.StatusOK, document, err
}

// errNoSuchPath is what an API server answers for a path that it does not serve.
var errNoSuchPath = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
	Message: "the server could not find the requested resource",
}}

// admits says whether the request carries the caller's token.
func (a *apiServer) admits(r *http.Request) bool {
	presented, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return bearer && subtle.ConstantTimeCompare([]byte(presented), []byte(a.token.Reveal())) == 1
}

// targetOf reads a path below /api/v1 or /apis/<group>/<version>.
func targetOf(segments []string) (target, bool) {
	var named target
	switch {
	case len(segments) > 2 && segments[0] == "api":
		named.version, segments = schema.GroupVersion{Version: segments[1]}, segments[2:]
	case len(segments) > 3 && segments[0] == "apis":
		named.version, segments = schema.GroupVersion{Group: segments[1], Version: segments[2]}, segments[3:]
	default:
		return target{}, false
	}
	if len(segments) > 2 && segments[0] == "namespaces" {
		named.name.Namespace, segments = segments[1], segments[2:]
	}
	named.resource = segments[0]
	if len(segments) > 1 {
		named.name.Name = segments[1]
	}
	return named, len(segments) <= 2
}

// served returns the resource that a path names, nil when it is not served there.
func (s *store) served(named target) *resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := s.resources[schema.GroupResource{Group: named.version.Group, Resource: named.resource}]
	switch {
	case found == nil || !found.serves(named.version.Version):
		return nil
	case found.namespaced && named.name.Name != "" && named.name.Namespace == "",
		!found.namespaced && named.name.Namespace != "":
		return nil
	}
	return found
}

// read answers a get or a list.
func (a *apiServer) read(r *http.Request, served *resource, named target) (any, error) {
	metadataOnly := wantsMetadata(r.Header.Get("Accept"))
	if named.name.Name == "" {
		return a.readList(r, served, named, metadataOnly)
	}
	object := a.store.get(served.groupResource(), named.name)
	if object == nil {
		return nil, apierrors.NewNotFound(served.groupResource(), named.name.Name)
	}
	object.SetAPIVersion(named.version.String())
	return shown(object, metadataOnly), nil
}

// verbOf names what a request asks for, as API servers do.
func verbOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet:
		return "watch"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	}
	return strings.ToLower(r.Method)
}

func isTrue(value string) bool { return value == "true" || value == "1" }

func answer(w http.ResponseWriter, code int, document any) {
	content, err := json.Marshal(document)
	if err != nil {
		code, content = http.StatusInternalServerError, []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(content)
}

// answerError writes an error as the Status object that clients make it from.
func answerError(w http.ResponseWriter, err error) {
	var withStatus apierrors.APIStatus
	if !errors.As(err, &withStatus) {
		withStatus = apierrors.NewInternalError(err)
	}
	status := withStatus.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	answer(w, int(status.Code), status)
}
