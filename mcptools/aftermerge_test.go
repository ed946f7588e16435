package mcptools

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// gatewayDefinitions are the Gateway API as a slice of wc1 brought it.
func gatewayDefinitions() (objects string, changes []string) {
	for _, kind := range []string{"BackendTLSPolicy", "GatewayClass", "GRPCRoute", "HTTPRoute", "ListenerSet", "ReferenceGrant", "TCPRoute", "TLSRoute", "UDPRoute", "Gateway"} {
		plural := strings.NewReplacer("policy", "policies", "class", "classes").Replace(strings.ToLower(kind))
		if !strings.HasSuffix(plural, "s") {
			plural += "s"
		}
		mark := ""
		if plural == "gateways" {
			mark = ", annotations: {cluster-manager.giantswarm.io/gateway-api-composed-by: org-acme/wc1-agent-platform}"
		}
		objects += "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + plural + ".gateway.networking.k8s.io" + mark + "}\nspec: {group: gateway.networking.k8s.io, names: {plural: " + plural +
			", kind: " + kind + "}, scope: Namespaced, versions: [{name: v1, served: true, storage: true}]}\n---\n"
		changes = append(changes, "delete CustomResourceDefinition "+plural+".gateway.networking.k8s.io")
	}
	return objects, changes
}

// What a merged removal leaves on the installation and on the cluster, each kind by itself, is removed by the call that
// the proposal's live steps name; then nothing is left, and the call says so.
func TestWhatAMergeLeaves(t *testing.T) {
	t.Parallel()
	brought, broughtGo := gatewayDefinitions()
	kubernetesOnly := func(cluster string) map[string]string { return map[string]string{clusterFile: cluster} }
	registered := func(name string) map[string]string { return map[string]string{managementFile: backendOf(name)} }
	another := ours(helmVersion, "HelmRelease", "wc1-gpu-x", "gpu-node-pool, giantswarm.io/node-pool: gpu-x", "spec: {values: {pool: {accelerator: nvidia-l4, sizes: [xlarge]}}}\n")
	leftovers := []struct {
		name    string
		objects map[string]string
		// pool and serving are what the removal of the last pool and of serving do.
		pool, serving []string
	}{
		{name: "nothing"},
		{"the backend of the last pool", registered("model-backend-kserve-wc1"), []string{"delete ConfigMap model-backend-kserve-wc1"}, []string{"delete ConfigMap model-backend-kserve-wc1"}},
		{"the shared backend", registered("model-backend-kserve"), []string{"delete ConfigMap model-backend-kserve"}, []string{"delete ConfigMap model-backend-kserve"}},
		{
			"the backend of one of several pools", map[string]string{managementFile: backendOf("model-backend-kserve-wc1") + backendOf("model-backend-kserve") + another},
			[]string{"update ConfigMap model-backend-kserve-wc1", "delete ConfigMap model-backend-kserve"}, []string{"delete ConfigMap model-backend-kserve", "delete ConfigMap model-backend-kserve-wc1"},
		},
		{"stranded configurations", kubernetesOnly(definitions + config("agent-platform", "config-a", true) + config("org-acme", "config-b", false) + config("elsewhere", "config-c", false)),
			each("delete", "LLMInferenceServiceConfig config-a", "LLMInferenceServiceConfig config-b"), each("delete", "LLMInferenceServiceConfig config-a", "LLMInferenceServiceConfig config-b")},
		{"served models", kubernetesOnly(definitions + servedModel), each("delete", "LLMInferenceService qwen"), each("delete", "LLMInferenceService qwen")},
		{"the serving namespace", kubernetesOnly(servingNamespace), each("delete", "Namespace model-serving"), each("delete", "Namespace model-serving")},
		{"a serving namespace that holds a claim", kubernetesOnly(servingNamespace + claimOf("hf-cache")), each("retire", "Namespace model-serving"), each("retire", "Namespace model-serving")},
		{"definitions of the Gateway API", kubernetesOnly(brought), broughtGo, broughtGo},
	}
	for _, left := range leftovers {
		for tool, want := range map[string][]string{"delete_node_pool": left.pool, "disable_model_serving": left.serving} {
			t.Run(tool+" of "+left.name, func(t *testing.T) {
				t.Parallel()
				of := written{name: left.name, tool: tool, arguments: map[string]any{"cluster": "wc1"}}
				if tool == "delete_node_pool" {
					of.arguments["name"] = "gpu-a10g"
				}
				gone := []string{poolRelease, poolSource}
				if strings.Contains(left.objects[clusterFile], "gateways.gateway") {
					gone = append(gone, "clusters/wc1/cluster-scoped/customresourcedefinition-gateways.yaml")
				}
				l := newLife(t, nil, left.objects, gone...)
				if want != nil {
					made := l.done(t, of, nil)
					if diff := cmp.Diff(want, changes(made)); diff != "" || made.Partial {
						t.Errorf("%s%s", diff, made.NextStep)
					}
				}
				l.reset()
				again := l.run(t.Context(), t, of, nil)
				stays := len(want) == 1 && strings.HasPrefix(want[0], "retire")
				if again.Reason != clustermanager.ReasonNotFound && !stays && !(tool == "delete_node_pool" && left.objects[managementFile] != "" && strings.Contains(left.objects[managementFile], "wc1-gpu-x")) {
					t.Errorf("again: %s %s", again.Reason, again.Texts)
				}
				if writes := l.reset(); writes != 0 {
					t.Errorf("again: %d writes", writes)
				}
			})
		}
	}
}

// A pool and a cluster whose merged removal was not pruned stand on; what Flux applies from git stays.
func TestAMergeThatIsNotPruned(t *testing.T) {
	t.Parallel()
	inGit := func(entries ...string) string {
		text := "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: applier, namespace: default}\nspec: {prune: false, path: ./x, sourceRef: {kind: GitRepository, name: fleet}}\nstatus: {inventory: {entries: ["
		for _, entry := range entries {
			text += "{id: " + entry + ", v: v1},"
		}
		return text + "]}}\n---\n"
	}
	applied := func(text string) string {
		return strings.ReplaceAll(text, "labels: {", "labels: {kustomize.toolkit.fluxcd.io/name: applier, kustomize.toolkit.fluxcd.io/namespace: default, ")
	}
	const listed = "org-acme_wc1-agent-platform_helm.toolkit.fluxcd.io_HelmRelease"
	serving := func(entries ...string) map[string]string {
		return map[string]string{managementFile: inGit(entries...) + applied(sliceOfOurs)}
	}
	kustomization := func(entry string) string {
		owned := "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: gazelle-clusters-dev01, namespace: default, labels: {}}\nspec: {prune: true, path: ./dev01, sourceRef: {kind: GitRepository, name: fleet}}\nstatus: {inventory: {entries: [{id: org-acme_dev01_helm.toolkit.fluxcd.io_HelmRelease, v: v2}]}}\n---\n"
		by := strings.NewReplacer("name: applier", "name: gazelle-clusters-dev01", "/name: applier", "/name: gazelle-clusters-dev01")
		return inGit(entry) + applied(owned) + by.Replace(applied(dev01)) + running
	}
	cluster := written{tool: "delete_cluster", arguments: map[string]any{"organization": "acme", "name": "dev01"}}
	for name, test := range map[string]struct {
		of      written
		objects map[string]string
		want    []string
	}{
		"serving that is gone from the inventory": {written{tool: "disable_model_serving", arguments: map[string]any{"cluster": "wc1"}}, serving("x_y__ConfigMap"), each("delete", "OCIRepository wc1-agent-platform", "HelmRelease wc1-agent-platform")},
		"serving in git": {written{tool: "disable_model_serving", arguments: map[string]any{"cluster": "wc1", "force": true}}, serving(listed), nil},
		"a cluster whose Kustomization is gone from the inventory": {cluster, map[string]string{managementFile: kustomization("x_y__ConfigMap")},
			each("delete", "ConfigMap model-backend-kserve-dev01", "Kustomization gazelle-clusters-dev01")},
		"a cluster in git": {cluster, map[string]string{managementFile: kustomization("default_gazelle-clusters-dev01_kustomize.toolkit.fluxcd.io_Kustomization")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLife(t, nil, test.objects, poolRelease, poolSource)
			if test.want == nil {
				result := l.run(t.Context(), t, test.of, nil)
				if result.Reason != clustermanager.ReasonRefused || !strings.Contains(result.Texts[0], "use mode commit") || l.reset() != 0 {
					t.Errorf("%s %s", result.Reason, result.Texts)
				}
				return
			}
			if diff := cmp.Diff(test.want, changes(l.done(t, test.of, nil))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Cases 17 and 18: a cluster goes in passes, each with the same arguments.
func TestAClusterGoesInPasses(t *testing.T) {
	t.Parallel()
	of := written{tool: "delete_cluster", arguments: map[string]any{"organization": "acme", "name": "dev01"}}
	withDev01 := strings.NewReplacer("name: wc1", "name: dev01", "cluster: wc1", "cluster: dev01")
	others := withDev01.Replace(ours(helmVersion, "HelmRelease", "wc1-gpu-l4", "gpu-node-pool", "")) + withDev01.Replace(operatorOfOurs) + leftByFar
	standing := newLife(t, nil, map[string]string{managementFile: dev01 + running + others})
	shown := standing.done(t, of, map[string]any{"dryRun": true})
	if diff := cmp.Diff([]string{"dev01-cilium", "dev01-gpu-l4", "dev01-gpu-operator"}, shown.WithCluster); diff != "" || shown.ModelsNote == "" || standing.reset() != 0 {
		t.Errorf("%s%+v", diff, shown)
	}
	first := standing.done(t, of, nil)
	if diff := cmp.Diff(each("delete", "ConfigMap model-backend-kserve-dev01", "HelmRelease dev01", "OCIRepository dev01", "ConfigMap dev01-values"), changes(first)); diff != "" || !strings.Contains(first.NextStep, "call again with the same arguments") {
		t.Errorf("%s%s", diff, first.NextStep)
	}

	deleting := strings.Replace(running, "namespace: org-acme,", `namespace: org-acme, finalizers: [x], deletionTimestamp: "2026-08-01T09:00:00Z",`, 1)
	byHand := strings.ReplaceAll(strings.ReplaceAll(leftByFar, "managed-by: Helm", "managed-by: kubectl"), "cilium", "byhand")
	waits := newLife(t, nil, map[string]string{managementFile: deleting + leftByFar})
	if answer := waits.done(t, of, nil); len(answer.Objects) != 0 || !strings.Contains(answer.NextStep, "2026-08-01T09:00:00Z") || waits.reset() != 0 {
		t.Errorf("%+v", answer)
	}
	gone := newLife(t, nil, map[string]string{managementFile: strings.ReplaceAll(leftByFar, "finalizers: [finalizers.fluxcd.io], ", "") + byHand})
	answer := gone.done(t, of, nil)
	if diff := cmp.Diff(each("delete", "HelmRelease dev01-cilium", "OCIRepository dev01-cilium"), changes(answer)); diff != "" || !strings.Contains(strings.Join(answer.Warnings, "\n"), "HelmRelease org-acme/dev01-byhand: it is labelled with the cluster, and neither Helm nor create_cluster made it") {
		t.Errorf("%s%q", diff, answer.Warnings)
	}
	none := newLife(t, nil, nil).run(t.Context(), t, of, nil)
	if none.Reason != clustermanager.ReasonNotFound || len(none.Texts) != 2 || none.Texts[1] != `{"notFound":{"cluster":"dev01","namespace":"org-acme","nothingLeft":true}}` {
		t.Errorf("%s %q", none.Reason, none.Texts)
	}
}

// A removal that is closed unmerged has taken the registration back, and changed nothing else on the installation; the
// creation once more has nothing to propose and, where it registers, registers the cluster at once.
func TestARemovalThatIsClosedUnmerged(t *testing.T) {
	t.Parallel()
	reader := chartReader(t)
	pool := map[string]any{"cluster": "wc1", "name": "gpu-l4"}
	dev01 := map[string]any{"organization": "acme", "name": "dev01"}
	registered := map[string]string{managementFile: strings.ReplaceAll(backendOf("model-backend-kserve-wc1"), "wc1", "dev01")}
	const own, ofDev01 = "ConfigMap model-backend-kserve-wc1", "ConfigMap model-backend-kserve-dev01"
	for name, test := range map[string]struct {
		create, remove string
		arguments      map[string]any
		more           map[string]any
		objects        map[string]string
		gone           []string
		// release is taken up by helm-controller before it is removed.
		release string
		// taken is what the removal does, restored what the creation does then; closing is the live step about it.
		taken, restored []string
		closing         string
	}{
		"serving": {
			create: "enable_model_serving", remove: "disable_model_serving", arguments: map[string]any{"cluster": "wc1"}, release: "wc1-agent-platform",
			taken: each("delete", own), restored: each("create", own), closing: "if the pull request is closed unmerged, call enable_model_serving again",
		},
		"one of two pools": {
			create: "create_node_pool", remove: "delete_node_pool", arguments: pool, release: "wc1-gpu-l4",
			taken: each("update", own), restored: each("update", own), closing: "if the pull request is closed unmerged, call create_node_pool for the pool again",
		},
		"the last pool": {
			create: "create_node_pool", remove: "delete_node_pool", arguments: pool, release: "wc1-gpu-l4",
			gone:  []string{poolRelease, poolSource, "management/org-acme/machinepool-wc1-gpu-a10g.yaml"},
			taken: each("delete", own), restored: each("create", own), closing: "if the pull request is closed unmerged, call create_node_pool for the pool again",
		},
		"a cluster": {
			create: "create_cluster", remove: "delete_cluster", arguments: dev01, more: map[string]any{"provider": "aws"}, objects: registered, release: "dev01",
			taken: each("delete", ofDev01), restored: nil, closing: "if the pull request is closed unmerged, call create_node_pool or enable_model_serving again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLife(t, reader, test.objects, test.gone...)
			l.startForge(t)
			on, off := written{tool: test.create, arguments: maps.Clone(test.arguments)}, written{tool: test.remove, arguments: test.arguments}
			maps.Copy(on.arguments, test.more)
			commit := map[string]any{"mode": "commit"}
			l.done(t, on, nil)
			opened := l.done(t, on, commit)
			if err := l.forge.Merge("acme", "fleet", opened.Commit.Number); err != nil {
				t.Fatal(err)
			}
			l.finalizers(t, test.release, `["finalizers.fluxcd.io"]`)
			l.reset()
			removal := l.done(t, off, commit)
			if diff := cmp.Diff(test.taken, changes(removal)); diff != "" || removal.Commit.PullRequest == "" || l.reset() != len(test.taken) ||
				!strings.Contains(strings.Join(removal.Commit.LiveSteps, "\n"), test.closing) {
				t.Errorf("%s%+v", diff, removal.Commit)
			}
			for _, step := range removal.Commit.LiveSteps {
				for _, named := range namedTools.FindAllString(step, -1) {
					if !slices.ContainsFunc(l.list, func(tool Tool) bool { return tool.Name == named }) {
						t.Errorf("no tool %s: %s", named, step)
					}
				}
			}
			if err := l.forge.ClosePullRequest("acme", "fleet", removal.Commit.Number); err != nil {
				t.Fatal(err)
			}
			again := l.done(t, on, commit)
			if diff := cmp.Diff(append([]string{}, test.restored...), changes(again)); diff != "" || again.Commit.PullRequest != "" || !strings.HasPrefix(again.NextStep, "nothing to commit") {
				t.Errorf("%s%s %+v", diff, again.NextStep, again.Commit)
			}
		})
	}
}

// namedTools are the names of tools in a text.
var namedTools = regexp.MustCompile(`\b(create|delete|enable|disable|remove|list|get)_[a-z_]+\b`)

// A cluster that cannot be read keeps its serving, force or not where serving alone is asked about; with the pool its
// releases go by force, and the answer says what is not known.
func TestServingOfAnUnreadableCluster(t *testing.T) {
	t.Parallel()
	for tool, arguments := range map[string]map[string]any{
		"disable_model_serving": {"cluster": "wc1"}, "delete_node_pool": {"cluster": "wc1", "name": "gpu-a10g"},
	} {
		of := written{tool: tool, arguments: arguments}
		l := newLife(t, nil, map[string]string{managementFile: served[managementFile]}, "clusters/wc1")
		if result := l.run(t.Context(), t, of, nil); result.Reason != clustermanager.ReasonRefused || l.reset() != 0 {
			t.Errorf("%s: %s %s", tool, result.Reason, result.Texts)
		}
		if tool == "disable_model_serving" {
			if result := l.run(t.Context(), t, of, map[string]any{"force": true}); result.Reason != clustermanager.ReasonRefused || l.reset() != 0 {
				t.Errorf("%s by force: %s %s", tool, result.Reason, result.Texts)
			}
			continue
		}
		answer := l.done(t, of, map[string]any{"force": true})
		words := strings.Join(changes(answer), "\n")
		for _, want := range []string{"delete HelmRelease wc1-kserve-llmisvc-resources\ndelete HelmRelease wc1-kserve-runtime-configs", "delete HelmRelease wc1-agent-platform"} {
			if !strings.Contains(words, want) || answer.Partial {
				t.Errorf("%s: %s\n%s", tool, answer.NextStep, words)
			}
		}
		if !strings.Contains(strings.Join(answer.Warnings, "\n"), "every LLMInferenceServiceConfig in agent-platform: left as they are") {
			t.Errorf("%s: %q", tool, answer.Warnings)
		}
	}
}

// A claim that a pod mounts stays, with the models to unload in the refusal; one whose pods have ended goes.
func TestAMountedCache(t *testing.T) {
	t.Parallel()
	pod := func(name, namespace, labels, phase string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: " + namespace + ", labels: {" + labels + "}}\nspec: {volumes: [{name: x, emptyDir: {}}, {name: cache, persistentVolumeClaim: {claimName: hf-cache}}]}\nstatus: {phase: " + phase + "}\n---\n"
	}
	const predictor = "app.kubernetes.io/part-of: llminferenceservice, app.kubernetes.io/name: qwen"
	of := written{tool: "remove_model_cache", arguments: map[string]any{"cluster": "wc1"}}
	ended := pod("done", "model-serving", predictor, "Succeeded") + pod("elsewhere", "default", predictor, "Running")
	for name, test := range map[string]struct{ pods, says, block string }{
		"a model":          {pod("qwen-0", "model-serving", predictor, "Running"), "mounted by model-serving/qwen-0 (hf-cache)", `"models":["LLMInferenceService model-serving/qwen"]`},
		"a pod by itself":  {pod("shell", "model-serving", "", "Pending"), "mounted by model-serving/shell (hf-cache)", `"models":[]`},
		"pods that do not": {ended, "", ""},
	} {
		l := newLife(t, nil, map[string]string{clusterFile: definitions + servedModel + claimOf("hf-cache") + test.pods})
		result := l.run(t.Context(), t, of, nil)
		switch writes := l.reset(); {
		case test.says == "" && (result.Reason != "" || writes != 1):
			t.Errorf("%s: %s, %d writes", name, result.Texts, writes)
		case test.says != "" && (result.Reason != clustermanager.ReasonRefused || writes != 0 || !strings.Contains(result.Texts[0], test.says) || !strings.Contains(result.Texts[1], test.block)):
			t.Errorf("%s: %d writes, %s", name, writes, result.Texts)
		}
	}
	l := newLife(t, nil, map[string]string{clusterFile: claimOf("hf-cache")})
	if commit := l.run(t.Context(), t, of, map[string]any{"mode": "commit"}); commit.Reason != clustermanager.ReasonRefused || !strings.Contains(commit.Texts[0], "call again with mode apply") {
		t.Errorf("mode commit: %s", commit.Texts)
	}
}

// A cluster is not written before the tenant ServiceAccount may install it, on a dry run either.
func TestAClusterWaitsForItsTenant(t *testing.T) {
	t.Parallel()
	l := newLife(t, nil, nil, "management/org-acme/rolebinding-write-all-customer-sa.yaml")
	of := written{tool: "create_cluster", arguments: map[string]any{"organization": "acme", "name": "dev01", "provider": "aws"}}
	for _, dryRun := range []bool{true, false} {
		result := l.run(t.Context(), t, of, map[string]any{"dryRun": dryRun})
		if result.Reason != clustermanager.ReasonRefused || !strings.Contains(result.Texts[0], "ServiceAccount automation is not bound") || l.reset() != 0 {
			t.Errorf("%s %s", result.Reason, result.Texts)
		}
	}
}
