package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// pageSize bounds one answer of a list, concurrentReads the reads that are under way.
	pageSize        = 500
	concurrentReads = 8
)

// Server holds the caller's clients of one API server.
type Server struct {
	Dynamic   dynamic.Interface
	Discovery discovery.DiscoveryInterface
}

// reader reads one API server and gathers what it finds, and what it could not read.
type reader struct {
	server Server
	// of names the server in what could not be read.
	of       string
	settings clustermanager.Settings
	served   map[schema.GroupResource]served
	// namespaces are those that a list is repeated in where all of them together are forbidden.
	namespaces []string
	// read are the sorts of kinds that were read.
	read where

	mu      sync.Mutex
	objects map[clustermanager.ObjectReference]*unstructured.Unstructured
	unread  []string
}

// served is how a resource is served.
type served struct {
	version, kind string
	namespaced    bool
}

// newReader asks the server what it serves. An error is one of reaching it.
func newReader(of string, server Server, settings clustermanager.Settings) (*reader, error) {
	made := &reader{
		server: server, of: of, settings: settings,
		served: map[schema.GroupResource]served{}, objects: map[clustermanager.ObjectReference]*unstructured.Unstructured{},
	}
	_, lists, err := server.Discovery.ServerGroupsAndResources()
	var partly *discovery.ErrGroupDiscoveryFailed
	switch {
	case errors.As(err, &partly):
		for group, cause := range partly.Groups {
			made.miss(group.String()+": discovering", cause)
		}
	case err != nil:
		return nil, fmt.Errorf("%s: discovering what it serves: %w", of, err)
	}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			at := group.WithResource(resource.Name).GroupResource()
			// Versions come with the preferred one first; that of the table wins.
			if _, there := made.served[at]; there && tableVersion(at) != group.Version || strings.Contains(resource.Name, "/") {
				continue
			}
			made.served[at] = served{version: group.Version, kind: resource.Kind, namespaced: resource.Namespaced}
		}
	}
	return made, nil
}

// tableVersion is the version that the tools read a resource at; "": any.
func tableVersion(resource schema.GroupResource) string {
	index := slices.IndexFunc(kinds, func(k kind) bool { return k.groupResource() == resource })
	if index < 0 {
		return ""
	}
	return kinds[index].version
}

func (r *reader) miss(what string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unread = append(r.unread, clustermanager.OneLine(fmt.Sprintf("%s: %s: %v", r.of, what, err), 0))
}

func (r *reader) keep(object *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[clustermanager.ReferenceTo(object).Identity()] = object
}

func (r *reader) has(group, kind, namespace, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects[clustermanager.ObjectReference{APIVersion: group, Kind: kind, Namespace: namespace, Name: name}] != nil
}

// kinds are the kinds of the objects that were read, sorted.
func (r *reader) kinds() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []string
	for reference := range r.objects {
		if !slices.Contains(found, reference.Kind) {
			found = append(found, reference.Kind)
		}
	}
	slices.Sort(found)
	return found
}

// all are the objects that were read of a kind.
func (r *reader) all(kind string) []*unstructured.Unstructured {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*unstructured.Unstructured
	for reference, object := range r.objects {
		if reference.Kind == kind {
			found = append(found, object)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return found
}

// readKinds reads the kinds of the table that are read on such a server, and their definitions. What was read before is not
// read again.
func (r *reader) readKinds(ctx context.Context, on where) {
	before := r.read
	r.read |= on
	wanted := func(k kind) bool { return k.on&on != 0 && k.on&before == 0 }
	for _, early := range []string{"organizations", "namespaces"} {
		for _, k := range kinds {
			if k.resource == early && wanted(k) {
				r.readKind(ctx, k)
			}
		}
	}
	for _, object := range append(r.all("Organization"), r.all("Namespace")...) {
		name := object.GetName()
		if object.GetKind() == "Organization" {
			name = "org-" + name
		}
		if !slices.Contains(r.namespaces, name) {
			r.namespaces = append(r.namespaces, name)
		}
	}
	var reads errgroup.Group
	reads.SetLimit(concurrentReads)
	for _, k := range kinds {
		if !wanted(k) {
			continue
		}
		if k.resource != "organizations" && k.resource != "namespaces" {
			reads.Go(func() error { r.readKind(ctx, k); return nil })
		}
		if strings.Contains(k.group, ".") && !strings.HasSuffix(k.group, ".k8s.io") || k.group == "cluster.x-k8s.io" || k.group == "gateway.networking.k8s.io" {
			reads.Go(func() error { r.get(ctx, definitions.GroupResource(), "", k.groupResource().String()); return nil })
		}
	}
	_ = reads.Wait()
}

// readKind lists a kind as its row says. A kind that is not served has no objects.
func (r *reader) readKind(ctx context.Context, k kind) {
	if _, there := r.served[k.groupResource()]; !there {
		return
	}
	namespaces, selectors := []string{metav1.NamespaceAll}, k.selectors
	if k.namespaces != nil {
		namespaces = k.namespaces(r.settings)
	}
	if len(selectors) == 0 {
		selectors = []string{""}
	}
	for _, namespace := range namespaces {
		for _, selector := range selectors {
			r.list(ctx, k.groupResource(), namespace, selector)
		}
	}
}

// list reads the objects of a resource. Where all namespaces together are forbidden, each is asked.
func (r *reader) list(ctx context.Context, resource schema.GroupResource, namespace, selector string) {
	err := r.pages(ctx, resource, namespace, selector)
	if apierrors.IsForbidden(err) && namespace == metav1.NamespaceAll && r.served[resource].namespaced && len(r.namespaces) > 0 {
		r.miss(resource.String()+" of all namespaces: listing", fmt.Errorf("%w; %d namespaces were asked one by one", err, len(r.namespaces)))
		for _, one := range r.namespaces {
			r.list(ctx, resource, one, selector)
		}
		return
	}
	if err != nil && !apierrors.IsNotFound(err) {
		what := resource.String()
		if namespace != metav1.NamespaceAll {
			what += " of namespace " + namespace
		}
		r.miss(what+": listing", err)
	}
}

func (r *reader) pages(ctx context.Context, resource schema.GroupResource, namespace, selector string) error {
	client := r.server.Dynamic.Resource(resource.WithVersion(r.served[resource].version)).Namespace(namespace)
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, err := client.List(ctx, options)
		if err != nil {
			return err
		}
		for index := range page.Items {
			r.keep(&page.Items[index])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// get reads one object, unless a list brought it. That there is none is no fault.
func (r *reader) get(ctx context.Context, resource schema.GroupResource, namespace, name string) {
	as, there := r.served[resource]
	if !there || name == "" || r.has(resource.Group, as.kind, namespace, name) {
		return
	}
	object, err := r.server.Dynamic.Resource(resource.WithVersion(as.version)).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		r.keep(object)
	case !apierrors.IsNotFound(err):
		r.miss(fmt.Sprintf("%s %s: reading", resource, clustermanager.NamespacedName{Namespace: namespace, Name: name}), err)
	}
}

// resourceOf finds the resource of a kind in what the server serves.
func (r *reader) resourceOf(group, kind string) (schema.GroupResource, bool) {
	for resource, as := range r.served {
		if resource.Group == group && as.kind == kind {
			return resource, true
		}
	}
	return schema.GroupResource{}, false
}
