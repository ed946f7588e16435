package mcptools

import (
	"context"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
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
	return write[clustermanager.Survey]{
		tool: "create_node_pool", mode: request.Mode, dryRun: request.DryRun, refused: compose.CheckNodePool(request),
		read: func(ctx context.Context, reader *survey.Reader) (clustermanager.Survey, error) {
			return reader.NodePool(ctx, request)
		},
		decide: func(facts clustermanager.Survey) (change, clustermanager.WriteResult, error) {
			pool, err := compose.NodePool(request, facts)
			cluster := facts.Cluster
			return change{
					verb: "add", names: []string{cluster.Name, request.Name},
					scope: cluster.Name, summary: "add GPU node pool " + request.Name, changes: "change GPU node pool " + request.Name,
					subject: cluster.Name + "/" + request.Name, survey: facts, plan: pool.Plan,
				}, clustermanager.WriteResult{
					Cluster: cluster.Name, Namespace: cluster.Namespace, Pool: request.Name,
					ChartVersion: pool.ChartVersion, KubernetesVersion: pool.KubernetesVersion,
					ControlPlaneVersion: pool.ControlPlaneVersion, MachineImage: pool.MachineImage,
					Sizes: pool.Sizes, Zones: pool.Zones, ZonesNote: pool.ZonesNote,
					GPUOperator: pool.GPUOperator, Serving: pool.Serving, ServingResult: pool.ServingResult,
				}, err
		},
	}.carryOut(ctx, t, call)
}
