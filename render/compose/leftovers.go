package compose

import (
	"slices"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// leftovers composes what a pool whose release is gone left: after a merge that removed it, a creation that was closed
// unmerged, or a teardown that was cut. In mode commit there is nothing to propose then.
func (r *nodePoolRemoval) leftovers() (PoolRemoval, error) {
	gone := &clustermanager.NotFound{What: r.objects.Release.String(), Suffix: "nothing of the pool is left; list_node_pools shows the cluster's pools, list_clusters its clusters"}
	if r.mode == clustermanager.ModeCommit {
		gone.Suffix = "there is nothing to propose; what it may have left on the cluster is removed in mode apply, and list_node_pools shows the cluster's pools"
		return PoolRemoval{}, gone
	}
	releases, err := need(r.base, r.survey.Pools, "its GPU pools")
	if err != nil {
		return PoolRemoval{}, err
	}
	r.last = len(releases) == 0
	r.leftRegistration()
	if r.last && r.sliceGone() {
		r.leftServing()
	}
	if len(r.steps) == 0 {
		for _, warning := range r.warnings {
			gone.Suffix += "; " + warning
		}
		return PoolRemoval{}, gone
	}
	return PoolRemoval{Plan: clustermanager.Plan{Steps: r.steps, Warnings: r.warnings}, LastPool: r.last}, nil
}

// leftRegistration writes the cluster's backend document for the pools that are left, or removes it.
func (r *nodePoolRemoval) leftRegistration() {
	if !r.last {
		r.rewriteBackend()
		return
	}
	if !r.sliceGone() {
		return
	}
	if err := r.survey.Serving.Backends.Err(); err != nil {
		r.warn("which backends cluster %s is registered under could not be read: %v", r.survey.Cluster.Name, err)
		return
	}
	r.steps = append(r.steps, (&removal{base: r.base}).registrations()...)
}

// leftServing removes what the slice left on the cluster.
func (r *nodePoolRemoval) leftServing() {
	configs, known := r.facts.Configs.Get()
	if !known {
		r.warn("%s: what serving left on it could not be read: %s", r.cluster(), r.facts.Configs.Reason())
		return
	}
	teardown := r.teardown()
	var purges []clustermanager.Step
	if models := r.survey.Serving.Models.Or(nil); slices.ContainsFunc(models, func(model clustermanager.ServedModel) bool { return model.Managed }) {
		purges = append(purges, teardown.models())
	}
	for _, namespace := range distinct([]string{catalog.SliceNamespace(), r.survey.Cluster.Namespace}) {
		if slices.ContainsFunc(configs, func(config clustermanager.ObjectReference) bool { return config.Namespace == namespace }) {
			purges = append(purges, configurationsOf(namespace))
		}
	}
	switch {
	case len(purges) > 0 && r.survey.Serving.Configs.Or(clustermanager.ServingConfigs{}).ControllerRuns:
		r.warn("%s: a controller runs on it that no slice of ours brought, so its configurations and models are left", r.cluster())
	default:
		r.steps = append(r.steps, purges...)
	}
	r.steps = append(r.steps, teardown.remains()...)
}
