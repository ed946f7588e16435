package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// generations of the slice's chart: the components that come and go, and the gates that hold.
var generations = map[string][]string{
	"1, floating": {"kserve-crd", "kserve-resources", "floatingConnectivity"},
	"1":           {"kserve-crd", "kserve-resources"},
	"2":           {KeyIngressNamespaces},
	"3":           {GateChildPrefix, KeyTargetName, KeyTargetNamespace, KeyIngressNamespaces, GateOwnNamespace, GateRange},
	"4":           {"gateway-api-crds", GateChildPrefix, KeyTargetName, KeyTargetNamespace, KeyIngressNamespaces, GateOwnNamespace, GateRange},
}

func shapeOf(chart SliceChart) []string {
	var shape []string
	for _, component := range chart.Components {
		if component.Since != "" || component.Until != "" {
			shape = append(shape, component.Name)
		}
	}
	for _, gate := range SliceGates() {
		if chart.Has(gate) {
			shape = append(shape, gate)
		}
	}
	return shape
}

func TestSliceVersion(t *testing.T) {
	for _, test := range []struct {
		platform, pin                    string
		gatewayAPI                       bool
		version, tag, follow, generation string
	}{
		{platform: "4.27.0", version: "4.27.0", tag: "4.27.0", generation: "1, floating"},
		{platform: "4.30.0+1c7eb3256e07", version: "4.30.0", tag: "4.30.0", generation: "1, floating"},
		{platform: "4.30.1", version: "4.30.1", tag: "4.30.1", generation: "1"},
		{platform: "4.44.0-rc.1", version: "4.44.0-rc.1", tag: "4.44.0-rc.1", generation: "1"},
		{platform: "4.44.0", version: "4.44.0", tag: "4.44.0", generation: "2"},
		{platform: "4.84.2", version: "4.84.2", tag: "4.84.2", generation: "2"},
		{platform: "4.85.0-rc.1", version: "4.85.0-rc.1", tag: "4.85.0-rc.1", generation: "2"},
		{platform: "4.85.0", version: "4.85.0", follow: ">=4.85.0 <5.0.0", generation: "3"},
		{platform: "4.86.0+1c7eb3256e07", version: "4.86.0", follow: ">=4.86.0 <5.0.0", generation: "3"},
		{platform: "4.120.1", version: "4.120.1", follow: ">=4.120.1 <5.0.0", generation: "4"},
		{platform: "5.0.0", version: "5.0.0", follow: ">=5.0.0 <6.0.0", generation: "4"},
		{platform: "4.85.0", gatewayAPI: true, version: "4.117.0", follow: ">=4.117.0 <5.0.0", generation: "4"},
		{platform: "4.28.0", gatewayAPI: true, version: "4.117.0", follow: ">=4.117.0 <5.0.0", generation: "4"},
		{platform: "4.120.1", gatewayAPI: true, version: "4.120.1", follow: ">=4.120.1 <5.0.0", generation: "4"},
		{pin: "4.27.0", version: "4.27.0", tag: "4.27.0", generation: "1, floating"},
		{platform: "4.25.0", pin: "0.0.0-lab", version: "0.0.0-lab", tag: "0.0.0-lab", generation: "4"},
		{platform: "4.25.0", pin: "0.0.0-lab", gatewayAPI: true, version: "0.0.0-lab", tag: "0.0.0-lab", generation: "4"},
		{pin: "latest", version: "latest", tag: "latest", generation: "4"},
		{pin: "4.26.9", version: "4.26.9", tag: "4.26.9", generation: "4"},
		{pin: "4.50.0", version: "4.50.0", tag: "4.50.0", generation: "2"},
		{pin: "4.90.0-dev.1", version: "4.90.0-dev.1", tag: "4.90.0-dev.1", generation: "3"},
		{pin: "4.117.0", gatewayAPI: true, version: "4.117.0", tag: "4.117.0", generation: "4"},
	} {
		chart, err := SliceVersion(test.platform, test.pin, test.gatewayAPI)
		if err != nil {
			t.Errorf("%+v: %v", test, err)
			continue
		}
		want := []any{test.version, test.tag, test.follow, generations[test.generation]}
		if diff := cmp.Diff(want, []any{chart.Version, chart.Tag, chart.Range, shapeOf(chart)}); diff != "" {
			t.Errorf("%+v: %s", test, diff)
		}
	}
}

func TestSliceVersionRefusals(t *testing.T) {
	for _, test := range []struct {
		platform, pin string
		gatewayAPI    bool
		want          string
	}{
		{want: "the platform has no deployed chart version yet, "},
		{platform: "latest", want: `the platform's chart version "latest" is no semantic version, `},
		{platform: "4.26.9+1c7eb3256e07", want: "the platform runs chart agent-platform 4.26.9, and a slice needs 4.27.0 or newer, since it is the first chart that places predictors on a tainted GPU pool: "},
		{platform: "4.27.0-rc.1", want: "the platform runs chart agent-platform 4.27.0-rc.1, and a slice needs 4.27.0 or newer, "},
		{platform: "4.26.9", gatewayAPI: true, want: "the platform runs chart agent-platform 4.26.9, "},
		{pin: "4.116.9", gatewayAPI: true, want: "the slice's chart is pinned to 4.116.9 (setting slice-chart-version), and the cluster needs the component gateway-api-crds, which chart agent-platform has from 4.117.0 on: "},
		{pin: "4.27.0", gatewayAPI: true, want: "the slice's chart is pinned to 4.27.0 "},
		{pin: "4.117.0-rc.1", gatewayAPI: true, want: "the slice's chart is pinned to 4.117.0-rc.1 "},
	} {
		_, err := SliceVersion(test.platform, test.pin, test.gatewayAPI)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

func TestBackendTakes(t *testing.T) {
	for version, want := range map[string]bool{
		"1.12.0": true, "1.12.0+abc": true, "v1.13.0": true, "1.12.0-rc.1": false, "1.11.0": false, "0.23.7": false, "": false, "latest": false,
	} {
		if got := BackendTakes(version, "computeCapability"); got != want {
			t.Errorf("%q: %t", version, got)
		}
		if !BackendTakes(version, "vcpu") {
			t.Errorf("%q: no vcpu", version)
		}
	}
}
