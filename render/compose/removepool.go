package compose

import (
	"fmt"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// PoolRemoval is a composed removal: what to do, and what an answer tells about it.
type PoolRemoval struct {
	Plan clustermanager.Plan
	// LastPool says that it is the cluster's last pool, which takes operator and serving with it.
	LastPool bool
	// SliceKept says that the serving slice stays, because another slice is on in its release.
	SliceKept bool
	// LiveSteps are what a merge does not do.
	LiveSteps []string
}

// CheckDeleteNodePool refuses what needs no read.
func CheckDeleteNodePool(request clustermanager.DeleteNodePoolRequest) error {
	if err := request.Validate(); err != nil {
		return err
	}
	return checkModeName(request.WithDefaults().Mode)
}

// nodePoolRemoval is the decision to remove a pool.
type nodePoolRemoval struct {
	*base
	request clustermanager.DeleteNodePoolRequest
	facts   clustermanager.NodePoolRemovalSurvey
	release clustermanager.PoolReleaseFacts
	objects clustermanager.NodePoolObjects
	// last says that it is the cluster's last pool, goes that the serving slice goes with it.
	last  bool
	slice *clustermanager.Slice
	steps []clustermanager.Step
}

// RemoveNodePool composes the removal of a pool as one list of steps: idle nodes, then with the cluster's last pool the
// serving slice in its order and the GPU operator, then the pool's own objects, its release the very last, so that a
// re-run finds the pool and goes on from there. Of a pool whose release is gone it composes what that left. An error is
// a *clustermanager.Refusal or a *clustermanager.NotFound.
func RemoveNodePool(request clustermanager.DeleteNodePoolRequest, facts clustermanager.NodePoolRemovalSurvey) (PoolRemoval, error) {
	if err := CheckDeleteNodePool(request); err != nil {
		return PoolRemoval{}, err
	}
	r := &nodePoolRemoval{
		base:    &base{survey: facts.Survey, mode: request.WithDefaults().Mode},
		request: request, facts: facts, objects: clustermanager.NodePool(facts.Cluster, request.Name),
	}
	there, err := r.readRelease()
	if err != nil {
		return PoolRemoval{}, err
	}
	if !there {
		return r.leftovers()
	}
	if err := establishAll(r.readLast, r.guardNodes, r.checkReconciled, r.guardRelease, r.readSlice, r.compose); err != nil {
		return PoolRemoval{}, err
	}
	return PoolRemoval{
		Plan:     r.carried(clustermanager.Plan{Steps: r.steps, Warnings: r.warnings}, r.objects.Release),
		LastPool: r.last, SliceKept: r.last && r.slice != nil && !r.goes(), LiveSteps: r.liveSteps(),
	}, nil
}

// readRelease takes the release that is to go; false: there is none. One that this product did not make is refused.
func (r *nodePoolRemoval) readRelease() (bool, error) {
	reference := r.objects.Release
	reading := r.survey.Live[clustermanager.LiveKey(reference)]
	live, known := reading.Get()
	switch {
	case !known:
		return false, clustermanager.Refuse("%s: whether it exists and whose it is could not be read: %s; see to that, then call again", reference, reading.Reason())
	case live == nil:
		return false, nil
	}
	if err := r.checkOwned(r.step(reference, clustermanager.Declared), *live); err != nil {
		return false, err
	}
	release := r.facts.Pool.Release
	found, known := release.Get()
	if !known || found == nil {
		return false, clustermanager.Refuse("%s: what it says of its pool could not be read: %s; see to that, then call again", reference, release.Reason())
	}
	r.release = *found
	return true, nil
}

// checkOwned refuses an object of a pool that another made.
func (r *nodePoolRemoval) checkOwned(step clustermanager.Step, live clustermanager.LiveObject) error {
	if live.Labels[clustermanager.LabelManagedBy] != clustermanager.ManagedBy {
		return clustermanager.Refuse("%s: cluster-manager did not create it, so it is not removed: remove it where it comes from", step.Reference())
	}
	if theirs := otherLabels(step.Object.GetLabels(), live.Labels); len(theirs) > 0 {
		return clustermanager.Refuse("%s: it belongs to another release of ours (%s): name that cluster and pool", step.Reference(), strings.Join(theirs, ", "))
	}
	return nil
}

// readLast says whether the pool is the cluster's last: no other has a release, whoever made it, and no node of another
// offers a GPU. Nodes that cannot be read do not count under force.
func (r *nodePoolRemoval) readLast() error {
	releases, err := need(r.base, r.survey.Pools, "its GPU pools")
	if err != nil {
		return err
	}
	r.last = !slices.ContainsFunc(releases, func(other clustermanager.PoolRelease) bool { return other.Name != r.objects.Release.Name })
	nodes, known := r.survey.Nodes.Get()
	switch {
	case !r.last:
	case !known && r.request.Force:
		r.warn("%s: whether another pool has nodes with GPUs could not be read, so this counts as its last: %s", r.cluster(), r.survey.Nodes.Reason())
	case !known && r.facts.Pool.Readable():
		return clustermanager.Refuse("%s: whether another pool has nodes with GPUs could not be read, so whether GPU operator and serving go with the pool cannot be told: %s; see to that and call again, or call with force", r.cluster(), r.survey.Nodes.Reason())
	case known:
		r.last = !slices.ContainsFunc(nodes, func(node clustermanager.Node) bool {
			pool := node.Labels[clustermanager.LabelMachinePool]
			return node.GPUs > 0 && pool != "" && pool != r.objects.Release.Name
		})
	}
	return nil
}

// guardNodes keeps a pool whose nodes are in use, unless it is forced.
func (r *nodePoolRemoval) guardNodes() error {
	found := findInUse(r.facts, r.last)
	switch {
	case found == nil:
	case r.request.Force:
		r.warn("%s; it goes all the same, by force", found.text)
	default:
		return found.refusal
	}
	return nil
}

func (r *nodePoolRemoval) checkReconciled() error {
	return checkReconciled(r.objects.Release, r.release.ReleaseUptake, r.release.DeletedAt != nil)
}

// guardRelease: what a Kustomization applies is removed in its repository alone.
func (r *nodePoolRemoval) guardRelease() error {
	if r.mode == clustermanager.ModeCommit {
		if err := r.survey.Target.Err(); err != nil {
			return err
		}
	}
	return r.guard(r.step(r.objects.Release, clustermanager.Declared))
}

// readSlice takes the slice that goes with the last pool.
func (r *nodePoolRemoval) readSlice() (err error) {
	if !r.last {
		return nil
	}
	r.slice, err = need(r.base, r.survey.Serving.Slice, "its serving slice")
	if err == nil && r.slice != nil && !r.goes() {
		r.warn("%s: the release stays, since it carries another slice too (%s)", clustermanager.SliceReference(r.survey.Cluster), strings.Join(otherComponents(r.slice.Values.Reveal()), ", "))
	}
	return err
}

func (r *nodePoolRemoval) goes() bool { return sliceGoes(r.slice) }

// compose puts the steps in their order.
func (r *nodePoolRemoval) compose() error {
	r.removeIdleNodes()
	if r.last {
		if err := r.composeLast(); err != nil {
			return err
		}
	} else {
		r.rewriteBackend()
	}
	for _, reference := range r.objects.References() {
		if err := r.remove(reference); err != nil {
			return err
		}
	}
	if r.last {
		r.composeEnd()
	}
	return nil
}

// composeLast removes what the cluster's last pool takes with it.
func (r *nodePoolRemoval) composeLast() error {
	teardown := r.teardown()
	if r.goes() {
		steps, err := teardown.configurations(r.slice.TargetNamespace())
		if err != nil {
			return err
		}
		r.steps = append(r.steps, steps...)
	}
	operator := clustermanager.OperatorObjects(r.survey.Cluster)
	parts, err := r.removePart(clustermanager.ChartGPUOperator, operator.Release, operator.Source)
	if err != nil {
		return err
	}
	r.steps = append(r.steps, parts...)
	if r.goes() || r.sliceGone() {
		r.steps = append(r.steps, r.registrations()...)
	}
	if !r.goes() {
		return nil
	}
	parts, err = teardown.release(r.slice)
	r.steps = append(r.steps, parts...)
	return err
}

// composeEnd removes what the slice put onto the cluster beside its releases, once they are gone.
func (r *nodePoolRemoval) composeEnd() {
	if r.goes() || r.sliceGone() {
		r.steps = append(r.steps, r.teardown().remains()...)
	}
}

// step removes an object of the pool.
func (r *nodePoolRemoval) step(reference clustermanager.ObjectReference, lane clustermanager.Lane) clustermanager.Step {
	labels := r.labels(clustermanager.ChartGPUNodePool)
	labels[clustermanager.LabelNodePool] = r.request.Name
	return clustermanager.Step{Verb: clustermanager.Remove, Lane: lane, Object: owned(clustermanager.Cluster{}, reference, labels)}
}

// remove adds the removal of an object of the pool. One that another made is refused.
func (r *nodePoolRemoval) remove(reference clustermanager.ObjectReference) error {
	step := r.step(reference, clustermanager.Declared)
	if live := r.survey.Live[clustermanager.LiveKey(reference)].Or(nil); live != nil {
		if err := r.checkOwned(step, *live); err != nil {
			return err
		}
	}
	r.steps = append(r.steps, step)
	return r.guard(step)
}

// removeIdleNodes takes the nodes first that hold nothing: Karpenter drains them while the rest goes.
func (r *nodePoolRemoval) removeIdleNodes() {
	for _, state := range nodeStates(r.facts.Pool) {
		if !state.idle {
			continue
		}
		reference := clustermanager.ObjectReference{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: state.claim}
		r.steps = append(r.steps, clustermanager.Step{
			Verb: clustermanager.Remove, Lane: clustermanager.Teardown, At: clustermanager.AtTarget, Ownership: clustermanager.Labelled,
			Object: owned(clustermanager.Cluster{}, reference, map[string]string{"karpenter.sh/nodepool": r.objects.Release.Name}),
			WayOut: "ask for the right to delete nodeclaims.karpenter.sh on the cluster, or wait until Karpenter has removed the pool's idle nodes, about ten minutes after their last pod, then call again",
		})
	}
}

// rewriteBackend registers the cluster anew with the pools that remain.
func (r *nodePoolRemoval) rewriteBackend() {
	own := clustermanager.BackendReference(r.survey.Cluster, r.survey.Settings)
	backends, known := r.survey.Serving.Backends.Get()
	if !known {
		r.warn("which backends cluster %s is registered under could not be read, so its document still names the pool: %s", r.survey.Cluster.Name, r.survey.Serving.Backends.Reason())
		return
	}
	var document string
	registered := false
	for _, backend := range backends {
		if backend.Owned && backend.Of(r.survey.Cluster) {
			registered = true
			if backend.ConfigMap.Name == own.Name {
				document = backend.Document
			}
		}
	}
	if !registered {
		return
	}
	step, err := r.remainingBackend(own, document)
	if err != nil {
		r.warn("%s: it could not be composed for the pools that remain, so it still names the pool: %v", own, err)
		return
	}
	if lookup(step.Object.Object, "data", backendKey) != document {
		r.steps = append(r.steps, step)
	}
	for _, registration := range r.registrations() {
		if registration.Reference() != own {
			r.steps = append(r.steps, registration)
		}
	}
}

// liveSteps are what the merge leaves to a person. What the owner does with its objects when it is deleted itself
// (spec.deletionPolicy) does not matter here, since it stays.
func (r *nodePoolRemoval) liveSteps() []string {
	target, known := r.survey.Target.Get()
	if r.mode != clustermanager.ModeCommit || !known {
		return nil
	}
	const again = "call delete_node_pool in mode apply with the same arguments"
	var steps []string
	switch {
	case !target.Prune:
		steps = append(steps, fmt.Sprintf("Kustomization %s does not prune, so the merge removes no release: after it %s, which removes the pool in order", target.Kustomization, again))
	case r.last && r.goes():
		steps = append(steps, "the merge removes the releases as Flux deletes them, without the ordered teardown of serving: after it "+again+", which removes what that leaves: serving configurations, served models, the serving namespace, the definitions of the Gateway API")
	}
	if slices.ContainsFunc(r.steps, func(step clustermanager.Step) bool { return step.Lane == clustermanager.Runtime }) {
		steps = append(steps, "if the pull request is closed unmerged, call create_node_pool for the pool again to register the backend anew")
	}
	return steps
}
