package compose

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// interval is how often Flux looks at a source and at a release; retries how often a failed install or upgrade is
// tried again. Both hold for every release.
const (
	interval = "10m"
	retries  = int64(3)
)

// chartSource is where a release gets its chart: exactly one of tag and semver is set.
type chartSource struct{ url, tag, semver string }

// newChartSource pins the chart, or without a pin lets it follow from the floor to the next major version.
func newChartSource(url, pin, floor string) (chartSource, error) {
	if pin != "" {
		return chartSource{url: url, tag: pin}, nil
	}
	version, err := semver.NewVersion(floor)
	if err != nil {
		return chartSource{}, fmt.Errorf("chart %s: parsing the floor %q: %w", url, floor, err)
	}
	return chartSource{url: url, semver: fmt.Sprintf(">=%s <%d.0.0", version, version.Major()+1)}, nil
}

// version is the tag, else the floor of the range.
func (s chartSource) version() string {
	if s.tag != "" {
		return s.tag
	}
	floor, _, _ := strings.Cut(strings.TrimPrefix(s.semver, ">="), " ")
	return floor
}

// before says whether the chart's version is below the one given.
func (s chartSource) before(version string) bool { return versionBefore(s.version(), version) }

// versionBefore compares two versions; a prerelease is below its version. What is no version is before nothing.
func versionBefore(version, floor string) bool {
	have, haveErr := semver.NewVersion(version)
	want, wantErr := semver.NewVersion(floor)
	return haveErr == nil && wantErr == nil && have.LessThan(want)
}

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
func ociRepositorySpec(source chartSource) map[string]any {
	ref := map[string]any{"semver": source.semver}
	if source.tag != "" {
		ref = map[string]any{"tag": source.tag}
	}
	return map[string]any{"interval": interval, "url": source.url, "ref": ref}
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
