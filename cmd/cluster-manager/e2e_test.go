package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// TestEndToEnd takes the tools over an installation of real components. Its parts share the installation in this order; the
// snapshot is taken of what the pool left, every other part can also run alone.
func TestEndToEnd(t *testing.T) {
	e := newEndToEnd(t)
	t.Run("pool", e.testPool)
	t.Run("snapshot", e.testSnapshot)
	t.Run("fleet", e.testFleet)
	t.Run("another", func(t *testing.T) {
		e.wc2 = newWorkload(t, e.bed)
		t.Run("apply", e.testApply)
		t.Run("lives", e.testLives)
		t.Run("cluster", e.testCluster)
	})
}

// What the pool of the first part is made of in its repository, and the releases that come of it.
var (
	poolObjects = []string{
		"HelmRelease org-acme/wc1-agent-platform", "HelmRelease org-acme/wc1-gpu-l4", "HelmRelease org-acme/wc1-gpu-operator",
		"OCIRepository org-acme/wc1-agent-platform", "OCIRepository org-acme/wc1-gpu-l4", "OCIRepository org-acme/wc1-gpu-operator",
		"Secret org-acme/wc1-gpu-l4-values",
	}
	clusterObjects = []string{
		"ConfigMap org-acme/wc1-quotas", "ConfigMap org-acme/wc1-values", "HelmRelease org-acme/wc1", "OCIRepository org-acme/wc1",
	}
	sliceReleases = []string{
		"agent-platform", "agent-platform-connectivity", "agentgateway", "kserve-llmisvc-crd", "kserve-llmisvc-resources", "kserve-runtime-configs",
	}
)

// poolCall are the arguments for the pool of the first part.
func poolCall(mode string) map[string]any {
	return map[string]any{"cluster": "wc1", "name": "gpu-l4", "mode": mode}
}

// A pool with serving goes from a call to running releases by a pull request: the tools then say that it stands, and that
// nothing is to be done.
func (e *endToEnd) testPool(t *testing.T) {
	e.refuses(t, guest, clustermanager.ReasonRefused, `cannot get resource "secrets" in API group "" in the namespace "org-acme"`)
	e.refuses(t, oneOrgOnly, "error", "you may list neither clusters over all namespaces (clusters.cluster.x-k8s.io) nor organizations nor namespaces")

	jane := e.as(t, engineer)
	opened := e.write(t, jane, "create_node_pool", poolCall("commit"))
	if opened.Commit.Author != "jane" || opened.Commit.Repository != "acme/fleet" || !opened.Commit.Proof.Built {
		t.Errorf("commit %+v", opened.Commit)
	}
	if diff := cmp.Diff(poolObjects, diffed(opened.Commit.Objects)); diff != "" {
		t.Errorf("proposed (-want +got):\n%s", diff)
	}
	sealed, err := e.forge.File("acme", "fleet", opened.Commit.Branch, opened.Commit.Directory+"/wc1-gpu-l4-values-secret.enc.yaml")
	if err != nil || !strings.Contains(string(sealed), "ENC[AES256_GCM") || strings.Contains(string(sealed), registryPassword) {
		t.Errorf("sealed, %v:\n%s", err, sealed)
	}
	e.absent(t, helmRelease("org-acme", "wc1-gpu-l4"))
	e.merge(t, opened)
	e.applied(t, "clusters-wc1", slices.Concat(clusterObjects, poolObjects))
	e.stands(t)
	e.followed(t, jane, opened, "default/clusters-wc1")

	before := e.forge.ReceivePacks()
	again := e.write(t, jane, "create_node_pool", poolCall("commit"))
	if again.Commit.PullRequest != "" || len(again.Commit.Objects) > 0 || again.NextStep != "nothing to commit: acme/fleet at main already holds these files" || e.forge.ReceivePacks() != before {
		t.Errorf("again: %+v, %s", again.Commit, again.NextStep)
	}
	if diff := cmp.Diff([]string{"unchanged ConfigMap agent-platform/model-backend-kserve-wc1"}, changed(again.Objects)); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}
	e.listed(t, jane)
	result := called(t, jane, "create_node_pool", poolCall("apply"))
	if result.Reason != clustermanager.ReasonRefused || !strings.Contains(result.Texts[0], "Kustomization default/clusters-wc1 applies it from git: use mode commit") {
		t.Errorf("in mode apply: %s %s", result.Reason, result.Texts)
	}
}

