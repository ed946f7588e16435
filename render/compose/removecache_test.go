package compose

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

type cacheSurvey = *clustermanager.CacheRemovalSurvey

// cachedOn is wc1 with two claims, and with a slice of ours that mounts the first.
func cachedOn(t *testing.T) clustermanager.CacheRemovalSurvey {
	survey := clustermanager.CacheRemovalSurvey{Survey: servingOf(t, "wc1")}
	runs(&survey.Survey, map[string]any{"modelServing": map[string]any{"cache": map[string]any{"enabled": true}}})
	survey.Serving.CacheClaims = clustermanager.Known([]clustermanager.CacheClaim{
		{Namespace: "model-serving", Name: "hf-cache", Phase: "Bound", Volume: "pv-a", ReclaimPolicy: "Delete"},
		{Namespace: "model-serving", Name: "hf-cache-eu-west-1b", Phase: "Bound", Volume: "pv-b", ReclaimPolicy: "Retain"},
	})
	survey.Mounts = clustermanager.Known([]clustermanager.ClaimMount{})
	return survey
}

func withoutSlice(s cacheSurvey) {
	s.Serving.Component = clustermanager.Component{Status: clustermanager.ComponentAbsent}
	s.Serving.Slice = clustermanager.Known[*clustermanager.Slice](nil)
	for _, object := range clustermanager.SliceObjects(s.Cluster).References() {
		s.Live[clustermanager.LiveKey(object)] = clustermanager.Known[*clustermanager.LiveObject](nil)
	}
}

func sliceIs(change func(*clustermanager.Slice)) func(cacheSurvey) {
	return func(s cacheSurvey) { change(s.Serving.Slice.Or(nil)) }
}

func removeCache(claim string) clustermanager.RemoveModelCacheRequest {
	return clustermanager.RemoveModelCacheRequest{Cluster: "wc1", Claim: claim}
}

const (
	sliceWrites = "ensure declared OCIRepository org-acme/wc1-agent-platform\nensure declared HelmRelease org-acme/wc1-agent-platform\n"
	firstClaim  = "remove teardown PersistentVolumeClaim model-serving/hf-cache @target"
	secondClaim = "remove teardown PersistentVolumeClaim model-serving/hf-cache-eu-west-1b @target"
	retained    = "PersistentVolume pv-b: its reclaim policy is Retain, so it stays when claim model-serving/hf-cache-eu-west-1b goes, and is billed until it is deleted by hand"
)

