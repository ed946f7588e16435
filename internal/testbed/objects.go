package testbed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// fieldManager is who a bed applies as.
const fieldManager = "testbed"

var definitionsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Client reads and writes objects of any kind as one identity.
type Client struct {
	dynamic.Interface
	kinds  discovery.DiscoveryInterface
	mapper meta.RESTMapper
}

// NewClient makes a client of a bed's configuration.
func NewClient(config *rest.Config) (*Client, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("test bed: making a client: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("test bed: making a client: %w", err)
	}
	return &Client{objects, kinds, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}, nil
}

// Of returns the client of an object's resource, in its namespace.
func (c *Client) Of(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: asking for its resource: %w", name(object), err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return c.Resource(mapping.Resource), nil
	}
	return c.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
}

// Apply applies objects one after the other, server-side. A field that the kind does not have is an error.
func (c *Client) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		resource, err := c.Of(object)
		if err != nil {
			return err
		}
		if err := apply(ctx, resource, object); err != nil {
			return err
		}
	}
	return nil
}

func apply(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	content, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("%s: encoding: %w", name(object), err)
	}
	force := true
	_, err = resource.Patch(ctx, object.GetName(), types.ApplyPatchType, content, metav1.PatchOptions{
		FieldManager: fieldManager, Force: &force, FieldValidation: metav1.FieldValidationStrict,
	})
	if err != nil {
		return fmt.Errorf("%s: applying: %w", name(object), err)
	}
	return nil
}

func name(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
}

// installDefinitions applies the definitions of the bed's sets, and returns when the API server serves them.
func (b *Bed) installDefinitions(ctx context.Context) error {
	definitions, err := b.definitions()
	if err != nil || len(definitions) == 0 {
		return err
	}
	client, err := NewClient(b.Admin())
	if err != nil {
		return err
	}
	group, groupContext := errgroup.WithContext(ctx)
	// More at once make the API server slower, not faster.
	group.SetLimit(4)
	for _, definition := range definitions {
		group.Go(func() error { return apply(groupContext, client.Resource(definitionsResource), definition) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("test bed: %w", err)
	}
	for _, definition := range definitions {
		if err := Eventually(ctx, func(context.Context) error { return client.serves(definition) }); err != nil {
			return fmt.Errorf("test bed: %s: waiting until it is served: %w", name(definition), err)
		}
	}
	return nil
}

// serves asks whether the API server serves the versions of a definition. It does when the definition is established;
// to ask for that condition would bring the whole schema each time.
func (c *Client) serves(definition *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		fields, ok := version.(map[string]any)
		if !ok || fields["served"] != true {
			continue
		}
		served, err := c.kinds.ServerResourcesForGroupVersion(fmt.Sprint(group, "/", fields["name"]))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(served.APIResources, func(one metav1.APIResource) bool { return one.Name == plural }) {
			return fmt.Errorf("version %s: it is not served", fields["name"])
		}
	}
	return nil
}

// definitions reads the definitions of the bed's sets.
func (b *Bed) definitions() ([]*unstructured.Unstructured, error) {
	sets := slices.Clone(b.options.Definitions)
	for _, one := range []struct {
		on   bool
		sets []Set
	}{
		{b.options.Flux, []Set{FluxSource, FluxKustomize}},
		{b.options.Helm, []Set{FluxSource, FluxHelm}},
		{b.options.Tenancy, []Set{FluxHelm}},
	} {
		if one.on {
			sets = append(sets, one.sets...)
		}
	}
	if len(sets) == 0 {
		return nil, nil
	}
	return readSets(b.modules, sets)
}
