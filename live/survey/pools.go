package survey

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	for _, object := range releases {
		pool := object.GetLabels()[clustermanager.LabelNodePool]
		if pool == "" {
			pool = strings.TrimPrefix(object.GetName(), clustermanager.ReleaseName(cluster, ""))
		}
		found = append(found, clustermanager.PoolRelease{
			Name: object.GetName(), Pool: pool,
			Owned: object.GetLabels()[clustermanager.LabelManagedBy] == clustermanager.ManagedBy,
		})
	}
	slices.SortFunc(found, func(a, b clustermanager.PoolRelease) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}
