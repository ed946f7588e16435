package compose

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// interval is how often Flux looks at a source and at a release; retries how often a failed install or upgrade is
// tried again. Both hold for every release.
const (
	interval = "10m"
	retries  = int64(3)
)

// owned starts an object that is composed for a cluster: its labels, and the Cluster as its owner when the UID is known.
func owned(cluster clustermanager.Cluster, reference clustermanager.ObjectReference, labels map[string]string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion(reference.APIVersion)
	object.SetKind(reference.Kind)
	object.SetNamespace(reference.Namespace)
	object.SetName(reference.Name)
	object.SetLabels(labels)
	if cluster.UID != "" {
		set(object.Object, []any{map[string]any{
			"apiVersion": clustermanager.ClusterAPI.String(), "kind": "Cluster", "name": cluster.Name, "uid": cluster.UID,
		}}, "metadata", "ownerReferences")
	}
	return object
}

// ociRepositorySpec is the spec of every release's source.
func ociRepositorySpec(source catalog.Source) map[string]any {
	ref := map[string]any{"semver": source.Range}
	if source.Tag != "" {
		ref = map[string]any{"tag": source.Tag}
	}
	return map[string]any{"interval": interval, "url": source.URL, "ref": ref}
}

// helmReleaseSpec is what the specs of all releases have in common; the source is called as the release.
func helmReleaseSpec(name, releaseName string) map[string]any {
	return map[string]any{
		"interval":    interval,
		"releaseName": releaseName,
		"chartRef":    map[string]any{"kind": "OCIRepository", "name": name},
		"install":     map[string]any{"remediation": map[string]any{"retries": retries}},
		"upgrade":     map[string]any{"remediation": map[string]any{"retries": retries}},
	}
}

// set puts a value at a path, making the maps on the way. A path runs through maps alone.
func set(object map[string]any, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		next, ok := object[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			object[key] = next
		}
		object = next
	}
	object[path[len(path)-1]] = value
}

// replaceCRDs lets a release bring and update the definitions of its chart.
func replaceCRDs(spec map[string]any) {
	set(spec, "CreateReplace", "install", "crds")
	set(spec, "CreateReplace", "upgrade", "crds")
}

// releaseSteps are a release without a Secret of its own: source, then release.
func (b *base) releaseSteps(objects clustermanager.ReleaseObjects, chart string, source catalog.Source, spec map[string]any) []clustermanager.Step {
	var steps []clustermanager.Step
	for _, part := range []struct {
		reference clustermanager.ObjectReference
		spec      map[string]any
	}{{objects.Source, ociRepositorySpec(source)}, {objects.Release, spec}} {
		object := owned(b.survey.Cluster, part.reference, b.labels(chart))
		object.Object["spec"] = part.spec
		steps = append(steps, clustermanager.Step{Verb: clustermanager.Ensure, Lane: clustermanager.Declared, Object: object})
	}
	return steps
}
