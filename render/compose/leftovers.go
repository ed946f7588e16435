package compose

import (
	"cmp"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// leftovers composes what a pool whose release is gone left: after a merge that removed it, a creation that was closed
// unmerged, or a teardown that was cut. In mode commit there is nothing to propose then.
func (r *nodePoolRemoval) leftovers() (PoolRemoval, error) {
	gone := &clustermanager.NotFound{What: r.objects.Release.String(), Suffix: "nothing of the pool is left; list_node_pools shows the cluster's pools, list_clusters its clusters"}
	if short := r.shortName(); short != "" {
		gone.Suffix = "a pool is named without its cluster: " + short
		return PoolRemoval{}, gone
	}
	if r.mode == clustermanager.ModeCommit {
		gone.Suffix = "there is nothing to propose; what it may have left on the cluster is removed in mode apply, and list_node_pools shows the cluster's pools"
		return PoolRemoval{}, gone
	}
	releases, err := need(r.base, r.survey.Pools, "its GPU pools")
	if err != nil {
		return PoolRemoval{}, err
	}
	r.last = len(releases) == 0
	if r.last && r.sliceGoing() {
		r.steps = append(r.steps, r.goingSlice()...)
	}
	r.leftRegistration()
	if r.last && r.sliceGone() {
		r.steps = append(r.steps, r.teardown().left()...)
	}
	if len(r.steps) == 0 {
		for _, warning := range r.warnings {
			gone.Suffix += "; " + warning
		}
		return PoolRemoval{}, gone
	}
	return PoolRemoval{Plan: clustermanager.Plan{Steps: r.steps, Warnings: r.warnings}, LastPool: r.last}, nil
}

// shortName is the name of the pool whose release is called as the request names a pool; "": there is none.
func (r *nodePoolRemoval) shortName() string {
	for _, pool := range r.survey.Pools.Or(nil) {
		if pool.Name == r.request.Name {
			return pool.Pool
		}
	}
	return ""
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
	r.steps = append(r.steps, r.registrations()...)
}

// left removes what the slice left on the cluster: what an earlier teardown, or a merge that removed the slice without
// one, did not come to. Where somebody else serves, configurations and models are theirs.
func (t teardown) left() []clustermanager.Step {
	configs, known := t.configs.Get()
	if !known {
		t.warn("%s: what serving left on it could not be read: %s", t.cluster(), t.configs.Reason())
		return nil
	}
	var purges []clustermanager.Step
	if models := t.survey.Serving.Models.Or(nil); slices.ContainsFunc(models, func(model clustermanager.ServedModel) bool { return model.Managed }) {
		purges = append(purges, t.models())
	}
	for _, namespace := range distinct([]string{catalog.SliceNamespace(), t.survey.Cluster.Namespace}) {
		if slices.ContainsFunc(configs, func(config clustermanager.ObjectReference) bool { return config.Namespace == namespace }) {
			purges = append(purges, configurationsOf(namespace))
		}
	}
	if why := t.keptByAnother(); why != "" && len(purges) > 0 {
		t.warn("%s: %s, so its configurations and models are left", t.cluster(), why)
		purges = nil
	}
	return append(purges, t.remains()...)
}

// keptByAnother says why configurations and models may be another's than our slice's; "": they are not.
func (t teardown) keptByAnother() string {
	component := t.survey.Serving.Component
	controller := controllerRuns(t.survey.Serving.Configs)
	runs, known := controller.Get()
	switch {
	case !known:
		return "whether a controller runs on it that no slice of ours brought is not known (" + controller.Reason() + ")"
	case runs:
		return "a controller runs on it that no slice of ours brought"
	case component.Status == clustermanager.ComponentUnknown:
		return "whether somebody else serves models on it is not known (" + component.Reason + ")"
	case !component.ComposedHere():
		return "somebody else serves models on it (" + cmp.Or(strings.Join(component.Evidence, "; "), string(component.Provider)) + ")"
	}
	return ""
}
