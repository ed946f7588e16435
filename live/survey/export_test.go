package survey

// The readers of single facts, for their tests.
var (
	SliceOf          = (*Reader).slice
	OtherSlices      = (*Reader).otherSlices
	Platform         = (*Reader).platform
	CheckSecondSlice = (*Reader).checkSecondSlice
	GatewayAPI       = (*Reader).gatewayAPI
	Backends         = (*Reader).backends
	Presets          = (*Reader).presets
	CacheClaims      = (*Reader).cacheClaims
	ServingNamespace = (*Reader).servingNamespace
	ServingConfigs   = (*Reader).servingConfigs
	Models           = (*Reader).models
	Nodes            = (*Reader).nodes
	PrepullImages    = (*Reader).prepullImages
	Pools            = (*Reader).pools
	Issuer           = (*Reader).issuer
)
