package clustermanager

import "time"

// ServingResult is the part of a WriteResult about GPU operator, serving slice, backend and model cache.
type ServingResult struct {
	// OperatorRow is how the GPU operator is configured: flatcar or pre-installed; "" where it is not composed.
	OperatorRow string         `json:"operatorRow,omitempty"`
	Slice       *SliceResult   `json:"slice,omitempty"`
	Backend     *BackendResult `json:"backend,omitempty"`
	// SliceKept says that the slice's release stays, because another slice is on in it.
	SliceKept bool       `json:"sliceKept,omitempty"`
	PresetFit *PresetFit `json:"presetFit,omitempty"`
	// PrefetchImages are pulled on a pool's node before anything asks for them; PrefetchNote says why there are none.
	PrefetchImages []string `json:"prefetchImages,omitempty"`
	PrefetchNote   string   `json:"prefetchNote,omitempty"`
	// CacheClaim is the claim that the slice mounts, as read; nil while it does not exist.
	CacheClaim *CacheClaim `json:"cacheClaim,omitempty"`
	// CacheClaims are all claims of the model cache, sorted by name.
	CacheClaims []CacheClaim `json:"cacheClaims,omitempty"`
	// RemovedClaims are those that a removal of the model cache takes.
	RemovedClaims []CacheClaim  `json:"removedClaims,omitempty"`
	Cache         *CacheSetting `json:"cache,omitempty"`
}

// SliceResult is a composed serving slice.
type SliceResult struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// ChartVersion is the tag that its source follows, else the lower bound of the range.
	ChartVersion string `json:"chartVersion"`
	Domain       string `json:"domain"`
	// ModelsHost is where the models answer.
	ModelsHost string `json:"modelsHost"`
	// GPUPool is the release of the one pool that predictors are pinned to; "" when there is none or several.
	GPUPool string `json:"gpuPool,omitempty"`
	// JWKS is where the models Gateway fetches the keys that tokens are checked with.
	JWKS        string             `json:"jwks"`
	Certificate *CertificateIssuer `json:"certificate,omitempty"`
	GatewayAPI  GatewayAPIResult   `json:"gatewayAPI"`
}

// GatewayAPIResult says whether the slice brings the Gateway API.
type GatewayAPIResult struct {
	Composed bool   `json:"composed"`
	Version  string `json:"version,omitempty"`
	Note     string `json:"note"`
}

// BackendResult is a registration with model-manager.
type BackendResult struct {
	Kind string `json:"kind"`
	// Backend is the backend's name, Namespace and Name its ConfigMap's.
	Backend   string `json:"backend"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Target is local, or <cluster> (<API server>).
	Target string `json:"target"`
}

// PresetFit says which size of a pool hosts each serving preset.
type PresetFit struct {
	// Origin is published, or chart for the presets that the slice's chart ships; "" when none could be read.
	Origin  string       `json:"origin,omitempty"`
	Source  string       `json:"source,omitempty"`
	Note    string       `json:"note,omitempty"`
	Presets []PresetSize `json:"presets,omitempty"`
}

// PresetSize is what a preset asks for, and the smallest size of the pool that hosts it.
type PresetSize struct {
	Preset      string `json:"preset"`
	DisplayName string `json:"displayName,omitempty"`
	Model       string `json:"model,omitempty"`
	// CPU and Memory are Kubernetes quantities, or "unset".
	CPU          string  `json:"cpu"`
	Memory       string  `json:"memory"`
	GPUs         int     `json:"gpus"`
	GPUMemoryGiB float64 `json:"gpuMemoryGiB"`
	// Size is "" where no size of the pool hosts the preset; Reason says why.
	Size   string `json:"size,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// CacheSetting is the model cache of a cluster's slice and the claim that it mounts.
type CacheSetting struct {
	Enabled bool `json:"enabled"`
	// Claim is namespace/name.
	Claim  string     `json:"claim,omitempty"`
	Exists *bool      `json:"exists,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	// Capacity and Tier are the claim's, or those that the chart gives a new one.
	Capacity        string   `json:"capacity,omitempty"`
	Tier            string   `json:"tier,omitempty"`
	MonthlyPriceUSD *float64 `json:"monthlyPriceUSD,omitempty"`
	PriceSource     string   `json:"priceSource,omitempty"`
	PriceAsOf       string   `json:"priceAsOf,omitempty"`
	PriceNote       string   `json:"priceNote,omitempty"`
	Note            string   `json:"note"`
}

// CacheZoneBlock says that the claim of the model cache is bound in another zone than the pool's.
type CacheZoneBlock struct {
	Claim     *CacheClaim `json:"claim,omitempty"`
	ClaimZone string      `json:"claimZone,omitempty"`
	// Zones are those that were named.
	Zones    []string `json:"zones"`
	Remedies []string `json:"remedies"`
}

// CacheClaimsBlock says that several claims could be the slice's.
type CacheClaimsBlock struct {
	Claims   []CacheClaim `json:"claims"`
	Remedies []string     `json:"remedies"`
}

// CacheOnBlock says that the cluster's slice runs with the cache on.
type CacheOnBlock struct {
	// Claim is the claim that the slice mounts, as read; nil when it was not found or could not be read.
	Claim     *CacheClaim `json:"claim,omitempty"`
	ClaimName string      `json:"claimName"`
	Remedies  []string    `json:"remedies"`
}
