package catalog

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// The figures of a gp3 volume, as AWS lists them: USD per GiB-month, per MiB/s-month above 125, per IOPS-month above 3000.
var volumeFigures = map[string][3]float64{
	"eu-central-1":   {0.0952, 0.0476, 0.006},
	"eu-west-1":      {0.088, 0.044, 0.0055},
	"eu-west-2":      {0.0928, 0.0464, 0.0058},
	"eu-north-1":     {0.0836, 0.0418, 0.0052},
	"us-east-1":      {0.08, 0.04, 0.005},
	"us-west-2":      {0.08, 0.04, 0.005},
	"ap-southeast-1": {0.096, 0.048, 0.006},
}

func TestVolumeFigures(t *testing.T) {
	want := map[place]listPrice{}
	for region, figures := range volumeFigures {
		for i, item := range []string{storageFigure, throughputFigure, iopsFigure} {
			want[place{region, item}] = listPrice{usd: figures[i], asOf: "2026-09-19"}
		}
	}
	if diff := cmp.Diff(want, loaded().volumes, cmp.AllowUnexported(place{}, listPrice{})); diff != "" || len(want) != 21 {
		t.Error(diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(volumeFigures)), volumeRegions()); diff != "" {
		t.Error(diff)
	}
}

func TestClaimPrices(t *testing.T) {
	claim := func(gib float64, tier *clustermanager.VolumeTier) clustermanager.CacheClaim {
		return clustermanager.CacheClaim{Name: "hf-cache", CapacityGiB: gib, Tier: tier}
	}
	gp3 := func(iops, throughput int) *clustermanager.VolumeTier {
		return &clustermanager.VolumeTier{Type: "gp3", IOPS: iops, ThroughputMiBs: throughput}
	}
	frankfurt := clustermanager.Known("eu-central-1")
	for name, test := range map[string]struct {
		claim         clustermanager.CacheClaim
		region        clustermanager.Reading[string]
		usd           float64
		location, why string
	}{
		"a fast cache":            {claim(100, gp3(3000, 500)), frankfurt, 27.37, "EU (Frankfurt) (eu-central-1)", ""},
		"at the baseline":         {claim(100, gp3(0, 0)), clustermanager.Known("us-east-1"), 8, "US East (N. Virginia) (us-east-1)", ""},
		"below the baseline":      {claim(100, gp3(1, 1)), clustermanager.Known("us-east-1"), 8, "US East (N. Virginia) (us-east-1)", ""},
		"with IOPS":               {claim(200, gp3(4000, 125)), frankfurt, 25.04, "EU (Frankfurt) (eu-central-1)", ""},
		"rounded to the cent":     {claim(1.3, gp3(0, 0)), frankfurt, 0.12, "EU (Frankfurt) (eu-central-1)", ""},
		"region unknown":          {claim(0, nil), clustermanager.Unknown[string]("AWSCluster org-acme/wc1: forbidden"), 0, "", "no price: the region is unknown: AWSCluster org-acme/wc1: forbidden"},
		"no capacity":             {claim(0, nil), clustermanager.Known("mars-1"), 0, "", "no price: the claim's capacity is not known"},
		"negative capacity":       {claim(-1, gp3(0, 0)), frankfurt, 0, "", "no price: the claim's capacity is not known"},
		"no tier":                 {claim(1, nil), clustermanager.Known("mars-1"), 0, "", "no price: the volume's type is not known"},
		"a tier without a type":   {claim(1, &clustermanager.VolumeTier{IOPS: 1}), frankfurt, 0, "", "no price: the volume's type is not known"},
		"another type":            {claim(1, &clustermanager.VolumeTier{Type: "io2"}), clustermanager.Known("mars-1"), 0, "", "no price: the price table covers volumes of type gp3, and this is io2"},
		"region not in the table": {claim(1, gp3(0, 0)), clustermanager.Known("mars-1"), 0, "", `no price: the price table does not cover volumes in region "mars-1"; it covers ap-southeast-1, eu-central-1, eu-north-1, eu-west-1, eu-west-2, us-east-1, us-west-2`},
	} {
		got := test.claim
		// What an earlier read left behind must not stay.
		got.Price, got.PriceNote = &clustermanager.ClaimPrice{MonthlyUSD: 1}, "old"
		PriceClaim(&got, test.region)
		want := test.claim
		want.PriceNote = test.why
		if test.why == "" {
			want.Price = &clustermanager.ClaimPrice{MonthlyUSD: test.usd, Source: "AWS EBS list price for gp3, " + test.location, AsOf: "2026-09-19"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTierWords(t *testing.T) {
	for want, tier := range map[string]clustermanager.VolumeTier{
		"gp3, 500 MiB/s, 3000 IOPS": {Type: "gp3", IOPS: 3000, ThroughputMiBs: 500},
		"gp3, 16000 IOPS":           {Type: "gp3", IOPS: 16000},
		"gp2":                       {Type: "gp2"},
	} {
		if got := TierWords(tier); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPriceTableFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "the header is not kind,region",
		"region\n":                          "the header is not kind,region",
		header + "ebs_gp3,r,l,i,u,x,2026\n": "line 2: decoding the price",
		header + "rds,r,l,i,u,1,2026\n":     `line 2: decoding: "rds" is no kind of price`,
	} {
		decoded := &tables{prices: map[place]listPrice{}, regions: map[string]string{}, volumes: map[place]listPrice{}}
		if err := decoded.readPrices("prices.csv", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

var header = strings.Join(priceColumns, ",") + "\n"
