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

// poolCluster is workload cluster wc1 without pools.
const poolCluster = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: wc1
  namespace: org-acme
  labels: {giantswarm.io/organization: acme, release.giantswarm.io/version: 31.0.0}
spec:
  controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: wc1}
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster, name: wc1}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: wc1, namespace: org-acme}
spec: {version: v1.31.4}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {name: wc1, namespace: org-acme}
spec:
  region: eu-central-1
  network:
    subnets:
    - {availabilityZone: eu-central-1c, tags: {giantswarm.io/role: nodes}}
    - {availabilityZone: eu-central-1a, tags: {giantswarm.io/role: nodes}}
    - {availabilityZone: eu-central-1b, tags: {giantswarm.io/role: nodes}}
---
# made for the test: no such server, no users
apiVersion: v1
kind: Secret
metadata: {name: wc1-kubeconfig, namespace: org-acme}
stringData:
  value: |
    apiVersion: v1
    kind: Config
    clusters: [{name: wc1, cluster: {server: "https://api.wc1.example.io:6443", certificate-authority-data: bWFkZSBmb3IgdGhlIHRlc3Q=}}]
---
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-31.0.0}
spec: {components: [{name: kubernetes, version: 1.31.9}]}
`

// poolFiles is an installation with wc1, the documents given, and what wc1's API server has.
func poolFiles(management, cluster string) files {
	return files{
		"cluster-manager.yaml": "installation: gazelle\n",
		"management/wc1.yaml":  poolCluster, "management/pools.yaml": management, "clusters/wc1/objects.yaml": cluster + kubeSystem,
	}
}

const kubeSystem = "\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: kube-system}\n"

// release is an owned release of a pool with metadata, values below pool and conditions given as lines of YAML.
func poolRelease(name, metadata, pool, conditions string) string {
	return fmt.Sprintf(`
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: wc1-%[1]s
  namespace: org-acme
  creationTimestamp: "2026-08-01T09:00:00Z"
  labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: gpu-node-pool, giantswarm.io/cluster: wc1, giantswarm.io/node-pool: %[1]s}
%[2]s
spec: {values: {pool: {name: %[1]s, %[3]s}}}
status: {conditions: [%[4]s]}
`, name, metadata, pool, conditions)
}

func source(name string) string {
	return fmt.Sprintf(`
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: wc1-%s, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager}}
`, name)
}

func machinePool(name, ids string, replicas, ready int) string {
	return fmt.Sprintf(`
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: wc1-%[1]s, namespace: org-acme, creationTimestamp: "2026-08-01T09:01:00Z", labels: {cluster.x-k8s.io/cluster-name: wc1}}
spec:
  replicas: %[3]d
  template: {spec: {version: v1.31.4, infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1, kind: KarpenterMachinePool, name: wc1-%[1]s}}}
status: {readyReplicas: %[4]d, conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-08-01T09:10:00Z"}]}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: KarpenterMachinePool
metadata: {name: wc1-%[1]s, namespace: org-acme}
spec: {providerIDList: [%[2]s], nodePool: {template: {requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.2xlarge, g5.xlarge]}]}}}
`, name, ids, replicas, ready)
}

const (
	installed = `{type: Ready, status: "True", reason: InstallSucceeded, lastTransitionTime: "2026-08-01T09:05:00Z"}`
	ids       = "aws:///eu-central-1b/i-2, aws:///eu-central-1a/i-1"
)

func nodePools(t *testing.T, f files, over *wire) clustermanager.NodePools {
	t.Helper()
	read, err := f.reader(t, over).NodePools(t.Context(), "", "wc1")
	if err != nil {
		t.Fatal(err)
	}
	return compose.NodePools(read)
}

// brief is a pool as the cases tell it.
func brief(pool clustermanager.NodePoolStatus) string {
	text := string(pool.Phase)
	for _, step := range pool.Steps {
		text += "\n" + step.Name + " " + string(step.State)
		if step.Since != nil {
			text += " since " + step.Since.Format("15:04:05")
		}
		if step.FinishedAt != nil {
			text += " finished " + step.FinishedAt.Format("15:04:05")
		}
		if step.Message != "" {
			text += ": " + step.Message
		}
	}
	for _, change := range pool.Pending {
		text += fmt.Sprintf("\n%s %s", change.ObjectReference, change.Action)
	}
	for _, note := range pool.Notes {
		text += "\nnote: " + note
	}
	return text
}

func claim(name, metadata, status string) string {
	return fmt.Sprintf(`
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: %s, labels: {karpenter.sh/nodepool: wc1-gpu-a10g}, %s}
status: {%s}
`, name, metadata, status)
}

func node(name, id, status string) string {
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Node
metadata: {name: %s, labels: {giantswarm.io/machine-pool: wc1-gpu-a10g}, creationTimestamp: "2026-08-01T09:21:00Z"}
spec: {providerID: "%s"}
status: {%s}
`, name, id, status)
}

