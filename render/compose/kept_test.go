package compose

import (
	"errors"
	"slices"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// What another slice has in the release stays on; a credential of its values is not copied. It is made for this test.
func TestAnotherSliceStaysOn(t *testing.T) {
	survey := servingOf(t, "wc1")
	values := map[string]any{
		"components": map[string]any{
			"kagent": map[string]any{"enabled": true, "version": "1.x"}, "muster": map[string]any{"enabled": false, "version": "2.x"},
			"theirs": map[string]any{"enabled": false}, "kserve-llmisvc-resources": map[string]any{"enabled": true, "version": "0.1"},
		},
		"kagent":                   map[string]any{"replicas": 2},
		"agents":                   map[string]any{"list": []any{"a"}},
		"global":                   map[string]any{"domain": "theirs.example", "registry": "registry.example", "identity": map[string]any{"clientId": "theirs"}},
		"gateway":                  map[string]any{"jwksEgress": map[string]any{"enabled": true}, "replicas": 3},
		"gatewayApi":               map[string]any{"gateway": map[string]any{"tls": map[string]any{"secretName": "theirs"}, "class": "theirs"}},
		"gitops":                   map[string]any{"targetNamespace": "theirs"},
		"modelServing":             map[string]any{"cache": map[string]any{"pvc": map[string]any{"name": "hf-cache-x"}}, "serving": map[string]any{"replicas": 7}},
		"kserve-llmisvc-resources": map[string]any{"replicas": 7},
	}
	runs(&survey, values)
	enable := clustermanager.EnableModelServingRequest{Cluster: "wc1", Mode: "commit"}
	pooled, err := EnableServing(enable, survey)
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range []clustermanager.Plan{pooled.Plan, composed(t, serving("wc1", "gpu-l4"), survey).Plan} {
		text := listing(plan)
		for _, want := range []string{"components.kagent.enabled = true", `components.kagent.version = "1.x"`, "values.kagent.replicas = 2", "components.modelServing.enabled = true", "components.muster.enabled = false",
			"components.theirs.enabled = false", `values.agents.list[0] = "a"`, `values.global.registry = "registry.example"`, "values.gateway.replicas = 3", `values.gatewayApi.gateway.class = "theirs"`,
			`values.global.domain = "wc1.`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is missing in\n%s", want, text)
			}
		}
		for _, ruled := range []string{`muster.version`, `"theirs.example"`, `clientId = "theirs"`, "jwksEgress", `secretName = "theirs"`, `targetNamespace = "theirs"`, "replicas = 7", `version = "0.1"`} {
			if strings.Contains(text, ruled) {
				t.Errorf("serving rules %s in\n%s", ruled, text)
			}
		}
		if warned := strings.Join(plan.Warnings, "\n"); !strings.Contains(warned, "carries another slice too (kagent)") {
			t.Error(warned)
		}
	}
	values["kagent"] = map[string]any{"apiToken": canary}
	runs(&survey, values)
	_, err = EnableServing(enable, survey)
	if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.Contains(err.Error(), "kagent.apiToken") || strings.Contains(err.Error(), canary) {
		t.Error(err)
	}
}

// One claim serves every pool, so a pool in another zone moves it for all of them, which is told; and a way out that
// would be refused is none.
func TestTheClaimMovesForEveryPool(t *testing.T) {
	survey := servingOf(t, "wc1")
	runs(&survey, map[string]any{})
	survey.Serving.CacheClaims = claims(boundClaim("hf-cache", "eu-central-1a"))
	request := serving("wc1", "gpu-l4")
	if made := composed(t, request, survey); strings.Contains(strings.Join(made.Plan.Warnings, "\n"), "instead of") {
		t.Errorf("nothing moves: %q", made.Plan.Warnings)
	}
	request.Zones = []string{"eu-central-1b"}
	warned := strings.Join(composed(t, request, survey).Plan.Warnings, "\n")
	for _, want := range []string{"mounts claim model-serving/hf-cache-eu-central-1b instead of model-serving/hf-cache ", "every pool", "claim model-serving/hf-cache stays and is billed"} {
		if !strings.Contains(warned, want) {
			t.Errorf("%q is missing: %s", want, warned)
		}
	}
	survey.Serving.CacheClaims = claims(boundClaim("hf-cache", "eu-central-1a"), boundClaim("hf-cache-b", "eu-central-1b"))
	request.Zones = nil
	_, err := NodePool(request, survey)
	var refusal *clustermanager.Refusal
	if !errors.As(err, &refusal) || refusal.Block.CacheClaims == nil || len(refusal.Block.CacheClaims.Remedies) != 1 || strings.Contains(err.Error(), "cache false") {
		t.Errorf("a slice runs with the cache: %v", err)
	}
	runs(&survey, map[string]any{"modelServing": map[string]any{"cache": map[string]any{"enabled": false}}})
	if _, err = NodePool(cached(request), survey); !errors.As(err, &refusal) || len(refusal.Block.CacheClaims.Remedies) != 2 {
		t.Errorf("a slice runs without it: %v", err)
	}
}

