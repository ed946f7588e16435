package main

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// wc1Files is the directory of wc1's files in its repository.
const wc1Files = "management-clusters/gazelle/organizations/acme/workload-clusters/wc1/mapi/cluster-manager"

// inRepository puts pool gpu-a10g of wc1 into its repository, as a merged pull request would have, below a kustomization
// file that lists the directory.
func inRepository(t *testing.T, s *scene) {
	t.Helper()
	directory := filepath.Join(s.repositories, "acme", "fleet", filepath.FromSlash(wc1Files))
	var pool strings.Builder
	for _, name := range []string{"ocirepository", "helmrelease"} {
		live, err := os.ReadFile(filepath.Join(s.snapshot, "management", "org-acme", name+"-wc1-gpu-a10g.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		document, _, _ := strings.Cut(string(live), "status:\n")
		pool.WriteString("---\n" + document)
	}
	write := func(name, content string) {
		file := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("wc1-gpu-a10g.yaml", strings.TrimPrefix(pool.String(), "---\n"))
	write("kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- wc1-gpu-a10g.yaml\n")
	write("../kustomization.yaml", "# made by hand\nresources:\n- apps/quotas.yaml\n- cluster/wc1-values.yaml\n- cluster/wc1.yaml\n- cluster-manager\n")
}

func TestListNodePools(t *testing.T) {
	s := newScene(t)
	result := s.call(t, "list_node_pools", map[string]any{"cluster": "wc1"})
	if result.Reason != "" {
		t.Fatal(result.Texts)
	}
	var answer clustermanager.NodePools
	if err := json.Unmarshal([]byte(result.Texts[0]), &answer); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, pool := range answer.NodePools {
		line := pool.Name + " " + string(pool.Phase)
		for _, step := range pool.Steps {
			line += "; " + step.Name + " " + string(step.State)
		}
		got = append(got, line+": "+pool.Steps[len(pool.Steps)-1].Message)
	}
	want := []string{
		"wc1-def00 scaling; machinePool done; nodes inProgress: 2 of 3 node(s) ready",
		"wc1-gpu-a10g ready; release done; machinePool done; nodes done: 0 nodes on the cluster: the MachinePool still lists 2 gone (aws:///eu-central-1a/i-0000000000000a101, aws:///eu-central-1b/i-0000000000000a102), its list follows within minutes",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(answer.Notes) > 0 {
		t.Error(diff, answer.Notes)
	}
	if missing := s.call(t, "list_node_pools", map[string]any{"cluster": "wc9"}); missing.Reason != clustermanager.ReasonNotFound {
		t.Error(missing)
	}
}

func TestDeleteNodePoolOpensAPullRequest(t *testing.T) {
	s := newScene(t, inRepository)
	arguments := map[string]any{"cluster": "wc1", "name": "gpu-a10g", "mode": "commit", "dryRun": true}
	before := s.written(t)
	preview := s.call(t, "delete_node_pool", arguments)
	if preview.Reason != "" {
		t.Fatal(preview.Texts)
	}
	answer := readAnswer(t, preview)
	var files []string
	for _, file := range answer.Commit.Files {
		files = append(files, string(file.Action)+" "+file.Path)
	}
	want := []string{
		"remove " + wc1Files + "/kustomization.yaml", "remove " + wc1Files + "/wc1-gpu-a10g.yaml",
		"update " + path.Dir(wc1Files) + "/kustomization.yaml",
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	var objects []string
	for _, object := range answer.Commit.Objects {
		objects = append(objects, string(object.Action)+" "+object.Kind+" "+object.Name)
	}
	slices.Sort(objects)
	if diff := cmp.Diff([]string{"remove HelmRelease wc1-gpu-a10g", "remove OCIRepository wc1-gpu-a10g"}, objects); diff != "" || !answer.Commit.Proof.Built {
		t.Error(diff, answer.Commit.Proof)
	}
	if !answer.LastPool || len(answer.Objects) > 0 || len(answer.Commit.LiveSteps) != 1 || !strings.Contains(answer.Commit.LiveSteps[0], "does not prune") {
		t.Errorf("%+v", answer)
	}
	if after := s.written(t); after != before {
		t.Errorf("a dry run wrote:\n%s", after)
	}

	arguments["dryRun"] = false
	opened := readAnswer(t, s.call(t, "delete_node_pool", arguments))
	if opened.Commit.Number == 0 || opened.Commit.Branch != "cluster-manager/gazelle/remove-wc1-gpu-a10g" {
		t.Fatalf("%+v", opened.Commit)
	}
	requests := s.pullRequests(t)["acme/fleet"]
	if len(requests) != 1 || requests[0].Title != "feat(wc1): remove GPU node pool gpu-a10g" ||
		!strings.Contains(requests[0].Body, "### Steps that the merge does not do\n\n- Kustomization default/clusters-wc1 does not prune") {
		t.Errorf("%+v", requests)
	}
	tree := s.gitIn(t, "acme/fleet", "ls-tree", "-r", "--name-only", opened.Commit.Branch)
	above := s.gitIn(t, "acme/fleet", "show", opened.Commit.Branch+":"+path.Dir(wc1Files)+"/kustomization.yaml")
	if strings.Contains(tree, "cluster-manager/") || strings.Contains(above, "cluster-manager") || !strings.HasPrefix(above, "# made by hand\n") {
		t.Errorf("%s\n%s", tree, above)
	}
	again := readAnswer(t, s.call(t, "delete_node_pool", arguments))
	if again.Commit.PullRequest != opened.Commit.PullRequest || !strings.Contains(again.NextStep, "nothing was pushed") {
		t.Errorf("%+v", again)
	}
}

// A pool that is in no repository is removed on the installation, and the call says so.
func TestDeleteNodePoolOfAPoolThatGitDoesNotHold(t *testing.T) {
	s := newScene(t)
	arguments := map[string]any{"cluster": "wc1", "name": "gpu-a10g", "mode": "commit"}
	before := s.written(t)
	result := s.call(t, "delete_node_pool", arguments)
	if result.Reason != clustermanager.ReasonRefused || !strings.Contains(result.Texts[0], "HelmRelease org-acme/wc1-gpu-a10g: acme/fleet at main does not hold it") || !strings.Contains(result.Texts[0], "mode apply") {
		t.Error(result)
	}
	for name, reason := range map[string]clustermanager.Reason{"gpu-l4": clustermanager.ReasonNotFound, "x": clustermanager.ReasonRefused} {
		arguments["name"] = name
		if result := s.call(t, "delete_node_pool", arguments); result.Reason != reason {
			t.Errorf("%s: %v", name, result)
		}
	}
	if foreign := s.call(t, "delete_node_pool", map[string]any{"cluster": "wc2", "name": "gpu-l4", "mode": "commit"}); !strings.Contains(foreign.Texts[0], "cluster-manager did not create it") {
		t.Error(foreign)
	}
	if after := s.written(t); after != before {
		t.Errorf("something was written:\n%s", after)
	}
	arguments["name"], arguments["mode"], arguments["dryRun"] = "gpu-a10g", "apply", true
	listed := readAnswer(t, s.call(t, "delete_node_pool", arguments))
	var objects []string
	for _, object := range listed.Objects {
		objects = append(objects, string(object.Action)+" "+object.Kind+" "+object.Name)
	}
	if diff := cmp.Diff([]string{"would-delete OCIRepository wc1-gpu-a10g", "would-delete HelmRelease wc1-gpu-a10g"}, objects); diff != "" {
		t.Error(diff)
	}
}

// A node that runs a model keeps its pool, in both modes, and the refusal carries what a program reads.
func TestABusyNodeKeepsItsPool(t *testing.T) {
	s := newScene(t, inRepository, func(t *testing.T, s *scene) {
		t.Helper()
		const objects = `apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: wc1-gpu-a10g-abcde, labels: {karpenter.sh/nodepool: wc1-gpu-a10g}}
status: {nodeName: ip-10-0-1-1, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Node
metadata: {name: ip-10-0-1-1, labels: {giantswarm.io/machine-pool: wc1-gpu-a10g}}
---
apiVersion: v1
kind: Pod
metadata: {name: qwen-0, namespace: model-serving}
spec: {nodeName: ip-10-0-1-1, containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}
status: {phase: Running}
`
		if err := os.WriteFile(filepath.Join(s.snapshot, "clusters", "wc1", "busy.yaml"), []byte(objects), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	before := s.written(t)
	for _, mode := range []string{"commit", "apply"} {
		result := s.call(t, "delete_node_pool", map[string]any{"cluster": "wc1", "name": "gpu-a10g", "mode": mode})
		if result.Reason != clustermanager.ReasonRefused || len(result.Texts) != 2 {
			t.Fatal(result)
		}
		var blocks map[string]clustermanager.RefusalBlock
		if err := json.Unmarshal([]byte(result.Texts[1]), &blocks); err != nil {
			t.Fatal(err)
		}
		refused := blocks["refused"]
		if diff := cmp.Diff([]string{"ip-10-0-1-1"}, refused.Nodes); diff != "" || refused.ReadFrom != "cluster" || !strings.Contains(result.Texts[0], "node ip-10-0-1-1 runs model-serving/qwen-0 (1 GPU)") {
			t.Errorf("%s %v", diff, result.Texts)
		}
	}
	if after := s.written(t); after != before {
		t.Errorf("something was written:\n%s", after)
	}
}

// servingObjects are an operator, a serving slice and a registration of wc1 on the installation, targetObjects what the
// slice put onto the cluster. No controller runs, so nothing has to be waited for.
const (
	servingObjects = `apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: wc1-gpu-operator, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: gpu-operator, giantswarm.io/cluster: wc1}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: wc1-gpu-operator, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: gpu-operator, giantswarm.io/cluster: wc1}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: wc1-agent-platform, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: agent-platform, giantswarm.io/cluster: wc1}}
spec: {values: {components: {modelServing: {enabled: true}}, gitops: {targetNamespace: agent-platform}}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: wc1-agent-platform, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: agent-platform, giantswarm.io/cluster: wc1}}
spec: {ref: {semver: ">=4.90.0 <5.0.0"}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: wc1-kserve-llmisvc-resources, namespace: org-acme, labels: {app.kubernetes.io/name: kserve-llmisvc-resources, helm.toolkit.fluxcd.io/name: wc1-agent-platform, helm.toolkit.fluxcd.io/namespace: org-acme}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: wc1-kserve-runtime-configs, namespace: org-acme, labels: {app.kubernetes.io/name: kserve-runtime-configs, helm.toolkit.fluxcd.io/name: wc1-agent-platform, helm.toolkit.fluxcd.io/namespace: org-acme}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: model-backend-kserve-wc1, namespace: agent-platform, labels: {agent-platform.giantswarm.io/model-backend: "true", agent-platform.giantswarm.io/model-backend-source: cluster-manager, app.kubernetes.io/managed-by: cluster-manager, giantswarm.io/cluster: wc1}}
data: {backend.yaml: "metadata: {name: kserve-wc1}"}
`
	targetObjects = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: llminferenceserviceconfigs.serving.kserve.io}
spec:
  group: serving.kserve.io
  names: {kind: LLMInferenceServiceConfig, plural: llminferenceserviceconfigs}
  scope: Namespaced
  versions: [{name: v1alpha1, served: true, storage: false}, {name: v1alpha2, served: true, storage: true}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: llminferenceservices.serving.kserve.io}
spec:
  group: serving.kserve.io
  names: {kind: LLMInferenceService, plural: llminferenceservices}
  scope: Namespaced
  versions: [{name: v1alpha1, served: true, storage: false}, {name: v1alpha2, served: true, storage: true}]
---
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: config-a, namespace: agent-platform, finalizers: [serving.kserve.io/llmisvcconfig-finalizer]}
---
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: config-b, namespace: agent-platform, finalizers: [serving.kserve.io/llmisvcconfig-finalizer]}
---
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: qwen, namespace: model-serving, labels: {app.kubernetes.io/managed-by: model-manager}, finalizers: [serving.kserve.io/llmisvc-finalizer]}
---
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: by-hand, namespace: model-serving}
`
)

func withServing(t *testing.T, s *scene) {
	t.Helper()
	for file, content := range map[string]string{"management/org-acme/serving.yaml": servingObjects, "clusters/wc1/serving.yaml": targetObjects} {
		if err := os.WriteFile(filepath.Join(s.snapshot, filepath.FromSlash(file)), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The cluster's last pool takes operator, slice and registration, in the order in which they can go.
func TestDeleteNodePoolOfTheLastPool(t *testing.T) {
	s := newScene(t, withServing)
	arguments := map[string]any{"cluster": "wc1", "name": "gpu-a10g", "mode": "apply"}
	waits := s.call(t, "delete_node_pool", arguments)
	if waits.Reason != clustermanager.ReasonRefused || !strings.Contains(waits.Texts[0], "LLMInferenceService model-serving/qwen: no predictor pod yet") {
		t.Fatal(waits)
	}
	arguments["force"], arguments["dryRun"] = true, true
	order := func(action string) []string {
		var told []string
		for _, name := range []string{
			"HelmRelease wc1-kserve-llmisvc-resources", "LLMInferenceService qwen", "LLMInferenceServiceConfig config-a", "LLMInferenceServiceConfig config-b",
			"HelmRelease wc1-kserve-runtime-configs", "HelmRelease wc1-gpu-operator", "OCIRepository wc1-gpu-operator", "ConfigMap model-backend-kserve-wc1",
			"OCIRepository wc1-agent-platform", "HelmRelease wc1-agent-platform", "OCIRepository wc1-gpu-a10g", "HelmRelease wc1-gpu-a10g",
		} {
			told = append(told, action+" "+name)
		}
		return told
	}
	changes := func(answer clustermanager.WriteResult) []string {
		var told []string
		for _, object := range answer.Objects {
			told = append(told, string(object.Action)+" "+object.Kind+" "+object.Name)
		}
		return told
	}
	listed := readAnswer(t, s.call(t, "delete_node_pool", arguments))
	if diff := cmp.Diff(order("would-delete"), changes(listed)); diff != "" {
		t.Error(diff)
	}
	arguments["dryRun"] = false
	gone := readAnswer(t, s.call(t, "delete_node_pool", arguments))
	if diff := cmp.Diff(order("delete"), changes(gone)); diff != "" || gone.Partial || !gone.LastPool || gone.SliceKept {
		t.Errorf("%s%+v", diff, gone)
	}
	warnings := strings.Join(gone.Warnings, "\n")
	for _, want := range []string{"it goes all the same, by force", "lose what serves them: LLMInferenceService model-serving/by-hand"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no warning says %q:\n%s", want, warnings)
		}
	}
	result := s.call(t, "list_node_pools", map[string]any{"cluster": "wc1"})
	var pools clustermanager.NodePools
	if err := json.Unmarshal([]byte(result.Texts[0]), &pools); err != nil {
		t.Fatal(err)
	}
	pool := pools.NodePools[1]
	if pool.Phase != clustermanager.PhaseRemoving || !pool.Deleting || len(pool.Pending) != 1 || pool.Pending[0].Action != clustermanager.ActionTerminating || pool.Pending[0].Kind != "HelmRelease" {
		t.Errorf("%+v", pool)
	}
	if again := readAnswer(t, s.call(t, "delete_node_pool", arguments)); again.Partial || len(again.Objects) != 1 || again.Objects[0].Action != clustermanager.ActionTerminating {
		t.Errorf("%+v", again)
	}
}
