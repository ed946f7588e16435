package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// twinPools gives cluster twin of organization acme two pools, and registers the cluster of that name of organization
// research under the name that both would have.
func twinPools(t *testing.T, s *scene) {
	t.Helper()
	folder := filepath.Join(s.snapshot, "management", "org-acme")
	for _, pool := range []string{"gpu-a10g", "gpu-b"} {
		for _, kind := range []string{"ocirepository", "helmrelease"} {
			content, err := os.ReadFile(filepath.Join(folder, kind+"-wc1-gpu-a10g.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.NewReplacer("wc1-gpu-a10g", "twin-"+pool, "gpu-a10g", pool, ": wc1", ": twin", "-000000000001", "-000000000005").Replace(string(content))
			write(t, filepath.Join(folder, kind+"-twin-"+pool+".yaml"), text)
		}
	}
	registrations := filepath.Join(s.snapshot, "management", "agent-platform")
	if err := os.MkdirAll(registrations, 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(registrations, "configmap-model-backend-kserve-twin.yaml"), `apiVersion: v1
kind: ConfigMap
metadata:
  name: model-backend-kserve-twin
  namespace: agent-platform
  labels:
    agent-platform.giantswarm.io/model-backend: "true"
    agent-platform.giantswarm.io/model-backend-source: cluster-manager
    app.kubernetes.io/managed-by: cluster-manager
    giantswarm.io/cluster: twin
data:
  backend.yaml: '{metadata: {name: kserve-twin}, spec: {kserve: {target: {cluster: twin, organization: research}}}}'
`)
}

// Two clusters of one name are told apart by their organization, wherever a registration is read.
func TestATwinsRegistrationIsItsOwn(t *testing.T) {
	s := newScene(t, twinPools)
	for organization, want := range map[string]bool{"acme": false, "research": true} {
		var pools clustermanager.NodePools
		read(t, s.call(t, "list_node_pools", map[string]any{"cluster": "twin", "namespace": "org-" + organization}).Texts, &pools)
		if pools.Backend.Registered == nil || *pools.Backend.Registered != want {
			t.Errorf("list_node_pools of %s: %+v", organization, pools.Backend)
		}
	}
	var fleet mcptools.ClusterList
	read(t, s.call(t, "list_clusters", map[string]any{}).Texts, &fleet)
	registered := map[string]bool{}
	for _, cluster := range fleet.Clusters {
		if cluster.Name == "twin" {
			state := cluster.Serving.Readiness.Backend.Registered
			registered[cluster.Namespace] = state != nil && *state
		}
	}
	if diff := cmp.Diff(map[string]bool{"org-acme": false, "org-research": true}, registered); diff != "" {
		t.Error("list_clusters: " + diff)
	}
	removal := s.call(t, "delete_node_pool", map[string]any{"cluster": "twin", "namespace": "org-acme", "name": "gpu-b", "mode": "apply", "dryRun": true})
	if removal.Reason != "" {
		t.Fatal(removal.Texts)
	}
	answer := readAnswer(t, removal)
	for _, object := range answer.Objects {
		if object.Kind == "ConfigMap" {
			t.Errorf("%s %s of another cluster", object.Action, object.ObjectReference)
		}
	}
	if answer.LastPool || len(answer.Objects) != 2 {
		t.Errorf("%+v", answer)
	}
}

func read(t *testing.T, texts []string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(texts[0]), into); err != nil {
		t.Fatal(err, texts)
	}
}
