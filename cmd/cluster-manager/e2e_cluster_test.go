package main

import (
	"strings"
	"testing"
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

// A new cluster lands by a pull request, a pool with serving on it by another, and both go the same way. It needs the
// second workload cluster as the part before it leaves it.
func (e *endToEnd) testCluster(t *testing.T) {
	jane := e.as(t, engineer)
	made := called(t, jane, "create_cluster", map[string]any{"organization": "acme", "name": "wc4", "provider": "aws", "mode": "commit", "dryRun": true})
	t.Log(made.Reason, made.Texts)
	wc4 := map[string]any{"organization": "acme", "name": "wc4", "provider": "aws", "mode": "commit"}
	opened := e.write(t, jane, "create_cluster", wc4)
	t.Log(diffed(opened.Commit.Objects), opened.Commit.Files, opened.Warnings, opened.NextStep, changed(opened.Objects))
	e.merge(t, opened)
	e.until(t, kustomizationOf("wc4"), isReady)
	t.Log(inventoryOf(e.read(t, e.admin, kustomizationOf("wc4"))))
	e.until(t, helmRelease("org-acme", "wc4"), isReady)
	e.kubeconfig(t, e.wc2, "org-acme", "wc4")
	again := e.write(t, jane, "create_cluster", wc4)
	t.Log(diffed(again.Commit.Objects), again.Commit.PullRequest, again.Warnings, again.NextStep, changed(again.Objects))

	pool := map[string]any{"cluster": "wc4", "name": "gpu-l4", "mode": "commit"}
	opened = e.write(t, jane, "create_node_pool", pool)
	t.Log(diffed(opened.Commit.Objects), opened.Commit.Files, opened.Warnings, opened.NextStep, changed(opened.Objects))
	e.merge(t, opened)
	for _, name := range append([]string{"gpu-l4", "gpu-operator"}, sliceReleases...) {
		e.until(t, helmRelease("org-acme", "wc4-"+name), isReady)
	}
	t.Log(inventoryOf(e.read(t, e.admin, kustomizationOf("wc4"))))
	again = e.write(t, jane, "create_node_pool", pool)
	t.Log(diffed(again.Commit.Objects), again.Commit.PullRequest, again.Warnings, again.NextStep, changed(again.Objects))
	t.Logf("%+v", e.clusters(t, jane))

	opened = e.write(t, jane, "delete_node_pool", pool)
	t.Log(diffed(opened.Commit.Objects), opened.Commit.Files, opened.Warnings, opened.NextStep, changed(opened.Objects), opened.Commit.LiveSteps)
	e.merge(t, opened)
	gone(t, e.admin, helmRelease("org-acme", "wc4-gpu-l4"))
	for range 5 {
		result := called(t, jane, "delete_node_pool", map[string]any{"cluster": "wc4", "name": "gpu-l4"})
		t.Log(result.Reason, result.Texts)
	}

	delete(wc4, "provider")
	opened = e.write(t, jane, "delete_cluster", wc4)
	t.Log(diffed(opened.Commit.Objects), opened.Commit.Files, opened.Warnings, opened.NextStep, changed(opened.Objects), opened.Commit.LiveSteps)
	e.merge(t, opened)
	gone(t, e.admin, kustomizationOf("wc4"))
	gone(t, e.admin, helmRelease("org-acme", "wc4"))
	gone(t, e.admin, ref("cluster.x-k8s.io/v1beta1", "Cluster", "org-acme", "wc4"))
	for range 3 {
		result := called(t, jane, "delete_cluster", map[string]any{"organization": "acme", "name": "wc4"})
		t.Log(result.Reason, result.Texts)
	}
}
