package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// shape is one row of the sizing table: what the provider lists, and what the rule must leave a predictor.
type shape struct {
	instanceType                  string
	vcpu, memory, gpus, gpuMemory int
	storeDisks, storeDisk, store  int
	usableVCPU, usableMemory      float64
}

var shapes = []shape{
	{"g6.xlarge", 4, 16, 1, 24, 1, 250, 250, 3, 11.9},
	{"g6.2xlarge", 8, 32, 1, 24, 1, 450, 450, 7, 27.1},
	{"g6.4xlarge", 16, 64, 1, 24, 1, 600, 600, 15, 57.5},
	{"g6.8xlarge", 32, 128, 1, 24, 2, 450, 900, 31, 118.3},
	{"g6.12xlarge", 48, 192, 4, 24, 4, 940, 3760, 47, 179.1},
	{"g6.16xlarge", 64, 256, 1, 24, 2, 940, 1880, 63, 239.9},
	{"g6.24xlarge", 96, 384, 4, 24, 4, 940, 3760, 95, 361.5},
	{"g6.48xlarge", 192, 768, 8, 24, 8, 940, 7520, 191, 726.3},
	{"g5.xlarge", 4, 16, 1, 24, 1, 250, 250, 3, 11.9},
	{"g5.2xlarge", 8, 32, 1, 24, 1, 450, 450, 7, 27.1},
	{"g5.4xlarge", 16, 64, 1, 24, 1, 600, 600, 15, 57.5},
	{"g5.8xlarge", 32, 128, 1, 24, 1, 900, 900, 31, 118.3},
	{"g5.12xlarge", 48, 192, 4, 24, 1, 3800, 3800, 47, 179.1},
	{"g5.16xlarge", 64, 256, 1, 24, 1, 1900, 1900, 63, 239.9},
	{"g5.24xlarge", 96, 384, 4, 24, 1, 3800, 3800, 95, 361.5},
	{"g5.48xlarge", 192, 768, 8, 24, 2, 3800, 7600, 191, 726.3},
	{"g6e.xlarge", 4, 32, 1, 48, 1, 250, 250, 3, 27.1},
	{"g6e.2xlarge", 8, 64, 1, 48, 1, 450, 450, 7, 57.5},
	{"g6e.4xlarge", 16, 128, 1, 48, 1, 600, 600, 15, 118.3},
	{"g6e.8xlarge", 32, 256, 1, 48, 2, 450, 900, 31, 239.9},
	{"g6e.12xlarge", 48, 384, 4, 48, 2, 1900, 3800, 47, 361.5},
	{"g6e.16xlarge", 64, 512, 1, 48, 2, 950, 1900, 63, 483.1},
	{"g6e.24xlarge", 96, 768, 4, 48, 2, 1900, 3800, 95, 726.3},
	{"g6e.48xlarge", 192, 1536, 8, 48, 4, 1900, 7600, 191, 1455.9},
	{"g4dn.xlarge", 4, 16, 1, 16, 1, 125, 125, 3, 11.9},
	{"g4dn.2xlarge", 8, 32, 1, 16, 1, 225, 225, 7, 27.1},
	{"g4dn.4xlarge", 16, 64, 1, 16, 1, 225, 225, 15, 57.5},
	{"g4dn.8xlarge", 32, 128, 1, 16, 1, 900, 900, 31, 118.3},
	{"g4dn.12xlarge", 48, 192, 4, 16, 1, 900, 900, 47, 179.1},
	{"g4dn.16xlarge", 64, 256, 1, 16, 1, 900, 900, 63, 239.9},
	{"g4dn.metal", 96, 384, 8, 16, 2, 900, 1800, 95, 361.5},
}

func TestDataDecodes(t *testing.T) {
	decoded, err := decode()
	if err != nil {
		t.Fatal(err)
	}
	if len(decoded.prices) != 169 || len(decoded.regions) != 7 {
		t.Errorf("%d prices in %d regions, want 169 in 7", len(decoded.prices), len(decoded.regions))
	}
}

func TestShapes(t *testing.T) {
	var got []shape
	for _, accelerator := range Accelerators() {
		for _, s := range PoolSizes(accelerator.Name, SizeNames(accelerator.Name), clustermanager.Unknown[string]("not asked")) {
			got = append(got, shape{
				s.InstanceType, s.VCPU, s.MemoryGiB, s.GPUs, s.GPUMemoryGiB,
				s.InstanceStoreDisks, s.InstanceStoreDiskGB, s.InstanceStoreGB, s.UsableVCPU, s.UsableMemoryGiB,
			})
			if s.MemoryGiB != s.VCPU*accelerator.GiBPerVCPU {
				t.Errorf("%s: %d GiB for %d vCPU, the family has %d each", s.InstanceType, s.MemoryGiB, s.VCPU, accelerator.GiBPerVCPU)
			}
		}
	}
	byType := func(a, b shape) int { return strings.Compare(a.instanceType, b.instanceType) }
	want := slices.SortedFunc(slices.Values(shapes), byType)
	slices.SortFunc(got, byType)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(shape{})); diff != "" {
		t.Error(diff)
	}
}

func TestRoundingHalvesUp(t *testing.T) {
	for hundredths, want := range map[int]float64{1190: 11.9, 1185: 11.9, 1184: 11.8, 300: 3, 72625: 726.3} {
		if got := tenths(hundredths); got != want {
			t.Errorf("tenths(%d) = %v, want %v", hundredths, got, want)
		}
	}
}

