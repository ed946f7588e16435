package mcptools

import (
	"context"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
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
	return write[clustermanager.NodePoolRemovalSurvey]{
		tool: "delete_node_pool", mode: request.Mode, dryRun: request.DryRun, refused: compose.CheckDeleteNodePool(request),
		read: func(ctx context.Context, reader *survey.Reader) (clustermanager.NodePoolRemovalSurvey, error) {
			return reader.NodePoolRemoval(ctx, request)
		},
		decide: func(facts clustermanager.NodePoolRemovalSurvey) (change, clustermanager.WriteResult, error) {
			removal, err := compose.RemoveNodePool(request, facts)
			cluster := facts.Cluster
			result := clustermanager.WriteResult{Cluster: cluster.Name, Namespace: cluster.Namespace, Pool: request.Name, LastPool: removal.LastPool}
			result.SliceKept = removal.SliceKept
			return change{
				verb: "remove", names: []string{cluster.Name, request.Name},
				scope: cluster.Name, summary: "remove GPU node pool " + request.Name, changes: "remove GPU node pool " + request.Name,
				subject: cluster.Name + "/" + request.Name,
				survey:  facts.Survey, plan: removal.Plan, liveSteps: removal.LiveSteps,
			}, result, err
		},
	}.carryOut(ctx, t, call)
}
