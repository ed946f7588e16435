package catalog

import (
	"maps"
	"slices"

	"github.com/Masterminds/semver/v3"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Gates of the slice's chart that say how it behaves. Those of its values are called by their path.
const (
	GateRange                = "range"
	GateChildPrefix          = "childPrefix"
	GateOwnNamespace         = "ownNamespace"
	GateFloatingConnectivity = "floatingConnectivity"

	KeyTargetName        = "gitops.target.name"
	KeyTargetNamespace   = "gitops.targetNamespace"
	KeyIngressNamespaces = "modelServing.networkPolicy.additionalIngressNamespaces"
)

// ComponentGatewayAPI is the component that brings the definitions of the Gateway API.
const ComponentGatewayAPI = "gateway-api-crds"

// Places where a slice switches a component on; everywhere else, and at "never", it is written as off.
const (
	EnabledAlways = "always"
	// EnabledOnWorkload is on a workload cluster, not on the installation's own.
	EnabledOnWorkload = "workload"
	// EnabledForGatewayAPI is where the slice composes the Gateway API; elsewhere the component is not written at all.
	EnabledForGatewayAPI = "gatewayAPI"
)

// Gate says of which versions something holds: from Since on and below Until, a prerelease counting as below its
// version. "" is no bound.
type Gate struct {
	Since string `json:"since,omitempty"`
	Until string `json:"until,omitempty"`
}

// holds at the newest version when version is nil.
func (g Gate) holds(version *semver.Version) bool {
	if version == nil {
		return g.Until == ""
	}
	return !below(version, g.Since) && (g.Until == "" || below(version, g.Until))
}

// SliceComponent is a component of the slice's chart that a slice writes.
type SliceComponent struct {
	Name string `json:"name"`
	// Enabled is one of the places above, or "never".
	Enabled string `json:"enabled"`
	// Serving says that it is a part of serving: any other that is on in a release is another slice's.
	Serving bool `json:"serving,omitempty"`
	// KServe says that it goes when serving is taken out of a release that keeps another slice.
	KServe bool `json:"kserve,omitempty"`
	Gate
}

// sliceTable is the part of the data about the slice's chart.
type sliceTable struct {
	URL        string           `json:"url"`
	Floor      sliceFloor       `json:"floor"`
	Components []SliceComponent `json:"components"`
	Gates      map[string]Gate  `json:"gates"`
	Namespace  string           `json:"namespace"`
	GatewayAPI GatewayAPIBundle `json:"gatewayAPI"`
}

type sliceFloor struct {
	Version string `json:"version"`
	Why     string `json:"why"`
}

// GatewayAPIBundle is a version of the Gateway API and its channel.
type GatewayAPIBundle struct {
	Version string `json:"version"`
	Channel string `json:"channel"`
}

// SliceChart is the chart of a slice at one version: where its source gets it, and what it brings.
type SliceChart struct {
	// URL is the chart's OCI address without a tag.
	URL string
	// Version is the version to read: the tag, or the lower bound of the range.
	Version string
	// Tag or Range is what the source follows; exactly one is set.
	Tag, Range string
	// Components are those that the chart has, sorted by name.
	Components []SliceComponent
	gates      map[string]bool
}

// Source is where the slice's release gets the chart.
func (c SliceChart) Source() Source { return Source{URL: c.URL, Tag: c.Tag, Range: c.Range} }

// Has says whether a gate holds at the version: a way of behaving, or a key of the values by its path.
func (c SliceChart) Has(gate string) bool { return c.gates[gate] }

// SliceVersion chooses the chart of a slice: what the installation's platform runs, or the version that is pinned. The
// platform's version may carry build metadata, which is dropped. gatewayAPI says that the slice composes the Gateway
// API. Every error is a *clustermanager.Refusal, of the platform's version when nothing is pinned.
func SliceVersion(platformVersion, pin string, gatewayAPI bool) (SliceChart, error) {
	if pin != "" {
		return pinnedSlice(pin, gatewayAPI)
	}
	version, err := platformSlice(platformVersion)
	if err != nil {
		return SliceChart{}, err
	}
	if since := gatewayAPISince(); gatewayAPI && below(version, since) {
		version = semver.MustParse(since)
	}
	chart := sliceAt(version)
	chart.Version = version.String()
	if chart.Has(GateRange) {
		chart.Range = rangeFrom(version)
	} else {
		chart.Tag = chart.Version
	}
	return chart, nil
}

// platformSlice is the platform's version without build metadata.
func platformSlice(text string) (*semver.Version, error) {
	floor := loaded().AgentPlatform.Floor
	if text == "" {
		return nil, clustermanager.Refuse("the platform has no deployed chart version yet, and a slice takes after it: call again once the platform is installed")
	}
	parsed, err := semver.StrictNewVersion(text)
	if err != nil {
		return nil, clustermanager.Refuse("the platform's chart version %q is no semantic version, so no slice can take after it: pin one with the setting slice-chart-version, or install a released platform", text)
	}
	version := semver.New(parsed.Major(), parsed.Minor(), parsed.Patch(), parsed.Prerelease(), "")
	if below(version, floor.Version) {
		return nil, clustermanager.Refuse("the platform runs chart %s %s, and a slice needs %s or newer, since %s: upgrade the platform first",
			clustermanager.ChartAgentPlatform, version, floor.Version, floor.Why)
	}
	return version, nil
}

// pinnedSlice takes a pin as it is. One that is no version, or is below the floor, is a lab's: it has the newest shape.
func pinnedSlice(pin string, gatewayAPI bool) (SliceChart, error) {
	version, err := semver.StrictNewVersion(pin)
	if err != nil || below(version, loaded().AgentPlatform.Floor.Version) {
		version = nil
	}
	if since := gatewayAPISince(); gatewayAPI && version != nil && below(version, since) {
		return SliceChart{}, clustermanager.Refuse("the slice's chart is pinned to %s (setting slice-chart-version), and the cluster needs the component %s, which chart %s has from %s on: pin that or a newer version, or install the Gateway API on the cluster",
			pin, ComponentGatewayAPI, clustermanager.ChartAgentPlatform, since)
	}
	chart := sliceAt(version)
	chart.Version, chart.Tag = pin, pin
	return chart, nil
}

// SliceAt is what the slice's chart brings at a version, without a source. What is no version, or is below the floor,
// has the newest shape.
func SliceAt(version string) SliceChart {
	parsed, err := semver.NewVersion(version)
	if err != nil || below(parsed, loaded().AgentPlatform.Floor.Version) {
		parsed = nil
	}
	chart := sliceAt(parsed)
	chart.Version = version
	return chart
}

// sliceAt is what the chart brings at a version; nil is the newest.
func sliceAt(version *semver.Version) SliceChart {
	table := loaded().AgentPlatform
	chart := SliceChart{URL: table.URL, gates: map[string]bool{}}
	for name, gate := range table.Gates {
		chart.gates[name] = gate.holds(version)
	}
	for _, component := range table.Components {
		if component.holds(version) {
			chart.Components = append(chart.Components, component)
		}
	}
	return chart
}

// HasComponent says whether the chart has a component that a slice writes.
func (c SliceChart) HasComponent(name string) bool {
	return slices.ContainsFunc(c.Components, func(component SliceComponent) bool { return component.Name == name })
}

// SliceComponents are the components of every version of the slice's chart that a slice writes, sorted by name.
func SliceComponents() []SliceComponent { return slices.Clone(loaded().AgentPlatform.Components) }

// SliceGates are the names of all gates of the slice's chart, sorted.
func SliceGates() []string { return slices.Sorted(maps.Keys(loaded().AgentPlatform.Gates)) }

// SliceNamespace is the namespace that a slice's components have on a workload cluster where the gate ownNamespace
// holds.
func SliceNamespace() string { return loaded().AgentPlatform.Namespace }

// GatewayAPI is what the component gateway-api-crds brings.
func GatewayAPI() GatewayAPIBundle { return loaded().AgentPlatform.GatewayAPI }

// gatewayAPISince is the first chart that has the component.
func gatewayAPISince() string {
	for _, component := range loaded().AgentPlatform.Components {
		if component.Name == ComponentGatewayAPI {
			return component.Since
		}
	}
	return ""
}
