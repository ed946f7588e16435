package compose

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func removeDev01(mode clustermanager.Mode) clustermanager.DeleteClusterRequest {
	return clustermanager.DeleteClusterRequest{Organization: "acme", Name: "dev01", Mode: mode}
}

// labelled is a live object of the cluster's namespace.
func labelled(kind, name, manager string) clustermanager.LiveObject {
	apiVersion := clustermanager.HelmAPI.String()
	if kind == "OCIRepository" {
		apiVersion = clustermanager.SourceAPI.String()
	}
	return clustermanager.LiveObject{
		Reference: clustermanager.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: "org-acme", Name: name},
		Labels:    map[string]string{clustermanager.LabelCluster: "dev01", clustermanager.LabelManagedBy: manager},
	}
}

// standing is the cluster of case 17: registered, with a pool, an operator, a slice and a default app.
func standingCluster() clustermanager.RemoveClusterSurvey {
	cluster := clustermanager.Cluster{Namespace: "org-acme", Name: "dev01", Organization: "acme"}
	objects := clustermanager.ClusterRelease(cluster)
	labels := clusterLabels(cluster, "release-aws")
	live := func(reference clustermanager.ObjectReference) *clustermanager.LiveObject {
		return &clustermanager.LiveObject{Reference: reference, Labels: labels}
	}
	release := labelled("HelmRelease", "dev01", "cluster-manager")
	return clustermanager.RemoveClusterSurvey{
		Now: time.Date(2026, 9, 20, 9, 0, 0, 0, time.UTC), Cluster: cluster,
		Settings: clustermanager.Settings{Installation: "gazelle"},
		Running:  clustermanager.Known(&clustermanager.RunningCluster{UID: "1"}),
		Release: clustermanager.Known(&clustermanager.LiveRelease{
			LiveObject: *live(objects.Release), ReleaseUptake: clustermanager.ReleaseUptake{Finalized: true, Generation: 2, ObservedGeneration: 2},
		}),
		Source: clustermanager.Known(live(objects.Source)), Values: clustermanager.Known(live(objects.Values)),
		Labelled: clustermanager.Known([]clustermanager.LiveObject{
			release, labelled("HelmRelease", "dev01-agent-platform", "cluster-manager"), labelled("HelmRelease", "dev01-cilium", "Helm"),
			labelled("HelmRelease", "dev01-gpu-l4", "cluster-manager"), labelled("HelmRelease", "dev01-gpu-operator", "cluster-manager"),
			labelled("OCIRepository", "dev01", "cluster-manager"), labelled("OCIRepository", "dev01-gpu-l4", "cluster-manager"),
		}),
		Neighbours: clustermanager.Known([]string{"wc1"}),
		Backends: clustermanager.Known([]clustermanager.Backend{{
			ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve-dev01"},
			Name:      "kserve-dev01", Cluster: "dev01", Organization: "acme", Owned: true,
		}}),
		Models:        clustermanager.Known([]clustermanager.ServedModel{{Kind: "InferenceService", Namespace: "model-serving", Name: "qwen", Model: "Qwen/Qwen3-8B"}}),
		Kustomization: clustermanager.Known[*clustermanager.LiveKustomization](nil),
		Target: clustermanager.Known(clustermanager.Target{
			Kustomization: clustermanager.NamespacedName{Namespace: "default", Name: "flux"}, Prune: true,
			Placement: &clustermanager.Placement{Directory: "x/dev01", Name: clustermanager.NamespacedName{Namespace: "default", Name: "gazelle-clusters-dev01"}},
		}),
	}
}

// inGit is the same cluster, created in mode commit.
func inGit(change func(*clustermanager.LiveKustomization)) clustermanager.RemoveClusterSurvey {
	survey := standingCluster()
	applier := clustermanager.NamespacedName{Namespace: "default", Name: "gazelle-clusters-dev01"}
	release, _ := survey.Release.Get()
	release.InInventoryOf = &applier
	kustomization := &clustermanager.LiveKustomization{
		LiveObject: clustermanager.LiveObject{
			Reference: clustermanager.ObjectReference{APIVersion: clustermanager.KustomizationAPI.String(), Kind: "Kustomization", Namespace: "default", Name: applier.Name},
			Labels:    map[string]string{clustermanager.LabelKustomizationName: "flux", clustermanager.LabelKustomizationNamespace: "default"},
		},
		Prune: true,
	}
	if change != nil {
		change(kustomization)
	}
	survey.Kustomization = clustermanager.Known(kustomization)
	return survey
}

