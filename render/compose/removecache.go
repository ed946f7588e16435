package compose

import (
	"path"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// reclaimRetain is the reclaim policy of a volume that stays when its claim goes.
const reclaimRetain = "Retain"

// CheckRemoveCache refuses what needs no read.
func CheckRemoveCache(request clustermanager.RemoveModelCacheRequest) error {
	return checkServingCall(request.Cluster, request.WithDefaults().Mode)
}

// cacheRemoval is the decision to remove a cluster's model cache.
type cacheRemoval struct {
	*base
	request clustermanager.RemoveModelCacheRequest
	mounts  clustermanager.Reading[[]clustermanager.ClaimMount]

	// claims are all claims, selected those that go.
	claims, selected []clustermanager.CacheClaim
	existing         *clustermanager.Slice
	// switchOff says that the slice runs with the cache on and would make a claim anew.
	switchOff bool
	slice     *slice
	steps     []clustermanager.Step
}

// RemoveCache removes the claims of a cluster's model cache, every one or the one that is named, and first switches the
// cache off in the slice that would make it anew: the slice is written as every other tool writes it. Claims are no files,
// so mode commit is refused with what to do instead. An error is a *clustermanager.Refusal or a *clustermanager.NotFound.
func RemoveCache(request clustermanager.RemoveModelCacheRequest, facts clustermanager.CacheRemovalSurvey) (Serving, error) {
	if err := CheckRemoveCache(request); err != nil {
		return Serving{}, err
	}
	request = request.WithDefaults()
	r := cacheRemoval{base: &base{survey: facts.Survey, mode: request.Mode}, request: request, mounts: facts.Mounts}
	if err := establishAll(r.readServing, r.checkGit, r.readClaims, r.checkAny, r.checkMounts, r.composeSlice); err != nil {
		return Serving{}, err
	}
	r.removeClaims()
	served := Serving{Serving: facts.Serving.Component, Plan: clustermanager.Plan{Steps: r.steps, Warnings: r.warnings}}
	if r.slice != nil {
		served.ServingResult = r.slice.result()
	}
	served.CacheClaims, served.RemovedClaims = r.claims, r.selected
	served.CacheClaim, served.Cache = nil, r.setting()
	return served, nil
}

// readServing wants to know who serves: another layer's claims are that layer's.
func (r *cacheRemoval) readServing() (err error) {
	component := r.survey.Serving.Component
	switch {
	case component.Status != clustermanager.ComponentPresent && component.Status != clustermanager.ComponentAbsent:
		return clustermanager.Refuse("%s: whether somebody else serves models on it, whose claims these would be, could not be found out: %s; see to that, then call again", r.cluster(), component.Reason)
	case !component.ComposedHere():
		return clustermanager.Refuse("%s: models are served on it by a layer that is %s's and not cluster-manager's (%s): its model cache is removed there", r.cluster(), component.Provider, strings.Join(component.Evidence, "; "))
	}
	if r.existing, err = need(r.base, r.survey.Serving.Slice, "its serving slice"); err != nil {
		return err
	}
	named := r.request.Claim == "" || r.existing != nil && r.existing.Mounts(r.request.Claim)
	r.switchOff = r.existing != nil && r.existing.Owned && !r.existing.Removing && r.existing.CacheOn() && named
	return nil
}

// checkGit: what a Kustomization applies is switched off in its repository, and claims are no files at all.
func (r *cacheRemoval) checkGit() error {
	const apply = "call again with mode apply, which removes the claims on the cluster"
	reference := clustermanager.SliceReference(r.survey.Cluster)
	live := r.survey.Live[clustermanager.LiveKey(reference)].Or(nil)
	switch commit := r.mode == clustermanager.ModeCommit; {
	case r.switchOff && live != nil && live.InInventoryOf != nil:
		return clustermanager.Refuse("%s: Kustomization %s applies it from git and it runs with the model cache on, so a claim that goes would come back: set spec.values.modelServing.cache.enabled to false in %s, and once that is merged and applied %s",
			reference, live.InInventoryOf, r.file(*live.InInventoryOf), apply)
	case commit:
		return clustermanager.Refuse("%s: the claims of a model cache are no files, so there is nothing to propose: %s", r.cluster(), apply)
	}
	return nil
}

// file is where the slice's release is in git.
func (r *cacheRemoval) file(applier clustermanager.NamespacedName) string {
	target, known := r.survey.Target.Get()
	if !known || target.Kustomization != applier {
		return "the repository behind that Kustomization"
	}
	return path.Join(target.Directory(), clustermanager.SliceReference(r.survey.Cluster).Name+".yaml") + " of " + target.Repository.FullName()
}

// readClaims takes the claims that go.
func (r *cacheRemoval) readClaims() (err error) {
	r.priceClaims()
	r.claims, err = need(r.base, r.survey.Serving.CacheClaims, "the claims of its model cache")
	r.selected = r.claims
	if err != nil || r.request.Claim == "" {
		return err
	}
	claim := named(r.claims, r.request.Claim)
	if claim != nil {
		r.selected = []clustermanager.CacheClaim{*claim}
		return nil
	}
	names := []string{}
	for _, claim := range r.claims {
		names = append(names, claim.Name)
	}
	return &clustermanager.NotFound{
		What:   "PersistentVolumeClaim " + r.survey.Settings.ServingNamespace + "/" + r.request.Claim,
		Suffix: "the claims of the model cache of " + r.cluster() + " are: " + orNone(names) + "; list_clusters shows them with their prices",
	}
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (r *cacheRemoval) checkAny() error {
	if len(r.selected) > 0 || r.switchOff {
		return nil
	}
	return &clustermanager.NotFound{
		What: "model cache of " + r.cluster(), Suffix: "it has no claim in namespace " + r.survey.Settings.ServingNamespace + ", and no slice that would make one; list_clusters shows the claims of every cluster",
	}
}

// checkMounts keeps a claim that a pod mounts: it would stay until the pod is gone, and be gone then.
func (r *cacheRemoval) checkMounts() error {
	if len(r.selected) == 0 {
		return nil
	}
	mounts, err := need(r.base, r.mounts, "which pods mount the claims of its model cache")
	if err != nil {
		return err
	}
	var pods, models []string
	for _, mount := range mounts {
		if named(r.selected, mount.Claim) == nil {
			continue
		}
		pods = append(pods, mount.Namespace+"/"+mount.Pod+" ("+mount.Claim+")")
		if mount.Model != "" {
			models = append(models, r.model(mount))
		}
	}
	if len(pods) == 0 {
		return nil
	}
	hint := "unload the models with model-manager and call again once their pods are gone; a claim that a pod mounts is not deleted until the pod is"
	if len(models) == 0 {
		hint = "no served model is behind these pods: end them where they come from and call again once they are gone; a claim that a pod mounts is not deleted until the pod is"
	}
	slices.Sort(models)
	models = append([]string{}, slices.Compact(models)...)
	return &clustermanager.Refusal{
		Message: r.cluster() + ": claims of its model cache are mounted by " + strings.Join(pods, ", ") + ": " + hint,
		Block:   &clustermanager.RefusalBlock{Nodes: []string{}, Models: models, Hint: hint, ReadFrom: "cluster"},
	}
}

// model is what a pod serves for, with the model's id where that is known.
func (r *cacheRemoval) model(mount clustermanager.ClaimMount) string {
	served := clustermanager.ServedModel{Kind: mount.Kind, Namespace: mount.Namespace, Name: mount.Model}
	for _, model := range r.survey.Serving.Models.Or(nil) {
		if model.Kind == served.Kind && model.Namespace == served.Namespace && model.Name == served.Name {
			return model.String()
		}
	}
	return served.String()
}

// composeSlice writes the slice with the cache off.
func (r *cacheRemoval) composeSlice() error {
	if !r.switchOff {
		return nil
	}
	s := &slice{base: r.base}
	if err := establishAll(s.readBaseDomain, s.readOwnPools, s.read, s.checkIssuer); err != nil {
		return err
	}
	steps, err := r.guardOwnership(s.sliceRelease(s.chart.Source(), s.values()))
	r.slice, r.steps = s, steps
	return err
}

// removeClaims adds the claims that go. A volume whose class keeps it is told.
func (r *cacheRemoval) removeClaims() {
	for _, claim := range r.selected {
		if claim.ReclaimPolicy == reclaimRetain {
			r.warn("PersistentVolume %s: its reclaim policy is %s, so it stays when claim %s/%s goes, and is billed until it is deleted by hand", claim.Volume, reclaimRetain, claim.Namespace, claim.Name)
		}
		r.steps = append(r.steps, clustermanager.Step{
			Verb: clustermanager.Remove, Lane: clustermanager.Teardown, At: clustermanager.AtTarget, Ownership: clustermanager.Labelled,
			Object: bare("v1", "PersistentVolumeClaim", claim.Namespace, claim.Name),
			WayOut: "ask for the right to delete persistentvolumeclaims in namespace " + claim.Namespace + " on the cluster, then call again",
		})
	}
}

// setting is the answer's block about the cache as it is afterwards.
func (r *cacheRemoval) setting() *clustermanager.CacheSetting {
	if !r.switchOff && r.existing != nil && r.existing.Owned && !r.existing.Removing && r.existing.CacheOn() {
		claim := r.existing.CacheClaim()
		return &clustermanager.CacheSetting{
			Enabled: true, Claim: r.survey.Settings.ServingNamespace + "/" + claim,
			Note: "the slice mounts another claim and keeps its cache; claim " + claim + " is billed every month until remove_model_cache removes it",
		}
	}
	return &clustermanager.CacheSetting{Note: "without the cache each predictor downloads its weights into its pod's own storage, about 90 s more at each cold start; a later create_node_pool or enable_model_serving with cache true creates the claim anew"}
}
