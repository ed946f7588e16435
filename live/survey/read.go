package survey

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// noun is a kind with the resource it is read at.
type noun struct {
	kind     string
	resource schema.GroupVersionResource
}

var (
	clusterNoun       = noun{"Cluster", clustermanager.ClusterAPI.WithResource("clusters")}
	appNoun           = noun{"App", schema.GroupVersionResource{Group: "application.giantswarm.io", Version: "v1alpha1", Resource: "apps"}}
	configMapNoun     = noun{"ConfigMap", schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}}
	gitRepositoryNoun = noun{"GitRepository", clustermanager.SourceAPI.WithResource("gitrepositories")}
	helmReleaseNoun   = noun{"HelmRelease", clustermanager.HelmAPI.WithResource("helmreleases")}
	kustomizationNoun = noun{"Kustomization", clustermanager.KustomizationAPI.WithResource("kustomizations")}
	namespaceNoun     = noun{"Namespace", schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}}
	organizationNoun  = noun{"Organization", schema.GroupVersionResource{Group: "security.giantswarm.io", Version: "v1alpha1", Resource: "organizations"}}
	releaseNoun       = noun{"Release", schema.GroupVersionResource{Group: "release.giantswarm.io", Version: "v1alpha1", Resource: "releases"}}
	secretNoun        = noun{"Secret", schema.GroupVersionResource{Version: "v1", Resource: "secrets"}}
)

// nounOf is the noun of an object whose kind a reference tells, without a version where it tells none.
func nounOf(reference clustermanager.ObjectReference) noun {
	kind := schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind)
	return noun{kind.Kind, kind.GroupVersion().WithResource(plural(kind.Kind))}
}

// plural guesses the resource of a kind that a reference names: Flux and all providers of the Cluster API follow
// English.
func plural(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(name, "s"):
		return name + "es"
	case strings.HasSuffix(name, "y"):
		return name[:len(name)-1] + "ies"
	}
	return name + "s"
}

// reference names an object of the noun.
func (n noun) reference(namespace, name string) clustermanager.ObjectReference {
	return clustermanager.ObjectReference{
		APIVersion: n.resource.GroupVersion().String(), Kind: n.kind, Namespace: namespace, Name: name,
	}
}

// once makes a read the first time that its key is asked for, and returns what it returned ever after. Who asks while
// the read is under way waits for it.
func once[T any](r *Reader, key string, read func() (T, error)) (T, error) {
	r.mu.Lock()
	remembered, there := r.reads[key].(*remembered[T])
	if !there {
		remembered = newRemembered[T]()
		r.reads[key] = remembered
	}
	r.mu.Unlock()
	if !there {
		defer close(remembered.done)
		remembered.value, remembered.err = read()
		return remembered.value, remembered.err
	}
	<-remembered.done
	return remembered.value, remembered.err
}

// remembered is what a read returned, once done is closed.
type remembered[T any] struct {
	done  chan struct{}
	value T
	err   error
}

func newRemembered[T any]() *remembered[T] { return &remembered[T]{done: make(chan struct{})} }

func keyOf(what string, of noun, namespace, detail string) string {
	return strings.Join([]string{what, of.resource.String(), namespace, detail}, "|")
}

// get reads an object. What it returns is shared: it must not be changed. An absent object, or one whose kind is not
// served, is an error that apierrors.IsNotFound knows; one that is malformed is an error too.
func (r *Reader) get(ctx context.Context, of noun, namespace, name string) (*unstructured.Unstructured, error) {
	if held := r.heldOf(of); held != nil {
		object, err := held.get(of, namespace, name)
		if err == nil {
			err = r.malformed(object)
		}
		return object, err
	}
	return once(r, keyOf("get", of, namespace, name), func() (object *unstructured.Unstructured, err error) {
		ended := r.begin(of)
		defer func() { ended(err) }()
		ctx, cancel := r.bound(ctx)
		defer cancel()
		object, err = r.client.Dynamic.Resource(of.resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, r.notGot(ctx, of, of.reference(namespace, name).String(), err)
		}
		if err := r.malformed(object); err != nil {
			return nil, err
		}
		return object, nil
	})
}

