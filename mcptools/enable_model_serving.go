package mcptools

import (
	"context"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
	"github.com/clustermanager/cluster-manager/render/compose"
)

const enableModelServingDescription = `Switch model serving on for a cluster, with or without a GPU pool: the serving slice, which is the cluster's one release of the agent-platform chart, and the cluster's backend with model-manager. The slice takes after the installation's own platform release (chart version, identity, domain); a workload cluster's models answer at models.<cluster>.<base domain>. A slice that exists is updated in place; serving that somebody else provides is refused.
With exactly one GPU pool predictors are pinned to it. cache true mounts the model cache's claim, which is billed every month it exists; false serves without it; left out, the slice keeps its setting. A claim is moved to another zone by create_node_pool with zones.
mode commit opens one pull request with the slice's files, and registers the cluster once it is open.`

func (t *Tools) enableModelServing() (Tool, error) {
	return newTool(Tool{
		Name: "enable_model_serving", Title: "Switch model serving on", Kind: Adding, Commits: true,
		Description: enableModelServingDescription,
	}, servingArguments(), t.handleEnableModelServing)
}

// servingArguments refine the arguments that both serving tools have.
func servingArguments() map[string]func(*jsonschema.Schema) {
	return map[string]func(*jsonschema.Schema){
		"mode":   withDefault(strconv.Quote(string(clustermanager.ModeApply))),
		"dryRun": withDefault("false"),
	}
}

func (t *Tools) handleEnableModelServing(ctx context.Context, call Call, request clustermanager.EnableModelServingRequest) (clustermanager.WriteResult, error) {
	request = request.WithDefaults()
	return write[clustermanager.Survey]{
		tool: "enable_model_serving", mode: request.Mode, dryRun: request.DryRun, refused: compose.CheckEnableServing(request),
		read: func(ctx context.Context, reader *survey.Reader) (clustermanager.Survey, error) {
			return reader.Serving(ctx, request.Namespace, request.Cluster)
		},
		decide: func(facts clustermanager.Survey) (change, clustermanager.WriteResult, error) {
			serving, err := compose.EnableServing(request, facts)
			decided, result := servingDecided(facts, serving)
			decided.verb, decided.summary, decided.changes = "enable-serving", "enable model serving", "change model serving"
			return decided, result, err
		},
	}.carryOut(ctx, t, call)
}

// servingDecided is what the serving tools have in common.
func servingDecided(facts clustermanager.Survey, serving compose.Serving) (change, clustermanager.WriteResult) {
	cluster := facts.Cluster
	return change{
			names: []string{cluster.Name}, scope: cluster.Name, subject: cluster.Name,
			survey: facts, plan: serving.Plan, liveSteps: serving.LiveSteps,
		}, clustermanager.WriteResult{
			Cluster: cluster.Name, Namespace: cluster.Namespace,
			GPUOperator: facts.GPUOperator, Serving: serving.Serving, ServingResult: serving.ServingResult,
		}
}
