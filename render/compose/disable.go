package compose

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// CheckDisableServing refuses what needs no read.
func CheckDisableServing(request clustermanager.DisableModelServingRequest) error {
	return checkServingCall(request.Cluster, request.WithDefaults().Mode)
}

// removal is the decision to take serving off a cluster.
type removal struct {
	*base
	teardown teardown
	force    bool
	slice    *clustermanager.Slice
	// others are the components of another slice that the release carries, sorted; with one the release stays.
	others []string
}

// DisableServing takes the serving slice off a cluster in order, and its registration. A release that carries another
// slice too stays, with serving switched off in it. Of a slice that is gone it composes what that left. In mode commit
// the ordered teardown on the cluster itself is left to the call that LiveSteps name. An error is a
// *clustermanager.Refusal or a *clustermanager.NotFound.
func DisableServing(request clustermanager.DisableModelServingRequest, facts clustermanager.ServingRemovalSurvey) (Serving, error) {
	if err := CheckDisableServing(request); err != nil {
		return Serving{}, err
	}
	r := removal{base: &base{survey: facts.Survey, mode: request.WithDefaults().Mode}, force: request.Force}
	r.teardown = teardown{r.base, facts.Parts, facts.Configs}
	if err := establishAll(r.checkTarget, r.readSlice); err != nil {
		return Serving{}, err
	}
	compose := r.compose
	if r.slice == nil {
		compose = r.leftovers
	}
	steps, err := compose()
	if err != nil {
		return Serving{}, err
	}
	served := Serving{Serving: facts.Serving.Component, LiveSteps: r.liveSteps(steps)}
	served.SliceKept = len(r.others) > 0
	served.Plan = r.carried(clustermanager.Plan{Steps: steps, Warnings: r.warnings}, clustermanager.SliceReference(r.survey.Cluster))
	return served, nil
}

// readSlice takes the release to remove; nil: there is none. One that cannot be read is not removed, force or not.
func (r *removal) readSlice() error {
	reference := clustermanager.SliceReference(r.survey.Cluster)
	found, err := need(r.base, r.survey.Serving.Slice, "its serving slice")
	if err != nil {
		return err
	}
	live, err := need(r.base, r.survey.Live[clustermanager.LiveKey(reference)], "whose "+reference.String()+" is")
	switch {
	case err != nil:
		return err
	case found == nil && live == nil:
		return nil
	case found == nil || !found.Owned:
		return clustermanager.Refuse("%s: it exists and cluster-manager did not create it, so it is not removed: remove it where it comes from", reference)
	}
	r.slice = found
	r.others = otherComponents(found.Values.Reveal())
	if len(r.others) > 0 && found.Tag == "" && found.Range == "" {
		return clustermanager.Refuse("%s: it carries another slice too (%s) and its OCIRepository is gone, so it cannot be written anew: see to that first", reference, strings.Join(r.others, ", "))
	}
	return nil
}

// compose puts the steps in their order.
func (r *removal) compose() ([]clustermanager.Step, error) {
	if err := establishAll(r.guardModels, r.checkReconciled); err != nil {
		return nil, err
	}
	configurations, err := r.teardown.configurations(r.slice.TargetNamespace())
	if err != nil {
		return nil, err
	}
	registrations, err := r.guardOwnership(r.registrations())
	if err != nil {
		return nil, err
	}
	var release, remains []clustermanager.Step
	if len(r.others) > 0 {
		release, err = r.switchedOff()
	} else {
		release, err = r.teardown.release(r.slice)
		remains = r.teardown.remains()
	}
	return slices.Concat(configurations, registrations, release, remains), err
}

// leftovers are what a slice whose release is gone left. In mode commit there is nothing to propose then.
func (r *removal) leftovers() ([]clustermanager.Step, error) {
	gone := &clustermanager.NotFound{What: clustermanager.SliceReference(r.survey.Cluster).String(), Suffix: "cluster " + r.survey.Cluster.Name + " has no serving slice of cluster-manager, and nothing of one is left; list_clusters shows who serves on it"}
	if r.mode == clustermanager.ModeCommit {
		gone.Suffix = "cluster " + r.survey.Cluster.Name + " has no serving slice of cluster-manager; list_clusters shows who serves on it, and what a slice may have left is removed in mode apply"
		return nil, gone
	}
	steps, err := r.guardOwnership(r.leftRegistrations())
	if err != nil {
		return nil, err
	}
	steps = append(steps, r.teardown.left()...)
	if len(steps) == 0 {
		for _, warning := range r.warnings {
			gone.Suffix += "; " + warning
		}
		return nil, gone
	}
	return steps, nil
}

// leftRegistrations are those of a cluster that nobody serves models on any more. Where somebody else does, the
// registration that goes with the cluster's pools is theirs.
func (r *removal) leftRegistrations() []clustermanager.Step {
	if !r.survey.Serving.Component.ComposedHere() {
		return nil
	}
	if err := r.survey.Serving.Backends.Err(); err != nil {
		r.warn("which backends cluster %s is registered under could not be read: %v", r.survey.Cluster.Name, err)
		return nil
	}
	return r.registrations()
}

