package mcptools

import (
	"context"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
	"github.com/clustermanager/cluster-manager/render/compose"
)

const createNodePoolDescription = `Create a GPU node pool of a cluster, or change the pool of that name to what the arguments say (an option that is left out goes back to its default, but for cache; dryRun shows what changes). The release follows the cluster's Kubernetes version, machine image and registry settings.
With the pool come, each where nobody else provides it: the GPU operator; the serving slice (the cluster's one release of the agent-platform chart, see enable_model_serving); the cluster's backend with model-manager. serving false is a plain pool: no slice, no backend.
mode commit seals the Secret, proves that Flux builds the tree, and opens one pull request as the caller; a re-run with the same arguments answers that pull request. mode apply writes as the caller, and leaves alone what someone else made or Flux applies from git; where it answers partial and nextStep, the same call goes on.
zones pins the nodes to zones of the cluster's node subnets. cache true mounts one claim, a volume that lives in one zone, is billed every month, and pins the nodes to its zone; false serves without it; left out, the slice keeps its setting. prewarm is for the installation's own cluster only.
The answer's sizes name each machine and its list price; presetFit the smallest size that hosts each serving preset.`

func (t *Tools) createNodePool() (Tool, error) {
	return newTool(Tool{
		Name: "create_node_pool", Title: "Create or update a GPU node pool", Kind: Adding, Commits: true,
		Description: createNodePoolDescription,
	}, map[string]func(*jsonschema.Schema){
		"name":        withPattern(clustermanager.NodePoolNamePattern),
		"accelerator": all(withEnum(catalog.AcceleratorNames()...), withDefault(strconv.Quote(clustermanager.DefaultAccelerator))),
		"maxGpus": all(func(schema *jsonschema.Schema) { schema.Minimum = jsonschema.Ptr(1.0) },
			withDefault(strconv.Itoa(clustermanager.DefaultMaxGPUs))),
		"serving": withDefault("true"),
		"mode":    withDefault(strconv.Quote(string(clustermanager.ModeApply))),
		"prewarm": withDefault("false"),
		"dryRun":  withDefault("false"),
	}, t.handleCreateNodePool)
}

func (t *Tools) handleCreateNodePool(ctx context.Context, call Call, request clustermanager.CreateNodePoolRequest) (clustermanager.WriteResult, error) {
	request = request.WithDefaults()
	if err := compose.CheckNodePool(request); err != nil {
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
	survey, err := reader.NodePool(ctx, request)
	if err != nil {
		return clustermanager.WriteResult{}, err
	}
	call.Progress(stepCompose)
	pool, err := compose.NodePool(request, survey)
	if err != nil {
		return clustermanager.WriteResult{}, err
	}
	result := clustermanager.WriteResult{
		Cluster: survey.Cluster.Name, Namespace: survey.Cluster.Namespace, Pool: request.Name,
		ChartVersion: pool.ChartVersion, KubernetesVersion: pool.KubernetesVersion,
		ControlPlaneVersion: pool.ControlPlaneVersion, MachineImage: pool.MachineImage,
		Sizes: pool.Sizes, Zones: pool.Zones, ZonesNote: pool.ZonesNote, Warnings: pool.Plan.Warnings,
		GPUOperator: pool.GPUOperator, Serving: pool.Serving, ServingResult: pool.ServingResult,
	}
	return t.carryOut(ctx, call, change{
		tool: "create_node_pool", mode: request.Mode, dryRun: request.DryRun,
		verb: "add", names: []string{survey.Cluster.Name, request.Name},
		scope: survey.Cluster.Name, summary: "add GPU node pool " + request.Name, changes: "change GPU node pool " + request.Name,
		subject: survey.Cluster.Name + "/" + request.Name,
		survey:  survey, plan: pool.Plan,
	}, result)
}