func TestRemoveCache(t *testing.T) {
	for name, test := range map[string]struct {
		claim    string
		change   func(cacheSurvey)
		want     string
		warnings []string
		enabled  bool
	}{
		"all":               {want: sliceWrites + firstClaim + "\n" + secondClaim, warnings: []string{retained}},
		"the mounted one":   {claim: "hf-cache", want: sliceWrites + firstClaim},
		"another":           {claim: "hf-cache-eu-west-1b", want: secondClaim, warnings: []string{retained}, enabled: true},
		"no claim, a slice": {change: func(s cacheSurvey) { s.Serving.CacheClaims = clustermanager.Known([]clustermanager.CacheClaim{}) }, want: strings.TrimSpace(sliceWrites)},
		"no slice":          {change: withoutSlice, want: firstClaim + "\n" + secondClaim, warnings: []string{retained}},
		"a slice that goes": {claim: "hf-cache", change: sliceIs(func(slice *clustermanager.Slice) { slice.Removing = true }), want: firstClaim},
		"a slice without cache": {claim: "hf-cache", change: func(s cacheSurvey) {
			runs(&s.Survey, map[string]any{"modelServing": map[string]any{"cache": map[string]any{"enabled": false}}})
		}, want: firstClaim},
		"a slice in git without cache": {claim: "hf-cache", change: func(s cacheSurvey) {
			runs(&s.Survey, map[string]any{"modelServing": map[string]any{"cache": map[string]any{"enabled": false}}})
			s.Live["org-acme_wc1-agent-platform_helm.toolkit.fluxcd.io_HelmRelease"].Or(nil).InInventoryOf = &clustermanager.NamespacedName{Namespace: "flux", Name: "wc1"}
		}, want: firstClaim},
		"others' mounts": {claim: "hf-cache", want: sliceWrites + firstClaim, change: func(s cacheSurvey) {
			s.Mounts = clustermanager.Known([]clustermanager.ClaimMount{{Namespace: "model-serving", Pod: "x", Claim: "data"}})
		}},
	} {
		survey := cachedOn(t)
		if test.change != nil {
			test.change(&survey)
		}
		made, err := RemoveCache(removeCache(test.claim), survey)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.want, stepsText(made.Plan)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(test.warnings, made.Plan.Warnings); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if made.Cache == nil || made.Cache.Enabled != test.enabled || (made.Slice != nil) != strings.Contains(test.want, "HelmRelease") || len(made.RemovedClaims) != strings.Count(test.want, "Claim") || len(made.CacheClaims) != len(survey.Serving.CacheClaims.Or(nil)) {
			t.Errorf("%s: %+v", name, made.ServingResult)
		}
	}
	made, _ := RemoveCache(removeCache(""), cachedOn(t))
	if text := listing(made.Plan); !strings.Contains(text, "spec.values.modelServing.cache.enabled = false") || !strings.Contains(made.Cache.Note, "about 90 s more") {
		t.Errorf("%s\n%s", made.Cache.Note, text)
	}
	// The slice is what enable_model_serving writes for a slice that has no cache.
	survey := cachedOn(t)
	runs(&survey.Survey, map[string]any{"modelServing": map[string]any{"cache": map[string]any{"enabled": false}}})
	enabled, err := EnableServing(clustermanager.EnableModelServingRequest{Cluster: "wc1"}, survey.Survey)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(listing(only(enabled.Plan, "wc1-agent-platform")), listing(made.Plan)); diff != "" {
		t.Error(diff)
	}
}