// gone is the cluster after its uninstall.
func gone() clustermanager.RemoveClusterSurvey {
	survey := standingCluster()
	survey.Running = clustermanager.Known[*clustermanager.RunningCluster](nil)
	survey.Release = clustermanager.Known[*clustermanager.LiveRelease](nil)
	survey.Source, survey.Values = clustermanager.Known[*clustermanager.LiveObject](nil), clustermanager.Known[*clustermanager.LiveObject](nil)
	survey.Labelled = clustermanager.Known([]clustermanager.LiveObject{})
	survey.Backends = clustermanager.Known([]clustermanager.Backend{})
	return survey
}

func stepsOf(plan clustermanager.Plan) []string {
	var steps []string
	for _, step := range plan.Steps {
		steps = append(steps, fmt.Sprintf("%s %s %s", step.Lane, step.Verb, step.Reference()))
	}
	return steps
}

// Case 17: backend, release, source, values, in that order; what goes with the cluster and what is served is named.
func TestRemovalOfAStandingCluster(t *testing.T) {
	for _, mode := range []clustermanager.Mode{clustermanager.ModeApply, clustermanager.ModeCommit} {
		removal, err := RemoveCluster(removeDev01(mode), standingCluster())
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"runtime remove ConfigMap agent-platform/model-backend-kserve-dev01", "declared remove HelmRelease org-acme/dev01",
			"declared remove OCIRepository org-acme/dev01", "declared remove ConfigMap org-acme/dev01-values",
		}
		if diff := cmp.Diff(want, stepsOf(removal.Plan)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"dev01-agent-platform", "dev01-cilium", "dev01-gpu-l4", "dev01-gpu-operator"}, removal.WithCluster); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"InferenceService model-serving/qwen (Qwen/Qwen3-8B)"}, removal.Models); diff != "" || removal.ModelsNote != "" {
			t.Error(diff, removal.ModelsNote)
		}
		for _, step := range removal.Plan.Steps {
			if step.Ownership != clustermanager.Composed || step.Object.GetLabels()[clustermanager.LabelCluster] != "dev01" {
				t.Errorf("%s: %q %v", step.Reference(), step.Ownership, step.Object.GetLabels())
			}
		}
		if (len(removal.LiveSteps) > 0) != (mode == clustermanager.ModeCommit) || !strings.Contains(removal.NextStep, "call again") {
			t.Errorf("%q %q", removal.LiveSteps, removal.NextStep)
		}
	}
}

