package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	objects := []string{
		"OCIRepository org-acme/wc2-gpu-l4", "HelmRelease org-acme/wc2-gpu-l4", "OCIRepository org-acme/wc2-agent-platform",
		"HelmRelease org-acme/wc2-agent-platform", "ConfigMap agent-platform/model-backend-kserve-wc2",
		"OCIRepository org-acme/wc2-gpu-operator", "HelmRelease org-acme/wc2-gpu-operator",
	}
	e.writes(t, jane, "create_node_pool", pool, "create", objects)
	for _, name := range append([]string{"gpu-l4", "gpu-operator"}, sliceReleases...) {
		e.until(t, helmRelease("org-acme", "wc2-"+name), isReady)
	}
	e.writes(t, jane, "create_node_pool", pool, "unchanged", objects)
	var pools clustermanager.NodePools
	e.answer(t, jane, "list_node_pools", map[string]any{"cluster": "wc2"}, &pools)
	if len(pools.NodePools) != 1 || pools.NodePools[0].Name != "wc2-gpu-l4" || pools.Backend.Backend != "kserve-wc2" || len(pools.Notes) > 0 {
		t.Errorf("pools: %+v", pools)
	}

	node := e.serves(t, jane, pool)
	e.removed(t, jane, "delete_node_pool", pool, "nothing of the pool is left")
	gone(t, bedClient(t, e.wc2), ref("v1", "Node", "", node))
	for index, bed := range []*testbed.Bed{e.bed, e.wc2} {
		left(t, before[index], everything(t, bed), true)
	}
}

// writes wants a tool to do the same with each of these objects, in any order.
func (e *endToEnd) writes(t *testing.T, client *mcptools.Client, tool string, arguments map[string]any, action string, objects []string) {
	t.Helper()
	var want []string
	for _, object := range objects {
		want = append(want, action+" "+object)
	}
	made := e.write(t, client, tool, arguments)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(changed(made.Objects)))); diff != "" || made.Partial {
		t.Errorf("%s (-want +got):\n%s", made.NextStep, diff)
	}
}

// serves puts a model onto a node of the pool, which keeps the pool from being removed, and unloads it. It returns the
// node, which is idle then.
func (e *endToEnd) serves(t *testing.T, client *mcptools.Client, pool map[string]any) (node string) {
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
	node = script.NewKarpenter(t, e.wc2.Admin()).Claim("wc2-gpu-l4", "g6.xlarge", "eu-central-1a")
	if err := there.Until(t.Context(), model, isReady); err != nil {
		t.Fatal(err)
	}
	result := called(t, client, "delete_node_pool", pool)
	if result.Reason != clustermanager.ReasonRefused || !strings.Contains(result.Texts[0], "node "+node+" runs model-serving/small-kserve (1 GPU)") {
		t.Errorf("while a model is served: %s %s", result.Reason, result.Texts)
	}
	e.remove(t, there, model)
	gone(t, there, model)
	gone(t, there, ref("v1", "Pod", "model-serving", "small-kserve"))
	return node
}

func (e *endToEnd) remove(t *testing.T, client *testbed.Client, object *unstructured.Unstructured) {
	t.Helper()
	resource, err := client.Of(object)
	if err == nil {
		err = resource.Delete(t.Context(), object.GetName(), metav1.DeleteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// removed calls a tool that removes, as often as it asks for, until it does not find anything more.
func (e *endToEnd) removed(t *testing.T, client *mcptools.Client, tool string, arguments map[string]any, words string) {
	t.Helper()
	calls := 0
	err := testbed.Eventually(t.Context(), func(context.Context) error {
		calls++
		switch result := called(t, client, tool, arguments); {
		case result.Reason == clustermanager.ReasonNotFound && strings.Contains(strings.Join(result.Texts, " "), words):
			return nil
		case result.Reason != "":
			t.Fatalf("%s, call %d: %s: %s", tool, calls, result.Reason, result.Texts)
		default:
			answer := readAnswer(t, result)
			if calls > 1 && !answer.Partial {
				return fmt.Errorf("call %d: %v", calls, changed(answer.Objects))
			}
		}
		return errors.New("it goes on")
	})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	t.Logf("%s: %d calls", tool, calls)
}

// staying is what the charts' own definitions and the namespace that a release made leave, which Helm does not take back.
var staying = []string{
	"APIService v1.charts.example.com", "CustomResourceDefinition noderules.charts.example.com", "Namespace agent-platform",
	"ConfigMap agent-platform/kube-root-ca.crt", "ServiceAccount agent-platform/default",
}

// left wants nothing more on an API server than before, and nothing less or, if told so, changed.
func left(t *testing.T, before, after map[string]string, unchanged bool) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		switch content, there := before[name]; {
		case !there && !slices.Contains(staying, name):
			t.Errorf("%s is left", name)
		case there && unchanged && content != after[name]:
			t.Errorf("%s has changed", name)
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			t.Errorf("%s is gone", name)
		}
	}
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
				delete(object.Object, "status")
				object.SetResourceVersion("")
				object.SetManagedFields(nil)
				data, err := json.Marshal(object.Object)
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
