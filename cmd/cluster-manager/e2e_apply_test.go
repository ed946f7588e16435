package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/internal/testbed/script"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// A pool with serving comes and goes in mode apply, and nothing of it stays but what stays by design.
func (e *endToEnd) testApply(t *testing.T) {
	e.cluster(t, "acme", "wc2")
	e.kubeconfig(t, e.wc2, "org-acme", "wc2")
	jane := e.as(t, engineer)
	before := [2]map[string]string{everything(t, e.bed), everything(t, e.wc2)}

	pool := map[string]any{"cluster": "wc2", "name": "gpu-l4"}
	made := e.write(t, jane, "create_node_pool", pool)
	t.Log(changed(made.Objects), made.Warnings, made.NextStep)
	for _, name := range append([]string{"gpu-l4", "gpu-operator"}, sliceReleases...) {
		e.until(t, helmRelease("org-acme", "wc2-"+name), isReady)
	}
	again := e.write(t, jane, "create_node_pool", pool)
	t.Log(changed(again.Objects), again.Warnings, again.NextStep)
	var pools clustermanager.NodePools
	e.answer(t, jane, "list_node_pools", map[string]any{"cluster": "wc2"}, &pools)

	e.serves(t, jane, pool)
	e.removed(t, jane, "delete_node_pool", pool)
	for index, bed := range []*testbed.Bed{e.bed, e.wc2} {
		after := everything(t, bed)
		t.Log(cmp.Diff(before[index], after))
	}
}

// serves puts a model onto a node of the pool, which keeps the pool from being removed until the model is unloaded.
func (e *endToEnd) serves(t *testing.T, client *mcptools.Client, pool map[string]any) {
	t.Helper()
	there := bedClient(t, e.wc2)
	model := documents(t, `
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
metadata:
  name: small
  namespace: model-serving
  labels: {app.kubernetes.io/managed-by: model-manager}
  annotations: {model-manager.giantswarm.io/model: small}
spec: {model: {uri: "hf://example/small", name: small}}
`)[0]
	if err := there.Apply(t.Context(), model); err != nil {
		t.Fatal(err)
	}
	script.NewKarpenter(t, e.wc2.Admin()).Claim("wc2-gpu-l4", "g6.xlarge", "eu-central-1a")
	if err := there.Until(t.Context(), model, isReady); err != nil {
		t.Fatal(err)
	}
	all, _ := there.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).List(t.Context(), metav1.ListOptions{})
	data, _ := json.Marshal(all)
	t.Log(string(data))
	t.Log(called(t, client, "list_node_pools", map[string]any{"cluster": "wc2"}).Texts)
	result := called(t, client, "delete_node_pool", pool)
	t.Log(result.Reason, result.Texts)
	resource, err := there.Of(model)
	if err == nil {
		err = resource.Delete(t.Context(), model.GetName(), metav1.DeleteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	gone(t, there, model)
	gone(t, there, ref("v1", "Pod", "model-serving", "small-kserve"))
}

// removed calls a tool that removes until it says that nothing is left.
func (e *endToEnd) removed(t *testing.T, client *mcptools.Client, tool string, arguments map[string]any) {
	t.Helper()
	for range 20 {
		result := called(t, client, tool, arguments)
		t.Log(result.Reason, result.Texts)
		if result.Reason != "" {
			return
		}
	}
	t.Error("no end")
}

// everything is what an API server holds: each object with a hash of what it says, without what every write changes.
func everything(t *testing.T, bed *testbed.Bed) map[string]string {
	t.Helper()
	found := map[string]string{}
	client := bedClient(t, bed)
	kinds, err := discovery.NewDiscoveryClientForConfig(bed.Admin())
	if err != nil {
		t.Fatal(err)
	}
	lists, err := kinds.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || slices.Contains([]string{"Event", "Lease", "ComponentStatus"}, resource.Kind) {
				continue
			}
			objects, err := client.Resource(group.WithResource(resource.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range objects.Items {
				content := maps.Clone(object.Object)
				delete(content, "status")
				object.SetResourceVersion("")
				object.SetManagedFields(nil)
				data, err := json.Marshal(content)
				if err != nil {
					t.Fatal(err)
				}
				name := strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
				found[object.GetKind()+" "+name] = fmt.Sprintf("%x", sha256.Sum256(data))[:8]
			}
		}
	}
	return found
}
