package compose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Steps come in the order in which they are answered: room for the slice, pool, slice, registration, operator, and last
// the registration of earlier times.
func TestOrderOfSteps(t *testing.T) {
	survey := servingOf(t, "wc1")
	survey.Serving.Namespace = clustermanager.Known(&clustermanager.ServingNamespace{Name: "model-serving", Retired: "2026-09-19T00:00:00Z: claims"})
	survey.Serving.Configs = clustermanager.Known(clustermanager.ServingConfigs{Namespace: "agent-platform", Count: 2, Terminating: []string{"one", "two"}, ControllerRuns: clustermanager.Known(false)})
	survey.Serving.Backends = clustermanager.Known([]clustermanager.Backend{
		{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve"}, Cluster: "wc1", Organization: "acme", Owned: true},
		{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve-wc2"}, Cluster: "wc2", Owned: true},
	})
	made := composed(t, serving("wc1", "gpu-l4"), survey)
	want := []string{
		"annotate runtime Namespace model-serving",
		"remove runtime LLMInferenceServiceConfig agent-platform/one", "remove runtime LLMInferenceServiceConfig agent-platform/two",
		"remove declared Secret org-acme/wc1-gpu-l4-values",
		"ensure declared OCIRepository org-acme/wc1-gpu-l4", "ensure declared HelmRelease org-acme/wc1-gpu-l4",
		"ensure declared OCIRepository org-acme/wc1-agent-platform", "ensure declared HelmRelease org-acme/wc1-agent-platform",
		"ensure runtime ConfigMap agent-platform/model-backend-kserve-wc1",
		"ensure declared OCIRepository org-acme/wc1-gpu-operator", "ensure declared HelmRelease org-acme/wc1-gpu-operator",
		"remove runtime ConfigMap agent-platform/model-backend-kserve",
	}
	if diff := cmp.Diff(want, order(made.Plan)); diff != "" {
		t.Error(diff)
	}
	for _, step := range made.Plan.Steps[:3] {
		if step.At != clustermanager.AtTarget || step.Ownership != clustermanager.Labelled {
			t.Errorf("%s: %q, %q", step.Reference(), step.At, step.Ownership)
		}
	}
	config := made.Plan.Steps[1]
	if diff := cmp.Diff([]any{true, []string{"serving.kserve.io/llmisvcconfig-finalizer"}}, []any{config.StorageVersion, config.Finalizers}); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(strings.Join(made.Plan.Warnings, "\n"), "2 serving configurations are left terminating and no llm-d controller runs") {
		t.Errorf("%q", made.Plan.Warnings)
	}
	survey.Serving.Configs = changed(survey.Serving.Configs, func(c *clustermanager.ServingConfigs) { c.ControllerRuns = clustermanager.Known(true) })
	if removed := composed(t, serving("wc1", "gpu-l4"), survey).Plan.Objects(clustermanager.Remove, clustermanager.Runtime); len(removed) != 1 {
		t.Errorf("a running controller heals by itself: %v", removed)
	}
	survey.Serving.Configs = changed(survey.Serving.Configs, func(c *clustermanager.ServingConfigs) { c.ControllerRuns = clustermanager.Unknown[bool]("forbidden") })
	doubtful := composed(t, serving("wc1", "gpu-l4"), survey).Plan
	if removed := doubtful.Objects(clustermanager.Remove, clustermanager.Runtime); len(removed) != 1 {
		t.Errorf("what a controller may finish that could not be read is removed: %v", removed)
	}
	if warnings := strings.Join(doubtful.Warnings, "\n"); !strings.Contains(warnings, "is not known, so they are left: forbidden") || strings.Contains(warnings, "no llm-d controller runs") {
		t.Error(warnings)
	}
}

func TestAnswerOfServing(t *testing.T) {
	got := composed(t, serving("wc1", "gpu-l4"), servingOf(t, "wc1"))
	want := clustermanager.ServingResult{
		OperatorRow: "flatcar",
		Slice: &clustermanager.SliceResult{
			Name: "wc1-agent-platform", Namespace: "org-acme", ChartVersion: "4.85.0", Domain: "wc1.acme.example.io", ModelsHost: "models.wc1.acme.example.io",
			GPUPool: "wc1-gpu-l4", JWKS: "https://dex.gazelle.example.io/keys", Certificate: &clustermanager.CertificateIssuer{Name: "letsencrypt-giantswarm", Solver: "http01"},
			GatewayAPI: clustermanager.GatewayAPIResult{Version: "v1.4.0", Note: "the cluster serves the Gateway API v1.4.0 (standard channel): the slice brings none"},
		},
		Backend: &clustermanager.BackendResult{
			Kind: "kserve", Backend: "kserve-wc1", Namespace: "agent-platform", Name: "model-backend-kserve-wc1", Target: "wc1 (https://api.wc1.acme.example.io:6443)",
		},
		PresetFit:    &clustermanager.PresetFit{Note: "the cluster publishes no serving presets, and those of the slice's chart could not be read: this server reads no chart registry"},
		PrefetchNote: "no image is pulled ahead on the pool's nodes: this server reads no chart registry",
		CacheClaims:  []clustermanager.CacheClaim{},
		Cache:        &clustermanager.CacheSetting{Note: "the model cache is off: each predictor downloads its weights into its pod's own storage"},
	}
	if diff := cmp.Diff(want, got.ServingResult); diff != "" {
		t.Error(diff)
	}
	survey := own(t)
	survey.Serving.Platform = changed(survey.Serving.Platform, func(p *clustermanager.Platform) {
		p.DexNamespace, p.DexPort, p.SubstrateNamespace = "identity", 5557, "agent-platform"
	})
	plan := composed(t, serving("gazelle", "gpu-l4"), survey)
	if plan.Slice.JWKS != "http://dex.identity.svc.cluster.local:5557/keys" || plan.Slice.Certificate != nil || plan.Backend.Target != "local" {
		t.Errorf("%+v, %+v", plan.Slice, plan.Backend)
	}
	text := listing(only(plan.Plan, "gazelle-agent-platform"))
	for want, count := range map[string]int{
		`jwksEgress.namespace = "identity"`: 1, "jwksEgress.port = 5557": 1, `jwks.host = "dex.identity.svc.cluster.local"`: 1,
		`additionalIngressNamespaces[0] = "agent-platform"`: 1, "additionalIngressNamespaces[1]": 0,
	} {
		if strings.Count(text, want) != count {
			t.Errorf("%s is not %d times in\n%s", want, count, text)
		}
	}
}

// Who provides a part decides whether it is composed.
func TestWhoComposesWhat(t *testing.T) {
	component := func(status clustermanager.ComponentStatus, provider clustermanager.Provider) clustermanager.Component {
		return clustermanager.Component{Status: status, Provider: provider}
	}
	for _, test := range []struct {
		operator, serving clustermanager.Component
		want              string
	}{
		{component("absent", ""), component("absent", ""), "agent-platform gpu-operator"},
		{component("present", "cluster-manager"), component("absent", ""), "agent-platform gpu-operator"},
		{component("present", "chart"), component("absent", ""), "agent-platform"},
		{component("absent", ""), component("present", "chart"), "gpu-operator"},
		{component("present", "manual"), component("present", "manual"), ""},
	} {
		survey := servingOf(t, "wc1")
		survey.GPUOperator, survey.Serving.Component = test.operator, test.serving
		made := composed(t, serving("wc1", "gpu-l4"), survey)
		var got []string
		for _, reference := range made.Plan.Objects(clustermanager.Ensure, clustermanager.Declared) {
			if part := strings.TrimPrefix(reference.Name, "wc1-"); reference.Kind == "HelmRelease" && part != "gpu-l4" {
				got = append(got, part)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%+v: %q", test, got)
		}
		if (made.Slice != nil) != strings.Contains(test.want, "agent-platform") || (made.OperatorRow != "") != strings.Contains(test.want, "gpu-operator") {
			t.Errorf("%+v: slice %v, row %q", test, made.Slice, made.OperatorRow)
		}
		if registered := made.Plan.Objects(clustermanager.Ensure, clustermanager.Runtime); len(registered) != 1 {
			t.Errorf("%+v: registered %v", test, registered)
		}
	}
}

func TestOperatorRows(t *testing.T) {
	flatcar, other := clustermanager.Node{OSImage: "Flatcar Container Linux"}, clustermanager.Node{OSImage: "Ubuntu 24.04"}
	ready := clustermanager.Node{OSImage: "Flatcar", Labels: map[string]string{"nvidia.com/gpu.deploy.driver": "pre-installed"}}
	for _, test := range []struct {
		nodes []clustermanager.Node
		image string
		want  string
	}{
		{[]clustermanager.Node{flatcar}, "ami-1", "flatcar"}, {nil, "flatcar-stable-1", "flatcar"},
		{[]clustermanager.Node{flatcar, ready}, "", "pre-installed"}, {[]clustermanager.Node{other, ready}, "", "pre-installed"},
		{nil, "ami-1", "(no node, machine image \"ami-1\")"}, {[]clustermanager.Node{flatcar, other}, "flatcar-1", "labels none"},
	} {
		survey := servingOf(t, "wc1")
		survey.Nodes = clustermanager.Known(test.nodes)
		b := base{survey: survey}
		made, err := b.decideOperator(test.image, nil)
		if got := made.row; err == nil && got != test.want || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
		if made.row == "pre-installed" && !strings.Contains(listing(clustermanager.Plan{Steps: made.steps}), "gpu-operator.toolkit.enabled = true") {
			t.Error("the pre-installed row leaves the toolkit off")
		}
	}
}

// The Gateway API, once brought, stays; a slice that runs keeps its claim and its cache.
func TestSliceThatRuns(t *testing.T) {
	survey := servingOf(t, "wc1")
	runs(&survey, map[string]any{
		"components":   map[string]any{"gateway-api-crds": map[string]any{"enabled": true}},
		"modelServing": map[string]any{"cache": map[string]any{"pvc": map[string]any{"name": "hf-cache-a"}}},
	})
	survey.Serving.CacheClaims = claims(boundClaim("hf-cache", "eu-central-1b"), boundClaim("hf-cache-a", "eu-central-1a"))
	made := enabled(t, clustermanager.EnableModelServingRequest{Cluster: "wc1", Mode: "commit"}, survey)
	text := listing(made.Plan)
	for _, want := range []string{
		"components.gateway-api-crds.enabled = true", `modelServing.cache.pvc.name = "hf-cache-a"`, `spec.ref.semver = ">=4.117.0 <5.0.0"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	if !made.Slice.GatewayAPI.Composed || !made.Cache.Enabled || made.Cache.Claim != "model-serving/hf-cache-a" || made.CacheClaim == nil || made.CacheClaim.Name != "hf-cache-a" || !*made.Cache.Exists {
		t.Errorf("%+v, %+v", made.Slice, made.Cache)
	}
	runs(&survey, map[string]any{"modelServing": map[string]any{"cache": map[string]any{"enabled": false}}})
	if made := enabled(t, clustermanager.EnableModelServingRequest{Cluster: "wc1", Mode: "commit"}, survey); made.Cache.Enabled || !strings.Contains(made.Cache.Note, "stay and are billed every month") {
		t.Errorf("%+v", made.Cache)
	}
	if made := enabled(t, clustermanager.EnableModelServingRequest{Cluster: "wc1", Cache: new(true), Mode: "commit"}, survey); !strings.Contains(made.Cache.Note, "every pool of the cluster is switched to it") || made.Cache.Claim != "model-serving/hf-cache" {
		t.Errorf("%+v", made.Cache)
	}
}

// A slice that moves over a generation is told.
func TestUpgradeIsTold(t *testing.T) {
	for deployed, want := range map[string]string{"4.84.0": "renames every child", "4.30.0": "renames every child", "4.85.0": "", "": ""} {
		survey := servingOf(t, "wc1")
		runs(&survey, map[string]any{})
		survey.Serving.Slice = changed(survey.Serving.Slice, func(s **clustermanager.Slice) { (*s).Deployed = deployed })
		got := strings.Join(composed(t, serving("wc1", "gpu-l4"), survey).Plan.Warnings, "\n")
		if !strings.Contains(got, want) || want == "" && strings.Contains(got, "moving from") {
			t.Errorf("%s: %s", deployed, got)
		}
	}
	survey := servingOf(t, "wc1")
	runs(&survey, map[string]any{})
	setPlatform(&survey, "4.50.0")
	survey.Serving.Slice = changed(survey.Serving.Slice, func(s **clustermanager.Slice) { (*s).Deployed = "4.30.1" })
	if got := strings.Join(composed(t, serving("wc1", "gpu-l4"), survey).Plan.Warnings, "\n"); !strings.Contains(got, "uninstalls the classic KServe components") {
		t.Error(got)
	}
}

// With several pools predictors are pinned to none, and the operator's discovery to all; a pool that is somebody else's
// counts, one that goes does not.
func TestPools(t *testing.T) {
	survey := servingOf(t, "wc1")
	survey.Pools = clustermanager.Known([]clustermanager.PoolRelease{
		{Name: "wc1-gpu-t4", Pool: "gpu-t4", Owned: true, Accelerator: "nvidia-t4"},
		{Name: "wc1-gpu-l4", Pool: "gpu-l4", Owned: true, Accelerator: "nvidia-l4", Sizes: []string{"48xlarge"}},
		{Name: "wc1-theirs", Pool: "theirs", Accelerator: "nvidia-l40s"},
		{Name: "wc1-going", Pool: "going", Owned: true, Accelerator: "nvidia-l4", Deleting: true},
	})
	made := composed(t, serving("wc1", "gpu-l4"), survey)
	text := listing(made.Plan)
	for _, want := range []string{
		`matchExpressions[0].values[0] = "wc1-gpu-l4"`, `matchExpressions[0].values[1] = "wc1-gpu-t4"`, `matchExpressions[0].values[2] = "wc1-theirs"`,
		`-> spec.kserve.gpuPools.wc1-gpu-l4.instances[0].size = "xlarge"`, `-> spec.kserve.gpuPools.wc1-gpu-t4.instances[2].instanceType = "g4dn.4xlarge"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	for _, absent := range []string{"gpuPool.nodeSelector", "serving.nodeSelector", "gpuPool.instances", "gpuPools.wc1-theirs", "going", "values[3]"} {
		if strings.Contains(text, absent) {
			t.Errorf("%s is in\n%s", absent, text)
		}
	}
	if made.Slice.GPUPool != "" {
		t.Errorf("pinned to %s", made.Slice.GPUPool)
	}
}

// The ninth key is written for a model-manager that parses it alone.
func TestBackendKeys(t *testing.T) {
	for version, want := range map[clustermanager.Reading[string]]int{
		clustermanager.Known("1.12.0"): 3, clustermanager.Known("1.11.0"): 0,
	} {
		survey := servingOf(t, "wc1")
		survey.Serving.Platform = changed(survey.Serving.Platform, func(p *clustermanager.Platform) { p.ModelManagerVersion = version })
		if got := strings.Count(listing(composed(t, serving("wc1", "gpu-l4"), survey).Plan), "computeCapability"); got != want {
			t.Errorf("%s: %d", version.Or(""), got)
		}
	}
}

// The registration of a serving layer that is somebody else's is left to it.
func TestForeignServingWithABackendOfItsOwn(t *testing.T) {
	survey := servingOf(t, "wc1")
	survey.Serving.Component = clustermanager.Component{Status: clustermanager.ComponentPresent, Provider: clustermanager.ProviderChart}
	survey.Live["agent-platform_model-backend-kserve-wc1__ConfigMap"] = clustermanager.Known(&clustermanager.LiveObject{Labels: map[string]string{clustermanager.LabelManagedBy: "Helm"}})
	made := composed(t, serving("wc1", "gpu-l4"), survey)
	if made.Backend != nil || made.Plan.In(clustermanager.Runtime) != nil || !strings.Contains(strings.Join(made.Plan.Warnings, "\n"), "the backend of cluster wc1 stays as it is") {
		t.Errorf("%+v, %q", made.Backend, made.Plan.Warnings)
	}
}

// A registration is runtime state: one that git applies is not written over, and one that is not ours is not removed.
func TestRegistrationsOfOthers(t *testing.T) {
	survey := servingOf(t, "wc1")
	labels := map[string]string{
		clustermanager.LabelManagedBy: clustermanager.ManagedBy, clustermanager.LabelCluster: "wc1",
		clustermanager.LabelModelBackend: "true", clustermanager.LabelModelBackendSource: clustermanager.ManagedBy,
	}
	key := "agent-platform_model-backend-kserve-wc1__ConfigMap"
	survey.Live[key] = clustermanager.Known(&clustermanager.LiveObject{Labels: labels, InInventoryOf: &clustermanager.NamespacedName{Namespace: "flux-giantswarm", Name: "wc1"}})
	if _, err := NodePool(serving("wc1", "gpu-l4"), survey); err == nil || !strings.Contains(err.Error(), "Kustomization flux-giantswarm/wc1 applies it from git, and it is written to the installation alone") {
		t.Error(err)
	}
	survey.Live[key] = clustermanager.Known(&clustermanager.LiveObject{Labels: labels})
	survey.Serving.Backends = clustermanager.Known([]clustermanager.Backend{{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve"}, Cluster: "wc1"}})
	if removed := composed(t, serving("wc1", "gpu-l4"), survey).Plan.Objects(clustermanager.Remove, clustermanager.Runtime); removed != nil {
		t.Errorf("removed %v", removed)
	}
}
