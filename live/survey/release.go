package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// providers are the first part of a Release's name, by the kind of the cluster's infrastructure object.
var providers = map[string]string{
	"AWSCluster":        "aws",
	"AWSManagedCluster": "eks",
	"AzureCluster":      "azure",
	"GCPCluster":        "gcp",
	"VCDCluster":        "cloud-director",
	"VSphereCluster":    "vsphere",
}

// pins are the versions of the Release that the Cluster's label names. A component that the Release does not name stays
// empty.
func (r *Reader) pins(ctx context.Context, cluster clustermanager.Cluster) (clustermanager.ReleasePins, error) {
	version := withoutV(cluster.Release)
	if version == "" {
		return clustermanager.ReleasePins{}, fmt.Errorf("Cluster %s/%s: reading its release: it has no label %s",
			cluster.Namespace, cluster.Name, clustermanager.LabelRelease)
	}
	releases, err := r.listAny(ctx, releaseNoun, "", metav1.ListOptions{})
	if err != nil {
		return clustermanager.ReleasePins{}, err
	}
	releases, err = r.wellFormed(slices.DeleteFunc(slices.Clone(releases), func(object unstructured.Unstructured) bool {
		return !strings.HasSuffix(object.GetName(), "-"+version)
	}), nil)
	if err != nil {
		return clustermanager.ReleasePins{}, err
	}
	found, err := r.chooseRelease(ctx, cluster, version, releases)
	if err != nil {
		return clustermanager.ReleasePins{}, err
	}
	components := map[string]string{}
	for _, component := range mapsAt(found.Object, "spec", "components") {
		components[textAt(component, "name")] = withoutV(textAt(component, "version"))
	}
	return clustermanager.ReleasePins{
		Release: version, Kubernetes: components["kubernetes"], Flatcar: components["flatcar"],
		OSTooling: components["os-tooling"],
	}, nil
}

// chooseRelease takes the one Release of the version, or of several the one for the cluster's provider.
func (r *Reader) chooseRelease(ctx context.Context, cluster clustermanager.Cluster, version string, releases []unstructured.Unstructured) (*unstructured.Unstructured, error) {
	switch len(releases) {
	case 0:
		return nil, fmt.Errorf("Release *-%s: reading: it does not exist", version)
	case 1:
		return &releases[0], nil
	}
	object, err := r.get(ctx, clusterNoun, cluster.Namespace, cluster.Name)
	if err != nil {
		return nil, err
	}
	kind := textAt(object.Object, "spec", "infrastructureRef", "kind")
	for index := range releases {
		if provider := providers[kind]; provider != "" && releases[index].GetName() == provider+"-"+version {
			return &releases[index], nil
		}
	}
	var names []string
	for _, object := range releases {
		names = append(names, object.GetName())
	}
	slices.Sort(names)
	return nil, fmt.Errorf("Release *-%s: choosing one of %s: none is for the cluster's infrastructure kind %q",
		version, strings.Join(names, ", "), kind)
}

func withoutV(version string) string { return strings.TrimPrefix(version, "v") }