// know remembers an object that a list brought, so that get does not ask for it.
func (r *Reader) know(of noun, object *unstructured.Unstructured) {
	_, _ = once(r, keyOf("get", of, object.GetNamespace(), object.GetName()), func() (*unstructured.Unstructured, error) {
		return object, nil
	})
}

// getMetadata reads an object's metadata alone.
func (r *Reader) getMetadata(ctx context.Context, of noun, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	return once(r, keyOf("metadata", of, namespace, name), func() (object *metav1.PartialObjectMetadata, err error) {
		ended := r.begin(of)
		defer func() { ended(err) }()
		ctx, cancel := r.bound(ctx)
		defer cancel()
		object, err = r.client.Metadata.Resource(of.resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, r.notGot(ctx, of, of.reference(namespace, name).String(), err)
		}
		return object, nil
	})
}

// list reads the objects that the selectors choose, of one namespace or, with "", of all. A kind that is not served has
// none. One malformed object makes all of them unknown.
func (r *Reader) list(ctx context.Context, of noun, namespace string, options metav1.ListOptions) ([]unstructured.Unstructured, error) {
	return r.wellFormed(r.listAny(ctx, of, namespace, options))
}

// listAny is list for who looks at each object itself.
func (r *Reader) listAny(ctx context.Context, of noun, namespace string, options metav1.ListOptions) ([]unstructured.Unstructured, error) {
	if held := r.heldOf(of); held != nil && options.FieldSelector == "" {
		return held.list(namespace, options.LabelSelector)
	}
	key := keyOf("list", of, namespace, options.LabelSelector+"|"+options.FieldSelector)
	return once(r, key, func() (objects []unstructured.Unstructured, err error) {
		ended := r.begin(of)
		defer func() { ended(err) }()
		ctx, cancel := r.bound(ctx)
		defer cancel()
		found, err := r.client.Dynamic.Resource(of.resource).Namespace(namespace).List(ctx, options)
		switch {
		case apierrors.IsNotFound(err):
			return nil, r.unserved(ctx, of, listed(of, namespace), err)
		case err != nil:
			return nil, r.failed(ctx, listed(of, namespace), err)
		}
		return found.Items, nil
	})
}

// listed names what a list reads.
func listed(of noun, namespace string) string {
	if namespace == "" {
		return "every " + of.kind
	}
	return fmt.Sprintf("every %s in %s", of.kind, namespace)
}

// readError is a read that failed. It names the object before the cause, and says of an absent one that it is absent.
type readError struct {
	what  string
	cause error
}

func (e *readError) Error() string {
	if apierrors.IsNotFound(e.cause) {
		return e.what + ": reading: it does not exist"
	}
	return e.what + ": reading: " + e.cause.Error()
}

func (e *readError) Unwrap() error { return e.cause }

// textAt returns the string at a path of an object; "" when there is none.
func textAt(object map[string]any, path ...string) string {
	value, _, _ := unstructured.NestedString(object, path...)
	return value
}

// mapAt returns the mapping at a path of an object, not a copy; nil when there is none.
func mapAt(object map[string]any, path ...string) map[string]any {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	found, _ := value.(map[string]any)
	return found
}

// mapsAt returns the mappings of the list at a path of an object, not copies.
func mapsAt(object map[string]any, path ...string) []map[string]any {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	elements, _ := value.([]any)
	var found []map[string]any
	for _, element := range elements {
		if fields, is := element.(map[string]any); is {
			found = append(found, fields)
		}
	}
	return found
}

// isTrueAt says whether the boolean at a path of an object is true.
func isTrueAt(object map[string]any, path ...string) bool {
	value, _, _ := unstructured.NestedBool(object, path...)
	return value
}
