package survey_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/compose"
)

// icePool is a pool pinned to one zone, or not, of three sizes of g6e.
func icePool(zones string) string {
	return strings.ReplaceAll(poolRelease("gpu-l40s", "", "accelerator: nvidia-l40s, sizes: [2xlarge, 4xlarge, 8xlarge]"+zones, installed)+
		source("gpu-l40s")+machinePool("gpu-l40s", "", 0, 0), "gpu-a10g", "gpu-l40s")
}

func event(name, about, kind, reason, at, message string) string {
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Event
metadata: {name: %s, namespace: default, creationTimestamp: "2026-08-01T06:00:00Z"}
involvedObject: {apiVersion: karpenter.sh/v1, kind: NodeClaim, name: %s}
type: %s
reason: %s
lastTimestamp: "%s"
message: "%s"
`, name, about, kind, reason, at, message)
}

const ice = "NodeClaim wc1-gpu-l40s-5hpxb event: creating instance,  insufficient capacity, with fleet error(s), InsufficientInstanceCapacity: We currently do not have sufficient g6e.2xlarge capacity in the Availability Zone you requested (eu-central-1b). Our system will be working on provisioning additional capacity."

// cacheClaim is the model cache's claim, bound in a zone, and the slice that mounts it.
const cacheClaim = `
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: hf-cache, namespace: model-serving}
spec: {volumeName: pvc-1234, resources: {requests: {storage: 100Gi}}}
status: {phase: Bound}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pvc-1234}
spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [eu-central-1b]}]}]}}}
`

const cachedSlice = `
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: wc1-agent-platform, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager}}
spec: {values: {modelServing: {cache: {enabled: true}}}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: wc1-agent-platform, namespace: org-acme}
spec: {ref: {tag: 4.85.0}}
`

// The two messages are the reference wording, clause by clause.
func TestALaunchThatWasRefusedEverywhere(t *testing.T) {
	t.Parallel()
	quoted := `Karpenter: "creating instance, insufficient capacity, with fleet error(s), InsufficientInstanceCapacity: We currently do not have sufficient g6e.2xlarge capacity in the Availability Zone you requested (eu-central-1b). Our system will be working on provisioning additional capacity."`
	nine := "creating instance, insufficient capacity, with fleet error(s)"
	for _, size := range []string{"2xlarge", "4xlarge", "8xlarge"} {
		for _, zone := range []string{"a", "b", "c"} {
			nine += fmt.Sprintf(", InsufficientInstanceCapacity: We currently do not have sufficient g6e.%[1]s capacity in the Availability Zone you requested (eu-central-1%[2]s). You can currently get g6e.%[1]s capacity by not specifying an Availability Zone in your request or choosing eu-central-1a, eu-central-1c.", size, zone)
		}
	}
	for _, test := range []struct{ name, zones, message, want string }{
		{
			"pinned to a zone", ", zones: [eu-central-1b]", ice,
			"1 NodeClaim could not launch, the last (wc1-gpu-l40s-5hpxb) at 2026-08-01T09:14:47Z — " +
				"InsufficientInstanceCapacity for every size of the pool (g6e.2xlarge, g6e.4xlarge, g6e.8xlarge) in eu-central-1b, the zone the pool is pinned to (InsufficientCapacityError); " +
				quoted + "; it retries while a pod waits — the pool is pinned to eu-central-1b — the model cache claim model-serving/hf-cache (volume pvc-1234) lives in eu-central-1b and the pool's slice mounts it: " +
				"re-run create_node_pool on the pool with zones naming one zone with capacity — not refused in this answer: eu-central-1a, eu-central-1c (the cluster's other node-subnet zones; capacity there is not promised) — " +
				"with the cache on its slice then mounts that zone's model cache claim (the one Bound there, else hf-cache-<zone>, created there and kept; the weights downloaded once more), with cache false it serves from the node's local disk; " +
				"wider sizes or another accelerator (a re-run of create_node_pool) give it more to choose from",
		},
		{
			"not pinned", "", nine,
			"1 NodeClaim could not launch, the last (wc1-gpu-l40s-5hpxb) at 2026-08-01T09:14:47Z — " +
				"InsufficientInstanceCapacity for every size of the pool (g6e.2xlarge, g6e.4xlarge, g6e.8xlarge) in every zone the pool may use (eu-central-1a, eu-central-1b, eu-central-1c — the cluster's node-subnet zones; the pool has no pin) (InsufficientCapacityError); " +
				"Karpenter: \"" + nine + "\"" + "; it retries while a pod waits — every zone the pool may use was refused in the same answer, so there is no zone to move to (zones on a re-run would only pin the pool to one of them); " +
				"Karpenter retries every few minutes (its unavailable-offering cache is three minutes) and the pool launches its node on its own once the family has capacity again; " +
				"wider sizes or another accelerator (a re-run of create_node_pool) give it more to choose from",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			over := &wire{}
			answer := nodePools(t, poolFiles(icePool(test.zones)+cachedSlice, cacheClaim+
				event("a", "wc1-gpu-l40s-5hpxb", "Warning", "InsufficientCapacityError", "2026-08-01T09:14:47Z", test.message)), over)
			pool := answer.NodePools[0]
			nodes := pool.Steps[2]
			if diff := cmp.Diff(test.want, nodes.Message); diff != "" {
				t.Errorf("%s\n%s", diff, nodes.Message)
			}
			if pool.Phase != clustermanager.PhaseScaling || nodes.State != clustermanager.StepInProgress || nodes.Since.Format("15:04:05") != "09:14:47" {
				t.Errorf("%+v", pool)
			}
			claimsRead := slices.ContainsFunc(over.requested(), func(line string) bool { return strings.Contains(line, "persistentvolumeclaims") })
			if claimsRead != (test.zones != "") {
				t.Errorf("the claims were read: %v", claimsRead)
			}
		})
	}
}

func TestWhichLaunchFailuresCount(t *testing.T) {
	t.Parallel()
	events := event("own-1", "wc1-gpu-l40s-aaaaa", "Warning", "InsufficientCapacityError", "2026-08-01T06:00:27Z", ice) +
		event("own-2", "wc1-gpu-l40s-bbbbb", "Warning", "InsufficientCapacityError", "2026-08-01T06:03:37Z", ice) +
		event("other-pool", "wc1-gpu-a10g-ccccc", "Warning", "InsufficientCapacityError", "2026-08-01T06:05:00Z", ice) +
		event("longer-name", "wc1-gpu-l40s-b-ddddd", "Warning", "InsufficientCapacityError", "2026-08-01T06:05:00Z", ice) +
		event("note", "wc1-gpu-l40s-eeeee", "Normal", "InsufficientCapacityError", "2026-08-01T06:05:00Z", ice) +
		event("reason", "wc1-gpu-l40s-fffff", "Warning", "Disrupted", "2026-08-01T06:05:00Z", ice)
	existing := func(name, created string) string {
		return strings.ReplaceAll(claim(name, `creationTimestamp: "`+created+`"`, `conditions: [{type: Ready, status: "True", lastTransitionTime: "`+created+`"}]`), "gpu-a10g", "gpu-l40s")
	}
	for _, test := range []struct{ name, claims, want string }{
		{"no later claim", "", "2 NodeClaims could not launch, the last (wc1-gpu-l40s-bbbbb) at 2026-08-01T06:03:37Z"},
		{"a claim created later", existing("wc1-gpu-l40s-zzzzz", "2026-08-01T06:04:00Z"), "1 node(s) ready"},
		{"the same claim", existing("wc1-gpu-l40s-bbbbb", "2026-08-01T06:04:00Z"), "1 NodeClaim could not launch, the last (wc1-gpu-l40s-bbbbb) at 2026-08-01T06:03:37Z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			answer := nodePools(t, poolFiles(icePool(""), events+test.claims), nil)
			if got := answer.NodePools[0].Steps[2].Message; !strings.HasPrefix(got, test.want) {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// A prewarm placeholder stands on the installation, so the pool is one of its own cluster.
func TestAPrewarmedPool(t *testing.T) {
	t.Parallel()
	own := strings.NewReplacer("wc1", "gazelle", "org-acme", "org-giantswarm", "organization: acme", "organization: giantswarm")
	management := own.Replace(poolCluster + poolRelease("gpu-a10g", "", "accelerator: nvidia-a10g, prewarm: {enabled: true}", installed) + source("gpu-a10g") + machinePool("gpu-a10g", "", 0, 0) + `
