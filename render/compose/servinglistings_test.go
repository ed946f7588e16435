package compose

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var update = flag.Bool("update", false, "write the listings of this project's own goldens anew")

// The listings of operator, slice and backend, with the size of their YAML; 0 where it depends on how text is wrapped.
func TestServingListings(t *testing.T) {
	for _, test := range []struct {
		listing string
		plan    func(t *testing.T) clustermanager.Plan
		bytes   int
	}{
		{"operator-flatcar-workload", operatorOf("wc1", false), 2760},
		{"operator-flatcar-own-cluster", operatorOf("gazelle", false), 2808},
		{"operator-flatcar-dcgm-exporter", operatorOf("wc1", true), 2759},
		{"operator-flatcar-no-pool", operatorWithoutPool, 2435},
		{"slice-own-cluster", func(t *testing.T) clustermanager.Plan {
			return only(composed(t, cached(serving("gazelle", "gpu-l4")), own(t)).Plan, "gazelle-agent-platform")
		}, 3131},
		{"slice-own-cluster-zone-claim", func(t *testing.T) clustermanager.Plan {
			request := cached(serving("gazelle", "gpu-l40s"))
			request.Accelerator, request.Zones = "nvidia-l40s", []string{"eu-central-1a"}
			return only(composed(t, request, own(t)).Plan, "gazelle-agent-platform")
		}, 3200},
		{"slice-workload", func(t *testing.T) clustermanager.Plan {
			return only(composed(t, cached(serving("wc1", "gpu-l4")), servingOf(t, "wc1")).Plan, "wc1-agent-platform")
		}, 2736},
		{"slice-workload-no-pool", func(t *testing.T) clustermanager.Plan {
			return only(enabled(t, clustermanager.EnableModelServingRequest{Cluster: "wc1", Cache: new(true), Mode: "commit"}, servingOf(t, "wc1")).Plan, "wc1-agent-platform")
		}, 2579},
		{"backend-kserve-workload", func(t *testing.T) clustermanager.Plan {
			request := serving("wc1", "gpu-l4")
			request.Sizes = []string{"xlarge", "2xlarge"}
			return only(composed(t, request, servingOf(t, "wc1")).Plan, "model-backend-kserve-wc1")
		}, 1423},
		{"backend-kserve-local", func(t *testing.T) clustermanager.Plan {
			return only(enabled(t, clustermanager.EnableModelServingRequest{Cluster: "gazelle", Mode: "commit"}, own(t)).Plan, "model-backend-kserve")
		}, 699},
	} {
		t.Run(test.listing, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", "listings", test.listing+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			plan := test.plan(t)
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(listing(plan), "\n")); diff != "" {
				t.Error(diff)
			}
			if got := len(documents(t, plan)); got != test.bytes {
				t.Errorf("%d bytes of YAML, want %d", got, test.bytes)
			}
		})
	}
}

func operatorOf(cluster string, exporter bool) func(*testing.T) clustermanager.Plan {
	return func(t *testing.T) clustermanager.Plan {
		survey := servingOf(t, cluster)
		survey.Settings.GPUOperatorDCGMExporter = exporter
		return only(composed(t, pool(cluster, "gpu-l4"), survey).Plan, cluster+"-gpu-operator")
	}
}

func operatorWithoutPool(t *testing.T) clustermanager.Plan {
	b := base{survey: servingOf(t, "wc1")}
	decided, err := b.decideOperator("", nil)
	if err != nil {
		t.Fatal(err)
	}
	return clustermanager.Plan{Steps: decided.steps}
}

func cached(request clustermanager.CreateNodePoolRequest) clustermanager.CreateNodePoolRequest {
	request.Cache = new(true)
	return request
}

func enabled(t *testing.T, request clustermanager.EnableModelServingRequest, survey clustermanager.Survey) Serving {
	t.Helper()
	made, err := EnableServing(request, survey)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Each generation of the slice's chart has a golden, on a workload cluster and on the own one.
func TestSliceGenerations(t *testing.T) {
	for name, test := range map[string]struct {
		platform, pin string
		gatewayAPI    bool
	}{
		"1":     {platform: "4.27.2"},
		"2":     {platform: "4.44.1"},
		"3":     {platform: "4.86.0+1c7eb3256e07"},
		"4":     {platform: "4.86.0", gatewayAPI: true},
		"4-lab": {platform: "4.25.0", pin: "0.0.0-lab", gatewayAPI: true},
	} {
		for _, cluster := range []string{"wc1", "gazelle"} {
			t.Run(name+"-"+cluster, func(t *testing.T) {
				survey := servingOf(t, cluster)
				survey.Settings.SliceChartVersion = test.pin
				survey.Serving.Platform = changed(survey.Serving.Platform, func(p *clustermanager.Platform) { p.ChartVersion = test.platform })
				survey.Serving.GatewayAPI = clustermanager.Known(clustermanager.GatewayAPI{Installed: !test.gatewayAPI})
				plan := composed(t, serving(cluster, "gpu-l4"), survey).Plan
				golden(t, "slice-generation-"+name+"-"+cluster, listing(only(plan, cluster+"-agent-platform", clustermanager.BackendReference(survey.Cluster, survey.Settings).Name)))
			})
		}
	}
}

// golden compares with testdata/listings/<name>.txt.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "listings", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Error(diff)
	}
}
