package mcptools

import (
	"context"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/compose"
)

// remainder is what a removal still would do.
type remainder struct {
	// words are the live steps of a proposal.
	words []string
	plan  clustermanager.Plan
	// survey has what the plan's writes need.
	survey clustermanager.Survey
	// main is the object that the removal is about.
	main clustermanager.ObjectReference
}

// removal reads and composes the removal that a change is about, in a mode. Guards are left out: nothing is written.
type removal func(ctx context.Context, of *changeParts, mode clustermanager.Mode) (remainder, error)

// removals are the tools whose merge may leave live steps.
var removals = map[string]removal{
	"delete_node_pool":      leftOfPool,
	"disable_model_serving": leftOfServing,
	"delete_cluster":        leftOfCluster,
}

func leftOfPool(ctx context.Context, of *changeParts, mode clustermanager.Mode) (remainder, error) {
	request := clustermanager.DeleteNodePoolRequest{Cluster: of.subject.Cluster, Namespace: of.namespace, Name: of.subject.Pool, Force: true, Mode: mode}
	facts, err := of.reader.NodePoolRemoval(ctx, request)
	if err != nil {
		return remainder{}, err
	}
	made, err := compose.RemoveNodePool(request, facts)
	return remainder{made.LiveSteps, made.Plan, facts.Survey, clustermanager.NodePool(facts.Cluster, request.Name).Release}, err
}

func leftOfServing(ctx context.Context, of *changeParts, mode clustermanager.Mode) (remainder, error) {
	request := clustermanager.DisableModelServingRequest{Cluster: of.subject.Cluster, Namespace: of.namespace, Force: true, Mode: mode}
	facts, err := of.reader.ServingRemoval(ctx, request)
	if err != nil {
		return remainder{}, err
	}
	made, err := compose.DisableServing(request, facts)
	return remainder{made.LiveSteps, made.Plan, facts.Survey, clustermanager.SliceReference(facts.Cluster)}, err
}

// leftOfCluster takes the organization from the scope of the commit's title, which is that of a cluster's own removal.
func leftOfCluster(ctx context.Context, of *changeParts, mode clustermanager.Mode) (remainder, error) {
	request := clustermanager.DeleteClusterRequest{Organization: of.subject.Scope, Name: of.subject.Cluster, Mode: mode}
	facts, err := of.reader.RemoveCluster(ctx, request)
	if err != nil {
		return remainder{}, err
	}
	made, err := compose.RemoveCluster(request, facts)
	survey := clustermanager.Survey{Now: facts.Now, Settings: facts.Settings, Cluster: facts.Cluster, Target: facts.Target}
	return remainder{made.LiveSteps, made.Plan, survey, clustermanager.ClusterRelease(facts.Cluster).Release}, err
}
