package compose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// ClusterRemoval is a composed removal of a cluster.
type ClusterRemoval struct {
	// Plan is empty where there is nothing to do but wait.
	Plan clustermanager.Plan
	// WithCluster are the names of the releases that go with the cluster, Models what is served on it; ModelsNote says
	// why that is not known.
	WithCluster []string
	Models      []string
	ModelsNote  string
	// NextStep is what the caller does next in mode apply, or where there is nothing to do but wait.
	NextStep string
	// LiveSteps are what the merge of a removal in mode commit does not do.
	LiveSteps []string
}

// CheckClusterRemoval refuses what needs no read: the mode, then name and organization, then the installation's own
// cluster.
func CheckClusterRemoval(request clustermanager.DeleteClusterRequest, settings clustermanager.Settings) error {
	request = request.WithDefaults()
	if err := checkClusterName(request.Mode, request.Organization, request.Name); err != nil {
		return err
	}
	if settings.Installation != "" && request.Name == settings.Installation {
		return clustermanager.Refuse("cluster %s is %s and is never removed: name a workload cluster", request.Name, installationName(settings))
	}
	return nil
}

// clusterRemoval is a cluster's removal on its way through the guards.
type clusterRemoval struct {
	request clustermanager.DeleteClusterRequest
	survey  clustermanager.RemoveClusterSurvey

	release  *clustermanager.LiveRelease
	running  *clustermanager.RunningCluster
	result   ClusterRemoval
	warnings []string
}

// RemoveCluster composes the removal that the request asks for: of a cluster that stands, its registration and its
// release; of one that is gone, what its uninstall left. An error is a *clustermanager.Refusal, or in mode apply a
// *clustermanager.NotFound where nothing is left.
func RemoveCluster(request clustermanager.DeleteClusterRequest, survey clustermanager.RemoveClusterSurvey) (ClusterRemoval, error) {
	if err := CheckClusterRemoval(request, survey.Settings); err != nil {
		return ClusterRemoval{}, err
	}
	r := clusterRemoval{request: request.WithDefaults(), survey: survey}
	compose := r.composeGone
	switch err := r.readState(); {
	case err != nil:
		return ClusterRemoval{}, err
	case r.release != nil:
		compose = r.composeStanding
	case r.running != nil && r.running.DeletedAt == nil:
		return ClusterRemoval{}, clustermanager.Refuse("%s: it stands without a release of its name, so create_cluster did not make it, or its release is gone: remove it the way it was made", r.named())
	case r.running != nil:
		r.result.NextStep = fmt.Sprintf("the cluster is being deleted since %s: call again with the same arguments once it is gone, to remove what its uninstall left",
			r.running.DeletedAt.UTC().Format(time.RFC3339))
		return r.result, nil
	}
	if err := compose(); err != nil {
		return ClusterRemoval{}, err
	}
	r.result.Plan.Warnings = r.warnings
	return r.result, nil
}

func (r *clusterRemoval) named() string  { return clusterNamed(r.survey.Cluster) }
func (r *clusterRemoval) inCommit() bool { return r.request.Mode == clustermanager.ModeCommit }

func (r *clusterRemoval) readState() error {
	var known bool
	if r.release, known = r.survey.Release.Get(); !known {
		return r.unread("its release", r.survey.Release.Reason())
	}
	if r.running, known = r.survey.Running.Get(); !known {
		return r.unread("its Cluster", r.survey.Running.Reason())
	}
	return nil
}

func (r *clusterRemoval) unread(what, reason string) error {
	return clustermanager.Refuse("%s: %s could not be read: %s; see to that, then call again", r.named(), what, reason)
}

