package mcptools

import (
	"context"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
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
	if err := compose.CheckClusterRemoval(request, t.options.Settings); err != nil {
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
	survey, err := reader.RemoveCluster(ctx, request)
	if err != nil {
		return clustermanager.WriteResult{}, err
	}
	call.Progress(stepCompose)
	removal, err := compose.RemoveCluster(request, survey)
	if err != nil {
		return clustermanager.WriteResult{}, err
	}
	result := clustermanager.WriteResult{
		Cluster: survey.Cluster.Name, Namespace: survey.Cluster.Namespace, Mode: request.Mode, DryRun: request.DryRun,
		Objects:     []clustermanager.Change{},
		WithCluster: removal.WithCluster, Models: removal.Models, ModelsNote: removal.ModelsNote,
		Warnings: removal.Plan.Warnings, NextStep: removal.NextStep,
	}
	if len(removal.Plan.Steps) == 0 {
		return result, nil
	}
	return t.carryOut(ctx, call, change{
		tool: "delete_cluster", mode: request.Mode, dryRun: request.DryRun,
		verb: "remove-cluster", names: []string{request.Name},
		scope: request.Organization, summary: "remove workload cluster " + request.Name, changes: "remove workload cluster " + request.Name,
		subject: request.Name,
		survey:  clustermanager.Survey{Now: survey.Now, Settings: survey.Settings, Cluster: survey.Cluster, Target: survey.Target},
		plan:    removal.Plan, liveSteps: removal.LiveSteps,
	}, result)
}