func TestAccelerators(t *testing.T) {
	type row struct {
		Name, Family string
		GPU, Ratio   int
		Capability   string
		Sizes        string
	}
	const all = "xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge"
	want := []row{
		{"nvidia-l4", "g6", 24, 4, "8.9", all},
		{"nvidia-a10g", "g5", 24, 4, "8.6", all},
		{"nvidia-t4", "g4dn", 16, 4, "7.5", "xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge metal"},
		{"nvidia-l40s", "g6e", 48, 8, "8.9", all},
	}
	var got []row
	for _, a := range Accelerators() {
		got = append(got, row{a.Name, a.Family, a.GPUMemoryGiB, a.GiBPerVCPU, a.ComputeCapability, strings.Join(SizeNames(a.Name), " ")})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if names := AcceleratorNames(); !slices.Equal(names, []string{"nvidia-l4", "nvidia-a10g", "nvidia-t4", "nvidia-l40s"}) {
		t.Errorf("names %v", names)
	}
	if SizeNames("nvidia-h100") != nil || SizeNames("") != nil {
		t.Error("an unknown accelerator has sizes")
	}
}

func TestPoolSizesOrder(t *testing.T) {
	for _, test := range []struct {
		accelerator string
		asked, want []string
	}{
		{"nvidia-l4", nil, []string{"g6.xlarge", "g6.2xlarge", "g6.4xlarge"}},
		{"nvidia-l40s", []string{"12xlarge", "xlarge", "xlarge"}, []string{"g6e.xlarge", "g6e.12xlarge"}},
		{"nvidia-t4", []string{"metal", "48xlarge", "2xlarge"}, []string{"g4dn.2xlarge", "g4dn.metal"}},
		{"nvidia-h100", nil, nil},
	} {
		var got []string
		for _, size := range PoolSizes(test.accelerator, test.asked, clustermanager.Known("us-east-1")) {
			got = append(got, size.InstanceType)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %v: %v, want %v", test.accelerator, test.asked, got, test.want)
		}
	}
}

func TestPrices(t *testing.T) {
	usd := func(v float64) *float64 { return &v }
	for name, test := range map[string]struct {
		accelerator, size string
		region            clustermanager.Reading[string]
		usd               *float64
		source, note      string
	}{
		"listed": {
			"nvidia-l4", "xlarge", clustermanager.Known("eu-central-1"),
			usd(1.0064), "AWS EC2 on-demand list price for Linux, EU (Frankfurt) (eu-central-1)", "",
		},
		"the region's own figure": {
			"nvidia-t4", "xlarge", clustermanager.Known("ap-southeast-1"),
			usd(0.736), "AWS EC2 on-demand list price for Linux, Asia Pacific (Singapore) (ap-southeast-1)", "",
		},
		"region unknown": {
			"nvidia-l4", "xlarge", clustermanager.Unknown[string]("AWSCluster org-acme/wc1: forbidden"),
			nil, "", "no price: the region is unknown: AWSCluster org-acme/wc1: forbidden",
		},
		"region not read": {
			"nvidia-l4", "xlarge", clustermanager.Reading[string]{}, nil, "", "no price: the region is unknown: not read",
		},
		"region not in the table": {
			"nvidia-l4", "xlarge", clustermanager.Known("eu-south-1"), nil, "",
			`no price: the price table does not cover region "eu-south-1"; it covers ap-southeast-1, eu-central-1, eu-north-1, eu-west-1, eu-west-2, us-east-1, us-west-2`,
		},
		"size not offered there": {
			"nvidia-l4", "2xlarge", clustermanager.Known("eu-west-1"), nil, "",
			"no price: g6.2xlarge is not on the list for EU (Ireland) (eu-west-1)",
		},
	} {
		got := PoolSizes(test.accelerator, []string{test.size}, test.region)[0]
		asOf := ""
		if test.usd != nil {
			asOf = "2026-09-19"
		}
		if diff := cmp.Diff([]any{test.usd, test.source, asOf, test.note}, []any{got.PricePerHourUSD, got.PriceSource, got.PriceAsOf, got.PriceNote}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestChartFacts(t *testing.T) {
	want := PoolChart{
		URL: "oci://gsoci.azurecr.io/charts/giantswarm/gpu-node-pool", Floor: "0.8.0",
		DefaultSizes: []string{"xlarge", "2xlarge", "4xlarge"},
		Keys: []ChartKey{
			{"pool.prewarm", "prewarm", "0.4.0"}, {"pool.zones", "zones", "0.5.0"}, {"pool.prefetchImages", "", "0.8.0"},
		},
		Flatcar: FlatcarRule{Since: "0.6.0", Floor: "4344.0.0"},
	}
	if diff := cmp.Diff(want, GPUNodePool()); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"gpu-operator", "agent-platform", "kserve-llmisvc-crd", "kserve-crd", "agentgateway", "muster", "valkey"} {
		if !slices.Contains(ReservedNames(), name) {
			t.Errorf("%s is not reserved", name)
		}
	}
}

// What a caller does with an answer must not reach the next one.
func TestAnswersAreCopies(t *testing.T) {
	Accelerators()[0].Sizes[0].Name = "changed"
	AcceleratorNames()[0], SizeNames("nvidia-l4")[0] = "changed", "changed"
	GPUNodePool().DefaultSizes[0], GPUNodePool().Keys[0].Path = "changed", "changed"
	ReservedNames()[0], PriceRegions()[0] = "changed", "changed"
	*PoolSizes("nvidia-l4", nil, clustermanager.Known("eu-central-1"))[0].PricePerHourUSD = 0
	fresh, err := decode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fresh, loaded(), cmp.AllowUnexported(tables{}, place{}, listPrice{})); diff != "" {
		t.Error(diff)
	}
}
