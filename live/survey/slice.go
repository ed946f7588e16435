package survey

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// slice is the release of ours that serves models on the cluster; nil: none of ours has its name.
func (r *Reader) slice(ctx context.Context, cluster clustermanager.Cluster) (*clustermanager.Slice, error) {
	reference := clustermanager.SliceReference(cluster)
	release, err := r.get(ctx, helmReleaseNoun, reference.Namespace, reference.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !owned(release):
		return nil, nil
	}
	found, err := r.sliceOf(ctx, cluster.Name, release)
	if err != nil {
		return nil, err
	}
	return &found, nil
}

// sliceValues are the values of a slice that decide something. They follow no schema of an API server.
var sliceValues = shape{
	text:  {"spec values global domain", "spec values gitops targetNamespace", "spec values modelServing cache pvc name"},
	truth: {"spec values modelServing cache enabled", "spec values components " + componentGatewayAPI + " enabled"},
}

// releasedSlice is what a slice's release says of it alone.
func releasedSlice(cluster string, release *unstructured.Unstructured) (clustermanager.Slice, error) {
	if fault := sliceValues.faultOf(release.Object); fault != "" {
		return clustermanager.Slice{}, fmt.Errorf("%s: reading its values: %s", clustermanager.ReferenceTo(release), fault)
	}
	return clustermanager.Slice{
		ReleaseUptake: uptakeOf(release), Cluster: cluster, Release: nameOf(release), Owned: owned(release),
		Values:   clustermanager.NewValues(runtime.DeepCopyJSON(mapAt(release.Object, "spec", "values"))),
		Deployed: deployedVersion(release), Removing: deleting(release),
	}, nil
}

// sliceOf is what a slice's release and the OCIRepository of its name say.
func (r *Reader) sliceOf(ctx context.Context, cluster string, release *unstructured.Unstructured) (clustermanager.Slice, error) {
	found, err := releasedSlice(cluster, release)
	if err != nil {
		return found, err
	}
	source, err := r.get(ctx, ociRepositoryNoun, release.GetNamespace(), release.GetName())
	switch {
	case apierrors.IsNotFound(err):
		found.Removing = true
	case err != nil:
		return found, err
	default:
		// Flux follows the range where both are set.
		if found.Range = textAt(source.Object, "spec", "ref", "semver"); found.Range == "" {
			found.Tag = textAt(source.Object, "spec", "ref", "tag")
		}
	}
	return found, nil
}

// otherSlices are the releases of the slice's chart in the cluster's namespace that are labelled for other clusters.
func (r *Reader) otherSlices(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.Slice, error) {
	releases, err := r.list(ctx, helmReleaseNoun, cluster.Namespace, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{
		clustermanager.LabelChart: clustermanager.ChartAgentPlatform,
	}).String()})
	if err != nil {
		return nil, err
	}
	releases = slices.DeleteFunc(slices.Clone(releases), func(release unstructured.Unstructured) bool {
		of := release.GetLabels()[clustermanager.LabelCluster]
		return of == "" || of == cluster.Name
	})
	found := make([]clustermanager.Slice, len(releases))
	var reads errgroup.Group
	reads.SetLimit(maxParallel)
	for index := range releases {
		release := &releases[index]
		reads.Go(func() (err error) {
			found[index], err = r.sliceOf(ctx, release.GetLabels()[clustermanager.LabelCluster], release)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b clustermanager.Slice) int { return cmp.Compare(a.Release.Name, b.Release.Name) })
	return found, nil
}

// checkSecondSlice refuses a release of the slice's chart for the cluster under another name than the slice's. The
// platform is none, and neither is what it or the slice rendered.
func (r *Reader) checkSecondSlice(ctx context.Context, cluster clustermanager.Cluster, platform clustermanager.NamespacedName) error {
	releases, err := r.list(ctx, helmReleaseNoun, cluster.Namespace, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{
		clustermanager.LabelCluster: cluster.Name,
	}).String()})
	if err != nil {
		return err
	}
	slice := clustermanager.NamespacedName{Namespace: cluster.Namespace, Name: clustermanager.SliceReference(cluster).Name}
	known := []clustermanager.NamespacedName{slice, platform}
	var others []string
	for index := range releases {
		release := &releases[index]
		if slices.Contains(known, nameOf(release)) || slices.Contains(known, renderedBy(release.GetLabels())) {
			continue
		}
		chart, err := r.chartOf(ctx, release)
		if err != nil {
			return err
		}
		if chart == clustermanager.ChartAgentPlatform {
			others = append(others, clustermanager.ReferenceTo(release).String())
		}
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	return clustermanager.Refuse("%s: it is a release of the chart %s for cluster %s under another name than %s, and a cluster has one: remove it, or let it serve and give serving false",
		strings.Join(others, ", "), clustermanager.ChartAgentPlatform, cluster.Name, slice.Name)
}

// chartOf is the chart of a HelmRelease: its label's, else that of spec.chart, else the last part of the URL of the
// OCIRepository that it names; "" where none tells.
func (r *Reader) chartOf(ctx context.Context, release *unstructured.Unstructured) (string, error) {
	for _, name := range []string{
		release.GetLabels()[clustermanager.LabelChart], textAt(release.Object, "spec", "chart", "spec", "chart"),
	} {
		if name != "" {
			return name, nil
		}
	}
	reference := mapAt(release.Object, "spec", "chartRef")
	if textAt(reference, "kind") != ociRepositoryNoun.kind {
		return "", nil
	}
	namespace := textAt(reference, "namespace")
	if namespace == "" {
		namespace = release.GetNamespace()
	}
	// One list for the sources of every release of the namespace, where one request each would be many.
	sources, err := r.list(ctx, ociRepositoryNoun, namespace, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for index := range sources {
		if sources[index].GetName() == textAt(reference, "name") {
			url := textAt(sources[index].Object, "spec", "url")
			return url[strings.LastIndex(url, "/")+1:], nil
		}
	}
	return "", nil
}