// stands waits until what is in git is decrypted, installed and known to model-manager.
func (e *endToEnd) stands(t *testing.T) {
	t.Helper()
	secret := e.read(t, e.admin, ref("v1", "Secret", "org-acme", "wc1-gpu-l4-values"))
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", "values.yaml")
	if values, err := base64.StdEncoding.DecodeString(encoded); err != nil || !strings.Contains(string(values), registryPassword) {
		t.Errorf("the decrypted Secret does not hold what was sealed: %v", err)
	}
	for _, name := range append([]string{"gpu-l4", "gpu-operator"}, sliceReleases...) {
		e.until(t, helmRelease("org-acme", "wc1-"+name), isReady)
	}
	machines := e.read(t, e.admin, ref("cluster.x-k8s.io/v1beta1", "MachinePool", "org-acme", "wc1-gpu-l4"))
	if version, _, _ := unstructured.NestedString(machines.Object, "spec", "template", "spec", "version"); version != "v1.34.2" {
		t.Errorf("the machines have Kubernetes %s", version)
	}
	e.read(t, e.there, ref("nvidia.com/v1", "ClusterPolicy", "", "cluster-policy"))
	backend, there := e.manager.Accepted()["model-backend-kserve-wc1"]
	target := backend.Spec.KServe.Target
	if !there || target.Cluster != "wc1" || target.Organization != "acme" || target.APIServer != e.wc1.Admin().Host || len(backend.Spec.KServe.GPUPool.Instances) != 3 {
		t.Errorf("model-manager has %+v, refused %v", backend, e.manager.Refused())
	}
}

