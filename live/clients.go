package live

import (
	"context"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/session"
)

// Clients write and read as the caller.
type Clients struct {
	Installation *session.Client
	// Target makes the client of the cluster that the call is about. It is called when a step needs it, once. Nil: that
	// cluster is the installation's own.
	Target func() (*session.Client, error)
}

// servers are the API servers of a plan, with what is read of them once.
type servers struct {
	installation *session.Client
	target       func() (*session.Client, error)

	mu sync.Mutex
	// inventories are the ids of the Kustomizations that were asked for, storage the versions of the CRDs.
	inventories map[clustermanager.NamespacedName]func() (map[string]bool, error)
	storage     map[storageKey]func() (string, error)
}

type storageKey struct {
	at   clustermanager.Location
	kind schema.GroupKind
}

func newServers(clients Clients) *servers {
	target := clients.Target
	if target == nil {
		target = func() (*session.Client, error) { return clients.Installation, nil }
	}
	return &servers{
		installation: clients.Installation, target: sync.OnceValues(target),
		inventories: map[clustermanager.NamespacedName]func() (map[string]bool, error){},
		storage:     map[storageKey]func() (string, error){},
	}
}

func (s *servers) client(at clustermanager.Location) (*session.Client, error) {
	if at == clustermanager.AtTarget {
		return s.target()
	}
	return s.installation, nil
}

// objects are the client of the objects of a kind in a namespace.
func (s *servers) objects(at clustermanager.Location, of clustermanager.ObjectReference) (dynamic.ResourceInterface, error) {
	client, err := s.client(at)
	if err != nil {
		return nil, err
	}
	kind := schema.FromAPIVersionAndKind(of.APIVersion, of.Kind)
	all := client.Dynamic.Resource(kind.GroupVersion().WithResource(plural(kind.Kind)))
	if of.Namespace == "" {
		return all, nil
	}
	return all.Namespace(of.Namespace), nil
}

// plural is the resource of a kind: all that are written here follow English.
func plural(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "x"), strings.HasSuffix(name, "ch"):
		return name + "es"
	case strings.HasSuffix(name, "y") && !strings.HasSuffix(name, "ay") && !strings.HasSuffix(name, "ey"):
		return name[:len(name)-1] + "ies"
	}
	return name + "s"
}

// get reads an object; nil: it does not exist, or its kind is not served.
func (s *servers) get(ctx context.Context, at clustermanager.Location, reference clustermanager.ObjectReference) (*unstructured.Unstructured, error) {
	objects, err := s.objects(at, reference)
	if err != nil {
		return nil, err
	}
	object, err := objects.Get(ctx, reference.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: reading: %w", reference, err)
	}
	return object, nil
}

// list reads the objects of a selection, sorted as the API server does; none where the kind is not served.
func (s *servers) list(ctx context.Context, at clustermanager.Location, selection clustermanager.Selection) ([]*unstructured.Unstructured, error) {
	objects, err := s.objects(at, clustermanager.ObjectReference{
		APIVersion: selection.APIVersion, Kind: selection.Kind, Namespace: selection.Namespace,
	})
	if err != nil {
		return nil, err
	}
	found, err := objects.List(ctx, metav1.ListOptions{LabelSelector: selection.Labels})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: listing: %w", nameOfSelection(selection), err)
	}
	var chosen []*unstructured.Unstructured
	for index := range found.Items {
		if !excepted(selection.Except, &found.Items[index]) {
			chosen = append(chosen, &found.Items[index])
		}
	}
	return chosen, nil
}

func nameOfSelection(selection clustermanager.Selection) string {
	if selection.Namespace == "" {
		return "every " + selection.Kind
	}
	return "every " + selection.Kind + " in " + selection.Namespace
}

func excepted(matches []clustermanager.Match, object *unstructured.Unstructured) bool {
	for _, match := range matches {
		if match.Field != "" {
			value, found, err := unstructured.NestedFieldNoCopy(object.Object, strings.Split(match.Field, ".")...)
			if err != nil || !found || fmt.Sprint(value) != match.Value {
				continue
			}
		}
		if carries(object.GetLabels(), match.Labels) && (match.Field != "" || len(match.Labels) > 0) {
			return true
		}
	}
	return false
}

// carries says whether labels hold all that are wanted.
func carries(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if actual, there := labels[key]; !there || actual != value {
			return false
		}
	}
	return true
}

var definitions = clustermanager.ObjectReference{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}

// stored is the apiVersion that the CRD of a kind stores; "" when there is no such CRD.
func (s *servers) stored(ctx context.Context, at clustermanager.Location, of clustermanager.ObjectReference) (string, error) {
	kind := schema.GroupKind{Group: of.Group(), Kind: of.Kind}
	return once(s, s.storage, storageKey{at, kind}, func() (string, error) { return s.readStored(ctx, at, kind) })
}

// once makes a read the first time that its key is asked for; who asks while it is under way waits for it. One that failed
// is forgotten.
func once[Key comparable, T any](s *servers, reads map[Key]func() (T, error), key Key, read func() (T, error)) (T, error) {
	s.mu.Lock()
	remembered, there := reads[key]
	if !there {
		remembered = sync.OnceValues(read)
		reads[key] = remembered
	}
	s.mu.Unlock()
	value, err := remembered()
	if err != nil {
		s.mu.Lock()
		delete(reads, key)
		s.mu.Unlock()
	}
	return value, err
}

func (s *servers) readStored(ctx context.Context, at clustermanager.Location, kind schema.GroupKind) (string, error) {
	reference := definitions
	reference.Name = plural(kind.Kind) + "." + kind.Group
	definition, err := s.get(ctx, at, reference)
	if err != nil || definition == nil {
		return "", err
	}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, entry := range versions {
		if version, is := entry.(map[string]any); is && version["storage"] == true {
			return kind.Group + "/" + fmt.Sprint(version["name"]), nil
		}
	}
	return "", fmt.Errorf("%s: it names no storage version", reference)
}

// inInventory says whether the Kustomization has an object in its inventory. An absent Kustomization has none.
func (s *servers) inInventory(ctx context.Context, of clustermanager.NamespacedName, id string) (bool, error) {
	ids, err := once(s, s.inventories, of, func() (map[string]bool, error) { return s.readInventory(ctx, of) })
	return ids[id], err
}

func (s *servers) readInventory(ctx context.Context, of clustermanager.NamespacedName) (map[string]bool, error) {
	kustomization, err := s.get(ctx, clustermanager.AtInstallation, clustermanager.ObjectReference{
		APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: "Kustomization", Namespace: of.Namespace, Name: of.Name,
	})
	if err != nil || kustomization == nil {
		return nil, err
	}
	entries, _, _ := unstructured.NestedSlice(kustomization.Object, "status", "inventory", "entries")
	ids := map[string]bool{}
	for _, entry := range entries {
		if fields, is := entry.(map[string]any); is {
			ids[fmt.Sprint(fields["id"])] = true
		}
	}
	return ids, nil
}
