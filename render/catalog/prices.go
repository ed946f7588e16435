package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// price fills the price fields of a size from data/prices.csv: AWS's published on-demand list prices for Linux, per
// region, in USD per hour, each row with the date it was read. A size never gets a figure of another region.
func price(size *clustermanager.InstanceSize, region clustermanager.Reading[string]) {
	name, known := region.Get()
	if !known {
		size.PriceNote = "no price: the region is unknown: " + region.Reason()
		return
	}
	location, covered := loaded().regions[name]
	if !covered {
		size.PriceNote = fmt.Sprintf("no price: the price table does not cover region %q; it covers %s", name, strings.Join(PriceRegions(), ", "))
		return
	}
	row, offered := loaded().prices[place{name, size.InstanceType}]
	if !offered {
		size.PriceNote = fmt.Sprintf("no price: %s is not on the list for %s (%s)", size.InstanceType, location, name)
		return
	}
	usd := row.usd
	size.PricePerHourUSD = &usd
	size.PriceSource = fmt.Sprintf("AWS EC2 on-demand list price for Linux, %s (%s)", location, name)
	size.PriceAsOf = row.asOf
}

// PriceRegions are the regions that the price table covers, sorted.
func PriceRegions() []string { return slices.Sorted(maps.Keys(loaded().regions)) }
