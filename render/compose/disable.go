package compose

import (
	"maps"
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
	force bool
	slice *clustermanager.Slice
	// others are the components of another slice that the release carries, sorted; with one the release stays.
	others []string
}

// DisableServing takes the serving slice off a cluster, and its registration. A release that carries another slice too
// stays, with serving switched off in it. The ordered teardown on the cluster itself is no part of it: LiveSteps name
// the call that does it. An error is a *clustermanager.Refusal or a *clustermanager.NotFound.
func DisableServing(request clustermanager.DisableModelServingRequest, survey clustermanager.Survey) (Serving, error) {
	if err := CheckDisableServing(request); err != nil {
		return Serving{}, err
	}
	r := removal{base: &base{survey: survey, mode: request.WithDefaults().Mode}, force: request.Force}
	if err := establishAll(r.checkTarget, r.readSlice, r.guardModels); err != nil {
		return Serving{}, err
	}
	steps, err := r.guardOwnership(slices.Concat(r.sliceSteps(), r.registrations()))
	if err != nil {
		return Serving{}, err
	}
	served := Serving{Serving: survey.Serving.Component, LiveSteps: r.liveSteps()}
	served.SliceKept = len(r.others) > 0
	served.Plan = clustermanager.Plan{Steps: steps, Notes: r.notes, Warnings: r.warnings}
	return served, nil
}

// readSlice takes the release to remove. One that cannot be read is not removed, force or not.
func (r *removal) readSlice() error {
	reference := clustermanager.SliceReference(r.survey.Cluster)
	found, err := need(r.base, r.survey.Serving.Slice, "its serving slice")
	if err != nil {
		return err
	}
	live, _ := r.survey.Live[clustermanager.LiveKey(reference)].Get()
	switch {
	case found == nil && live == nil:
		return &clustermanager.NotFound{What: reference.String(), Suffix: "cluster " + r.survey.Cluster.Name + " has no serving slice of cluster-manager; list_clusters shows who serves on it, and what a slice may have left is removed in mode apply"}
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

// guardModels keeps serving under models that are served, unless it is forced.
func (r *removal) guardModels() error {
	models, known := r.survey.Serving.Models.Get()
	switch {
	case !known && r.force:
		r.warn("%s: which models are served on it could not be read, and is not known: %s", r.cluster(), r.survey.Serving.Models.Reason())
		return nil
	case !known:
		return clustermanager.Refuse("%s: which models are served on it could not be read: %s; see to that and call again, or call with force", r.cluster(), r.survey.Serving.Models.Reason())
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

// sliceSteps remove the release, or write it anew without serving.
func (r *removal) sliceSteps() []clustermanager.Step {
	objects := clustermanager.SliceObjects(r.survey.Cluster)
	if len(r.others) == 0 {
		var steps []clustermanager.Step
		for _, reference := range objects.References() {
			steps = append(steps, clustermanager.Step{
				Verb: clustermanager.Remove, Lane: clustermanager.Declared,
				Object: owned(r.survey.Cluster, reference, r.labels(clustermanager.ChartAgentPlatform)),
			})
		}
		return steps
	}
	r.warn("%s: the release stays, since it carries another slice too (%s); serving is switched off in it, and the serving namespace stays", objects.Release, strings.Join(r.others, ", "))
	source := catalog.Source{URL: catalog.SliceAt("").URL, Tag: r.slice.Tag, Range: r.slice.Range}
	return r.sliceRelease(source, withoutServing(r.slice.Values.Reveal()))
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
func (r *removal) registrations() []clustermanager.Step {
	own, shared := clustermanager.BackendReference(r.survey.Cluster, r.survey.Settings), clustermanager.SharedBackendReference(r.survey.Settings)
	backends, known := r.survey.Serving.Backends.Get()
	if !known {
		r.warn("which backends cluster %s is registered under could not be read: %s", r.survey.Cluster.Name, r.survey.Serving.Backends.Reason())
		return []clustermanager.Step{r.unregister(own)}
	}
	var steps []clustermanager.Step
	for _, backend := range backends {
		ours := backend.Owned && backend.Cluster == r.survey.Cluster.Name && (backend.Organization == "" || backend.Organization == r.survey.Cluster.Organization)
		for _, reference := range distinctReferences(own, shared) {
			if ours && backend.ConfigMap.Name == reference.Name {
				steps = append(steps, r.unregister(reference))
			}
		}
	}
	return steps
}

func (r *removal) unregister(reference clustermanager.ObjectReference) clustermanager.Step {
	return clustermanager.Step{Verb: clustermanager.Remove, Lane: clustermanager.Runtime, Object: r.backendObject(reference)}
}

func distinctReferences(references ...clustermanager.ObjectReference) []clustermanager.ObjectReference {
	return slices.Compact(references)
}

// liveSteps are what the merge leaves to a person.
func (r *removal) liveSteps() []string {
	if r.mode != clustermanager.ModeCommit {
		return nil
	}
	return []string{
		"after the merge call disable_model_serving in mode apply with the same arguments: it tears serving down in order on the cluster, or removes what pruning left",
		"if the pull request is closed unmerged, call enable_model_serving again to register the backend anew",
	}
}
