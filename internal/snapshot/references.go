package snapshot

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	secrets    = schema.GroupResource{Resource: "secrets"}
	configMaps = schema.GroupResource{Resource: "configmaps"}
)

// references are where objects of a kind name others by apiVersion, kind and name.
var references = map[string][][]string{
	"Cluster":     {{"spec", "controlPlaneRef"}, {"spec", "infrastructureRef"}},
	"MachinePool": {{"spec", "template", "spec", "infrastructureRef"}},
}

// readReferenced reads what the installation's objects name: control planes, infrastructure, values and variables.
func (r *reader) readReferenced(ctx context.Context) {
	for kind, paths := range references {
		for _, object := range r.all(kind) {
			for _, path := range paths {
				r.follow(ctx, object, path)
			}
		}
	}
	var namespaces []string
	for _, kind := range []string{"Cluster", "Kustomization"} {
		for _, object := range r.all(kind) {
			if !slices.Contains(namespaces, object.GetNamespace()) {
				namespaces = append(namespaces, object.GetNamespace())
			}
		}
	}
	slices.Sort(namespaces)
	for _, namespace := range namespaces {
		r.list(ctx, configMaps, namespace, "")
	}
	for _, cluster := range r.all("Cluster") {
		r.get(ctx, secrets, cluster.GetNamespace(), cluster.GetName()+kubeconfigSuffix)
	}
	for _, release := range r.all("HelmRelease") {
		r.readSourcesOf(ctx, release, "spec", "valuesFrom")
		if release.GetLabels()["app.kubernetes.io/name"] == "gpu-node-pool" {
			r.get(ctx, secrets, release.GetNamespace(), release.GetName()+"-values")
		}
	}
	for _, kustomization := range r.all("Kustomization") {
		r.readSourcesOf(ctx, kustomization, "spec", "postBuild", "substituteFrom")
	}
}

// readSourcesOf reads the Secrets and ConfigMaps of a list of {kind, name}.
func (r *reader) readSourcesOf(ctx context.Context, object *unstructured.Unstructured, path ...string) {
	entries, _, _ := unstructured.NestedSlice(object.Object, path...)
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		name, _ := fields["name"].(string)
		switch fields["kind"] {
		case "Secret":
			r.get(ctx, secrets, object.GetNamespace(), name)
		case "ConfigMap":
			r.get(ctx, configMaps, object.GetNamespace(), name)
		}
	}
}

// follow reads the object that a reference names, and the definition of its kind.
func (r *reader) follow(ctx context.Context, from *unstructured.Unstructured, path []string) {
	reference, _, _ := unstructured.NestedStringMap(from.Object, path...)
	group, err := schema.ParseGroupVersion(reference["apiVersion"])
	if err != nil || reference["kind"] == "" {
		return
	}
	resource, there := r.resourceOf(group.Group, reference["kind"])
	if !there {
		return
	}
	namespace := reference["namespace"]
	if namespace == "" {
		namespace = from.GetNamespace()
	}
	// Tools read it at the version that the reference names.
	as := r.served[resource]
	as.version = group.Version
	r.served[resource] = as
	r.get(ctx, resource, namespace, reference["name"])
	r.get(ctx, definitions.GroupResource(), "", resource.String())
}