// composeStanding removes registration, release, source and values of a cluster that create_cluster made.
func (r *clusterRemoval) composeStanding() error {
	objects := clustermanager.ClusterRelease(r.survey.Cluster)
	for _, check := range []func() error{r.checkOwned, r.checkReconciled} {
		if err := check(); err != nil {
			return err
		}
	}
	r.tellWhatGoes()
	r.removeBackends()
	if applier := r.release.InInventoryOf; applier != nil {
		if err := r.checkApplier(*applier); err != nil {
			return err
		}
		if !r.inCommit() {
			kustomization, _ := r.survey.Kustomization.Get()
			r.remove(clustermanager.Teardown, kustomization.Reference, nil, clustermanager.Labelled)
			r.result.NextStep = r.again("Flux removes the cluster with its Kustomization")
			return nil
		}
	}
	if err := r.checkParts(); err != nil {
		return err
	}
	for _, reference := range []clustermanager.ObjectReference{objects.Release, objects.Source, objects.Values} {
		r.remove(clustermanager.Declared, reference, r.labels(), clustermanager.Composed)
	}
	r.result.NextStep = r.again("helm-controller uninstalls the cluster")
	r.result.Plan.NotCarried = clustermanager.Refuse("%s: the repository carries none of it, so a pull request cannot remove it: remove it in mode %s", r.named(), clustermanager.ModeApply)
	r.tellLiveSteps()
	return nil
}

func (r *clusterRemoval) again(what string) string {
	return what + "; once it is gone, call again with the same arguments: that removes what the uninstall left"
}

// checkOwned wants the release of create_cluster, of this organization.
func (r *clusterRemoval) checkOwned() error {
	labels := r.release.Labels
	switch {
	case labels[clustermanager.LabelManagedBy] != clustermanager.ManagedBy:
		return clustermanager.Refuse("%s: create_cluster did not make it (%s): remove it the way it was made", r.release.Reference, ownerOf(r.release.LiveObject))
	case labels[clustermanager.LabelCluster] != r.survey.Cluster.Name,
		labels[clustermanager.LabelOrganization] != r.survey.Cluster.Organization,
		!strings.HasPrefix(labels[clustermanager.LabelChart], clustermanager.ReleaseChartPrefix):
		return clustermanager.Refuse("%s: it is another release of ours (chart %q, cluster %q, organization %q), not that of this cluster: remove it with the tool that made it",
			r.release.Reference, labels[clustermanager.LabelChart], labels[clustermanager.LabelCluster], labels[clustermanager.LabelOrganization])
	}
	return nil
}

func (r *clusterRemoval) checkReconciled() error {
	return checkReconciled(r.release.Reference, r.release.ReleaseUptake, r.release.Deleting)
}

// checkApplier judges the Kustomization that has the release in its inventory.
func (r *clusterRemoval) checkApplier(applier clustermanager.NamespacedName) error {
	own := applier.Name == clustermanager.ClusterKustomization(r.survey.Settings.Installation, r.survey.Cluster.Name)
	kustomization, known := r.survey.Kustomization.Get()
	switch {
	case !own:
		return clustermanager.Refuse("%s: Kustomization %s applies it, and that is not the one that create_cluster made: remove it in the repository behind that", r.release.Reference, applier)
	case r.inCommit():
		return nil
	case !known || kustomization == nil:
		return r.unread("Kustomization "+applier.String(), r.survey.Kustomization.Reason())
	case kustomization.InInventoryOf != nil:
		return clustermanager.Refuse("%s: Kustomization %s applies it from git, and Kustomization %s applies that one: use mode %s",
			r.release.Reference, applier, kustomization.InInventoryOf, clustermanager.ModeCommit)
	case kustomization.Labels[clustermanager.LabelKustomizationName] == "":
		return clustermanager.Refuse("%s: Kustomization %s applies it, and no Kustomization ever applied that one, so it is not of create_cluster's making: remove it the way it was made", r.release.Reference, applier)
	case !kustomization.Removes():
		return clustermanager.Refuse("%s: Kustomization %s applies it and leaves what it applied behind when it is deleted (prune %t, deletionPolicy %q): set prune to true there, then call again",
			r.release.Reference, applier, kustomization.Prune, kustomization.DeletionPolicy)
	}
	return nil
}

