package main

import (
	"maps"
	"testing"

	"github.com/clustermanager/cluster-manager/internal/testbed"
)

// Serving without a pool, and a cluster, come and go in mode apply. Each is written once and then unchanged, is listed, and
// leaves nothing but what stays by design.
func (e *endToEnd) testLives(t *testing.T) {
	e.cluster(t, "acme", "wc2")
	e.kubeconfig(t, e.wc2, "org-acme", "wc2")
	jane := e.as(t, engineer)
	for _, life := range []struct {
		name, create, remove, cluster string
		arguments, more               map[string]any
		objects, releases             []string
		serves                        string
		// nothing is what the last call says.
		nothing string
	}{
		{
			name: "serving", create: "enable_model_serving", remove: "disable_model_serving", cluster: "wc2", arguments: map[string]any{"cluster": "wc2"},
			objects:  []string{"OCIRepository org-acme/wc2-agent-platform", "HelmRelease org-acme/wc2-agent-platform", "ConfigMap agent-platform/model-backend-kserve-wc2"},
			releases: prefixed("wc2-", sliceReleases), serves: "cluster-manager", nothing: "nothing of one is left",
		},
		{
			name: "cluster", create: "create_cluster", remove: "delete_cluster", cluster: "wc5", arguments: map[string]any{"organization": "acme", "name": "wc5"}, more: map[string]any{"provider": "aws"},
			objects:  []string{"OCIRepository org-acme/wc5", "ConfigMap org-acme/wc5-values", "HelmRelease org-acme/wc5"},
			releases: []string{"wc5"}, nothing: `"nothingLeft":true`,
		},
	} {
		t.Run(life.name, func(t *testing.T) {
			before := [2]map[string]string{everything(t, e.bed), everything(t, e.wc2)}
			create := with(life.arguments, life.more)
			e.writes(t, jane, life.create, with(create, map[string]any{"dryRun": true}), "would-create", life.objects)
			e.writes(t, jane, life.create, create, "create", life.objects)
			for _, name := range life.releases {
				e.until(t, helmRelease("org-acme", name), isReady)
			}
			e.writes(t, jane, life.create, create, "unchanged", life.objects)
			if listed := listedCluster(t, e.clusters(t, jane), life.cluster); string(listed.Serving.Provider) != life.serves && life.serves != "" {
				t.Errorf("listed: %+v", listed.Serving)
			}
			e.removed(t, jane, life.remove, life.arguments, life.nothing)
			for index, bed := range []*testbed.Bed{e.bed, e.wc2} {
				left(t, before[index], everything(t, bed), true)
			}
		})
	}
}

func prefixed(prefix string, names []string) (all []string) {
	for _, name := range names {
		all = append(all, prefix+name)
	}
	return all
}

// with are arguments with more over them.
func with(arguments, more map[string]any) map[string]any {
	all := maps.Clone(arguments)
	maps.Copy(all, more)
	return all
}
