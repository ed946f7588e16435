package compose

import (
	"slices"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func TestWarnings(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*clustermanager.Survey)
		want   string
	}{
		"control plane unreadable": {func(s *clustermanager.Survey) {
			s.ControlPlaneVersion = clustermanager.Unknown[string]("KubeadmControlPlane org-acme/wc1: forbidden")
		}, "Cluster org-acme/wc1: whether its control plane is at least at the pool's Kubernetes 1.31.4 was not checked: KubeadmControlPlane org-acme/wc1: forbidden"},
		"control plane without a patch": {func(s *clustermanager.Survey) {
			s.ControlPlaneVersion = clustermanager.Known("1.30")
		}, `Cluster org-acme/wc1: whether its control plane is at least at the pool's Kubernetes 1.31.4 was not checked: "1.30" and "1.31.4" do not compare`},
		"region unknown": {func(s *clustermanager.Survey) {
			s.Network = clustermanager.Unknown[clustermanager.Network]("AWSCluster org-acme/wc1: not found")
		}, "no price: the region is unknown: AWSCluster org-acme/wc1: not found"},
		"region not named": {func(s *clustermanager.Survey) {
			s.Network = clustermanager.Known(clustermanager.Network{Zones: []string{"a"}})
		}, "no price: the region is unknown: the cluster's infrastructure object names none"},
		"foreign Secret that is not written": {func(s *clustermanager.Survey) {
			s.Live["org-acme_wc1-gpu-l4-values__Secret"] = clustermanager.Known(&clustermanager.LiveObject{})
		}, "Secret org-acme/wc1-gpu-l4-values: it exists and is not this pool's to remove, so it is left as it is; the pool does not use it"},
		"one endpoint, two credentials": {func(s *clustermanager.Survey) {
			effective, _ := s.Values.Get()
			set(effective.Values.Reveal(), map[string]any{
				"b": []any{map[string]any{"endpoint": "e", "credentials": map[string]any{"auth": "made-for-a-test-2"}}},
				"a": []any{map[string]any{"endpoint": "e", "credentials": map[string]any{"auth": "made-for-a-test-1"}}},
			}, "global", "components", "containerd", "containerRegistries")
		}, "Cluster org-acme/wc1: its values hold different credentials for registry endpoint e under several hosts; the pool takes those of the first host in alphabetical order"},
	} {
		survey := surveyOf(t, "wc1")
		test.change(&survey)
		got := composed(t, pool("wc1", "gpu-l4"), survey).Plan
		if removed := got.Objects(clustermanager.Remove, clustermanager.Declared); removed != nil && strings.HasPrefix(name, "foreign Secret") {
			t.Errorf("%s: %v is removed", name, removed)
		}
		if count := len(slices.DeleteFunc(slices.Clone(got.Warnings), func(w string) bool { return w != test.want })); count != 1 {
			t.Errorf("%s: %d times among %q", name, count, got.Warnings)
		}
	}
}

func TestZonesNote(t *testing.T) {
	for want, network := range map[string]clustermanager.Reading[clustermanager.Network]{
		"the pool's nodes are not pinned and may run in every zone of the cluster's node subnets: a, b; no model cache claim's zone binds the pool": clustermanager.Known(clustermanager.Network{Zones: []string{"a", "b"}}),
		"the pool's nodes are not pinned; the zones of the cluster's node subnets could not be read: forbidden":                                     clustermanager.Unknown[clustermanager.Network]("forbidden"),
		"the pool's nodes are not pinned; the cluster names no zone with a node subnet":                                                             clustermanager.Known(clustermanager.Network{}),
	} {
		survey := surveyOf(t, "wc1")
		survey.Network = network
		if got := composed(t, pool("wc1", "gpu-l4"), survey); got.ZonesNote != want || got.Zones != nil {
			t.Errorf("zones %v: %s, want %s", got.Zones, got.ZonesNote, want)
		}
	}
}
