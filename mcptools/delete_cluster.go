package mcptools

import (
	"context"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
	"github.com/clustermanager/cluster-manager/render/compose"
)

const deleteClusterDescription = `Remove a workload cluster that create_cluster made, in several calls with the same arguments. The first takes back its registration with model-manager and removes its release, source and values; pools, operator and serving go with the cluster (withCluster, models). Once it is gone, another call removes what the uninstall left. Not found with {"notFound": {"nothingLeft": true}} says that the removal is complete.
mode commit opens one pull request that removes the cluster's directory, its Flux Kustomization and its entry; commit.liveSteps says what the merge does not do.
Refused: the installation's own cluster, a release that create_cluster did not make, that another Kustomization applies or that helm-controller has not reconciled since its last write, a cluster that the repository does not carry.`

func (t *Tools) deleteCluster() (Tool, error) {
	return newTool(Tool{
		Name: "delete_cluster", Title: "Delete a workload cluster", Kind: Removing, Commits: true,
		Description: deleteClusterDescription,
	}, map[string]func(*jsonschema.Schema){
		"mode":   withDefault(strconv.Quote(string(clustermanager.ModeApply))),
		"dryRun": withDefault("false"),
	}, t.handleDeleteCluster)
}

func (t *Tools) handleDeleteCluster(ctx context.Context, call Call, request clustermanager.DeleteClusterRequest) (clustermanager.WriteResult, error) {
	request = request.WithDefaults()
	return write[clustermanager.RemoveClusterSurvey]{
		tool: "delete_cluster", mode: request.Mode, dryRun: request.DryRun, refused: compose.CheckClusterRemoval(request, t.options.Settings),
		read: func(ctx context.Context, reader *survey.Reader) (clustermanager.RemoveClusterSurvey, error) {
			return reader.RemoveCluster(ctx, request)
		},
		decide: func(facts clustermanager.RemoveClusterSurvey) (change, clustermanager.WriteResult, error) {
			removal, err := compose.RemoveCluster(request, facts)
			return change{
					verb: "remove-cluster", names: []string{request.Name},
					scope: request.Organization, summary: "remove workload cluster " + request.Name, changes: "remove workload cluster " + request.Name,
					subject: request.Name,
					survey:  clustermanager.Survey{Now: facts.Now, Settings: facts.Settings, Cluster: facts.Cluster, Target: facts.Target},
					plan:    removal.Plan, liveSteps: removal.LiveSteps,
				}, clustermanager.WriteResult{
					Cluster: facts.Cluster.Name, Namespace: facts.Cluster.Namespace,
					WithCluster: removal.WithCluster, Models: removal.Models, ModelsNote: removal.ModelsNote, NextStep: removal.NextStep,
				}, err
		},
	}.carryOut(ctx, t, call)
}
