package compose

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// servedOn is wc1 with a slice of ours and its children, registered under its own name.
func servedOn(t *testing.T, values map[string]any) clustermanager.ServingRemovalSurvey {
	survey := clustermanager.ServingRemovalSurvey{Survey: servingOf(t, "wc1")}
	runs(&survey.Survey, values)
	survey.Serving.Backends = clustermanager.Known([]clustermanager.Backend{
		{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve-wc1"}, Name: "kserve-wc1", Cluster: "wc1", Organization: "acme", Owned: true},
		{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve-wc2"}, Name: "kserve-wc2", Cluster: "wc2", Organization: "acme", Owned: true},
	})
	survey.Serving.Namespace = clustermanager.Known(&clustermanager.ServingNamespace{
		Name: "model-serving", RenderedBy: clustermanager.NamespacedName{Namespace: "org-acme", Name: "wc1-agent-platform-connectivity"},
	})
	survey.Parts.Children = clustermanager.Known([]clustermanager.SliceChild{
		{Name: "wc1-agent-platform-connectivity", Chart: chartConnectivity}, {Name: "wc1-agentgateway", Chart: chartAgentGateway},
		{Name: "wc1-kserve-llmisvc-resources", Chart: chartController}, {Name: "wc1-kserve-runtime-configs", Chart: chartConfigs},
	})
	survey.Configs = clustermanager.Known([]clustermanager.ObjectReference{})
	return survey
}

func disable(mode clustermanager.Mode) clustermanager.DisableModelServingRequest {
	return clustermanager.DisableModelServingRequest{Cluster: "wc1", Mode: mode}
}

const (
	configurationSteps = `remove teardown HelmRelease org-acme/wc1-kserve-llmisvc-resources
await teardown every Deployment in  control-plane=llmisvc-controller-manager @target
remove teardown every LLMInferenceService in model-serving app.kubernetes.io/managed-by=model-manager @target
remove teardown every LLMInferenceServiceConfig in org-acme  @target
remove teardown HelmRelease org-acme/wc1-kserve-runtime-configs
remove runtime ConfigMap agent-platform/model-backend-kserve-wc1
`
	namespaceSteps = `await teardown HelmRelease org-acme/wc1-agent-platform-connectivity
retire teardown Namespace model-serving @target`
	gatewaySteps = `remove teardown CustomResourceDefinition backendtlspolicies.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition gatewayclasses.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition grpcroutes.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition httproutes.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition listenersets.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition referencegrants.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition tcproutes.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition tlsroutes.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition udproutes.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition gateways.gateway.networking.k8s.io @target`
	disableSteps = configurationSteps + `remove declared OCIRepository org-acme/wc1-agent-platform
remove declared HelmRelease org-acme/wc1-agent-platform
` + namespaceSteps
)

// The slice never goes at once: its release is removed when what only its controller would let go is gone.
func TestDisable(t *testing.T) {
	for _, mode := range []clustermanager.Mode{clustermanager.ModeApply, clustermanager.ModeCommit} {
		made, err := DisableServing(disable(mode), servedOn(t, map[string]any{"components": map[string]any{"muster": map[string]any{"enabled": false}}}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(disableSteps, stepsText(made.Plan)); diff != "" {
			t.Error(diff)
		}
		if made.SliceKept || made.Plan.Carried.Name != "wc1-agent-platform" || (len(made.LiveSteps) == 2) != (mode == clustermanager.ModeCommit) || made.Plan.Warnings != nil {
			t.Errorf("%+v", made)
		}
	}
	survey := servedOn(t, map[string]any{"components": map[string]any{"gateway-api-crds": map[string]any{"enabled": true}}})
	made, err := DisableServing(disable("apply"), survey)
	if text := stepsText(made.Plan); err != nil || !strings.Contains(text, "annotate teardown CustomResourceDefinition gateways.gateway.networking.k8s.io @target\nremove declared OCIRepository") ||
		!strings.HasSuffix(text, "await teardown HelmRelease org-acme/wc1-agentgateway\n"+gatewaySteps) {
		t.Errorf("the Gateway API: %v\n%s", err, text)
	}
	survey.Serving.Backends = clustermanager.Known([]clustermanager.Backend{
		{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve"}, Cluster: "wc1", Owned: true},
	})
	if made, err := DisableServing(disable("commit"), survey); err != nil || !strings.Contains(stepsText(made.Plan), "remove runtime ConfigMap agent-platform/model-backend-kserve\n") {
		t.Errorf("the shared registration: %q, %v", order(made.Plan), err)
	}
	survey.Serving.Backends = clustermanager.Known([]clustermanager.Backend{})
	if made, err := DisableServing(disable("commit"), survey); err != nil || len(made.LiveSteps) != 1 || !strings.HasPrefix(made.LiveSteps[0], "after the merge call disable_model_serving in mode apply") {
		t.Errorf("no registration: %q, %v", made.LiveSteps, err)
	}
}

// A cluster that cannot be read is refused in both modes, and force, which would not help, is not offered.
func TestDisableAnUnreadableCluster(t *testing.T) {
	for _, mode := range []clustermanager.Mode{clustermanager.ModeApply, clustermanager.ModeCommit} {
		for _, force := range []bool{false, true} {
			survey, request := servedOn(t, map[string]any{}), disable(mode)
			survey.Serving.Models = clustermanager.Unknown[[]clustermanager.ServedModel]("no way in")
			survey.Configs = clustermanager.Unknown[[]clustermanager.ObjectReference]("no way in")
			request.Force = force
			made, err := DisableServing(request, survey)
			if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.Contains(err.Error(), "could not be read: no way in") ||
				strings.Contains(err.Error(), "with force") || made.Plan.Steps != nil {
				t.Errorf("mode %s, force %t: %v", mode, force, err)
			}
		}
	}
}

// A slice that helm-controller has not taken up as it stands is not removed, in neither mode and not by force.
func TestDisableAnUnreconciledSlice(t *testing.T) {
	on := map[string]any{"enabled": true}
	for name, test := range map[string]struct {
		change  func(*clustermanager.Slice)
		values  map[string]any
		refused bool
	}{
		"no finalizer":                       {change: func(s *clustermanager.Slice) { s.Finalized = false }, refused: true},
		"an unseen generation":               {change: func(s *clustermanager.Slice) { s.Generation = 3 }, refused: true},
		"never reported":                     {change: func(s *clustermanager.Slice) { s.ObservedGeneration = 0 }},
		"on its way out":                     {change: func(s *clustermanager.Slice) { s.Finalized, s.Removing = false, true }},
		"it stays, since it carries another": {change: func(s *clustermanager.Slice) { s.Finalized = false }, values: map[string]any{"components": map[string]any{"kagent": on}}},
	} {
		for _, mode := range []clustermanager.Mode{clustermanager.ModeApply, clustermanager.ModeCommit} {
			survey, request := servedOn(t, test.values), disable(mode)
			request.Force = true
			test.change(survey.Serving.Slice.Or(nil))
			made, err := DisableServing(request, survey)
			if test.refused != (clustermanager.ReasonOf(err) == clustermanager.ReasonRefused) || test.refused && (!strings.Contains(err.Error(), "helm-controller has not taken it up yet") || made.Plan.Steps != nil) {
				t.Errorf("%s, mode %s: %v", name, mode, err)
			}
		}
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
	made, err := DisableServing(disable("commit"), survey)
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
	const writes = "ensure declared OCIRepository org-acme/wc1-agent-platform\nensure declared HelmRelease org-acme/wc1-agent-platform"
	if diff := cmp.Diff(configurationSteps+writes, stepsText(made.Plan)); diff != "" || !made.SliceKept || made.Plan.Carried.Name != "wc1-agent-platform" {
		t.Errorf("kept %t %q\n%s", made.SliceKept, made.Plan.Carried.Name, diff)
	}
	if got := strings.Join(made.Plan.Warnings, "\n"); !strings.Contains(got, "the release stays, since it carries another slice too (kagent)") {
		t.Error(got)
	}
	before := survey.Serving.Slice.Or(nil).Values.Reveal()
	if enabled, _ := lookup(before, "components", "modelServing", "enabled").(bool); !enabled {
		t.Error("the survey was changed")
	}
	// After the merge git holds the release, and has serving off in it already.
	runs(&survey.Survey, withoutServing(before))
	for _, object := range clustermanager.SliceObjects(survey.Cluster).References() {
		survey.Live[clustermanager.LiveKey(object)].Or(nil).InInventoryOf = &clustermanager.NamespacedName{Namespace: "flux", Name: "wc1"}
	}
	if made, err = DisableServing(disable("apply"), survey); err != nil || stepsText(made.Plan) != strings.TrimSuffix(configurationSteps, "\n") {
		t.Errorf("after the merge: %v\n%s", err, stepsText(made.Plan))
	}
}

// What a slice that is gone left: after a merge, an enablement that was closed unmerged, or a teardown that was cut.
func TestWhatASliceThatIsGoneLeft(t *testing.T) {
	gone := func(s *clustermanager.ServingRemovalSurvey) {
		s.Serving.Component = clustermanager.Component{Status: clustermanager.ComponentAbsent}
		s.Serving.Slice = clustermanager.Known[*clustermanager.Slice](nil)
		s.Serving.Backends = clustermanager.Known([]clustermanager.Backend{})
		s.Serving.Namespace = clustermanager.Known[*clustermanager.ServingNamespace](nil)
		s.Parts.Children = clustermanager.Known([]clustermanager.SliceChild{})
		for _, reference := range clustermanager.SliceObjects(s.Cluster).References() {
			s.Live[clustermanager.LiveKey(reference)] = clustermanager.Known[*clustermanager.LiveObject](nil)
		}
	}
	registered := func(s *clustermanager.ServingRemovalSurvey) {
		s.Serving.Backends = clustermanager.Known([]clustermanager.Backend{
			{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve"}, Cluster: "wc1", Owned: true},
			{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve-wc1"}, Cluster: "wc1", Organization: "acme", Owned: true},
		})
	}
	stranded := func(s *clustermanager.ServingRemovalSurvey) {
		s.Configs = clustermanager.Known([]clustermanager.ObjectReference{{Kind: "LLMInferenceServiceConfig", Namespace: "org-acme", Name: "a"}, {Kind: "LLMInferenceServiceConfig", Namespace: "other", Name: "b"}})
		s.Serving.Models = clustermanager.Known([]clustermanager.ServedModel{{Kind: "LLMInferenceService", Namespace: "model-serving", Name: "qwen", Managed: true}})
	}
	namespace := func(s *clustermanager.ServingRemovalSurvey) {
		s.Serving.Namespace = servedOn(t, nil).Serving.Namespace
	}
	others := func(s *clustermanager.ServingRemovalSurvey) {
		s.Serving.Component = clustermanager.Component{Status: clustermanager.ComponentPresent, Provider: clustermanager.ProviderChart, Evidence: []string{"Deployment kserve/llmisvc"}}
	}
	brought := func(s *clustermanager.ServingRemovalSurvey) {
		s.Serving.GatewayAPI = clustermanager.Known(clustermanager.GatewayAPI{Installed: true, ComposedBy: "org-acme/wc1-agent-platform"})
	}
	unread := func(s *clustermanager.ServingRemovalSurvey) {
		s.Configs = clustermanager.Unknown[[]clustermanager.ObjectReference]("no way in")
	}
	const registrations = "remove runtime ConfigMap agent-platform/model-backend-kserve\nremove runtime ConfigMap agent-platform/model-backend-kserve-wc1"
	const purged = "remove teardown every LLMInferenceService in model-serving app.kubernetes.io/managed-by=model-manager @target\nremove teardown every LLMInferenceServiceConfig in org-acme  @target"
	for name, test := range map[string]struct {
		changes []func(*clustermanager.ServingRemovalSurvey)
		want    string
		says    string
	}{
		"nothing":              {want: ""},
		"registrations":        {changes: []func(*clustermanager.ServingRemovalSurvey){registered}, want: registrations},
		"another's":            {changes: []func(*clustermanager.ServingRemovalSurvey){registered, stranded, others}, want: "", says: "somebody else serves models on it (Deployment kserve/llmisvc), so its configurations and models are left"},
		"stranded":             {changes: []func(*clustermanager.ServingRemovalSurvey){stranded}, want: purged},
		"the namespace":        {changes: []func(*clustermanager.ServingRemovalSurvey){namespace}, want: namespaceSteps},
		"definitions":          {changes: []func(*clustermanager.ServingRemovalSurvey){brought}, want: gatewaySteps},
		"unreadable":           {changes: []func(*clustermanager.ServingRemovalSurvey){unread}, want: "", says: "what serving left on it could not be read: no way in"},
		"unreadable, register": {changes: []func(*clustermanager.ServingRemovalSurvey){unread, registered}, want: registrations, says: "what serving left on it could not be read: no way in"},
	} {
		survey := servedOn(t, nil)
		gone(&survey)
		for _, change := range test.changes {
			change(&survey)
		}
		made, err := DisableServing(disable("apply"), survey)
		var notFound *clustermanager.NotFound
		if errors.As(err, &notFound) != (test.want == "") || stepsText(made.Plan) != test.want {
			t.Errorf("%s: %v:\n%s, want\n%s", name, err, stepsText(made.Plan), test.want)
		}
		if said := fmt.Sprint(err, made.Plan.Warnings); !strings.Contains(said, test.says) {
			t.Errorf("%s: %s", name, said)
		}
		if _, err = DisableServing(disable("commit"), survey); !errors.As(err, &notFound) {
			t.Errorf("%s: mode commit: %v", name, err)
		}
	}
}

type removalSurvey = *clustermanager.ServingRemovalSurvey

func TestDisableRefusals(t *testing.T) {
	model := clustermanager.ServedModel{Kind: "LLMInferenceService", Namespace: "model-serving", Name: "llama", Model: "org/llama"}
	for name, test := range map[string]struct {
		force  bool
		change func(removalSurvey)
		want   string
		reason clustermanager.Reason
	}{
		"models served": {false, func(s removalSurvey) { s.Serving.Models = clustermanager.Known([]clustermanager.ServedModel{model}) },
			"Cluster org-acme/wc1: models are served on it: LLMInferenceService model-serving/llama (org/llama): unload the models", "refused"},
		"models unreadable": {false, func(s removalSurvey) {
			s.Serving.Models = clustermanager.Unknown[[]clustermanager.ServedModel]("forbidden")
		}, "which models are served on it could not be read: forbidden", "refused"},
		"slice unreadable, force or not": {true, func(s removalSurvey) { s.Serving.Slice = clustermanager.Unknown[*clustermanager.Slice]("forbidden") }, "its serving slice could not be read: forbidden", "refused"},
		"foreign slice": {true, func(s removalSurvey) {
			s.Serving.Slice = clustermanager.Known[*clustermanager.Slice](nil)
		}, "HelmRelease org-acme/wc1-agent-platform: it exists and cluster-manager did not create it", "refused"},
		"children unreadable": {true, func(s removalSurvey) {
			s.Parts.Children = clustermanager.Unknown[[]clustermanager.SliceChild]("forbidden")
		}, "which releases its serving slice rendered could not be read: forbidden", "refused"},
		"in git": {true, func(s removalSurvey) {
			s.Live["org-acme_wc1-agent-platform_helm.toolkit.fluxcd.io_HelmRelease"].Or(nil).InInventoryOf = &clustermanager.NamespacedName{Namespace: "flux", Name: "else"}
		}, "HelmRelease org-acme/wc1-agent-platform: Kustomization flux/else applies it", "refused"},
		"none": {false, func(s removalSurvey) {
			s.Serving.Slice = clustermanager.Known[*clustermanager.Slice](nil)
			s.Live["org-acme_wc1-agent-platform_helm.toolkit.fluxcd.io_HelmRelease"] = clustermanager.Known[*clustermanager.LiveObject](nil)
		}, "HelmRelease org-acme/wc1-agent-platform not found: ", "notFound"},
		"mode": {false, func(removalSurvey) {}, `mode "push" does not exist`, "refused"},
	} {
		survey, request := servedOn(t, map[string]any{}), disable("commit")
		request.Force = test.force
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
	survey, forced := servedOn(t, map[string]any{}), disable("commit")
	forced.Force = true
	survey.Serving.Models = clustermanager.Known([]clustermanager.ServedModel{model})
	if made, err := DisableServing(forced, survey); err != nil || !strings.Contains(strings.Join(made.Plan.Warnings, "\n"), "lose their serving: LLMInferenceService model-serving/llama") {
		t.Errorf("force: %v, %v", made.Plan.Warnings, err)
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
