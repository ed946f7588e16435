package compose

import (
	"slices"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// sliceGoing says that the cluster's slice is ours and is being deleted, by a merge that removed it or by hand.
func (r *nodePoolRemoval) sliceGoing() bool {
	live := r.survey.Live[clustermanager.LiveKey(clustermanager.SliceReference(r.survey.Cluster))].Or(nil)
	return live != nil && live.DeletedAt != nil && live.Labels[clustermanager.LabelManagedBy] == clustermanager.ManagedBy
}

// goingSlice lets a slice go that is being deleted without the ordered teardown. Flux takes all that it brought at the same
// time; where the controller goes first, the configurations keep the finalizer that it alone takes off, and hold their
// release, which holds the slice, for ever.
func (r *nodePoolRemoval) goingSlice() []clustermanager.Step {
	teardown, slice := r.teardown(), clustermanager.SliceReference(r.survey.Cluster)
	steps := []clustermanager.Step{awaitController()}
	if slices.ContainsFunc(r.survey.Serving.Models.Or(nil), func(model clustermanager.ServedModel) bool { return model.Managed }) {
		steps = append(steps, teardown.models())
	}
	configs, known := r.facts.Configs.Get()
	if !known {
		r.warn("%s: which serving configurations are left on it could not be read, and %s may wait for them: %s", r.cluster(), slice, r.facts.Configs.Reason())
		return nil
	}
	for _, namespace := range distinct([]string{catalog.SliceNamespace(), r.survey.Cluster.Namespace}) {
		if slices.ContainsFunc(configs, func(config clustermanager.ObjectReference) bool { return config.Namespace == namespace }) {
			steps = append(steps, configurationsOf(namespace))
		}
	}
	steps = append(steps, teardown.awaitRelease(slice.Name))
	return append(steps, teardown.remains()...)
}
