package survey

import (
	"context"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// GPUOperator is gpuOperator for tests.
func (r *Reader) GPUOperator(ctx context.Context, cluster clustermanager.Cluster) clustermanager.Component {
	return r.gpuOperator(ctx, cluster)
}

// ServingComponent is servingComponent for tests.
func (r *Reader) ServingComponent(ctx context.Context, cluster clustermanager.Cluster) clustermanager.Component {
	return r.servingComponent(ctx, cluster)
}
