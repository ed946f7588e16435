package mcptools

import (
	"context"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/compose"
)

const deleteNodePoolDescription = `Remove a node pool that create_node_pool made; with the cluster's last pool the GPU operator, the serving slice (unless another slice is on in its release) and the cluster's backend go too.
Refused while a node of the pool is busy (a pod with a GPU, a KServe predictor, a NodeClaim still launching) or a model waits for one, and where the cluster cannot be read: the refusal names nodes, what holds them and the models to unload, also as {"refused": …}. Idle nodes go with the pool. force skips that guard.
mode apply removes in order; it answers partial and nextStep when time runs out, and the same call goes on. mode commit opens one pull request that takes the files out; commit.liveSteps name what the merge does not do. dryRun lists everything.`

func (t *Tools) deleteNodePool() (Tool, error) {
	return newTool(Tool{
		Name: "delete_node_pool", Title: "Remove a GPU node pool", Kind: Removing, Commits: true, Description: deleteNodePoolDescription,
	}, map[string]func(*jsonschema.Schema){
		"force":  withDefault("false"),
		"mode":   withDefault(strconv.Quote(string(clustermanager.ModeApply))),
		"dryRun": withDefault("false"),
	}, t.handleDeleteNodePool)
}

func (t *Tools) handleDeleteNodePool(ctx context.Context, call Call, request clustermanager.DeleteNodePoolRequest) (clustermanager.WriteResult, error) {
	request = request.WithDefaults()
	if err := compose.CheckDeleteNodePool(request); err != nil {
		return clustermanager.WriteResult{}, err
	}
	ctx, cancel, err := t.begin(ctx, call, request.Mode)
	if err != nil {
		return clustermanager.WriteResult{}, err
	}
	defer cancel()
	reader, err := t.reader(call)
	if err != nil {
		return clustermanager.WriteResult{}, err
	}
	call.Progress(stepSurvey)
	survey, err := reader.NodePoolRemoval(ctx, request)
	if err != nil {
		return clustermanager.WriteResult{}, err
	}
	call.Progress(stepCompose)
	removal, err := compose.RemoveNodePool(request, survey)
	if err != nil {
		return clustermanager.WriteResult{}, err
	}
	result := clustermanager.WriteResult{
		Cluster: survey.Cluster.Name, Namespace: survey.Cluster.Namespace, Pool: request.Name,
		LastPool: removal.LastPool, Warnings: removal.Plan.Warnings,
	}
	result.SliceKept = removal.SliceKept
	return t.carryOut(ctx, call, change{
		tool: "delete_node_pool", mode: request.Mode, dryRun: request.DryRun,
		verb: "remove", names: []string{survey.Cluster.Name, request.Name},
		scope: survey.Cluster.Name, summary: "remove GPU node pool " + request.Name, changes: "remove GPU node pool " + request.Name,
		subject: survey.Cluster.Name + "/" + request.Name,
		survey:  survey.Survey, plan: removal.Plan, liveSteps: removal.LiveSteps,
	}, result)
}
