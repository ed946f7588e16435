package mcptools

import (
	"context"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
	"github.com/clustermanager/cluster-manager/render/compose"
)

const removeModelCacheDescription = `Remove a cluster's model cache: the claims of its serving namespace, billed every month they exist. What they hold is lost; claim names one, else all go. Where cluster-manager's slice mounts one, the cache is switched off in it first: every predictor then downloads its weights at each start.
Refused while a pod mounts a claim that would go, with the models to unload in {"refused": …}; where somebody else provides serving; where cluster, claims or pods cannot be read. Claims are no files, so mode commit answers what to do instead.`

func (t *Tools) removeModelCache() (Tool, error) {
	return newTool(Tool{
		Name: "remove_model_cache", Title: "Remove the model cache", Kind: Removing, Description: removeModelCacheDescription,
	}, map[string]func(*jsonschema.Schema){
		"mode":   withDefault(strconv.Quote(string(clustermanager.ModeApply))),
		"dryRun": withDefault("false"),
	}, t.handleRemoveModelCache)
}

func (t *Tools) handleRemoveModelCache(ctx context.Context, call Call, request clustermanager.RemoveModelCacheRequest) (clustermanager.WriteResult, error) {
	request = request.WithDefaults()
	return write[clustermanager.CacheRemovalSurvey]{
		// Mode commit is answered with its way out, which no authorization is needed for.
		tool: "remove_model_cache", mode: clustermanager.ModeApply, dryRun: request.DryRun, refused: compose.CheckRemoveCache(request),
		read: func(ctx context.Context, reader *survey.Reader) (clustermanager.CacheRemovalSurvey, error) {
			return reader.CacheRemoval(ctx, request)
		},
		decide: func(facts clustermanager.CacheRemovalSurvey) (change, clustermanager.WriteResult, error) {
			serving, err := compose.RemoveCache(request, facts)
			decided, result := servingDecided(facts.Survey, serving)
			return decided, result, err
		},
	}.carryOut(ctx, t, call)
}
