package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustermanager/cluster-manager/internal/offline"
)

// writeFiles writes files below a folder, by their slashed names.
func writeFiles(t *testing.T, folder string, files map[string]string) string {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// A snapshot's charts are read over the registry's own protocol, at the addresses that name the fleet's registry.
func TestASnapshotServesItsCharts(t *testing.T) {
	folder := writeFiles(t, t.TempDir(), map[string]string{
		"one/cluster-manager.yaml":                              "charts: ../shared\n",
		"shared/agent-platform-4.86.0/Chart.yaml":               "name: agent-platform\nversion: 4.86.0\n",
		"shared/agent-platform-4.86.0/values.yaml":              "components:\n  agent-platform-connectivity: {chart: agent-platform-connectivity, repository: \"oci://gsoci.azurecr.io/charts/giantswarm\", releasedWithChart: true}\n",
		"shared/agent-platform-connectivity-4.86.0/Chart.yaml":  "name: agent-platform-connectivity\nversion: 4.86.0\n",
		"shared/agent-platform-connectivity-4.86.0/values.yaml": "modelServing: {}\n",
		"shared/release-aws-36.0.0/Chart.yaml":                  "name: release-aws\nversion: 36.0.0\n",
		"none/cluster-manager.yaml":                             "installation: none\n",
		"broken/cluster-manager.yaml":                           "",
		"broken/charts/agent-platform-4.86.0/Chart.yaml":        "name: agent-platform\nversion: 4.87.0\n",
	})
	open := func(name string) *installation {
		offline, err := offline.Open(t.Context(), offline.Options{Dir: filepath.Join(folder, name)})
		if err != nil {
			t.Fatal(err)
		}
		opened := &installation{offline: offline}
		t.Cleanup(func() {
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		})
		return opened
	}
	one := open("one")
	if err := one.startRegistry(t.Context()); err != nil {
		t.Fatal(err)
	}
	charts := one.charts()
	slice, err := charts.Slice(t.Context(), "4.86.0+1c7eb3256e07", "", false)
	if err != nil || slice.Version != "4.86.0" || slice.Values.Err() != nil || slice.Connectivity.Err() != nil {
		t.Errorf("slice %v, %v, %v, %v", slice.Version, err, slice.Values.Err(), slice.Connectivity.Err())
	}
	if tags, err := charts.Tags(t.Context(), "aws"); err != nil || len(tags) != 1 || tags[0] != "36.0.0" {
		t.Errorf("tags %v, %v", tags, err)
	}
	none := open("none")
	if err := none.startRegistry(t.Context()); none.charts() != nil || err != nil {
		t.Errorf("a snapshot without charts: %v, %v", none.charts(), err)
	}
	if err := open("broken").startRegistry(t.Context()); err == nil || !strings.Contains(err.Error(), "agent-platform-4.86.0") {
		t.Errorf("a broken chart: %v", err)
	}
}
