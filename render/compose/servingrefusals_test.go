package compose

import (
	"errors"
	"slices"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// servingFaults break a pool with serving that is fine otherwise, gpu-l4 on wc1, in the order in which they are told.
var servingFaults = []fault{
	{"base domain", func(_ request, s survey) { setValue(s, nil, "connectivity", "baseDomain") }, "a pool needs a base domain", false},
	{"no place in git", func(_ request, s survey) {
		s.Target = clustermanager.Read(clustermanager.Target{}, clustermanager.Refuse("Cluster org-acme/wc1: no Kustomization applies it"))
	}, "no Kustomization applies it", false},
	{"pools unreadable", func(_ request, s survey) { s.Pools = clustermanager.Unknown[[]clustermanager.PoolRelease]("forbidden") },
		"Cluster org-acme/wc1: its GPU pools could not be read: forbidden; see to that, then call again", false},
	{"slice unreadable", func(_ request, s survey) {
		s.Serving.Slice = clustermanager.Unknown[*clustermanager.Slice]("forbidden")
	},
		"Cluster org-acme/wc1: its serving slice could not be read: forbidden", false},
	{"slice under another name", func(_ request, s survey) {
		s.Serving.Slice = clustermanager.Read[*clustermanager.Slice](nil, clustermanager.Refuse("HelmRelease org-acme/other: it is a slice of wc1 under another name"))
	}, "HelmRelease org-acme/other: it is a slice of wc1 under another name", true},
	{"platform unreadable", func(_ request, s survey) {
		s.Serving.Platform = clustermanager.Unknown[clustermanager.Platform]("forbidden")
	}, "Cluster org-acme/wc1: the installation's platform release, which a slice takes after, could not be read: forbidden", false},
	{"platform without domain", func(_ request, s survey) {
		s.Serving.Platform = changed(s.Serving.Platform, func(p *clustermanager.Platform) { p.Domain = "" })
	}, "HelmRelease flux-giantswarm/agent-platform: its values name no global.domain", true},
	{"Gateway API unreadable", func(_ request, s survey) {
		s.Serving.GatewayAPI = clustermanager.Unknown[clustermanager.GatewayAPI]("forbidden")
	}, "Cluster org-acme/wc1: whether it serves the Gateway API could not be read: forbidden", false},
	{"platform too old", func(_ request, s survey) { setPlatform(s, "4.26.9+abc") },
		"HelmRelease flux-giantswarm/agent-platform: the platform runs chart agent-platform 4.26.9, and a slice needs 4.27.0 or newer", false},
	{"pin without the definitions", func(_ request, s survey) {
		s.Settings.SliceChartVersion, s.Serving.GatewayAPI = "4.50.0", clustermanager.Known(clustermanager.GatewayAPI{})
	}, "the slice's chart is pinned to 4.50.0 (setting slice-chart-version), and the cluster needs the component gateway-api-crds", true},
	{"another slice beside an older one", func(_ request, s survey) {
		setPlatform(s, "4.84.2")
		s.Serving.OtherSlices = clustermanager.Known([]clustermanager.Slice{{Cluster: "wc2", Release: clustermanager.NamespacedName{Namespace: "org-acme", Name: "wc2-agent-platform"}}})
	}, "those of cluster wc2 (HelmRelease org-acme/wc2-agent-platform) have", false},
	{"other slices unreadable", func(_ request, s survey) {
		setPlatform(s, "4.84.2")
		s.Serving.OtherSlices = clustermanager.Unknown[[]clustermanager.Slice]("forbidden")
	}, "the slices of other clusters in namespace org-acme could not be read: forbidden", true},
	{"issuer names no host", func(_ request, s survey) {
		s.Serving.Platform = changed(s.Serving.Platform, func(p *clustermanager.Platform) { p.Identity = map[string]any{"issuerUrl": "dex"} })
	}, "HelmRelease flux-giantswarm/agent-platform: its values name no host in global.identity.issuerUrl", false},
	{"slim images unreadable", func(_ request, s survey) {
		s.Serving.Charts = clustermanager.Unknown[clustermanager.SliceCharts]("registry: no answer")
	}, "the slim serving images, which cluster wc1's GPU pools take, could not be read: registry: no answer", false},
	{"skew", func(_ request, s survey) { s.ControlPlaneVersion = clustermanager.Known("1.31.3") }, "newer than the control plane's", false},
	{"Flatcar", func(_ request, s survey) { setPins(s, func(p *clustermanager.ReleasePins) { p.Flatcar = "4081.2.1" }) }, "needs 4344.0.0 or newer", false},
	{"zone", func(r request, _ survey) { r.Zones = append(r.Zones, "eu-central-1d") }, `zone "eu-central-1d" has no node subnet`, false},
	{"cache switched off", func(r request, s survey) {
		r.Cache = new(false)
		runs(s, map[string]any{})
	}, "cache false is refused, since its slice runs with the model cache on: models on every pool would lose it while claim model-serving/hf-cache stays", false},
	{"several claims", func(r request, s survey) {
		r.Cache = new(true)
		s.Serving.CacheClaims = claims(boundClaim("hf-cache", "a"), boundClaim("hf-cache-b", "b"))
	}, "the model cache has several claims", true},
	{"prewarm", func(r request, _ survey) { r.Prewarm = true }, "prewarm launches a node on", false},
	{"operator unknown", func(_ request, s survey) {
		s.GPUOperator = clustermanager.Component{Status: clustermanager.ComponentUnknown, Reason: "forbidden"}
	}, "Cluster org-acme/wc1: whether a GPU operator runs on it could not be found out: forbidden", false},
	{"operator not asked for", func(_ request, s survey) { s.GPUOperator = clustermanager.Component{} }, "could not be found out: not read", true},
	{"nodes unreadable", func(_ request, s survey) { s.Nodes = clustermanager.Unknown[[]clustermanager.Node]("forbidden") },
		"Cluster org-acme/wc1: its nodes, which the GPU operator is configured from, could not be read: forbidden", false},
	{"nodes of another kind", func(_ request, s survey) {
		s.Nodes = clustermanager.Known([]clustermanager.Node{
			{OSImage: "Ubuntu 24.04", Labels: map[string]string{"nvidia.com/gpu.present": "true", "giantswarm.io/machine-pool": "x", "nvidia.com/gpu.deploy.driver": "true"}},
			{OSImage: "Flatcar 1"}, {OSImage: "Ubuntu 24.04"},
		})
	}, `(OS images "Flatcar 1", "Ubuntu 24.04", labels nvidia.com/gpu.deploy.driver=true, nvidia.com/gpu.present=true): known are pre-installed (driver false, toolkit true)`, true},
	{"serving unknown", func(_ request, s survey) {
		s.Serving.Component = clustermanager.Component{Status: clustermanager.ComponentUnknown, Reason: "forbidden"}
	}, "whether models are served on it already could not be found out: forbidden", false},
	{"issuer refused", func(_ request, s survey) {
		s.Serving.Issuer = clustermanager.Read(clustermanager.CertificateIssuer{}, clustermanager.Refuse("ClusterIssuer letsencrypt-giantswarm: you may not read it"))
	}, "ClusterIssuer letsencrypt-giantswarm: you may not read it", false},
	{"cache of a foreign layer", func(r request, s survey) {
		r.Cache = new(true)
		s.Serving.Component = clustermanager.Component{Status: clustermanager.ComponentPresent, Provider: clustermanager.ProviderChart, Evidence: []string{"ConfigMap x"}}
	}, "cache true is refused, since serving there is chart's and not cluster-manager's (ConfigMap x)", true},
	{"cache off of a foreign layer", func(r request, s survey) {
		r.Cache = new(false)
		s.Serving.Component = clustermanager.Component{Status: clustermanager.ComponentPresent, Provider: clustermanager.ProviderManual}
	}, "cache false is refused, since serving there is manual's", true},
	{"backend of a cluster of the same name", func(_ request, s survey) {
		s.Serving.Backends = clustermanager.Known([]clustermanager.Backend{{
			ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve-wc1"}, Cluster: "wc1", Organization: "research", Owned: true,
		}})
	}, "ConfigMap agent-platform/model-backend-kserve-wc1: cluster wc1 of organization research is registered", false},
	{"endpoint unreadable", func(_ request, s survey) {
		s.Serving.Endpoint = clustermanager.Unknown[clustermanager.Endpoint]("Secret org-acme/wc1-kubeconfig: forbidden")
	}, "where its API server answers, which model-manager has to know, could not be read: Secret org-acme/wc1-kubeconfig: forbidden", false},
	{"serving namespace deleted", func(_ request, s survey) {
		s.Serving.Namespace = clustermanager.Known(&clustermanager.ServingNamespace{Name: "model-serving", Deleting: true})
	}, "Namespace model-serving on cluster wc1: it is being deleted", false},
	{"foreign slice", func(_ request, s survey) {
		s.Live["org-acme_wc1-agent-platform_helm.toolkit.fluxcd.io_HelmRelease"] = clustermanager.Known(&clustermanager.LiveObject{Labels: map[string]string{clustermanager.LabelManagedBy: "Helm"}})
	}, "HelmRelease org-acme/wc1-agent-platform: it exists and is managed by Helm: remove it there", false},
	{"foreign backend", func(_ request, s survey) {
		s.Live["agent-platform_model-backend-kserve-wc1__ConfigMap"] = clustermanager.Known(&clustermanager.LiveObject{})
	}, "ConfigMap agent-platform/model-backend-kserve-wc1: it exists and its owner is unknown: remove it", false},
	{"operator of another cluster", func(_ request, s survey) {
		s.Live["org-acme_wc1-gpu-operator_source.toolkit.fluxcd.io_OCIRepository"] = clustermanager.Known(&clustermanager.LiveObject{Labels: map[string]string{
			clustermanager.LabelManagedBy: clustermanager.ManagedBy, clustermanager.LabelChart: "gpu-operator", clustermanager.LabelCluster: "wc1-gpu",
		}})
	}, `OCIRepository org-acme/wc1-gpu-operator: it exists and belongs to another release of ours (giantswarm.io/cluster="wc1-gpu"): remove it there`, false},
	{"operator not read", func(_ request, s survey) {
		delete(s.Live, "org-acme_wc1-gpu-operator_helm.toolkit.fluxcd.io_HelmRelease")
	}, "HelmRelease org-acme/wc1-gpu-operator: whether it exists and whose it is could not be read: not read", false},
}

func setPlatform(s survey, version string) {
	s.Serving.Platform = changed(s.Serving.Platform, func(p *clustermanager.Platform) { p.ChartVersion = version })
}

func servingRefused(t *testing.T, made ...fault) string {
	t.Helper()
	request, survey := serving("wc1", "gpu-l4"), servingOf(t, "wc1")
	for _, fault := range made {
		fault.apply(&request, &survey)
	}
	pool, err := NodePool(request, survey)
	var refusal *clustermanager.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("%s: no refusal but %v", made[0].name, err)
	}
	if pool.Plan.Steps != nil {
		t.Errorf("%s: refused, and yet a plan", made[0].name)
	}
	return refusal.Message
}

