package survey

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Serving reads the facts that model serving on a cluster is switched on and off from. The error says that the cluster
// was not found, or not unambiguously, or that the context ended; whatever else could not be read stands in the survey
// with its reason.
func (r *Reader) Serving(ctx context.Context, namespace, name string) (clustermanager.Survey, error) {
	cluster, err := r.FindCluster(ctx, namespace, name)
	if err != nil {
		return clustermanager.Survey{}, err
	}
	made := clustermanager.Survey{Now: r.options.Now, Settings: r.options.Settings, Cluster: cluster}
	var reads errgroup.Group
	start := func(read func()) {
		reads.Go(func() error { read(); return nil })
	}
	start(func() { made.Values = clustermanager.Read(r.values(ctx, cluster)) })
	start(func() { made.Network = clustermanager.Read(r.network(ctx, cluster)) })
	start(func() { made.Pools = clustermanager.Read(r.pools(ctx, cluster)) })
	start(func() { made.Target = clustermanager.Read(r.Target(ctx, cluster)) })
	_ = reads.Wait()
	if err := ctx.Err(); err != nil {
		return clustermanager.Survey{}, fmt.Errorf("Cluster %s/%s: reading what model serving is composed from: %w", cluster.Namespace, cluster.Name, err)
	}
	return made, nil
}