---
apiVersion: batch/v1
kind: Job
metadata: {name: wc1-gpu-a10g-prewarm, namespace: org-acme, creationTimestamp: "2026-08-01T06:00:00Z"}
spec: {activeDeadlineSeconds: 900}
status: {active: 1}
---
apiVersion: v1
kind: Pod
metadata:
  name: wc1-gpu-a10g-prewarm-x
  namespace: org-acme
  labels: {app.kubernetes.io/name: gpu-node-pool, app.kubernetes.io/instance: wc1-gpu-a10g, giantswarm.io/machine-pool: wc1-gpu-a10g}
spec: {nodeName: ip-10-0-1-1}
status: {phase: Running, startTime: "2026-08-01T06:04:41Z"}
`)
	f := files{"cluster-manager.yaml": "installation: gazelle\n", "management/all.yaml": management + kubeSystem}
	read, err := f.reader(t, nil).NodePools(t.Context(), "", "gazelle")
	if err != nil {
		t.Fatal(err)
	}
	pool := compose.NodePools(read).NodePools[0]
	want := clustermanager.LifecycleStep{Name: "prewarm", State: clustermanager.StepInProgress, Message: "holding node ip-10-0-1-1"}
	got := pool.Steps[3]
	if pool.Phase != clustermanager.PhaseReady || got.Since == nil || got.Since.Format("15:04:05") != "06:04:41" {
		t.Errorf("%+v", pool)
	}
	got.Since = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What holds a node, and what does not.
func TestHoldersOfANode(t *testing.T) {
	t.Parallel()
	pod := func(name, labels, spec, phase string) string {
		return fmt.Sprintf("\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: model-serving%s}\nspec: {nodeName: ip-10-0-1-1, %s}\nstatus: {phase: %s}\n", name, labels, spec, phase)
	}
	gpu := func(kind, count string) string {
		return "containers: [{name: main, resources: {" + kind + ": {nvidia.com/gpu: " + count + "}}}]"
	}
	const plain = "containers: [{name: main}]"
	cluster := claim("wc1-gpu-a10g-abcde", `creationTimestamp: "2026-08-01T09:20:00Z"`, `nodeName: ip-10-0-1-1, conditions: [{type: Ready, status: "True"}]`) +
		node("ip-10-0-1-1", "aws:///eu-central-1a/i-1", readyNode) +
		pod("a-limit", "", gpu("limits", "1"), "Running") + pod("b-text", "", gpu("limits", `"2"`), "Pending") +
		pod("c-request", "", gpu("requests", "1"), "Running") +
		pod("d-init", "", "initContainers: [{name: init, resources: {limits: {nvidia.com/gpu: 1}}}], "+plain, "Running") +
		pod("e-predictor", ", labels: {serving.kserve.io/inferenceservice: qwen}", plain, "Running") +
		pod("f-llm", ", labels: {app.kubernetes.io/part-of: llminferenceservice, app.kubernetes.io/name: qwen}", plain, "Running") +
		pod("g-daemon", ", ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u}]", gpu("limits", "1"), "Running") +
		pod("h-succeeded", "", gpu("limits", "1"), "Succeeded") + pod("i-failed", "", gpu("limits", "1"), "Failed") +
		pod("j-preemptible", "", "priority: -1000, "+gpu("limits", "1"), "Running") + pod("k-plain", "", plain, "Running") +
		pod("m-several", "", "initContainers: [{name: init, resources: {limits: {nvidia.com/gpu: 4}}}], containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 8}}}, {name: side, resources: {requests: {nvidia.com/gpu: 2}}}]", "Running") +
		strings.Replace(pod("l-elsewhere", "", gpu("limits", "1"), "Running"), "ip-10-0-1-1", "ip-10-0-2-2", 1)
	f := poolFiles(poolRelease("gpu-a10g", "", "accelerator: nvidia-a10g", installed)+source("gpu-a10g")+machinePool("gpu-a10g", "", 1, 1), cluster)
	read, err := f.reader(t, nil).NodePools(t.Context(), "", "wc1")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"model-serving/a-limit (1 GPU)", "model-serving/b-text (2 GPUs)", "model-serving/c-request (1 GPU)", "model-serving/d-init (1 GPU)",
		"model-serving/e-predictor (KServe predictor)", "model-serving/f-llm (KServe predictor)", "model-serving/m-several (3 GPUs)",
	}
	if diff := cmp.Diff(want, compose.Holders(read.Pools[0].Nodes.Or(nil)[0])); diff != "" {
		t.Error(diff)
	}
}

// When an event happened stands in one of three places, and events that cannot be read are no failure.
func TestLaunchEventsAsTheyStand(t *testing.T) {
	t.Parallel()
	seen := event("a", "wc1-gpu-l40s-aaaaa", "Warning", "NodeClassNotReady", "2026-08-01T09:14:47Z", "not ready")
	const last = `lastTimestamp: "2026-08-01T09:14:47Z"`
	for _, test := range []struct {
		name, event string
		over        *wire
		want        string
	}{
		{"seen last", strings.Replace(seen, last, last+"\neventTime: \"2026-08-01T08:00:00.000000Z\"", 1), nil, "(wc1-gpu-l40s-aaaaa) at 2026-08-01T09:14:47Z"},
		{"happened", strings.Replace(seen, last, `eventTime: "2026-08-01T08:00:00.000000Z"`, 1), nil, "(wc1-gpu-l40s-aaaaa) at 2026-08-01T08:00:00Z"},
		{"made", strings.Replace(seen, last, "count: 1", 1), nil, "(wc1-gpu-l40s-aaaaa) at 2026-08-01T06:00:00Z"},
		{"unreadable", seen, &wire{forbid: []string{"/default/events"}}, "no node: the pool is scaled to zero until a pod asks for one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			answer := nodePools(t, poolFiles(icePool(""), test.event), test.over)
			if got := answer.NodePools[0].Steps[2].Message; !strings.Contains(got, test.want) || len(answer.Notes)+len(answer.NodePools[0].Notes) > 0 {
				t.Errorf("%s, want %s; notes %q %q", got, test.want, answer.Notes, answer.NodePools[0].Notes)
			}
		})
	}
}

// Of several pods of a placeholder the newest tells, and of one that failed the container that ended.
func TestThePodsOfAPlaceholder(t *testing.T) {
	t.Parallel()
	pod := func(name, labels, created, status string) string {
		return fmt.Sprintf("\n---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: org-acme, creationTimestamp: %q, labels: {%s}}, spec: {nodeName: ip-10-0-1-1}, status: {%s}}\n", name, created, labels, status)
	}
	const labels = "app.kubernetes.io/name: gpu-node-pool, app.kubernetes.io/instance: wc1-gpu-a10g, giantswarm.io/machine-pool: wc1-gpu-a10g"
	const ended = `phase: Failed, containerStatuses: [{name: init, state: {running: {}}}, {name: hold, state: {terminated: {reason: StartError, exitCode: 128}}}]`
	prewarm := poolRelease("gpu-a10g", "", "accelerator: nvidia-a10g, prewarm: {enabled: true}", installed) + source("gpu-a10g") + machinePool("gpu-a10g", "", 0, 0) + `
---
apiVersion: batch/v1
kind: Job
metadata: {name: wc1-gpu-a10g-prewarm, namespace: org-acme, creationTimestamp: "2026-08-01T06:00:00Z"}
spec: {activeDeadlineSeconds: 900}
status: {active: 1}
` + pod("a", labels, "2026-08-01T06:00:01Z", "phase: Running") + pod("b", labels, "2026-08-01T06:05:00Z", ended) + pod("c", labels, "2026-08-01T06:04:00Z", "phase: Running") +
		pod("d", strings.Replace(labels, "instance: wc1-gpu-a10g", "instance: wc1-gpu-a10g-b", 1), "2026-08-01T06:09:00Z", "phase: Running")
	step := nodePools(t, poolFiles(prewarm, ""), nil).NodePools[0].Steps[3]
	if step.State != clustermanager.StepFailed || step.Message != "container hold of pod b ended: StartError, exit code 128" {
		t.Errorf("%+v", step)
	}
}