// listed wants the reads to tell what stands.
func (e *endToEnd) listed(t *testing.T, client *mcptools.Client) {
	t.Helper()
	wc1 := listedCluster(t, e.clusters(t, client), "wc1")
	operator, serving := wc1.GPUOperator, wc1.Serving
	if operator.Status != "present" || operator.Provider != "cluster-manager" || operator.Readiness.Release.Ready == nil || !*operator.Readiness.Release.Ready {
		t.Errorf("GPU operator: %+v", operator)
	}
	if serving.Status != "present" || serving.Provider != "cluster-manager" || len(serving.Readiness.Children) != len(sliceReleases)-1 || serving.Readiness.Backend.Backend != "kserve-wc1" {
		t.Errorf("serving: %+v", serving)
	}
	if diff := cmp.Diff([]string{"eu-central-1a", "eu-central-1b", "eu-central-1c"}, wc1.Zones); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
	if wc1.CommitTarget.Repository != "acme/fleet" || len(wc1.PoolReleases) != 1 || wc1.PoolReleases[0].Name != "wc1-gpu-l4" {
		t.Errorf("cluster: %+v", wc1)
	}
	err := testbed.Eventually(t.Context(), func(context.Context) error {
		var pools clustermanager.NodePools
		e.answer(t, client, "list_node_pools", map[string]any{"cluster": "wc1"}, &pools)
		if len(pools.NodePools) != 1 || pools.NodePools[0].Name != "wc1-gpu-l4" || pools.NodePools[0].Phase != clustermanager.PhaseReady || len(pools.Notes) > 0 {
			return fmt.Errorf("pools: %+v", pools)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// clusters are those that list_clusters answers.
func (e *endToEnd) clusters(t *testing.T, client *mcptools.Client) mcptools.ClusterList {
	t.Helper()
	var list mcptools.ClusterList
	e.answer(t, client, "list_clusters", nil, &list)
	return list
}

func listedCluster(t *testing.T, list mcptools.ClusterList, name string) mcptools.ListedCluster {
	t.Helper()
	for _, cluster := range list.Clusters {
		if cluster.Name == name {
			return cluster
		}
	}
	t.Fatalf("cluster %s is not listed", name)
	return mcptools.ListedCluster{}
}

// refuses wants create_node_pool to say to a person without rights which one is missing, in both modes, and to leave
// nothing.
func (e *endToEnd) refuses(t *testing.T, email string, reason clustermanager.Reason, words string) {
	t.Helper()
	client, pushes := e.as(t, email), e.forge.ReceivePacks()
	for _, mode := range []string{"commit", "apply"} {
		result := called(t, client, "create_node_pool", poolCall(mode))
		if result.Reason != reason || !strings.Contains(result.Texts[0], words) {
			t.Errorf("%s, mode %s: %s %s", email, mode, result.Reason, result.Texts)
		}
	}
	if pushed := e.forge.ReceivePacks() - pushes; pushed > 0 {
		t.Errorf("%s: %d pushes", email, pushed)
	}
	for _, object := range []*unstructured.Unstructured{
		helmRelease("org-acme", "wc1-gpu-l4"), ref("v1", "Secret", "org-acme", "wc1-gpu-l4-values"), ref("v1", "ConfigMap", "agent-platform", "model-backend-kserve-wc1"),
	} {
		e.absent(t, object)
	}
}

// called calls a tool.
func called(t *testing.T, client *mcptools.Client, tool string, arguments map[string]any) mcptools.Result {
	t.Helper()
	data, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	result, err := client.Call(t.Context(), tool, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// answer calls a tool and reads its answer.
func (e *endToEnd) answer(t *testing.T, client *mcptools.Client, tool string, arguments map[string]any, into any) {
	t.Helper()
	result := called(t, client, tool, arguments)
	if result.Reason != "" {
		t.Fatalf("%s %v: %s: %s", tool, arguments, result.Reason, result.Texts)
	}
	for _, text := range result.Texts {
		if strings.Contains(text, registryPassword) {
			t.Errorf("%s: a registry's password is in the answer", tool)
		}
	}
	if err := json.Unmarshal([]byte(result.Texts[0]), into); err != nil {
		t.Fatal(err)
	}
}

// write calls a tool that writes.
func (e *endToEnd) write(t *testing.T, client *mcptools.Client, tool string, arguments map[string]any) clustermanager.WriteResult {
	t.Helper()
	var result clustermanager.WriteResult
	e.answer(t, client, tool, arguments, &result)
	return result
}

// merge merges the pull request of an answer, and lets Flux fetch what came of it.
func (e *endToEnd) merge(t *testing.T, opened clustermanager.WriteResult) {
	t.Helper()
	if opened.Commit == nil || opened.Commit.Number == 0 {
		t.Fatalf("no pull request: %+v, %s", opened.Commit, opened.NextStep)
	}
	if err := e.forge.Merge("acme", "fleet", opened.Commit.Number); err != nil {
		t.Fatal(err)
	}
	if err := e.admin.Reconcile(t.Context(), ref("source.toolkit.fluxcd.io/v1", "GitRepository", "default", "fleet")); err != nil {
		t.Fatal(err)
	}
}

// applied waits until a Kustomization has applied these objects and no others.
func (e *endToEnd) applied(t *testing.T, kustomization string, want []string) {
	t.Helper()
	slices.Sort(want)
	e.until(t, kustomizationOf(kustomization), func(found *unstructured.Unstructured) error {
		if diff := cmp.Diff(want, inventoryOf(found)); diff != "" {
			return errors.New("inventory (-want +got):\n" + diff)
		}
		return isReady(found)
	})
}

func kustomizationOf(name string) *unstructured.Unstructured {
	return ref("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "default", name)
}

func helmRelease(namespace, name string) *unstructured.Unstructured {
	return ref("helm.toolkit.fluxcd.io/v2", "HelmRelease", namespace, name)
}

// inventoryOf are the objects that a Kustomization applied, sorted.
func inventoryOf(kustomization *unstructured.Unstructured) []string {
	entries, _, _ := unstructured.NestedSlice(kustomization.Object, "status", "inventory", "entries")
	var found []string
	for _, entry := range entries {
		// Namespace, name, group and kind, with underscores between them.
		parts := strings.Split(fmt.Sprint(entry.(map[string]any)["id"]), "_")
		found = append(found, parts[len(parts)-1]+" "+parts[0]+"/"+parts[1])
	}
	slices.Sort(found)
	return found
}

// diffed are the objects of a proposal, sorted; changed those of an answer with what happens to them.
func diffed(objects []clustermanager.ObjectDiff) []string {
	var all []string
	for _, object := range objects {
		all = append(all, object.Kind+" "+object.Namespace+"/"+object.Name)
	}
	slices.Sort(all)
	return all
}

func changed(objects []clustermanager.Change) []string {
	var all []string
	for _, object := range objects {
		all = append(all, strings.TrimSpace(string(object.Action)+" "+object.Kind+" "+strings.TrimPrefix(object.Namespace+"/"+object.Name, "/")))
	}
	return all
}