// checkParts refuses a source or a ConfigMap of the cluster's names that is not ours.
func (r *clusterRemoval) checkParts() error {
	for _, part := range []struct {
		reading clustermanager.Reading[*clustermanager.LiveObject]
		what    string
	}{{r.survey.Source, "its source"}, {r.survey.Values, "its values"}} {
		live, known := part.reading.Get()
		switch {
		case !known:
			return r.unread(part.what, part.reading.Reason())
		case live != nil && live.Labels[clustermanager.LabelManagedBy] != clustermanager.ManagedBy:
			return clustermanager.Refuse("%s: create_cluster did not make it (%s), so it is not removed with the cluster: move it out of the way first", live.Reference, ownerOf(*live))
		}
	}
	return nil
}

// tellWhatGoes names the releases and the models that go with the cluster.
func (r *clusterRemoval) tellWhatGoes() {
	labelled, known := r.survey.Labelled.Get()
	if !known {
		r.warnings = append(r.warnings, fmt.Sprintf("%s: which releases go with it could not be read: %s", r.named(), r.survey.Labelled.Reason()))
	}
	for _, live := range labelled {
		if live.Reference.Kind == r.release.Reference.Kind && live.Reference.Name != r.release.Reference.Name {
			r.result.WithCluster = append(r.result.WithCluster, live.Reference.Name)
		}
	}
	slices.Sort(r.result.WithCluster)
	models, known := r.survey.Models.Get()
	if !known {
		r.result.ModelsNote = "what is served on the cluster is not known: " + r.survey.Models.Reason()
	}
	for _, model := range models {
		r.result.Models = append(r.result.Models, model.String())
	}
}

// removeBackends takes the cluster's registration back, so that nobody loads a model onto what is about to go.
func (r *clusterRemoval) removeBackends() {
	backends, known := r.survey.Backends.Get()
	if !known {
		r.warnings = append(r.warnings, fmt.Sprintf("%s: whether it is registered with model-manager could not be read, so a registration stays: %s", r.named(), r.survey.Backends.Reason()))
	}
	for _, backend := range backends {
		reference := clustermanager.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: backend.ConfigMap.Namespace, Name: backend.ConfigMap.Name}
		switch {
		case !backend.Of(r.survey.Cluster):
		case !backend.Owned:
			r.warnings = append(r.warnings, reference.String()+": it registers the cluster with model-manager and is not ours, so it is left")
		default:
			r.remove(clustermanager.Runtime, reference, map[string]string{
				clustermanager.LabelManagedBy: clustermanager.ManagedBy, clustermanager.LabelCluster: r.survey.Cluster.Name,
			}, clustermanager.Composed)
		}
	}
}

// labels are those of the cluster's own objects, of the chart that its release has.
func (r *clusterRemoval) labels() map[string]string {
	chart := ""
	if r.release != nil {
		chart = r.release.Labels[clustermanager.LabelChart]
	} else if source, _ := r.survey.Source.Get(); source != nil {
		chart = source.Labels[clustermanager.LabelChart]
	} else if values, _ := r.survey.Values.Get(); values != nil {
		chart = values.Labels[clustermanager.LabelChart]
	}
	return clusterLabels(r.survey.Cluster, chart)
}

func (r *clusterRemoval) remove(lane clustermanager.Lane, reference clustermanager.ObjectReference, labels map[string]string, ownership clustermanager.Ownership) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion(reference.APIVersion)
	object.SetKind(reference.Kind)
	object.SetNamespace(reference.Namespace)
	object.SetName(reference.Name)
	if len(labels) > 0 {
		object.SetLabels(labels)
	}
	r.result.Plan.Steps = append(r.result.Plan.Steps, clustermanager.Step{
		Verb: clustermanager.Remove, Lane: lane, Object: object, Ownership: ownership,
	})
}
