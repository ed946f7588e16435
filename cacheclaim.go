package clustermanager

import "time"

// CacheClaim is a PersistentVolumeClaim of the model cache, as it was read and as answers show it. Price and PriceNote
// are filled by composition, from the price table.
type CacheClaim struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Phase is the claim's: Pending, Bound or Lost.
	Phase  string `json:"phase,omitempty"`
	Volume string `json:"volume,omitempty"`
	// Zone is the zone that the volume's node affinity names; "" for a claim that is not bound or a volume without one.
	Zone string `json:"zone,omitempty"`
	// Error says why the volume could not be read.
	Error string `json:"error,omitempty"`
	// Capacity is a Kubernetes quantity, CapacityGiB the same in GiB.
	Capacity     string      `json:"capacity,omitempty"`
	CapacityGiB  float64     `json:"capacityGiB,omitempty"`
	StorageClass string      `json:"storageClass,omitempty"`
	Tier         *VolumeTier `json:"tier,omitempty"`
	// TierSource is storageClass or claimAnnotations; TierNote says why the tier is not known.
	TierSource    string      `json:"tierSource,omitempty"`
	TierNote      string      `json:"tierNote,omitempty"`
	ReclaimPolicy string      `json:"reclaimPolicy,omitempty"`
	Created       *time.Time  `json:"created,omitempty"`
	Price         *ClaimPrice `json:"price,omitempty"`
	// PriceNote says why there is no price.
	PriceNote string `json:"priceNote,omitempty"`
	// Mounted says that the cluster's slice mounts the claim; nil: not asked.
	Mounted *bool `json:"mounted,omitempty"`
}

// Bound says whether the claim has a volume.
func (c CacheClaim) Bound() bool { return c.Phase == "Bound" && c.Volume != "" }

// VolumeTier is what a volume costs by besides its size. 0 is the type's baseline.
type VolumeTier struct {
	Type           string `json:"type"`
	IOPS           int    `json:"iops,omitempty"`
	ThroughputMiBs int    `json:"throughputMiBps,omitempty"`
}

// ClaimPrice is a claim's list price.
type ClaimPrice struct {
	MonthlyUSD float64 `json:"monthlyUSD"`
	Source     string  `json:"source"`
	AsOf       string  `json:"asOf"`
}