func TestRemoveCacheRefusals(t *testing.T) {
	inGit := func(s cacheSurvey) {
		s.Live["org-acme_wc1-agent-platform_helm.toolkit.fluxcd.io_HelmRelease"].Or(nil).InInventoryOf = &clustermanager.NamespacedName{Namespace: "flux", Name: "wc1"}
		s.Target = clustermanager.Known(clustermanager.Target{Path: "clusters/wc1", Kustomization: clustermanager.NamespacedName{Namespace: "flux", Name: "wc1"}, Repository: clustermanager.GitRepository{Owner: "acme", Name: "fleet"}})
	}
	mounted := func(mount clustermanager.ClaimMount) func(cacheSurvey) {
		mount.Namespace, mount.Claim = "model-serving", "hf-cache"
		return func(s cacheSurvey) {
			s.Mounts = clustermanager.Known([]clustermanager.ClaimMount{mount})
			s.Serving.Models = clustermanager.Known([]clustermanager.ServedModel{{Kind: "LLMInferenceService", Namespace: "model-serving", Name: "qwen", Model: "Qwen/Qwen3-8B"}})
		}
	}
	for name, test := range map[string]struct {
		claim  string
		mode   clustermanager.Mode
		change func(cacheSurvey)
		want   string
		models []string
		reason clustermanager.Reason
	}{
		"mode commit": {mode: "commit", change: func(cacheSurvey) {}, want: "the claims of a model cache are no files, so there is nothing to propose: call again with mode apply", reason: "refused"},
		"in git, commit": {mode: "commit", change: inGit, reason: "refused",
			want: "HelmRelease org-acme/wc1-agent-platform: Kustomization flux/wc1 applies it from git and it runs with the model cache on, so a claim that goes would come back: set spec.values.modelServing.cache.enabled to false in clusters/wc1/cluster-manager/wc1-agent-platform.yaml of acme/fleet"},
		"in git": {change: inGit, want: "in clusters/wc1/cluster-manager/wc1-agent-platform.yaml of acme/fleet, and once that is merged and applied call again with mode apply", reason: "refused"},
		"in another's git": {change: func(s cacheSurvey) { inGit(s); s.Target = clustermanager.Unknown[clustermanager.Target]("forbidden") },
			want: "to false in the repository behind that Kustomization", reason: "refused"},
		"unknown claim": {claim: "hf-cache-x", change: func(cacheSurvey) {}, want: "the claims of the model cache of Cluster org-acme/wc1 are: hf-cache, hf-cache-eu-west-1b", reason: "notFound"},
		"nothing": {change: func(s cacheSurvey) {
			withoutSlice(s)
			s.Serving.CacheClaims = clustermanager.Known([]clustermanager.CacheClaim{})
		}, want: "model cache of Cluster org-acme/wc1 not found", reason: "notFound"},
		"a model mounts it": {change: mounted(clustermanager.ClaimMount{Pod: "qwen-0", Kind: "LLMInferenceService", Model: "qwen"}), want: "mounted by model-serving/qwen-0 (hf-cache): unload the models", models: []string{"LLMInferenceService model-serving/qwen (Qwen/Qwen3-8B)"}, reason: "refused"},
		"a pod mounts it":   {change: mounted(clustermanager.ClaimMount{Pod: "shell"}), want: "mounted by model-serving/shell (hf-cache): no served model is behind these pods", models: []string{}, reason: "refused"},
		"pods unreadable":   {change: func(s cacheSurvey) { s.Mounts = clustermanager.Unknown[[]clustermanager.ClaimMount]("forbidden") }, want: "which pods mount the claims of its model cache could not be read: forbidden", reason: "refused"},
		"claims unreadable": {change: func(s cacheSurvey) {
			s.Serving.CacheClaims = clustermanager.Unknown[[]clustermanager.CacheClaim]("forbidden")
		}, want: "the claims of its model cache could not be read: forbidden", reason: "refused"},
		"serving unknown": {change: func(s cacheSurvey) {
			s.Serving.Component = clustermanager.Component{Status: "unknown", Reason: "no way in"}
		}, want: "could not be found out: no way in", reason: "refused"},
		"serving another's": {change: func(s cacheSurvey) {
			s.Serving.Component = clustermanager.Component{Status: "present", Provider: "chart", Evidence: []string{"ConfigMap x"}}
		}, want: "by a layer that is chart's and not cluster-manager's (ConfigMap x)", reason: "refused"},
		"slice unreadable": {change: func(s cacheSurvey) { s.Serving.Slice = clustermanager.Unknown[*clustermanager.Slice]("forbidden") }, want: "its serving slice could not be read: forbidden", reason: "refused"},
		"mode":             {mode: "push", change: func(cacheSurvey) {}, want: `mode "push" does not exist`, reason: "refused"},
		"a source of others": {change: func(s cacheSurvey) {
			s.Live["org-acme_wc1-agent-platform_source.toolkit.fluxcd.io_OCIRepository"].Or(nil).Labels = nil
		}, want: "OCIRepository org-acme/wc1-agent-platform: it exists and its owner is unknown", reason: "refused"},
	} {
		survey, request := cachedOn(t), removeCache(test.claim)
		request.Mode = test.mode
		test.change(&survey)
		_, err := RemoveCache(request, survey)
		if err == nil || !strings.Contains(err.Error(), test.want) || clustermanager.ReasonOf(err) != test.reason {
			t.Errorf("%s: %v", name, err)
		}
		var refusal *clustermanager.Refusal
		if test.models != nil && (!errors.As(err, &refusal) || cmp.Diff(test.models, refusal.Block.Models) != "" || refusal.Block.Nodes == nil || refusal.Block.Hint == "") {
			t.Errorf("%s: %+v", name, refusal)
		}
	}
}
