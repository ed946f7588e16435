package clustermanager

// ComponentStatus says whether a part runs on a cluster.
type ComponentStatus string

const (
	ComponentPresent ComponentStatus = "present"
	ComponentAbsent  ComponentStatus = "absent"
	// ComponentUnknown says that it could not be found out; Component.Reason says why.
	ComponentUnknown ComponentStatus = "unknown"
)

// Provider says who put a part on a cluster.
type Provider string

const (
	// ProviderChart is the platform's own chart.
	ProviderChart Provider = "chart"
	// ProviderClusterManager is a release of this product.
	ProviderClusterManager Provider = "cluster-manager"
	// ProviderManual is everybody else.
	ProviderManual Provider = "manual"
)

// Component is what was found of the GPU operator or of model serving. The zero Component was not asked for.
type Component struct {
	Status   ComponentStatus `json:"status"`
	Provider Provider        `json:"provider,omitempty"`
	// Evidence are the findings, sorted.
	Evidence []string `json:"evidence,omitempty"`
	// Reason says why the status is unknown, or why evidence of what is present may be missing.
	Reason string `json:"reason,omitempty"`
}

// ComposedHere says whether this product composes the part: nobody else has it, and what is there can be told.
func (c Component) ComposedHere() bool {
	return c.Status == ComponentAbsent || c.Status == ComponentPresent && c.Provider == ProviderClusterManager
}
