package survey

import (
	"context"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// ServingRemoval reads the facts that the removal of a cluster's model serving is decided from. Its errors are NodePool's.
func (r *Reader) ServingRemoval(ctx context.Context, request clustermanager.DisableModelServingRequest) (clustermanager.ServingRemovalSurvey, error) {
	var parts clustermanager.ClusterParts
	var configs clustermanager.Reading[[]clustermanager.ObjectReference]
	survey, err := r.survey(ctx, request.Namespace, request.Cluster, func(made *clustermanager.Survey, _ func() effectiveValues, start func(func())) {
		cluster, serving := made.Cluster, &made.Serving
		start(func() { made.Live = r.liveObjects(ctx, r.objectsOfServing(cluster)) })
		start(func() { made.GPUOperator = r.gpuOperator(ctx, cluster) })
		start(func() { parts = r.parts(ctx, cluster) })
		start(func() { configs = clustermanager.Read(r.everyConfig(ctx, cluster)) })
		r.startServing(ctx, cluster, serving, start)
	})
	return clustermanager.ServingRemovalSurvey{Survey: survey, Parts: parts, Configs: configs}, err
}

// startServing reads what a removal of serving is decided from, whichever tool it is of.
func (r *Reader) startServing(ctx context.Context, cluster clustermanager.Cluster, serving *clustermanager.ServingSurvey, start func(func())) {
	for _, read := range []func(){
		func() { serving.Component = r.servingComponent(ctx, cluster) },
		func() { serving.Slice = clustermanager.Read(r.slice(ctx, cluster)) },
		func() { serving.Backends = clustermanager.Read(r.backends(ctx, cluster)) },
		func() { serving.Models = clustermanager.Read(r.models(ctx, cluster)) },
		func() { serving.Namespace = clustermanager.Read(r.servingNamespace(ctx, cluster)) },
		func() { serving.GatewayAPI = clustermanager.Read(r.gatewayAPI(ctx, cluster)) },
		func() { serving.Configs = clustermanager.Read(r.servingConfigs(ctx, cluster, cluster.Namespace)) },
		func() { serving.Endpoint = clustermanager.Read(r.endpoint(ctx, cluster)) },
	} {
		start(read)
	}
}
