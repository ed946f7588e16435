package compose

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Every claim that an answer or a refusal shows has its price: those that are there, those that go, and the one that
// the chart would make.
func TestCachePrices(t *testing.T) {
	fast := boundClaim("hf-cache", "eu-central-1b")
	fast.Capacity, fast.CapacityGiB, fast.Tier = "100Gi", 100, &clustermanager.VolumeTier{Type: "gp3", IOPS: 3000, ThroughputMiBs: 500}
	const monthly = 27.37
	survey := servingOf(t, "wc1")
	survey.Network = clustermanager.Known(clustermanager.Network{Region: "eu-central-1", Zones: []string{"eu-central-1a", "eu-central-1b"}})
	survey.Serving.Charts = clustermanager.Known(chartsAt("4.85.0"))
	priced := func(what string, setting *clustermanager.CacheSetting) {
		t.Helper()
		if setting.MonthlyPriceUSD == nil || *setting.MonthlyPriceUSD != monthly || setting.PriceSource == "" || setting.PriceAsOf == "" || setting.PriceNote != "" {
			t.Errorf("%s: %+v", what, setting)
		}
	}
	asked := cached(serving("wc1", "gpu-l4"))
	priced("the chart's", composed(t, asked, survey).Cache)

	survey.Serving.CacheClaims = claims(fast)
	made := composed(t, asked, survey)
	priced("the claim's", made.Cache)
	for what, claim := range map[string]*clustermanager.CacheClaim{"cacheClaim": made.CacheClaim, "cacheClaims": &made.CacheClaims[0]} {
		if claim.Price == nil || claim.Price.MonthlyUSD != monthly {
			t.Errorf("%s: %+v", what, claim)
		}
	}
	if survey.Serving.CacheClaims.Or(nil)[0].Price != nil {
		t.Error("the survey was changed")
	}

	other := boundClaim("hf-cache-eu-central-1a", "eu-central-1a")
	survey.Serving.CacheClaims = claims(fast, other)
	_, err := NodePool(asked, survey)
	var refusal *clustermanager.Refusal
	if !errors.As(err, &refusal) || refusal.Block == nil || refusal.Block.CacheClaims == nil {
		t.Fatal(err)
	}
	listed := refusal.Block.CacheClaims.Claims
	if listed[0].Price == nil || listed[0].Price.MonthlyUSD != monthly || listed[1].PriceNote != "no price: the claim's capacity is not known" {
		t.Errorf("%+v", listed)
	}

	survey.Serving.CacheClaims = claims(fast)
	survey.Network = clustermanager.Unknown[clustermanager.Network]("forbidden")
	setting := composed(t, asked, survey).Cache
	if diff := cmp.Diff("no price: the region is unknown: forbidden", setting.PriceNote); diff != "" || setting.MonthlyPriceUSD != nil {
		t.Errorf("%+v\n%s", setting, diff)
	}

	removal := cachedOn(t)
	removal.Network = clustermanager.Known(clustermanager.Network{Region: "eu-central-1"})
	removal.Serving.CacheClaims = claims(fast)
	taken, err := RemoveCache(removeCache(""), removal)
	if err != nil || taken.RemovedClaims[0].Price == nil || taken.RemovedClaims[0].Price.MonthlyUSD != monthly {
		t.Errorf("%+v, %v", taken.RemovedClaims, err)
	}
}
