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
	if err := compose.CheckEnableServing(request); err != nil {
		return clustermanager.WriteResult{}, err
	}
	return t.changeServing(ctx, call, servingChange{
		tool: "enable_model_serving", verb: "enable-serving", summary: "enable model serving", changes: "change model serving",
		mode: request.Mode, dryRun: request.DryRun,
		read: func(ctx context.Context, reader *survey.Reader) (clustermanager.Survey, composeServing, error) {
			facts, err := reader.Serving(ctx, request.Namespace, request.Cluster)
			return facts, func() (compose.Serving, error) { return compose.EnableServing(request, facts) }, err
		},
	})
}

// servingChange is what the two serving tools differ in.
type servingChange struct {
	tool, verb, summary, changes string
	mode                         clustermanager.Mode
	dryRun                       bool
	// read reads the facts that compose decides from.
	read func(ctx context.Context, reader *survey.Reader) (clustermanager.Survey, composeServing, error)
}

type composeServing func() (compose.Serving, error)

func (t *Tools) changeServing(ctx context.Context, call Call, asked servingChange) (clustermanager.WriteResult, error) {
	ctx, cancel, err := t.begin(ctx, call, asked.mode)
	if err != nil {
		return clustermanager.WriteResult{}, err
	}
	defer cancel()
	reader, err := t.reader(call)
	if err != nil {
		return clustermanager.WriteResult{}, err
	}
	call.Progress(stepSurvey)
	survey, compose, err := asked.read(ctx, reader)
	if err != nil {
		return clustermanager.WriteResult{}, err
	}
	call.Progress(stepCompose)
	serving, err := compose()
	if err != nil {
		return clustermanager.WriteResult{}, err
	}
	result := clustermanager.WriteResult{
		Cluster: survey.Cluster.Name, Namespace: survey.Cluster.Namespace,
		GPUOperator: survey.GPUOperator, Serving: serving.Serving, ServingResult: serving.ServingResult, Warnings: serving.Plan.Warnings,
	}
	return t.carryOut(ctx, call, change{
		tool: asked.tool, mode: asked.mode, dryRun: asked.dryRun,
		verb: asked.verb, names: []string{survey.Cluster.Name},
		scope: survey.Cluster.Name, summary: asked.summary, changes: asked.changes, subject: survey.Cluster.Name,
		survey: survey, plan: serving.Plan, liveSteps: serving.LiveSteps,
	}, result)
}
