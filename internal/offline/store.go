package offline

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const fluxGroups = ".toolkit.fluxcd.io"

// store holds the objects of one API server and what it serves. An object is kept once, whatever its version.
type store struct {
	// folder is where objects are kept as they stand; "": nowhere.
	folder string
	now    func() time.Time

	mu        sync.RWMutex
	revision  int64
	resources map[schema.GroupResource]*resource
	kinds     map[schema.GroupKind]*resource
	objects   map[schema.GroupResource]map[clustermanager.NamespacedName]*unstructured.Unstructured
}

// newStore serves the built-in kinds, those that CRDs among the objects define, and those of the objects.
func newStore(objects []*unstructured.Unstructured) *store {
	s := &store{
		now:       time.Now,
		resources: map[schema.GroupResource]*resource{},
		kinds:     map[schema.GroupKind]*resource{},
		objects:   map[schema.GroupResource]map[clustermanager.NamespacedName]*unstructured.Unstructured{},
	}
	s.serveTable(builtIn)
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			if defined := resourceOfDefinition(object); defined != nil {
				s.serve(defined)
			}
		}
	}
	for _, object := range objects {
		s.put(object)
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(s.resources)), func(r schema.GroupResource) bool {
		return strings.HasSuffix(r.Group, fluxGroups)
	}) {
		s.serveTable(flux)
	}
	return s
}

// serveTable serves the table's kinds of an origin that are not served yet.
func (s *store) serveTable(origin origin) {
	for _, row := range table {
		if row.origin != origin || s.kinds[schema.GroupKind{Group: row.group, Kind: row.kind}] != nil {
			continue
		}
		served := row.resource()
		served.addVersion(row.version)
		s.serve(served)
	}
}

func (s *store) serve(served *resource) {
	s.resources[served.groupResource()] = served
	s.kinds[schema.GroupKind{Group: served.group, Kind: served.kind}] = served
}

// put takes an object in and gives it a resource version, and a uid when it has none.
func (s *store) put(object *unstructured.Unstructured) {
	kind := object.GroupVersionKind()
	served := s.kinds[kind.GroupKind()]
	if served == nil {
		served = resourceOfObject(object)
		s.serve(served)
	}
	if !served.defined {
		served.addVersion(kind.Version)
	}
	switch {
	case !served.namespaced:
		object.SetNamespace("")
	case object.GetNamespace() == "":
		object.SetNamespace("default")
	}
	encodeSecret(object)
	if object.GetUID() == "" {
		object.SetUID(stableUID(clustermanager.ReferenceTo(object).Identity()))
	}
	s.revision++
	object.SetResourceVersion(strconv.FormatInt(s.revision, 10))
	of := s.objects[served.groupResource()]
	if of == nil {
		of = map[clustermanager.NamespacedName]*unstructured.Unstructured{}
		s.objects[served.groupResource()] = of
	}
	of[nameOf(object)] = object
}

// get returns a copy of an object, nil when there is none.
func (s *store) get(of schema.GroupResource, name clustermanager.NamespacedName) *unstructured.Unstructured {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects[of][name].DeepCopy()
}

// list returns copies of a resource's objects, in one namespace or, with "", in all, by namespace and name, and the
// revision they were read at.
func (s *store) list(of schema.GroupResource, namespace string) ([]*unstructured.Unstructured, int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []*unstructured.Unstructured
	for name, object := range s.objects[of] {
		if namespace == "" || name.Namespace == namespace {
			found = append(found, object.DeepCopy())
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return found, s.revision
}

func nameOf(object *unstructured.Unstructured) clustermanager.NamespacedName {
	return clustermanager.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// stableUID is the same for the same object in every run.
func stableUID(identity clustermanager.ObjectReference) types.UID {
	sum := sha256.Sum256([]byte(identity.InventoryID()))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// encodeSecret moves a Secret's stringData into its data, as an API server does when a Secret is written.
func encodeSecret(secret *unstructured.Unstructured) {
	plain, found, err := unstructured.NestedStringMap(secret.Object, "stringData")
	if !found || err != nil || secret.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
		return
	}
	data, _ := secret.Object["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for key, value := range plain {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	secret.Object["data"] = data
	delete(secret.Object, "stringData")
}
