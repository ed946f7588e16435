package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// cluster makes a cluster that no repository has, as create_cluster's mode apply does, and waits until it is there.
func (e *endToEnd) cluster(t *testing.T, organization, name string) {
	t.Helper()
	e.apply(t, strings.NewReplacer("NAME", name, "ORGANIZATION", organization).Replace(`
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME-values, namespace: org-ORGANIZATION}
data:
  values.yaml: |
    global:
      metadata: {name: NAME, organization: ORGANIZATION}
      release: {version: 36.0.0}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: NAME, namespace: org-ORGANIZATION}
spec: {interval: 10m, url: "oci://gsoci.azurecr.io/charts/giantswarm/release-aws", ref: {tag: 36.0.0}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: org-ORGANIZATION}
spec:
  chartRef: {kind: OCIRepository, name: NAME}
  interval: 10m
  releaseName: NAME
  serviceAccountName: automation
  valuesFrom:
    - {kind: ConfigMap, name: cluster-app-installation-values}
    - {kind: ConfigMap, name: NAME-values}
`))
	e.until(t, helmRelease("org-"+organization, name), isReady)
}

// A new cluster lands by a pull request, a pool with serving on it by another, and both go the same way.
func (e *endToEnd) testCluster(t *testing.T) {
	jane := e.as(t, engineer)
	before := [2]map[string]string{everything(t, e.bed), everything(t, e.wc2)}
	cluster := map[string]any{"organization": "acme", "name": "wc4", "provider": "aws", "mode": "commit"}
	objects := []string{"ConfigMap org-acme/wc4-values", "HelmRelease org-acme/wc4", "OCIRepository org-acme/wc4"}
	applier := "Kustomization default/gazelle-clusters-wc4"

	opened := e.write(t, jane, "create_cluster", cluster)
	e.proposes(t, opened, append([]string{applier}, objects...))
	e.merge(t, opened)
	e.until(t, helmRelease("org-acme", "wc4"), isReady)
	e.applied(t, "gazelle-clusters-wc4", objects)
	e.nothingToDo(t, jane, "create_cluster", cluster)
	e.kubeconfig(t, e.wc2, "org-acme", "wc4")

	pool := map[string]any{"cluster": "wc4", "name": "gpu-l4", "mode": "commit"}
	var poolObjects []string
	for _, kind := range []string{"HelmRelease", "OCIRepository"} {
		for _, name := range []string{"agent-platform", "gpu-l4", "gpu-operator"} {
			poolObjects = append(poolObjects, kind+" org-acme/wc4-"+name)
		}
	}
	opened = e.write(t, jane, "create_node_pool", pool)
	e.proposes(t, opened, poolObjects)
	e.merge(t, opened)
	for _, name := range append([]string{"gpu-l4", "gpu-operator"}, sliceReleases...) {
		e.until(t, helmRelease("org-acme", "wc4-"+name), isReady)
	}
	e.applied(t, "gazelle-clusters-wc4", slices.Concat(objects, poolObjects))
	e.nothingToDo(t, jane, "create_node_pool", pool)
	if wc4 := listedCluster(t, e.clusters(t, jane), "wc4"); wc4.Serving.Provider != "cluster-manager" || wc4.GPUOperator.Provider != "cluster-manager" || wc4.CommitTarget.Kustomization != "default/gazelle-clusters-wc4" {
		t.Errorf("wc4: %+v", wc4)
	}

	opened = e.write(t, jane, "delete_node_pool", pool)
	e.proposes(t, opened, poolObjects)
	e.merge(t, opened)
	gone(t, e.admin, helmRelease("org-acme", "wc4-gpu-l4"))
	// Flux removes the slice all at once; what that leaves is what the answer said.
	e.removed(t, jane, "delete_node_pool", map[string]any{"cluster": "wc4", "name": "gpu-l4"}, "nothing of the pool is left")
	for _, name := range append([]string{"gpu-operator"}, sliceReleases...) {
		e.absent(t, helmRelease("org-acme", "wc4-"+name))
	}

	cluster = map[string]any{"organization": "acme", "name": "wc4", "mode": "commit"}
	opened = e.write(t, jane, "delete_cluster", cluster)
	e.proposes(t, opened, append([]string{applier}, objects...))
	e.merge(t, opened)
	gone(t, e.admin, helmRelease("org-acme", "wc4"))
	gone(t, e.admin, ref("cluster.x-k8s.io/v1beta1", "Cluster", "org-acme", "wc4"))
	gone(t, e.admin, kustomizationOf("gazelle-clusters-wc4"))
	// Cluster API would take it with the cluster.
	e.remove(t, e.admin, ref("v1", "Secret", "org-acme", "wc4-kubeconfig"))
	e.removed(t, jane, "delete_cluster", map[string]any{"organization": "acme", "name": "wc4"}, `"nothingLeft":true`)
	for index, bed := range []*testbed.Bed{e.bed, e.wc2} {
		left(t, before[index], everything(t, bed), false)
	}
}

// proposes wants a pull request about these objects and no others.
func (e *endToEnd) proposes(t *testing.T, opened clustermanager.WriteResult, want []string) {
	t.Helper()
	if opened.Commit == nil || opened.Commit.PullRequest == "" || !opened.Commit.Proof.Built {
		t.Fatalf("no pull request: %+v, %s", opened.Commit, opened.NextStep)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), diffed(opened.Commit.Objects)); diff != "" {
		t.Errorf("proposed (-want +got):\n%s", diff)
	}
}

// nothingToDo wants a call to find in git, and live, what it would write.
func (e *endToEnd) nothingToDo(t *testing.T, client *mcptools.Client, tool string, arguments map[string]any) {
	t.Helper()
	pushes := e.forge.ReceivePacks()
	again := e.write(t, client, tool, arguments)
	if again.Commit.PullRequest != "" || len(again.Commit.Objects) > 0 || again.NextStep != "nothing to commit: acme/fleet at main already holds these files" {
		t.Errorf("%s again: %+v, %s", tool, again.Commit, again.NextStep)
	}
	for _, object := range again.Objects {
		if object.Action != clustermanager.ActionUnchanged {
			t.Errorf("%s again: %v", tool, changed(again.Objects))
		}
	}
	if pushed := e.forge.ReceivePacks() - pushes; pushed > 0 {
		t.Errorf("%s again: %d pushes", tool, pushed)
	}
}
