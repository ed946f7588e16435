package mcptools

import (
	"context"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
	"github.com/clustermanager/cluster-manager/render/compose"
)

const disableModelServingDescription = `Take model serving off a cluster: the serving slice that cluster-manager created, and the cluster's backend. Refused while models are served on the cluster (named), unless force; refused, force or not, where the slice is not cluster-manager's, and where slice or cluster cannot be read. The claims of the model cache stay and are billed until remove_model_cache removes them.
mode apply tears serving down in order; it answers partial and nextStep when time runs out, and the same call goes on. mode commit opens one pull request that takes the slice's files out; commit.liveSteps name what the merge does not do.`

func (t *Tools) disableModelServing() (Tool, error) {
	arguments := servingArguments()
	arguments["force"] = withDefault("false")
	return newTool(Tool{
		Name: "disable_model_serving", Title: "Switch model serving off", Kind: Removing, Commits: true,
		Description: disableModelServingDescription,
	}, arguments, t.handleDisableModelServing)
}

func (t *Tools) handleDisableModelServing(ctx context.Context, call Call, request clustermanager.DisableModelServingRequest) (clustermanager.WriteResult, error) {
	request = request.WithDefaults()
	return write[clustermanager.ServingRemovalSurvey]{
		tool: "disable_model_serving", mode: request.Mode, dryRun: request.DryRun, refused: compose.CheckDisableServing(request),
		read: func(ctx context.Context, reader *survey.Reader) (clustermanager.ServingRemovalSurvey, error) {
			return reader.ServingRemoval(ctx, request)
		},
		decide: func(facts clustermanager.ServingRemovalSurvey) (change, clustermanager.WriteResult, error) {
			serving, err := compose.DisableServing(request, facts)
			decided, result := servingDecided(facts.Survey, serving)
			decided.verb, decided.summary, decided.changes = "disable-serving", "disable model serving", "disable model serving"
			return decided, result, err
		},
	}.carryOut(ctx, t, call)
}
