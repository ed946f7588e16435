package survey

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// pools are the cluster's releases of the pool chart.
func (r *Reader) pools(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.PoolRelease, error) {
	releases, err := r.list(ctx, helmReleaseNoun, cluster.Namespace, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{
		clustermanager.LabelChart: clustermanager.ChartGPUNodePool, clustermanager.LabelCluster: cluster.Name,
	}).String()})
	if err != nil {
		return nil, err
	}
	found := []clustermanager.PoolRelease{}
	for index := range releases {
		pool, err := poolOf(cluster, &releases[index])
		if err != nil {
			return nil, err
		}
		found = append(found, pool)
	}
	slices.SortFunc(found, func(a, b clustermanager.PoolRelease) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// poolValues are the values of a pool's release that are read. They follow no schema of an API server.
var poolValues = shape{
	text:  {"spec values pool accelerator", "spec values pool sizes *", "spec values pool zones *"},
	truth: {"spec values pool prewarm enabled"},
}

// poolOf is what a pool's release says in its labels and inline values. With the error what the values tell is left out.
func poolOf(cluster clustermanager.Cluster, release *unstructured.Unstructured) (clustermanager.PoolRelease, error) {
	pool := clustermanager.PoolRelease{
		Name: release.GetName(), Pool: release.GetLabels()[clustermanager.LabelNodePool],
		Owned: owned(release), Deleting: deleting(release),
	}
	if pool.Pool == "" {
		pool.Pool = strings.TrimPrefix(release.GetName(), clustermanager.ReleaseName(cluster, ""))
	}
	if fault := poolValues.faultOf(release.Object); fault != "" {
		return pool, fmt.Errorf("%s: reading its values: %s", clustermanager.ReferenceTo(release), fault)
	}
	values := mapAt(release.Object, "spec", "values", "pool")
	pool.Accelerator, pool.Sizes, pool.Zones = textAt(values, "accelerator"), textsAt(values, "sizes"), textsAt(values, "zones")
	return pool, nil
}
