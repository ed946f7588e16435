package mcptools

import "strings"

// written is a tool's call that writes, over a state.
type written struct {
	name      string
	tool      string
	arguments map[string]any
	objects   map[string]string
	// gone are files of the fixtures that the state lacks.
	gone []string
	// uninstalls says that a release that is deleted is gone at once, as helm-controller would have it.
	uninstalls bool
	// want are the objects that the call answers, in their order.
	want []string
}

// ours is the head of an object that this product made for wc1.
func ours(version, kind, name, chart, more string) string {
	return "apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: org-acme, finalizers: [finalizers.fluxcd.io], labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: " +
		chart + ", giantswarm.io/cluster: wc1}}\n" + more + "---\n"
}

func childOfSlice(chart string) string {
	return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: wc1-" + chart + ", namespace: org-acme, labels: {app.kubernetes.io/name: " +
		chart + ", helm.toolkit.fluxcd.io/name: wc1-agent-platform, helm.toolkit.fluxcd.io/namespace: org-acme}}\n---\n"
}

func definition(plural, kind string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + plural + ".serving.kserve.io}\nspec:\n  group: serving.kserve.io\n  names: {kind: " + kind + ", plural: " + plural +
		"}\n  scope: Namespaced\n  versions: [{name: v1alpha1, served: true, storage: false}, {name: v1alpha2, served: true, storage: true}]\n---\n"
}

func backendOf(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: agent-platform, labels: {agent-platform.giantswarm.io/model-backend: \"true\", agent-platform.giantswarm.io/model-backend-source: cluster-manager, app.kubernetes.io/managed-by: cluster-manager, giantswarm.io/cluster: wc1}}\n" +
		"data: {backend.yaml: \"metadata: {name: kserve-wc1}\\nspec: {kserve: {target: {cluster: wc1, organization: acme}}}\\n\"}\n---\n"
}

// config is a serving configuration; deleted says that it is being deleted, and nobody clears its finalizer.
func config(namespace, name string, deleted bool) string {
	text := "apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceServiceConfig\nmetadata: {name: " + name + ", namespace: " + namespace + ", finalizers: [serving.kserve.io/llmisvcconfig-finalizer]"
	if deleted {
		text += `, deletionTimestamp: "2026-08-01T09:00:00Z"`
	}
	return text + "}\n---\n"
}

func claimOf(name string) string {
	return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name + ", namespace: model-serving}\nspec: {storageClassName: gp3, resources: {requests: {storage: 100Gi}}}\nstatus: {phase: Pending}\n---\n"
}

const (
	managementFile = "management/org-acme/test.yaml"
	clusterFile    = "clusters/wc1/test.yaml"

	helmVersion, sourceVersion = "helm.toolkit.fluxcd.io/v2", "source.toolkit.fluxcd.io/v1"
	sliceSpec                  = "spec: {values: {components: {modelServing: {enabled: true}}, gitops: {targetNamespace: agent-platform}, modelServing: {cache: {enabled: true}}}}\n"
	servedModel                = "apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceService\nmetadata: {name: qwen, namespace: model-serving, labels: {app.kubernetes.io/managed-by: model-manager}, finalizers: [serving.kserve.io/llmisvc-finalizer]}\n---\n"
	servingNamespace           = "apiVersion: v1\nkind: Namespace\nmetadata: {name: model-serving, labels: {helm.toolkit.fluxcd.io/name: wc1-agent-platform-connectivity, helm.toolkit.fluxcd.io/namespace: org-acme}}\n---\n"
	retiredNamespace           = "apiVersion: v1\nkind: Namespace\nmetadata: {name: model-serving, annotations: {cluster-manager.giantswarm.io/retired: \"2026-08-01T09:00:00Z: holds x\"}, labels: {helm.toolkit.fluxcd.io/name: wc1-agent-platform-connectivity, helm.toolkit.fluxcd.io/namespace: org-acme}}\n---\n"
	poolRelease                = "management/org-acme/helmrelease-wc1-gpu-a10g.yaml"
	poolSource                 = "management/org-acme/ocirepository-wc1-gpu-a10g.yaml"
)

var (
	definitions = definition("llminferenceserviceconfigs", "LLMInferenceServiceConfig") + definition("llminferenceservices", "LLMInferenceService")
	sliceOfOurs = ours(helmVersion, "HelmRelease", "wc1-agent-platform", "agent-platform", sliceSpec) +
		ours(sourceVersion, "OCIRepository", "wc1-agent-platform", "agent-platform", "spec: {ref: {semver: \">=4.85.0 <5.0.0\"}}\n")
	operatorOfOurs = ours(helmVersion, "HelmRelease", "wc1-gpu-operator", "gpu-operator", "") + ours(sourceVersion, "OCIRepository", "wc1-gpu-operator", "gpu-operator", "")
	served         = map[string]string{
		managementFile: sliceOfOurs + operatorOfOurs + childOfSlice("kserve-llmisvc-resources") + childOfSlice("kserve-runtime-configs") + backendOf("model-backend-kserve-wc1"),
		clusterFile:    definitions + config("agent-platform", "config-a", false) + config("agent-platform", "config-b", false) + servedModel + servingNamespace,
	}
	stranded = map[string]string{
		managementFile: backendOf("model-backend-kserve"),
		clusterFile:    definitions + config("agent-platform", "config-a", true) + retiredNamespace,
	}
	// dev01 is a cluster that create_cluster made.
	dev01 = strings.NewReplacer("name: wc1", "name: dev01", "cluster: wc1", "cluster: dev01, giantswarm.io/organization: acme").Replace(
		ours(helmVersion, "HelmRelease", "wc1", "release-aws", "")+ours(sourceVersion, "OCIRepository", "wc1", "release-aws", "")+ours("v1", "ConfigMap", "wc1-values", "release-aws", "")) +
		strings.ReplaceAll(backendOf("model-backend-kserve-wc1"), "wc1", "dev01")
	running   = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: dev01, namespace: org-acme, labels: {giantswarm.io/organization: acme}}\n---\n"
	leftByFar = strings.NewReplacer("name: wc1", "name: dev01", "cluster: wc1", "cluster: dev01", "managed-by: cluster-manager", "managed-by: Helm").Replace(
		ours(helmVersion, "HelmRelease", "wc1-cilium", "cilium", "") + ours(sourceVersion, "OCIRepository", "wc1-cilium", "cilium", ""))
)

// teardownWrites is the order in which serving goes, without the pool.
var teardownWrites = []string{
	"HelmRelease wc1-kserve-llmisvc-resources", "LLMInferenceService qwen", "LLMInferenceServiceConfig config-a", "LLMInferenceServiceConfig config-b",
	"HelmRelease wc1-kserve-runtime-configs",
}

func each(action string, names ...string) []string {
	var words []string
	for _, name := range names {
		words = append(words, action+" "+name)
	}
	return words
}

// everyWrite has each tool that writes, with the longest list that it has.
func everyWrite() []written {
	sliceGoes := []string{"ConfigMap model-backend-kserve-wc1", "OCIRepository wc1-agent-platform", "HelmRelease wc1-agent-platform"}
	return []written{
		{
			name: "a pool with serving", tool: "create_node_pool", arguments: map[string]any{"cluster": "wc1", "name": "gpu-l4"}, objects: stranded,
			want: append(append([]string{"update Namespace model-serving", "delete LLMInferenceServiceConfig config-a"}, each("create", "OCIRepository wc1-gpu-l4", "HelmRelease wc1-gpu-l4",
				"OCIRepository wc1-agent-platform", "HelmRelease wc1-agent-platform", "ConfigMap model-backend-kserve-wc1", "OCIRepository wc1-gpu-operator", "HelmRelease wc1-gpu-operator")...), "delete ConfigMap model-backend-kserve"),
		},
		{
			name: "a pool with credentials", tool: "create_node_pool", arguments: map[string]any{"cluster": "wc3", "name": "gpu-l4", "serving": false},
			want: each("create", "OCIRepository wc3-gpu-l4", "Secret wc3-gpu-l4-values", "HelmRelease wc3-gpu-l4", "OCIRepository wc3-gpu-operator", "HelmRelease wc3-gpu-operator"),
		},
		{
			name: "serving on the own cluster", tool: "enable_model_serving", arguments: map[string]any{"cluster": "gazelle"},
			want: each("create", "OCIRepository gazelle-agent-platform", "HelmRelease gazelle-agent-platform", "ConfigMap model-backend-kserve"),
		},
		{
			name: "a cluster", tool: "create_cluster", arguments: map[string]any{"organization": "acme", "name": "dev01", "provider": "aws", "values": map[string]any{"global": map[string]any{"controlPlane": map[string]any{"instanceType": "m6i.xlarge"}}}},
			want: each("create", "OCIRepository dev01", "ConfigMap dev01-values", "HelmRelease dev01"),
		},
		{
			name: "serving on", tool: "enable_model_serving", arguments: map[string]any{"cluster": "wc1"}, objects: stranded,
			want: append(append([]string{"update Namespace model-serving", "delete LLMInferenceServiceConfig config-a"},
				each("create", "OCIRepository wc1-agent-platform", "HelmRelease wc1-agent-platform", "ConfigMap model-backend-kserve-wc1")...), "delete ConfigMap model-backend-kserve"),
		},
		{
			name: "serving off", tool: "disable_model_serving", arguments: map[string]any{"cluster": "wc1", "force": true}, objects: served,
			want: each("delete", append(append(append([]string{}, teardownWrites...), sliceGoes...), "Namespace model-serving")...),
		},
		{
			name: "serving off, uninstalled at once", tool: "disable_model_serving", arguments: map[string]any{"cluster": "wc1", "force": true},
			objects: served, uninstalls: true,
			want: each("delete", append(append(append([]string{}, teardownWrites...), sliceGoes...), "Namespace model-serving")...),
		},
		{
			name: "serving off beside another slice", tool: "disable_model_serving", arguments: map[string]any{"cluster": "wc1", "force": true},
			objects: map[string]string{managementFile: strings.Replace(served[managementFile], "components: {", "components: {kagent: {enabled: true}, ", 1), clusterFile: served[clusterFile]},
			want:    append(each("delete", append(append([]string{}, teardownWrites...), sliceGoes[0])...), each("update", sliceGoes[1:]...)...),
		},
		{
			name: "the last pool", tool: "delete_node_pool", arguments: map[string]any{"cluster": "wc1", "name": "gpu-a10g", "force": true}, objects: served,
			want: each("delete", append(append(append(append([]string{}, teardownWrites...), "HelmRelease wc1-gpu-operator", "OCIRepository wc1-gpu-operator"), sliceGoes...),
				"OCIRepository wc1-gpu-a10g", "HelmRelease wc1-gpu-a10g", "Namespace model-serving")...),
		},
		{
			name: "the model cache", tool: "remove_model_cache", arguments: map[string]any{"cluster": "wc1"},
			objects: map[string]string{managementFile: sliceOfOurs, clusterFile: claimOf("hf-cache") + claimOf("hf-cache-eu-central-1b")},
			want:    append(each("update", "OCIRepository wc1-agent-platform", "HelmRelease wc1-agent-platform"), each("delete", "PersistentVolumeClaim hf-cache", "PersistentVolumeClaim hf-cache-eu-central-1b")...),
		},
		{
			name: "a cluster that goes", tool: "delete_cluster", arguments: map[string]any{"organization": "acme", "name": "dev01"}, objects: map[string]string{managementFile: dev01 + running},
			want: each("delete", "ConfigMap model-backend-kserve-dev01", "HelmRelease dev01", "OCIRepository dev01", "ConfigMap dev01-values"),
		},
		{
			name: "what a cluster left", tool: "delete_cluster", arguments: map[string]any{"organization": "acme", "name": "dev01"},
			objects: map[string]string{managementFile: leftByFar + strings.SplitN(dev01, "---\n", 2)[1]},
			want:    each("delete", "ConfigMap model-backend-kserve-dev01", "HelmRelease dev01-cilium", "OCIRepository dev01", "OCIRepository dev01-cilium", "ConfigMap dev01-values"),
		},
	}
}
