package compose

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// servedOn is wc1 with a slice of ours, registered under its own name.
func servedOn(t *testing.T, values map[string]any) clustermanager.Survey {
	survey := servingOf(t, "wc1")
	runs(&survey, values)
	survey.Serving.Backends = clustermanager.Known([]clustermanager.Backend{
		{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve-wc1"}, Name: "kserve-wc1", Cluster: "wc1", Organization: "acme", Owned: true},
		{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve-wc2"}, Name: "kserve-wc2", Cluster: "wc2", Organization: "acme", Owned: true},
	})
	return survey
}

func disable(force bool) clustermanager.DisableModelServingRequest {
	return clustermanager.DisableModelServingRequest{Cluster: "wc1", Force: force, Mode: "commit"}
}

func TestDisable(t *testing.T) {
	survey := servedOn(t, map[string]any{"components": map[string]any{"kserve-crd": map[string]any{"enabled": true}, "gateway-api-crds": map[string]any{"enabled": true}, "muster": map[string]any{"enabled": false}}})
	made, err := DisableServing(disable(false), survey)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"remove declared OCIRepository org-acme/wc1-agent-platform", "remove declared HelmRelease org-acme/wc1-agent-platform",
		"remove runtime ConfigMap agent-platform/model-backend-kserve-wc1",
	}
	if diff := cmp.Diff(want, order(made.Plan)); diff != "" {
		t.Error(diff)
	}
	if made.SliceKept || len(made.LiveSteps) != 2 || !strings.HasPrefix(made.LiveSteps[0], "after the merge call disable_model_serving in mode apply") || made.Plan.Warnings != nil {
		t.Errorf("%+v", made)
	}
	survey.Serving.Backends = clustermanager.Known([]clustermanager.Backend{
		{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve"}, Cluster: "wc1", Owned: true},
	})
	if made, err := DisableServing(disable(false), survey); err != nil || order(made.Plan)[2] != "remove runtime ConfigMap agent-platform/model-backend-kserve" {
		t.Errorf("the shared registration: %q, %v", order(made.Plan), err)
	}
}

// A release that carries another slice stays, and only what serving alone needs is switched off in it.
func TestDisableKeepsAnotherSlice(t *testing.T) {
	on := map[string]any{"enabled": true}
	survey := servedOn(t, map[string]any{
		"components": map[string]any{
			"kagent": on, "kserve-llmisvc-crd": on, "kserve-llmisvc-resources": on, "kserve-runtime-configs": on, "modelServing": on, "agentgateway": on, "gateway-api-crds": on,
		},
		"global": map[string]any{"domain": "x"},
	})
	made, err := DisableServing(disable(false), survey)
	if err != nil {
		t.Fatal(err)
	}
	text := listing(made.Plan)
	for want, count := range map[string]int{
		"enabled = false": 4, "components.modelServing.enabled = false": 1, "components.kagent.enabled = true": 1, "components.agentgateway.enabled = true": 1,
		"components.gateway-api-crds.enabled = true": 1, "kserve-crd.": 0, `spec.values.global.domain = "x"`: 1, `spec.ref.semver = ">=4.85.0 <5.0.0"`: 1, "Secret": 0,
	} {
		if got := strings.Count(text, want); got != count {
			t.Errorf("%q is %d times in\n%s", want, got, text)
		}
	}
	if removed := made.Plan.Objects(clustermanager.Remove, clustermanager.Declared); removed != nil || !made.SliceKept {
		t.Errorf("kept %t, removed %v", made.SliceKept, removed)
	}
	if got := strings.Join(made.Plan.Warnings, "\n"); !strings.Contains(got, "the release stays, since it carries another slice too (kagent)") {
		t.Error(got)
	}
	if enabled, _ := lookup(survey.Serving.Slice.Or(nil).Values.Reveal(), "components", "modelServing", "enabled").(bool); !enabled {
		t.Error("the survey was changed")
	}
}

func TestDisableRefusals(t *testing.T) {
	model := clustermanager.ServedModel{Kind: "LLMInferenceService", Namespace: "model-serving", Name: "llama", Model: "org/llama"}
	for name, test := range map[string]struct {
		force  bool
		change func(survey)
		want   string
		reason clustermanager.Reason
	}{
		"models served": {false, func(s survey) { s.Serving.Models = clustermanager.Known([]clustermanager.ServedModel{model}) },
			"Cluster org-acme/wc1: models are served on it: LLMInferenceService model-serving/llama (org/llama): unload the models", "refused"},
		"models unreadable":              {false, func(s survey) { s.Serving.Models = clustermanager.Unknown[[]clustermanager.ServedModel]("forbidden") }, "which models are served on it could not be read: forbidden", "refused"},
		"slice unreadable, force or not": {true, func(s survey) { s.Serving.Slice = clustermanager.Unknown[*clustermanager.Slice]("forbidden") }, "its serving slice could not be read: forbidden", "refused"},
		"foreign slice": {true, func(s survey) {
			s.Serving.Slice = clustermanager.Known[*clustermanager.Slice](nil)
		}, "HelmRelease org-acme/wc1-agent-platform: it exists and cluster-manager did not create it", "refused"},
		"none": {false, func(s survey) {
			s.Serving.Slice = clustermanager.Known[*clustermanager.Slice](nil)
			s.Live["org-acme_wc1-agent-platform_helm.toolkit.fluxcd.io_HelmRelease"] = clustermanager.Known[*clustermanager.LiveObject](nil)
		}, "HelmRelease org-acme/wc1-agent-platform not found: ", "notFound"},
		"mode": {false, func(survey) {}, `mode "push" does not exist`, "refused"},
	} {
		survey, request := servedOn(t, map[string]any{}), disable(test.force)
		if name == "mode" {
			request.Mode = "push"
		}
		test.change(&survey)
		_, err := DisableServing(request, survey)
		if err == nil || !strings.Contains(err.Error(), test.want) || clustermanager.ReasonOf(err) != test.reason {
			t.Errorf("%s: %v", name, err)
		}
		var refusal *clustermanager.Refusal
		if name == "models served" && (!errors.As(err, &refusal) || cmp.Diff([]string{model.String()}, refusal.Block.Models) != "" || refusal.Block.Nodes == nil || refusal.Block.Hint == "") {
			t.Errorf("%s: %+v", name, refusal.Block)
		}
	}
	survey := servedOn(t, map[string]any{})
	survey.Serving.Models = clustermanager.Known([]clustermanager.ServedModel{model})
	if made, err := DisableServing(disable(true), survey); err != nil || !strings.Contains(strings.Join(made.Plan.Warnings, "\n"), "lose their serving: LLMInferenceService model-serving/llama") {
		t.Errorf("force: %v, %v", made.Plan.Warnings, err)
	}
	survey.Serving.Models = clustermanager.Unknown[[]clustermanager.ServedModel]("forbidden")
	if made, err := DisableServing(disable(true), survey); err != nil || !strings.Contains(strings.Join(made.Plan.Warnings, "\n"), "is not known: forbidden") {
		t.Errorf("force, unreadable: %v, %v", made.Plan.Warnings, err)
	}
}

func TestEnableRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		cache  *bool
		change func(survey)
		want   string
	}{
		"deleting":    {nil, func(s survey) { s.Cluster.Deleting = true }, "is being deleted and takes no model serving"},
		"base domain": {nil, func(s survey) { setValue(s, nil, "connectivity", "baseDomain") }, "its values name no global.connectivity.baseDomain"},
		"values":      {nil, func(s survey) { s.Values = clustermanager.Unknown[clustermanager.EffectiveValues]("forbidden") }, "its values, which name the base domain that its models answer below, could not be read: forbidden"},
		"serving foreign": {nil, func(s survey) {
			s.Serving.Component = clustermanager.Component{Status: "present", Provider: "manual", Evidence: []string{"Deployment x"}}
		}, "by a layer that is manual's and not cluster-manager's (Deployment x)"},
		"serving unknown": {nil, func(s survey) { s.Serving.Component = clustermanager.Component{Status: "unknown", Reason: "forbidden"} }, "could not be found out: forbidden"},
		"cache off":       {new(false), func(s survey) { runs(s, map[string]any{}) }, "cache false is refused"},
	} {
		survey := servingOf(t, "wc1")
		test.change(&survey)
		_, err := EnableServing(clustermanager.EnableModelServingRequest{Cluster: "wc1", Cache: test.cache, Mode: "commit"}, survey)
		if err == nil || !strings.Contains(err.Error(), test.want) || clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
			t.Errorf("%s: %v", name, err)
		}
	}
	survey := own(t)
	survey.Values = clustermanager.Reading[clustermanager.EffectiveValues]{}
	made := enabled(t, clustermanager.EnableModelServingRequest{Cluster: "gazelle", Mode: "commit"}, survey)
	want := []string{
		"ensure declared OCIRepository org-giantswarm/gazelle-agent-platform", "ensure declared HelmRelease org-giantswarm/gazelle-agent-platform", "ensure runtime ConfigMap agent-platform/model-backend-kserve",
	}
	if diff := cmp.Diff(want, order(made.Plan)); diff != "" {
		t.Error(diff)
	}
}