// Before a merge there is no slice yet, and what its registration says of discovery stays.
func TestADocumentKeepsItsDiscovery(t *testing.T) {
	facts := plainRemoval(func(facts *clustermanager.NodePoolRemovalSurvey) {
		facts.Pools = clustermanager.Known([]clustermanager.PoolRelease{
			{Name: "wc1-gpu-l4", Pool: "gpu-l4", Owned: true}, {Name: "wc1-gpu-x", Pool: "gpu-x", Owned: true, Accelerator: "nvidia-l4"},
		})
		own := clustermanager.BackendReference(facts.Cluster, facts.Settings)
		facts.Serving.Backends = clustermanager.Known([]clustermanager.Backend{{
			ConfigMap: clustermanager.NamespacedName{Namespace: own.Namespace, Name: own.Name}, Cluster: facts.Cluster.Name, Organization: facts.Cluster.Organization, Owned: true,
			Document: "spec:\n  kserve:\n    discovery:\n      namespace: agent-platform\n",
		}})
		facts.Live[clustermanager.LiveKey(own)] = clustermanager.Known[*clustermanager.LiveObject](nil)
	})
	made, err := RemoveNodePool(clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "gpu-l4", Mode: "apply"}, facts)
	if text := listing(made.Plan); err != nil || !strings.Contains(text, `spec.kserve.discovery.namespace = "agent-platform"`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// A claim in a zone without a node subnet pins the nodes to where none can come: told, with what to do.
func TestTheCacheIsWhereNoNodeCanBe(t *testing.T) {
	survey := servingOf(t, "wc1")
	network := func(zones ...string) clustermanager.Reading[clustermanager.Network] {
		return clustermanager.Known(clustermanager.Network{Region: "eu-central-1", Zones: zones})
	}
	const stranded = "the model cache (claim model-serving/hf-cache) lives in eu-central-1d, where the cluster has no node subnet, so no node of the pool can be launched: " +
		"name one of eu-central-1a, eu-central-1b in zones, which has a claim of its own, or remove the claim with remove_model_cache, which loses what it holds"
	request := serving("wc1", "gpu-l4")
	request.Cache = new(true)
	for name, test := range map[string]struct {
		claim   clustermanager.CacheClaim
		network clustermanager.Reading[clustermanager.Network]
		zones   []string
		pinned  string
		want    bool
	}{
		"no subnet there":      {boundClaim("hf-cache", "eu-central-1d"), network("eu-central-1a", "eu-central-1b"), nil, "eu-central-1d", true},
		"a subnet there":       {boundClaim("hf-cache", "eu-central-1b"), network("eu-central-1a", "eu-central-1b"), nil, "eu-central-1b", false},
		"a zone named":         {boundClaim("hf-cache", "eu-central-1d"), network("eu-central-1a", "eu-central-1b"), []string{"eu-central-1a"}, "eu-central-1a", false},
		"the claim is unbound": {pendingClaim("hf-cache"), network("eu-central-1a", "eu-central-1b"), nil, "", false},
		"subnets unread":       {boundClaim("hf-cache", "eu-central-1d"), clustermanager.Unknown[clustermanager.Network]("forbidden"), nil, "eu-central-1d", false},
		"no zone is named":     {boundClaim("hf-cache", "eu-central-1d"), network(), nil, "eu-central-1d", false},
	} {
		survey.Serving.CacheClaims, survey.Network, request.Zones = claims(test.claim), test.network, test.zones
		made := composed(t, request, survey)
		if got := slices.Contains(made.Plan.Warnings, stranded); got != test.want || strings.Join(made.Zones, ",") != test.pinned {
			t.Errorf("%s: pinned to %v, warnings %q", name, made.Zones, made.Plan.Warnings)
		}
	}
}
