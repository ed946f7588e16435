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

// A new cluster lands by a pull request, a pool with serving on it by another, and both go the same way.
func (e *endToEnd) testCluster(t *testing.T) {
	jane := e.as(t, engineer)
	made := called(t, jane, "create_cluster", map[string]any{"organization": "acme", "name": "wc4", "provider": "aws", "mode": "commit", "dryRun": true})
	t.Log(made.Reason, made.Texts)
	wc4 := map[string]any{"organization": "acme", "name": "wc4", "provider": "aws", "mode": "commit"}
	opened := e.write(t, jane, "create_cluster", wc4)
	t.Log(diffed(opened.Commit.Objects), opened.Commit.Files, opened.Warnings, opened.NextStep, changed(opened.Objects))
	e.merge(t, opened)
	e.until(t, kustomizationOf("wc4"), isReady)
	e.until(t, helmRelease("org-acme", "wc4"), isReady)
}
