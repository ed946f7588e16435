package managed

import (
	"slices"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Spot is where a cluster stands in an account: names are the provider's, and two locations may have the same.
type Spot struct{ Location, Name string }

// Spot is where the record's cluster stands.
func (c *Cluster) Spot() Spot { return Spot{Location: c.Location, Name: ProviderName(c.ID)} }

// Listing is what one call shows of all clusters of an account.
type Listing struct {
	Clusters map[Spot]*ProviderCluster
	// Missing are the locations, most often zones, that the provider could not look into.
	Missing []string
}

// Look is what the listing shows of a record. One that is not listed, and whose location or any zone of it is missing, is
// unknown and not gone.
func (l Listing) Look(row *Cluster) clustermanager.Reading[*ProviderCluster] {
	seen := l.Clusters[row.Spot()]
	missing := slices.ContainsFunc(l.Missing, func(location string) bool {
		return location == row.Location || zoneRegion(location) == row.Location
	})
	if seen == nil && missing {
		return clustermanager.Unknown[*ProviderCluster]("the provider could not look into " + row.Location)
	}
	return clustermanager.Known(seen)
}