const readyNode = `conditions: [{type: Ready, status: "True"}], allocatable: {nvidia.com/gpu: "1"}`

func TestLifecycleOfAPool(t *testing.T) {
	t.Parallel()
	ready := poolRelease("gpu-a10g", "", "accelerator: nvidia-a10g", installed) + source("gpu-a10g")
	for _, test := range []struct {
		name, management, cluster, want string
	}{
		{
			name:       "a release that reconciles, no MachinePool",
			management: poolRelease("gpu-a10g", "", "accelerator: nvidia-a10g", `{type: Ready, status: Unknown, reason: Progressing, message: "Running 'install' action", lastTransitionTime: "2026-08-01T09:00:05Z"}`) + source("gpu-a10g"),
			want:       "creating\nrelease inProgress since 09:00:05: Running 'install' action\nmachinePool pending\nnodes pending",
		},
		{
			name: "scaled to zero", management: ready + machinePool("gpu-a10g", "", 0, 0),
			want: "ready\nrelease done since 09:05:00 finished 09:05:00\nmachinePool done since 09:10:00 finished 09:10:00\n" +
				"nodes done since 09:10:00 finished 09:10:00: no node: the pool is scaled to zero until a pod asks for one",
		},
		{
			name: "an instance that shuts down", management: ready + machinePool("gpu-a10g", "", 1, 1),
			cluster: claim("wc1-gpu-a10g-abcde", `creationTimestamp: "2026-08-01T09:20:00Z", deletionTimestamp: "2026-08-01T09:40:00Z", finalizers: [karpenter.sh/termination]`,
				`nodeName: ip-10-0-1-1, conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-08-01T09:22:00Z"}, {type: Drained, status: "True", lastTransitionTime: "2026-08-01T09:40:30Z"}, {type: InstanceTerminating, status: "True", lastTransitionTime: "2026-08-01T09:40:41Z"}]`) +
				node("ip-10-0-1-1", "aws:///eu-central-1a/i-1", readyNode),
			want: "scaling\nrelease done since 09:05:00 finished 09:05:00\nmachinePool done since 09:10:00 finished 09:10:00\n" +
				"nodes inProgress since 09:40:00: 0 NodeClaim(s) launching, 0 ready, 1 terminating — ip-10-0-1-1 terminating since 2026-08-01T09:40:00Z (its instance shuts down since 2026-08-01T09:40:41Z and is no longer billed; the NodeClaim follows in about five minutes)",
		},
		{
			name:       "a release that is deleted, source and Secret gone",
			management: poolRelease("gpu-a10g", `  deletionTimestamp: "2026-08-01T10:00:00Z"`+"\n  finalizers: [finalizers.fluxcd.io]", "accelerator: nvidia-a10g", installed),
			want: "removing\nrelease done since 09:05:00 finished 09:05:00\nmachinePool pending\nnodes pending\n" +
				"HelmRelease org-acme/wc1-gpu-a10g terminating",
		},
		{
			name: "a release whose source is gone", management: poolRelease("gpu-a10g", "", "accelerator: nvidia-a10g", installed),
			want: "removing\nrelease done since 09:05:00 finished 09:05:00\nmachinePool pending\nnodes pending\nHelmRelease org-acme/wc1-gpu-a10g pending",
		},
		{
			name: "a list that lags", management: ready + machinePool("gpu-a10g", ids, 2, 2),
			want: "ready\nrelease done since 09:05:00 finished 09:05:00\nmachinePool done since 09:10:00 finished 09:10:00\n" +
				"nodes done: 0 nodes on the cluster: the MachinePool still lists 2 gone (aws:///eu-central-1a/i-1, aws:///eu-central-1b/i-2), its list follows within minutes",
		},
		{
			name: "a pool made by hand", management: machinePool("gpu-a10g", ids, 3, 2),
			want: "scaling\nmachinePool done since 09:10:00 finished 09:10:00\nnodes inProgress since 09:10:00: 2 of 3 node(s) ready",
		},
		{
			name: "an idle node, and one that is busy", management: ready + machinePool("gpu-a10g", ids, 2, 2),
			cluster: claim("wc1-gpu-a10g-abcde", `creationTimestamp: "2026-08-01T09:20:00Z"`, `nodeName: ip-10-0-1-1, providerID: "aws:///eu-central-1a/i-1", lastPodEventTime: "2026-08-01T09:55:41Z", conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-08-01T09:22:00Z"}]`) +
				claim("wc1-gpu-a10g-fghij", `creationTimestamp: "2026-08-01T09:20:00Z"`, `providerID: "aws:///eu-central-1c/i-3", conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-08-01T09:23:00Z"}]`) +
				node("ip-10-0-1-1", "aws:///eu-central-1a/i-1", readyNode) + node("ip-10-0-3-3", "aws:///eu-central-1c/i-3", readyNode) + `
---
apiVersion: v1
kind: Pod
metadata: {name: qwen, namespace: model-serving}
spec: {nodeName: ip-10-0-3-3, containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}
status: {phase: Running}
`,
			want: "ready\nrelease done since 09:05:00 finished 09:05:00\nmachinePool done since 09:10:00 finished 09:10:00\n" +
				"nodes done since 09:23:00 finished 09:23:00: 2 node(s) ready (aws:///eu-central-1a/i-1, aws:///eu-central-1c/i-3), 1 idle since 2026-08-01T09:55:41Z (ip-10-0-1-1): delete_node_pool removes an idle node with the pool; " +
				"the MachinePool still lists 1 gone (aws:///eu-central-1b/i-2), its list follows within minutes",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			answer := nodePools(t, poolFiles(test.management, test.cluster), nil)
			if len(answer.NodePools) != 1 || len(answer.Notes) > 0 {
				t.Fatalf("%+v", answer)
			}
			if diff := cmp.Diff(test.want, brief(answer.NodePools[0])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPoolsOfACluster(t *testing.T) {
	t.Parallel()
	owner := "labels: {cluster.x-k8s.io/cluster-name: wc1}"
	f := poolFiles(poolRelease("gpu-a10g", "", "accelerator: nvidia-a10g, sizes: [2xlarge, xlarge]", installed)+source("gpu-a10g")+
		machinePool("gpu-a10g", ids, 2, 2)+machinePool("def00", "", 3, 2)+
		strings.Replace(machinePool("def01", "", 1, 1), owner, "labels: {cluster.x-k8s.io/cluster-name: wc1, helm.toolkit.fluxcd.io/name: wc1, helm.toolkit.fluxcd.io/namespace: org-acme}", 1)+
		poolRelease("gpu-new", "", "accelerator: nvidia-h100", "")+source("gpu-new"), "")
	over := &wire{}
	answer := nodePools(t, f, over)
	type row struct {
		name, version, accelerator, owner string
		replicas, ready                   int
		types, sizes                      []string
	}
	var got []row
	for _, pool := range answer.NodePools {
		line := row{name: pool.Name, version: pool.Version, accelerator: pool.Accelerator, replicas: *pool.Replicas, ready: *pool.ReadyReplicas, types: pool.InstanceTypes}
		if pool.OwnerRelease != nil {
			line.owner = pool.OwnerRelease.String()
		}
		for _, size := range pool.Sizes {
			line.sizes = append(line.sizes, size.InstanceType)
		}
		got = append(got, line)
	}
	types := []string{"g5.2xlarge", "g5.xlarge"}
	want := []row{
		{name: "wc1-def00", version: "v1.31.4", replicas: 3, ready: 2, types: types},
		{name: "wc1-def01", version: "v1.31.4", owner: "org-acme/wc1", replicas: 1, ready: 1, types: types},
		{name: "wc1-gpu-a10g", version: "v1.31.4", accelerator: "nvidia-a10g", owner: "org-acme/wc1-gpu-a10g", replicas: 2, ready: 2, types: types, sizes: []string{"g5.xlarge", "g5.2xlarge"}},
		{name: "wc1-gpu-new", accelerator: "nvidia-h100", owner: "org-acme/wc1-gpu-new", types: []string{}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
	if answer.ControlPlaneVersion != "v1.31.4" || answer.Backend.Registered == nil || *answer.Backend.Registered || answer.Backend.Error != "" {
		t.Errorf("%+v", answer)
	}
	for _, line := range over.requested() {
		if strings.Contains(line, "persistentvolume") || strings.Contains(line, "/jobs/") || strings.Contains(line, "agent-platform") && !strings.Contains(line, "configmaps") {
			t.Errorf("asked for without need: %s", line)
		}
	}
	seen := slices.Clone(over.requested())
	slices.Sort(seen)
	if twice := len(seen) - len(slices.Compact(slices.Clone(seen))); twice > 0 {
		t.Errorf("%d requests were made twice: %v", twice, seen)
	}
}

// Instance types and provider ids stand in one of two places each.
func TestMachinesOfAPool(t *testing.T) {
	t.Parallel()
	listed := machinePool("gpu-a10g", ids, 2, 2)
	const inSpec = "spec: {providerIDList: [" + ids + "], nodePool:"
	sorted := []string{"aws:///eu-central-1a/i-1", "aws:///eu-central-1b/i-2"}
	for _, test := range []struct {
		name, management string
		want             clustermanager.MachineFacts
	}{
		{"of the spec", listed, clustermanager.MachineFacts{InstanceTypes: []string{"g5.2xlarge", "g5.xlarge"}, ProviderIDs: sorted}},
		{"a launch template", strings.Replace(listed, "nodePool:", "awsLaunchTemplate: {instanceType: m5.xlarge}, nodePool:", 1), clustermanager.MachineFacts{InstanceTypes: []string{"m5.xlarge"}, ProviderIDs: sorted}},
		{"ids of the status", strings.Replace(listed, inSpec, "status: {providerIDList: ["+ids+"]}\nspec: {nodePool:", 1), clustermanager.MachineFacts{InstanceTypes: []string{"g5.2xlarge", "g5.xlarge"}, ProviderIDs: sorted}},
		{"another requirement beside", strings.Replace(listed, "requirements: [{", "requirements: [{key: topology.kubernetes.io/zone, values: [a]}, {", 1), clustermanager.MachineFacts{InstanceTypes: []string{"g5.2xlarge", "g5.xlarge"}, ProviderIDs: sorted}},
	} {
		read, err := poolFiles(test.management, "").reader(t, nil).NodePools(t.Context(), "", "wc1")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, read.Pools[0].Machines.Or(clustermanager.MachineFacts{})); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// A read that failed leaves out what it would have told, and says why.
func TestPoolsThatCannotBeReadWhole(t *testing.T) {
	t.Parallel()
	f := func() files {
		return poolFiles(poolRelease("gpu-a10g", "", "accelerator: nvidia-a10g", installed)+source("gpu-a10g")+machinePool("gpu-a10g", ids, 2, 2), "")
	}
	for _, test := range []struct {
		name string
		over *wire
		want string
	}{
		{"releases", &wire{forbid: []string{"/helmreleases?"}}, "\n" +
			"release : every HelmRelease in org-acme: reading: forbidden by the test\n" +
			"machinePool done since 09:10:00 finished 09:10:00\n" +
			"nodes done since 09:10:00 finished 09:10:00: 2 node(s) ready (aws:///eu-central-1a/i-1, aws:///eu-central-1b/i-2)"},
		{"MachinePools", &wire{forbid: []string{"/machinepools?"}}, "\n" +
			"release done since 09:05:00 finished 09:05:00\n" +
			"machinePool : every MachinePool in org-acme: reading: forbidden by the test\n" +
			"nodes : every MachinePool in org-acme: reading: forbidden by the test"},
		{"the cluster", &wire{forbid: []string{"/nodes?", "/nodeclaims?"}}, "ready\n" +
			"release done since 09:05:00 finished 09:05:00\n" +
			"machinePool done since 09:10:00 finished 09:10:00\n" +
			"nodes done since 09:10:00 finished 09:10:00: 2 node(s) ready (aws:///eu-central-1a/i-1, aws:///eu-central-1b/i-2); " +
			"the pool's NodeClaims and Nodes could not be read: every NodeClaim on cluster org-acme/wc1: reading: forbidden by the test; every Node on cluster org-acme/wc1: reading: forbidden by the test"},
		{"its kubeconfig", &wire{forbid: []string{"wc1-kubeconfig"}}, "ready\n" +
			"release done since 09:05:00 finished 09:05:00\n" +
			"machinePool done since 09:10:00 finished 09:10:00\n" +
			"nodes done since 09:10:00 finished 09:10:00: 2 node(s) ready (aws:///eu-central-1a/i-1, aws:///eu-central-1b/i-2); " +
			"the cluster's nodes could not be read: Secret org-acme/wc1-kubeconfig: reading: forbidden by the test"},
		{"the infrastructure", &wire{forbid: []string{"karpentermachinepools"}}, "ready\n" +
			"release done since 09:05:00 finished 09:05:00\n" +
			"machinePool done since 09:10:00 finished 09:10:00\n" +
			"nodes done: 0 nodes on the cluster: the MachinePool still lists 2 gone (their ids are not known), its list follows within minutes\n" +
			"note: the instance types and provider ids are not known: KarpenterMachinePool org-acme/wc1-gpu-a10g: reading: forbidden by the test"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			answer := nodePools(t, f(), test.over)
			if len(answer.NodePools) != 1 {
				t.Fatalf("%+v", answer)
			}
			if diff := cmp.Diff(test.want, brief(answer.NodePools[0])); diff != "" {
				t.Error(diff)
			}
		})
	}
	reader := f().reader(t, &wire{forbid: []string{"/helmreleases?", "/machinepools?"}})
	if _, err := reader.NodePools(t.Context(), "", "wc1"); clustermanager.ReasonOf(err) != clustermanager.ReasonError {
		t.Errorf("neither list can be read, and the error is %v", err)
	}
}
