package survey

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// held are all objects of a kind, from one list over all namespaces. With them a read for each cluster of an
// installation costs no request.
type held struct {
	all         []unstructured.Unstructured
	byNamespace map[string][]unstructured.Unstructured
	byName      map[clustermanager.NamespacedName]*unstructured.Unstructured
	// err is why they could not be listed: every read fails with it, which is better than to ask for each in vain.
	err error
}

// hold lists a kind over all namespaces, so that each later read of it is answered from that list. Where the caller may
// not list it so, later reads ask for what they need.
func (r *Reader) hold(ctx context.Context, of noun) {
	objects, err := r.listAny(ctx, of, "", metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return
	}
	made := &held{
		all: objects, err: err,
		byNamespace: map[string][]unstructured.Unstructured{}, byName: map[clustermanager.NamespacedName]*unstructured.Unstructured{},
	}
	for index := range objects {
		name := nameOf(&objects[index])
		made.byNamespace[name.Namespace] = append(made.byNamespace[name.Namespace], objects[index])
		made.byName[name] = &objects[index]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[of.resource] = made
}

// heldOf are the objects of a kind that was listed whole; nil: it was not.
func (r *Reader) heldOf(of noun) *held {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[of.resource]
}

func (h *held) get(of noun, namespace, name string) (*unstructured.Unstructured, error) {
	if h.err != nil {
		return nil, h.err
	}
	object := h.byName[clustermanager.NamespacedName{Namespace: namespace, Name: name}]
	if object == nil {
		return nil, &readError{of.reference(namespace, name).String(), apierrors.NewNotFound(of.resource.GroupResource(), name)}
	}
	return object, nil
}

func (h *held) list(namespace, selector string) ([]unstructured.Unstructured, error) {
	if h.err != nil {
		return nil, h.err
	}
	objects := h.all
	if namespace != "" {
		objects = h.byNamespace[namespace]
	}
	if selector == "" {
		return objects, nil
	}
	matches, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	var found []unstructured.Unstructured
	for _, object := range objects {
		if matches.Matches(labels.Set(object.GetLabels())) {
			found = append(found, object)
		}
	}
	return found, nil
}
