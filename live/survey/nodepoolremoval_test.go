package survey_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// predictorPod is a pod of the serving namespace that waits, with what its spec says.
func predictorPod(name, labels, spec, phase string) string {
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: model-serving, labels: {%s}}
spec: {%s}
status: {phase: %s}
`, name, labels, spec, phase)
}

func nominated(name, pod, at, claim string) string {
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Event
metadata: {name: %s, namespace: model-serving}
involvedObject: {kind: Pod, name: %s, namespace: model-serving}
type: Normal
reason: Nominated
lastTimestamp: "%s"
message: "Pod should schedule on: nodeclaim/%s, node/ip-10-0-1-1"
`, name, pod, at, claim)
}

const llmPredictor = "app.kubernetes.io/part-of: llminferenceservice, app.kubernetes.io/name: qwen"

func removalFacts(t *testing.T, f files, over *wire) clustermanager.NodePoolRemovalSurvey {
	t.Helper()
	read, err := f.reader(t, over).NodePoolRemoval(t.Context(), clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "gpu-a10g"})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestWhichPoolsAPredictorNames(t *testing.T) {
	t.Parallel()
	term := func(values string) string {
		return "{matchExpressions: [{key: giantswarm.io/machine-pool, operator: In, values: [" + values + "]}]}"
	}
	affinity := func(terms ...string) string {
		return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" + strings.Join(terms, ", ") + "]}}}"
	}
	cluster := predictorPod("a-selector", llmPredictor, "nodeSelector: {giantswarm.io/machine-pool: wc1-gpu-x}, "+affinity(term("wc1-gpu-y")), "Pending") +
		predictorPod("b-affinity", llmPredictor, affinity(term("wc1-gpu-y, wc1-gpu-x"), term("wc1-gpu-x")), "Pending") +
		predictorPod("c-one-term-names-none", llmPredictor, affinity(term("wc1-gpu-x"), "{matchExpressions: [{key: other, operator: Exists}]}"), "Pending") +
		predictorPod("d-nominated", llmPredictor, "", "Pending") +
		nominated("d1", "d-nominated", "2026-08-01T09:00:00Z", "wc1-gpu-old-aaaaa") + nominated("d2", "d-nominated", "2026-08-01T09:30:00Z", "wc1-gpu-new-bbbbb") +
		nominated("e1", "another", "2026-08-01T09:40:00Z", "wc1-gpu-x-aaaaa") +
		predictorPod("f-running", "serving.kserve.io/inferenceservice: bert", "nodeName: ip-1", "Running") +
		predictorPod("g-no-predictor", "app: web", "", "Running")
	want := []clustermanager.Predictor{
		{Name: "a-selector", Pools: []string{"wc1-gpu-x"}}, {Name: "b-affinity", Pools: []string{"wc1-gpu-x", "wc1-gpu-y"}},
		{Name: "c-one-term-names-none"}, {Name: "d-nominated", Pools: []string{"wc1-gpu-new"}},
		{Name: "f-running", Kind: "InferenceService", Model: "bert", Phase: "Running", NodeName: "ip-1"},
	}
	for index := range want {
		want[index].Namespace = "model-serving"
		if want[index].Kind == "" {
			want[index].Kind, want[index].Model, want[index].Phase = "LLMInferenceService", "qwen", "Pending"
		}
	}
	got, known := removalFacts(t, poolFiles("", cluster), nil).Predictors.Get()
	if diff := cmp.Diff(want, got); diff != "" || !known {
		t.Error(diff)
	}
	// Without Karpenter's events a pod names fewer pools.
	got, _ = removalFacts(t, poolFiles("", cluster), &wire{forbid: []string{"/model-serving/events"}}).Predictors.Get()
	if len(got) != 5 || got[3].Pools != nil {
		t.Errorf("%+v", got)
	}
}

func TestRemovalFacts(t *testing.T) {
	t.Parallel()
	f := poolFiles(poolRelease("gpu-a10g", "  generation: 3\n  finalizers: [finalizers.fluxcd.io]", "accelerator: nvidia-a10g", installed)+source("gpu-a10g")+machinePool("gpu-a10g", ids, 2, 2)+cachedSlice+`
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: wc1-kserve-runtime-configs, namespace: org-acme, labels: {helm.toolkit.fluxcd.io/name: wc1-agent-platform, helm.toolkit.fluxcd.io/namespace: org-acme}}
spec: {chartRef: {kind: OCIRepository, name: wc1-kserve-runtime-configs}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: wc1-kserve-runtime-configs, namespace: org-acme}
spec: {url: "oci://registry.example/charts/kserve-runtime-configs"}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: another-child, namespace: org-acme, labels: {helm.toolkit.fluxcd.io/name: wc2-agent-platform, helm.toolkit.fluxcd.io/namespace: org-acme}}
`, claim("wc1-gpu-a10g-abcde", `creationTimestamp: "2026-08-01T09:20:00Z"`, `nodeName: ip-1`)+node("ip-1", "aws:///a/i-1", readyNode)+predictorPod("qwen", llmPredictor, "nodeName: ip-1", "Running"))
	over := &wire{}
	facts := removalFacts(t, f, over)
	pool := facts.Pool
	release := pool.Release.Or(nil)
	if release == nil || !release.Finalized || release.Generation != 3 || len(pool.Claims.Or(nil)) != 1 || pool.Nodes.Or(nil)[0].Pods.Or(nil)[0].Name != "qwen" {
		t.Errorf("%+v", pool)
	}
	want := []clustermanager.SliceChild{{Name: "wc1-kserve-runtime-configs", Chart: "kserve-runtime-configs"}}
	if diff := cmp.Diff(want, facts.Parts.Children.Or(nil)); diff != "" {
		t.Error(diff)
	}
	if slice := facts.Serving.Slice.Or(nil); slice == nil || !slice.CacheOn() || slice.TargetNamespace() != "org-acme" {
		t.Errorf("%+v", slice)
	}
	seen := slices.Sorted(slices.Values(over.requested()))
	if twice := len(seen) - len(slices.Compact(slices.Clone(seen))); twice > 0 {
		t.Errorf("%d requests were made twice: %v", twice, seen)
	}
	text, err := json.Marshal(facts)
	if err != nil {
		t.Fatal(err)
	}
	var back clustermanager.NodePoolRemovalSurvey
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(back)
	if diff := cmp.Diff(string(text), string(again)); diff != "" {
		t.Errorf("a survey that is written and read is another: %s", diff)
	}
}
