package catalog

import (
	"fmt"
	"math"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// pricedVolume is the one volume type that the price table has, and what its storage includes: throughput in MiB/s and
// IOPS are paid for above these (https://aws.amazon.com/ebs/pricing/).
const (
	pricedVolume       = "gp3"
	baselineThroughput = 125
	baselineIOPS       = 3000
)

// The figures of a volume in data/prices.csv.
const (
	storageFigure    = "gp3_storage"
	throughputFigure = "gp3_throughput_above_125MiBps"
	iopsFigure       = "gp3_iops_above_3000"
)

// PriceClaim fills the price of a cache claim from data/prices.csv: AWS's published list prices of EBS, per region, in USD
// per month. Without a price the note says why. A claim never gets a figure of another region.
func PriceClaim(claim *clustermanager.CacheClaim, region clustermanager.Reading[string]) {
	claim.Price, claim.PriceNote = nil, ""
	name, known := region.Get()
	switch {
	case !known:
		claim.PriceNote = "no price: the region is unknown: " + region.Reason()
	case claim.CapacityGiB <= 0:
		claim.PriceNote = "no price: the claim's capacity is not known"
	case claim.Tier == nil || claim.Tier.Type == "":
		claim.PriceNote = "no price: the volume's type is not known"
	case claim.Tier.Type != pricedVolume:
		claim.PriceNote = fmt.Sprintf("no price: the price table covers volumes of type %s, and this is %s", pricedVolume, claim.Tier.Type)
	case !slices.Contains(volumeRegions(), name):
		claim.PriceNote = fmt.Sprintf("no price: the price table does not cover volumes in region %q; it covers %s", name, strings.Join(volumeRegions(), ", "))
	default:
		claim.Price = volumePrice(claim.CapacityGiB, *claim.Tier, name)
	}
}

// volumePrice is the price of a volume in a region that the table covers, rounded to the cent.
func volumePrice(gib float64, tier clustermanager.VolumeTier, region string) *clustermanager.ClaimPrice {
	figure := func(item string) float64 { return loaded().volumes[place{region, item}].usd }
	monthly := gib*figure(storageFigure) +
		float64(max(0, tier.ThroughputMiBs-baselineThroughput))*figure(throughputFigure) +
		float64(max(0, tier.IOPS-baselineIOPS))*figure(iopsFigure)
	return &clustermanager.ClaimPrice{
		MonthlyUSD: math.Round(monthly*100) / 100,
		Source:     fmt.Sprintf("AWS EBS list price for %s, %s (%s)", pricedVolume, loaded().regions[region], region),
		AsOf:       loaded().volumes[place{region, storageFigure}].asOf,
	}
}

// volumeRegions are the regions whose volumes have all figures, sorted.
func volumeRegions() []string {
	return slices.DeleteFunc(PriceRegions(), func(region string) bool {
		return slices.ContainsFunc([]string{storageFigure, throughputFigure, iopsFigure}, func(item string) bool {
			_, there := loaded().volumes[place{region, item}]
			return !there
		})
	})
}

// TierWords says a tier in words: type, then MiB/s, then IOPS, what is at the type's baseline left out.
func TierWords(tier clustermanager.VolumeTier) string {
	words := []string{tier.Type}
	if tier.ThroughputMiBs != 0 {
		words = append(words, fmt.Sprintf("%d MiB/s", tier.ThroughputMiBs))
	}
	if tier.IOPS != 0 {
		words = append(words, fmt.Sprintf("%d IOPS", tier.IOPS))
	}
	return strings.Join(words, ", ")
}