func TestServingRefusals(t *testing.T) {
	for _, fault := range servingFaults {
		if got := servingRefused(t, fault); !strings.Contains(got, fault.want) {
			t.Errorf("%s: %s, want %s", fault.name, got, fault.want)
		}
	}
}

// readForSlice are the faults of what is read only where the slice is ours to compose, which nobody knows while it is
// unknown who serves.
var readForSlice = []string{
	"slice unreadable", "platform unreadable", "Gateway API unreadable", "platform too old", "another slice beside an older one", "issuer names no host", "slim images unreadable",
}

// Of two faults the earlier is told. A slice that runs makes serving known.
func TestServingRefusalsComeInOrder(t *testing.T) {
	for i, first := range servingFaults {
		for _, second := range servingFaults[i+1:] {
			if first.other || second.other || first.name == "cache switched off" || second.name == "serving unknown" && slices.Contains(readForSlice, first.name) {
				continue
			}
			if got := servingRefused(t, second, first); !strings.Contains(got, first.want) {
				t.Errorf("%s and %s: %s", first.name, second.name, got)
			}
		}
	}
}

// The installation's own cluster has refusals of its own.
func TestOwnClusterRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		change func(survey)
		want   string
	}{
		"a workload cluster holds the backend name": {func(s survey) {
			s.Serving.Backends = clustermanager.Known([]clustermanager.Backend{{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve"}, Cluster: "wc1", Owned: true}})
		}, "workload cluster wc1 is registered under the backend name that cluster gazelle needs: run create_node_pool or enable_model_serving for wc1 again"},
		"platform namespace unknown": {func(s survey) {
			s.Serving.Platform = changed(s.Serving.Platform, func(p *clustermanager.Platform) { p.Namespace = "" })
		}, "HelmRelease flux-giantswarm/agent-platform: the namespace of its workloads is not known"},
	} {
		survey := own(t)
		test.change(&survey)
		if _, err := NodePool(serving("gazelle", "gpu-l4"), survey); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	survey := own(t)
	survey.Serving.Platform = changed(survey.Serving.Platform, func(p *clustermanager.Platform) {
		p.Namespace, p.ChartVersion, p.Identity, p.TLSSecret = "", "4.30.1", nil, "w"
	})
	survey.Serving.Issuer, survey.Serving.Endpoint = clustermanager.Reading[clustermanager.CertificateIssuer]{}, clustermanager.Reading[clustermanager.Endpoint]{}
	if _, err := NodePool(serving("gazelle", "gpu-l4"), survey); err != nil {
		t.Errorf("an own cluster needs no issuer, endpoint and ingress namespace here: %v", err)
	}
}

// Serving false reads and composes nothing of serving.
func TestServingFalse(t *testing.T) {
	survey := servingOf(t, "wc1")
	survey.Serving = clustermanager.ServingSurvey{}
	made := composed(t, pool("wc1", "gpu-l4"), survey)
	want := []string{"OCIRepository org-acme/wc1-gpu-l4", "HelmRelease org-acme/wc1-gpu-l4", "OCIRepository org-acme/wc1-gpu-operator", "HelmRelease org-acme/wc1-gpu-operator"}
	var got []string
	for _, reference := range made.Plan.Objects(clustermanager.Ensure, clustermanager.Declared) {
		got = append(got, reference.String())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || made.Plan.In(clustermanager.Runtime) != nil {
		t.Errorf("%q", order(made.Plan))
	}
	if made.Slice != nil || made.Backend != nil || made.Cache != nil || made.PresetFit != nil || made.PrefetchNote != "" || made.OperatorRow != "flatcar" {
		t.Errorf("%+v", made.ServingResult)
	}
}