// otherComponents are the components that are on in a release and belong to no serving slice of any version, sorted.
func otherComponents(values map[string]any) []string {
	components, _ := lookup(values, "components").(map[string]any)
	serving := map[string]bool{}
	for _, component := range catalog.SliceComponents() {
		serving[component.Name] = component.Serving
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(components)) {
		if isOn(values, name) && !serving[name] {
			others = append(others, name)
		}
	}
	return others
}

// unloadHint is what a person does about models that are served.
const unloadHint = "unload the models with model-manager and call again; force removes serving under them"

// guardModels keeps serving under models that are served, unless it is forced. A cluster that cannot be read is refused,
// force or not, since nothing can be taken off it in order.
func (r *removal) guardModels() error {
	models, known := r.survey.Serving.Models.Get()
	switch {
	case !known:
		return clustermanager.Refuse("%s: which models are served on it could not be read: %s; see to that, then call again: serving is taken off a cluster in order, which force does not skip", r.cluster(), r.survey.Serving.Models.Reason())
	case len(models) == 0:
		return nil
	}
	names := make([]string, 0, len(models))
	for _, model := range models {
		names = append(names, model.String())
	}
	if r.force {
		r.warn("%s: models are served on it and lose their serving: %s", r.cluster(), strings.Join(names, ", "))
		return nil
	}
	return &clustermanager.Refusal{
		Message: r.cluster() + ": models are served on it: " + strings.Join(names, ", ") + ": " + unloadHint,
		Block:   &clustermanager.RefusalBlock{Nodes: []string{}, Models: names, Hint: unloadHint, ReadFrom: "cluster"},
	}
}

// checkReconciled is about a release that goes; one that stays, or has lost its source already, installs nothing more.
func (r *removal) checkReconciled() error {
	stays := len(r.others) > 0 || r.slice.Removing
	return checkReconciled(clustermanager.SliceReference(r.survey.Cluster), r.slice.ReleaseUptake, stays)
}

// switchedOff writes the release anew without serving. One that has none already is left, wherever it comes from.
func (r *removal) switchedOff() ([]clustermanager.Step, error) {
	r.warn("%s: the release stays, since it carries another slice too (%s); serving is switched off in it, and the serving namespace stays", r.slice.Release, strings.Join(r.others, ", "))
	before := r.slice.Values.Reveal()
	values := withoutServing(before)
	if r.mode == clustermanager.ModeApply && reflect.DeepEqual(values, copied(before)) {
		return nil, nil
	}
	source := catalog.Source{URL: catalog.SliceAt("").URL, Tag: r.slice.Tag, Range: r.slice.Range}
	return r.guardOwnership(r.sliceRelease(source, values))
}

// withoutServing are a release's values with the parts of serving off that only serving needs. A component that the
// values do not name stays unnamed, since a chart may not know it.
func withoutServing(values map[string]any) map[string]any {
	off, _ := copied(values).(map[string]any)
	for _, component := range catalog.SliceComponents() {
		if component.KServe && lookup(off, "components", component.Name) != nil {
			set(off, false, "components", component.Name, "enabled")
		}
	}
	return off
}

// registrations removes the cluster's backend, and the one that it may have under the shared name.
func (b *base) registrations() []clustermanager.Step {
	own, shared := clustermanager.BackendReference(b.survey.Cluster, b.survey.Settings), clustermanager.SharedBackendReference(b.survey.Settings)
	backends, known := b.survey.Serving.Backends.Get()
	if !known {
		b.warn("which backends cluster %s is registered under could not be read, so its registration stays until the same call can read them: %s", b.survey.Cluster.Name, b.survey.Serving.Backends.Reason())
		return nil
	}
	var steps []clustermanager.Step
	for _, backend := range backends {
		ours := backend.Owned && backend.Of(b.survey.Cluster)
		for _, reference := range distinctReferences(own, shared) {
			if ours && backend.ConfigMap.Name == reference.Name {
				steps = append(steps, b.unregister(reference))
			}
		}
	}
	return steps
}

func (b *base) unregister(reference clustermanager.ObjectReference) clustermanager.Step {
	return clustermanager.Step{Verb: clustermanager.Remove, Lane: clustermanager.Runtime, Object: b.backendObject(reference)}
}

func distinctReferences(references ...clustermanager.ObjectReference) []clustermanager.ObjectReference {
	return slices.Compact(references)
}

// liveSteps are what the merge leaves to a person.
func (r *removal) liveSteps(steps []clustermanager.Step) []string {
	if r.mode != clustermanager.ModeCommit {
		return nil
	}
	after := []string{"after the merge call disable_model_serving in mode apply with the same arguments: it tears serving down in order on the cluster, or removes what pruning left"}
	if slices.ContainsFunc(steps, func(step clustermanager.Step) bool { return step.Lane == clustermanager.Runtime }) {
		after = append(after, "if the pull request is closed unmerged, call enable_model_serving again to register the backend anew")
	}
	return after
}
