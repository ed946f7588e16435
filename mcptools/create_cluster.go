package mcptools

import (
	"context"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
	"github.com/clustermanager/cluster-manager/render/compose"
)

const createClusterDescription = `Create a workload cluster in org-<organization>, or bring one that this tool made along. Its values are the given ones with name, organization, description, release and cloud identity on top, checked against the release chart's own schema first; a value that contradicts an argument is refused, and so are credentials in mode commit.
release: none takes the newest active one; a re-run without it keeps the cluster's; releaseNote names a newer one that was not taken. list_releases says which are offered.
The cluster trusts the installation's identity provider (global.controlPlane.oidc in values wins whole), and its creator and the organization's admins are cluster-admin on it (global.apps.rbacBootstrap.values.bindings in values replaces them, [] binds nobody).
mode commit opens one pull request as the caller: the cluster's files, the Flux Kustomization that applies them, and its entry, all proven to build. dryRun shows every file and object that changes.`

func (t *Tools) createCluster() (Tool, error) {
	return newTool(Tool{
		Name: "create_cluster", Title: "Create or update a workload cluster", Kind: Adding, Commits: true,
		Description: createClusterDescription,
	}, map[string]func(*jsonschema.Schema){
		"provider": withEnum(clustermanager.ClusterProviders()...),
		"mode":     withDefault(strconv.Quote(string(clustermanager.ModeApply))),
		"dryRun":   withDefault("false"),
	}, t.handleCreateCluster)
}

func (t *Tools) handleCreateCluster(ctx context.Context, call Call, request clustermanager.CreateClusterRequest) (clustermanager.WriteResult, error) {
	request = request.WithDefaults()
	return write[clustermanager.NewClusterSurvey]{
		tool: "create_cluster", mode: request.Mode, dryRun: request.DryRun, refused: compose.CheckCluster(request),
		read: func(ctx context.Context, reader *survey.Reader) (clustermanager.NewClusterSurvey, error) {
			return reader.NewCluster(ctx, request, call.Caller.Email)
		},
		decide: func(facts clustermanager.NewClusterSurvey) (change, clustermanager.WriteResult, error) {
			cluster, err := compose.Cluster(request, facts)
			return change{
					verb: "create-cluster", names: []string{request.Name},
					scope: request.Organization, summary: "add workload cluster " + request.Name, changes: "change workload cluster " + request.Name,
					subject: request.Name,
					survey:  clustermanager.Survey{Now: facts.Now, Settings: facts.Settings, Cluster: facts.Cluster, Target: cluster.Target},
					plan:    cluster.Plan, shown: cluster.Shown,
				}, clustermanager.WriteResult{
					Cluster: facts.Cluster.Name, Namespace: facts.Cluster.Namespace,
					Release: cluster.Release.Name, ReleaseNote: cluster.ReleaseNote,
					ChartVersion: cluster.Release.Version, KubernetesVersion: cluster.Release.Kubernetes,
					OIDC: &cluster.OIDC, RBAC: &cluster.RBAC,
				}, err
		},
	}.carryOut(ctx, t, call)
}
