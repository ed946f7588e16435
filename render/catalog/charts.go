package catalog

import "slices"

// PoolChart are the facts of the node pool chart. Versions are without a leading v.
type PoolChart struct {
	// URL is the chart's OCI address without a tag.
	URL string `json:"url"`
	// Floor is the lowest version that a release without a pin follows from.
	Floor string `json:"floor"`
	// DefaultSizes are the sizes of a pool whose values name none.
	DefaultSizes []string `json:"defaultSizes"`
	// Keys are the keys of the chart's values that not every version takes.
	Keys []ChartKey `json:"keys"`
	// Flatcar is what the chart's GPU driver asks of the machine image.
	Flatcar FlatcarRule `json:"flatcar"`
}

// ChartKey is a key of a chart's values.
type ChartKey struct {
	// Path is the key's path in the values, such as pool.prewarm.
	Path string `json:"path"`
	// Argument is the argument of create_node_pool that asks for it; empty when none does.
	Argument string `json:"argument,omitempty"`
	// Since is the first version that takes the key.
	Since string `json:"since"`
}

// FlatcarRule says from which chart version on the machine image must be at least which Flatcar.
type FlatcarRule struct {
	// Since is the first chart version whose driver is Flatcar's prebuilt system extension.
	Since string `json:"since"`
	// Floor is the lowest Flatcar that has it.
	Floor string `json:"floor"`
}

// GPUNodePool are the facts of the node pool chart.
func GPUNodePool() PoolChart {
	chart := loaded().GPUNodePool
	chart.DefaultSizes = slices.Clone(chart.DefaultSizes)
	chart.Keys = slices.Clone(chart.Keys)
	return chart
}

// Source pins the chart, or without a pin lets it follow from the floor to the next major version.
func (c PoolChart) Source(pin string) (Source, error) { return newSource(c.URL, pin, c.Floor) }

// Since is the first version that takes a key, by its path; "" when every version does.
func (c PoolChart) Since(path string) string {
	for _, key := range c.Keys {
		if key.Path == path {
			return key.Since
		}
	}
	return ""
}

// ReservedNames are the names that no pool may have: <cluster>-<name> is a release of something else.
func ReservedNames() []string { return slices.Clone(loaded().ReservedNames) }