// Case 18: nothing while the Cluster is being deleted; then what the uninstall left; then not found.
func TestRemovalOfWhatIsGone(t *testing.T) {
	survey := gone()
	survey.Running = clustermanager.Known(&clustermanager.RunningCluster{DeletedAt: new(time.Date(2026, 9, 20, 8, 30, 0, 0, time.UTC))})
	for _, mode := range []clustermanager.Mode{clustermanager.ModeApply, clustermanager.ModeCommit} {
		waiting, err := RemoveCluster(removeDev01(mode), survey)
		if err != nil || len(waiting.Plan.Steps) > 0 || !strings.Contains(waiting.NextStep, "2026-09-20T08:30:00Z") {
			t.Errorf("%v %+v", err, waiting)
		}
	}

	survey = gone()
	survey.Values = clustermanager.Known(&clustermanager.LiveObject{
		Reference: clustermanager.ClusterRelease(survey.Cluster).Values, Labels: clusterLabels(survey.Cluster, "release-aws"),
	})
	survey.Neighbours = clustermanager.Known([]string{"dev01-blue", "wc1"})
	survey.Labelled = clustermanager.Known([]clustermanager.LiveObject{
		labelled("HelmRelease", "dev01-blue", "Helm"), labelled("HelmRelease", "dev01-blue-cilium", "Helm"), labelled("HelmRelease", "dev01-byhand", ""),
		labelled("HelmRelease", "dev01-cilium", "Helm"), labelled("HelmRelease", "other", "Helm"),
		labelled("OCIRepository", "dev01", "cluster-manager"), labelled("OCIRepository", "dev01-cilium", "Helm"),
	})
	removal, err := RemoveCluster(removeDev01(clustermanager.ModeApply), survey)
	want := []string{
		"teardown remove HelmRelease org-acme/dev01-cilium", "teardown remove OCIRepository org-acme/dev01",
		"teardown remove OCIRepository org-acme/dev01-cilium", "declared remove ConfigMap org-acme/dev01-values",
	}
	if diff := cmp.Diff(want, stepsOf(removal.Plan)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if len(removal.Plan.Warnings) != 1 || !strings.Contains(removal.Plan.Warnings[0], "HelmRelease org-acme/dev01-byhand") {
		t.Errorf("%q", removal.Plan.Warnings)
	}
	// In mode commit the files go, and the rest is left to mode apply.
	removal, err = RemoveCluster(removeDev01(clustermanager.ModeCommit), survey)
	if got := len(removal.Plan.Objects(clustermanager.Remove, clustermanager.Declared)); err != nil || got != 3 || clustermanager.ReasonOf(removal.Plan.NotCarried) != clustermanager.ReasonRefused {
		t.Errorf("%v %q %v", err, stepsOf(removal.Plan), removal.Plan.NotCarried)
	}

	_, err = RemoveCluster(removeDev01(clustermanager.ModeApply), gone())
	var notFound *clustermanager.NotFound
	if !errors.As(err, &notFound) || *notFound.Block != (clustermanager.NotFoundBlock{Cluster: "dev01", Namespace: "org-acme", NothingLeft: true}) {
		t.Errorf("%v", err)
	}
	removal, err = RemoveCluster(removeDev01(clustermanager.ModeCommit), gone())
	if err != nil || !errors.As(removal.Plan.NotCarried, &notFound) {
		t.Errorf("%v %v", err, removal.Plan.NotCarried)
	}
	// What could not be read may be left.
	survey = gone()
	survey.Backends = unknown[[]clustermanager.Backend]()
	if removal, err := RemoveCluster(removeDev01(clustermanager.ModeApply), survey); err != nil || len(removal.Plan.Warnings) != 1 {
		t.Errorf("%v %+v", err, removal)
	}
}

// A cluster that git holds is removed in mode apply by its Kustomization, once no other one applies that.
func TestRemovalOfAClustersKustomization(t *testing.T) {
	removal, err := RemoveCluster(removeDev01(clustermanager.ModeApply), inGit(nil))
	want := []string{"runtime remove ConfigMap agent-platform/model-backend-kserve-dev01", "teardown remove Kustomization default/gazelle-clusters-dev01"}
	if diff := cmp.Diff(want, stepsOf(removal.Plan)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// What Flux makes of the merge decides about the live steps.
func TestLiveStepsOfAClusterRemoval(t *testing.T) {
	keeps := func(k *clustermanager.LiveKustomization) { k.DeletionPolicy = "Orphan" }
	for name, test := range map[string]struct {
		survey clustermanager.RemoveClusterSurvey
		prune  bool
		want   string
	}{
		"prunes":                {inGit(nil), true, "which removes the release and so the cluster; once it is gone, call delete_cluster in mode apply"},
		"does not prune":        {inGit(nil), false, "does not remove the cluster's Kustomization default/gazelle-clusters-dev01; after it call delete_cluster in mode apply with the same arguments, which deletes that Kustomization"},
		"orphans":               {inGit(keeps), true, "which leaves the cluster as it is"},
		"orphans, no prune":     {inGit(keeps), false, "after the merge delete that Kustomization"},
		"kept by an annotation": {inGit(func(k *clustermanager.LiveKustomization) { k.PruneDisabled = true }), true, "does not remove the cluster's Kustomization"},
		"deletes without prune": {inGit(func(k *clustermanager.LiveKustomization) { k.Prune, k.DeletionPolicy = false, "Delete" }), true, "removes the release and so the cluster"},
		"gone":                  {gone(), true, "the merge removes the cluster's Kustomization default/gazelle-clusters-dev01, and with it what Flux has made of it"},
		"gone, no prune":        {gone(), false, "the merge does not remove the cluster's Kustomization default/gazelle-clusters-dev01, should Flux have applied it by then"},
	} {
		target, _ := test.survey.Target.Get()
		target.Prune = test.prune
		test.survey.Target = clustermanager.Known(target)
		removal, err := RemoveCluster(removeDev01(clustermanager.ModeCommit), test.survey)
		if err != nil || len(removal.LiveSteps) == 0 || !strings.Contains(removal.LiveSteps[0], test.want) {
			t.Errorf("%s: %v %q", name, err, removal.LiveSteps)
			continue
		}
		if registered := len(removal.LiveSteps) == 2 && strings.Contains(removal.LiveSteps[1], "closed unmerged"); registered != !strings.HasPrefix(name, "gone") {
			t.Errorf("%s: %q", name, removal.LiveSteps)
		}
	}
}

func TestRemovalRefusals(t *testing.T) {
	release := func(change func(*clustermanager.LiveRelease)) clustermanager.RemoveClusterSurvey {
		survey := standingCluster()
		live, _ := survey.Release.Get()
		change(live)
		return survey
	}
	with := func(survey clustermanager.RemoveClusterSurvey, change func(*clustermanager.RemoveClusterSurvey)) clustermanager.RemoveClusterSurvey {
		change(&survey)
		return survey
	}
	both := []clustermanager.Mode{clustermanager.ModeApply, clustermanager.ModeCommit}
	apply := both[:1]
	for name, test := range map[string]struct {
		survey clustermanager.RemoveClusterSurvey
		modes  []clustermanager.Mode
		want   string
	}{
		"own cluster": {with(standingCluster(), func(s *clustermanager.RemoveClusterSurvey) { s.Settings.Installation = "dev01" }), both, "the installation's own cluster dev01"},
		"foreign": {release(func(r *clustermanager.LiveRelease) {
			r.Labels = map[string]string{clustermanager.LabelManagedBy: "Helm"}
		}), both, "create_cluster did not make it (it is managed by Helm)"},
		"a pool called so": {release(func(r *clustermanager.LiveRelease) {
			r.Labels = map[string]string{clustermanager.LabelManagedBy: "cluster-manager", clustermanager.LabelChart: "gpu-node-pool", clustermanager.LabelCluster: "dev", clustermanager.LabelNodePool: "01"}
		}), both, `another release of ours (chart "gpu-node-pool", cluster "dev"`},
		"no finalizer": {release(func(r *clustermanager.LiveRelease) { r.Finalized = false }), both, "helm-controller has not taken it up yet"},
		"stale":        {release(func(r *clustermanager.LiveRelease) { r.ObservedGeneration = 1 }), both, "helm-controller has not taken it up yet"},
		"another Kustomization": {release(func(r *clustermanager.LiveRelease) {
			r.InInventoryOf = &clustermanager.NamespacedName{Namespace: "default", Name: "clusters-dev01"}
		}), both, "Kustomization default/clusters-dev01 applies it, and that is not the one that create_cluster made"},
		"still listed": {inGit(func(k *clustermanager.LiveKustomization) {
			k.InInventoryOf = &clustermanager.NamespacedName{Namespace: "default", Name: "flux"}
		}), apply, "Kustomization default/flux applies that one: use mode commit"},
		"never listed": {inGit(func(k *clustermanager.LiveKustomization) { k.Labels = nil }), apply, "no Kustomization ever applied that one"},
		"no prune":     {inGit(func(k *clustermanager.LiveKustomization) { k.Prune = false }), apply, "leaves what it applied behind"},
		"unread Kustomization": {with(inGit(nil), func(s *clustermanager.RemoveClusterSurvey) {
			s.Kustomization = unknown[*clustermanager.LiveKustomization]()
		}), apply, "could not be read: forbidden"},
		"no release": {with(standingCluster(), func(s *clustermanager.RemoveClusterSurvey) {
			s.Release = clustermanager.Known[*clustermanager.LiveRelease](nil)
		}), both, "it stands without a release of its name"},
		"release unread":   {with(standingCluster(), func(s *clustermanager.RemoveClusterSurvey) { s.Release = unknown[*clustermanager.LiveRelease]() }), both, "its release could not be read: forbidden"},
		"Cluster unread":   {with(standingCluster(), func(s *clustermanager.RemoveClusterSurvey) { s.Running = unknown[*clustermanager.RunningCluster]() }), both, "its Cluster could not be read: forbidden"},
		"values unread":    {with(standingCluster(), func(s *clustermanager.RemoveClusterSurvey) { s.Values = unknown[*clustermanager.LiveObject]() }), both, "its values could not be read: forbidden"},
		"leftovers unread": {with(gone(), func(s *clustermanager.RemoveClusterSurvey) { s.Labelled = unknown[[]clustermanager.LiveObject]() }), both, "what its uninstall left could not be read"},
		"neighbours unread": {with(gone(), func(s *clustermanager.RemoveClusterSurvey) {
			s.Labelled = clustermanager.Known([]clustermanager.LiveObject{labelled("HelmRelease", "dev01-x", "Helm")})
			s.Neighbours = unknown[[]string]()
		}), both, "whose names may begin alike"},
		"foreign source": {with(standingCluster(), func(s *clustermanager.RemoveClusterSurvey) {
			s.Source = clustermanager.Known(&clustermanager.LiveObject{Reference: clustermanager.ClusterRelease(s.Cluster).Source})
		}), both, "OCIRepository org-acme/dev01: create_cluster did not make it (its owner is unknown)"},
		"leftover in git": {with(gone(), func(s *clustermanager.RemoveClusterSurvey) {
			live := labelled("HelmRelease", "dev01-x", "Helm")
			live.InInventoryOf = &clustermanager.NamespacedName{Namespace: "default", Name: "flux"}
			s.Labelled = clustermanager.Known([]clustermanager.LiveObject{live})
		}), apply, "Kustomization default/flux applies it from git"},
	} {
		for _, mode := range test.modes {
			removal, err := RemoveCluster(removeDev01(mode), test.survey)
			if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.Contains(fmt.Sprint(err), test.want) || len(removal.Plan.Steps) > 0 {
				t.Errorf("%s, mode %s: got %v, want a refusal with %q", name, mode, err, test.want)
			}
		}
	}
	deleting := release(func(r *clustermanager.LiveRelease) { r.Deleting, r.Finalized = true, false })
	if _, err := RemoveCluster(removeDev01(clustermanager.ModeApply), deleting); err != nil {
		t.Errorf("a removal under way is refused: %v", err)
	}
}

// Another organization's registration of a cluster of the same name, and one that is not ours, stay.
func TestBackendsThatStay(t *testing.T) {
	survey := standingCluster()
	backends, _ := survey.Backends.Get()
	other, foreign := backends[0], backends[0]
	other.Organization, foreign.Owned = "research", false
	survey.Backends = clustermanager.Known([]clustermanager.Backend{other, foreign})
	removal, err := RemoveCluster(removeDev01(clustermanager.ModeApply), survey)
	if err != nil || len(removal.Plan.Objects(clustermanager.Remove, clustermanager.Runtime)) > 0 {
		t.Errorf("%v %q", err, stepsOf(removal.Plan))
	}
	if !slices.ContainsFunc(removal.Plan.Warnings, func(warning string) bool { return strings.Contains(warning, "is not ours, so it is left") }) {
		t.Errorf("%q", removal.Plan.Warnings)
	}
}

func TestRemoveClusterSurveyAsAFile(t *testing.T) {
	survey := inGit(nil)
	text, err := json.Marshal(survey)
	if err != nil {
		t.Fatal(err)
	}
	var read clustermanager.RemoveClusterSurvey
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	want, _ := RemoveCluster(removeDev01(clustermanager.ModeCommit), survey)
	got, err := RemoveCluster(removeDev01(clustermanager.ModeCommit), read)
	if diff := cmp.Diff(stepsOf(want.Plan), stepsOf(got.Plan)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
