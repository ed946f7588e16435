package survey_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// release is a HelmRelease document. The labels and the spec are YAML flow mappings.
func release(namespace, name, labels, spec string) string {
	return fmt.Sprintf("\n---\n{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: %s, namespace: %s, labels: %s}, spec: %s}\n",
		name, namespace, labels, spec)
}

const (
	owned           = "{app.kubernetes.io/managed-by: cluster-manager, giantswarm.io/cluster: wc1}"
	ofWC1           = "{giantswarm.io/cluster: wc1}"
	toWC1           = "{kubeConfig: {secretRef: {name: wc1-kubeconfig}}}"
	toWC2           = "{kubeConfig: {secretRef: {name: wc2-kubeconfig}}}"
	rendered        = "{helm.sh/chart: agent-platform-4.85.0}"
	gpuNode         = "\n---\n{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {nvidia.com/gpu.present: %q}}, status: {allocatable: {nvidia.com/gpu: %q}}}\n"
	policy          = "\n---\n{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: cluster-policy}, status: {state: ready}}\n"
	app             = "\n---\n{apiVersion: application.giantswarm.io/v1alpha1, kind: App, metadata: {name: a, namespace: org-x}, spec: %s}\n"
	discoveryConfig = "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: serving, namespace: agent-platform, labels: {agent-platform.giantswarm.io/model-serving-config: \"true\"}}}\n"
)

func deployment(name, labels, more string) string {
	return fmt.Sprintf("\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, namespace: kserve, labels: %s}, %s}\n", name, labels, more)
}

func present(provider clustermanager.Provider, evidence ...string) clustermanager.Component {
	return clustermanager.Component{Status: clustermanager.ComponentPresent, Provider: provider, Evidence: evidence}
}

// lacking is a component of whose evidence some could not be read.
func lacking(reason string, component clustermanager.Component) clustermanager.Component {
	component.Reason = reason
	return component
}

func absent(evidence ...string) clustermanager.Component {
	return clustermanager.Component{Status: clustermanager.ComponentAbsent, Evidence: evidence}
}

func unknown(reason string, evidence ...string) clustermanager.Component {
	return clustermanager.Component{Status: clustermanager.ComponentUnknown, Reason: reason, Evidence: evidence}
}

const noFolder = "Cluster org-acme/wc1: connecting: cluster wc1: cannot be read: the snapshot has no folder clusters/wc1"

// detectionCase is a snapshot of which one component is asked.
type detectionCase struct {
	name, management, target string
	// noTarget leaves the workload cluster unreadable.
	noTarget bool
	// own asks for the installation's own cluster.
	own    bool
	refuse map[string]int
	want   clustermanager.Component
}

func (c detectionCase) snapshot() (*small, clustermanager.Cluster) {
	made := &small{management: c.management, clusters: map[string]string{}, refuse: c.refuse}
	if !c.noTarget {
		made.clusters["wc1"] = "{apiVersion: v1, kind: Namespace, metadata: {name: default}}\n" + c.target
	}
	if c.own {
		return made, ownCluster
	}
	return made, wc1Cluster
}

func TestGPUOperator(t *testing.T) {
	for _, test := range []detectionCase{
		{name: "nothing", want: absent()},
		{name: "by name", target: release("gpu", "gpu-operator", "{}", "{}"), want: present("manual", "HelmRelease gpu/gpu-operator")},
		{name: "by the end of the name", target: release("gpu", "x-gpu-operator", "{}", "{}"), want: present("manual", "HelmRelease gpu/x-gpu-operator")},
		{name: "a longer name is another chart", target: release("gpu", "gpu-operator-crds", "{}", "{}"), want: absent()},
		{name: "by label", target: release("gpu", "x", "{app.kubernetes.io/name: gpu-operator}", "{}"), want: present("manual", "HelmRelease gpu/x")},
		{name: "by chart", target: release("gpu", "x", "{}", "{chart: {spec: {chart: gpu-operator}}}"), want: present("manual", "HelmRelease gpu/x")},
		{name: "by chart reference", target: release("gpu", "x", "{}", "{chartRef: {kind: OCIRepository, name: gpu-operator}}"), want: present("manual", "HelmRelease gpu/x")},
		{name: "the platform's", target: release("gpu", "gpu-operator", rendered, "{}"), want: present("chart", "HelmRelease gpu/gpu-operator")},
		{name: "ours on the installation", management: release("org-acme", "wc1-gpu-operator", owned, toWC1),
			want: present("cluster-manager", "HelmRelease org-acme/wc1-gpu-operator on the installation")},
		{name: "on the installation for another cluster", management: release("org-acme", "wc2-gpu-operator", "{giantswarm.io/cluster: wc2}", toWC2), want: absent()},
		{name: "on the installation with another cluster's kubeconfig", management: release("org-acme", "wc1-gpu-operator", owned, toWC2), want: absent()},
		{name: "on the installation without the label", management: release("org-acme", "wc1-gpu-operator", "{}", toWC1), want: absent()},
		{name: "an App", target: fmt.Sprintf(app, "{name: gpu-operator, kubeConfig: {inCluster: true}}"), want: present("manual", "App org-x/a")},
		{name: "an App for another cluster", own: true,
			management: fmt.Sprintf(app, "{name: gpu-operator, kubeConfig: {inCluster: false, secret: {name: wc1-kubeconfig}}}"), want: absent()},
		{name: "a ClusterPolicy", target: policy, want: present("manual", "ClusterPolicy cluster-policy")},
		{name: "a labelled node", target: fmt.Sprintf(gpuNode, "b", "true", "1") + fmt.Sprintf(gpuNode, "a", "true", "1"),
			want: present("manual", "Node a, b labelled nvidia.com/gpu.present=true")},
		{name: "many nodes", target: fmt.Sprintf(gpuNode, "a", "true", "1") + fmt.Sprintf(gpuNode, "b", "true", "") + fmt.Sprintf(gpuNode, "c", "true", "0") + fmt.Sprintf(gpuNode, "d", "true", "1"),
			want: present("manual", "Node a, b, c and 1 more labelled nvidia.com/gpu.present=true")},
		{name: "a node with a GPU to allocate", target: fmt.Sprintf(gpuNode, "a", "false", "2"), want: present("manual", "Node a with allocatable nvidia.com/gpu")},
		{name: "nodes without a GPU", target: fmt.Sprintf(gpuNode, "a", "false", "0") + fmt.Sprintf(gpuNode, "b", "", ""), want: absent()},
		{name: "chart before cluster-manager before manual", management: release("org-acme", "wc1-gpu-operator", owned, toWC1),
			target: release("gpu", "gpu-operator", rendered, "{}") + policy,
			want:   present("chart", "ClusterPolicy cluster-policy", "HelmRelease gpu/gpu-operator", "HelmRelease org-acme/wc1-gpu-operator on the installation")},
		{name: "cluster-manager before manual", management: release("org-acme", "wc1-gpu-operator", owned, toWC1), target: policy,
			want: present("cluster-manager", "ClusterPolicy cluster-policy", "HelmRelease org-acme/wc1-gpu-operator on the installation")},
		{name: "unreadable with ours", noTarget: true, management: release("org-acme", "wc1-gpu-operator", owned, toWC1),
			want: lacking(noFolder, present("cluster-manager", "HelmRelease org-acme/wc1-gpu-operator on the installation"))},
		{name: "unreadable", noTarget: true, want: unknown(noFolder)},
		{name: "nodes unreadable", refuse: map[string]int{"wc1 GET /api/v1/nodes": http.StatusForbidden}, want: unknown("every Node on cluster org-acme/wc1: reading: forbidden by the test")},
		{name: "nodes unreadable with a finding", target: policy, refuse: map[string]int{"wc1 GET /api/v1/nodes": http.StatusForbidden},
			want: lacking("every Node on cluster org-acme/wc1: reading: forbidden by the test", present("manual", "ClusterPolicy cluster-policy"))},
		{name: "the installation's releases unreadable", target: policy, refuse: map[string]int{"installation GET /apis/helm": http.StatusForbidden},
			want: unknown("every HelmRelease in org-acme: reading: forbidden by the test", "ClusterPolicy cluster-policy")},
		{name: "own", own: true, management: release("org-giantswarm", "gazelle-gpu-operator", "{giantswarm.io/cluster: gazelle, app.kubernetes.io/managed-by: cluster-manager}", "{}") +
			release("org-acme", "wc1-gpu-operator", owned, toWC1),
			want: present("cluster-manager", "HelmRelease org-giantswarm/gazelle-gpu-operator")},
	} {
		t.Run(test.name, func(t *testing.T) {
			snapshot, cluster := test.snapshot()
			if diff := cmp.Diff(test.want, snapshot.reader(t).GPUOperator(t.Context(), cluster)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

const (
	isvc      = "\n---\n{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: m, namespace: x}}\n"
	llm       = "\n---\n{apiVersion: serving.kserve.io/v1alpha1, kind: LLMInferenceService, metadata: {name: m, namespace: x}}\n"
	noWebhook = "webhook of LLMInferenceServices: not ready (NoConfiguration: no configuration admits LLMInferenceServices)"
	slice     = "HelmRelease org-acme/wc1-agent-platform on the installation"
)

func TestServingComponent(t *testing.T) {
	ours := release("org-acme", "wc1-agent-platform", owned, toWC1)
	llmController := func(labels string) string { return "{control-plane: llmisvc-controller-manager" + labels + "}" }
	for _, test := range []detectionCase{
		{name: "nothing", want: absent()},
		{name: "ours", management: ours, want: present("cluster-manager", slice, noWebhook)},
		{name: "a foreign release under the slice's name", management: release("org-acme", "wc1-agent-platform", ofWC1, toWC1), want: absent()},
		{name: "everything is ours with a slice", management: ours,
			target: discoveryConfig + release("kserve", "kserve-resources", "{}", "{}") + deployment("llm", llmController(""), "spec: {}"),
			want:   present("cluster-manager", "ConfigMap agent-platform/serving", "Deployment kserve/llm", "HelmRelease kserve/kserve-resources", slice, noWebhook)},
		{name: "a release", target: release("kserve", "kserve-llmisvc-resources", "{}", "{}"), want: present("manual", "HelmRelease kserve/kserve-llmisvc-resources", noWebhook)},
		{name: "the platform's release", target: release("kserve", "kserve-resources", rendered, "{}"), want: present("chart", "HelmRelease kserve/kserve-resources")},
		{name: "another cluster's child is not the own cluster's", own: true, management: release("org-acme", "kserve-llmisvc-resources", rendered, toWC1), want: absent()},
		{name: "a controller", target: deployment("llm", llmController(""), "spec: {replicas: 1}"), want: present("manual", "Deployment kserve/llm", noWebhook)},
		{name: "the classic controller", target: deployment("classic", "{control-plane: kserve-controller-manager}", "spec: {replicas: 1}"),
			want: present("manual", "Deployment kserve/classic")},
		{name: "a controller that the platform's release rendered",
			target: deployment("llm", llmController(", helm.toolkit.fluxcd.io/name: k, helm.toolkit.fluxcd.io/namespace: flux"), "spec: {replicas: 1}") + release("flux", "k", rendered, "{}"),
			want:   present("chart", "Deployment kserve/llm", noWebhook)},
		{name: "a controller that a release on the installation rendered", management: release("org-acme", "k", "{giantswarm.io/cluster: wc1, helm.sh/chart: agent-platform-4.85.0}", toWC1),
			target: deployment("llm", llmController(", helm.toolkit.fluxcd.io/name: k, helm.toolkit.fluxcd.io/namespace: org-acme"), "spec: {replicas: 1}"),
			want:   present("chart", "Deployment kserve/llm", noWebhook)},
		{name: "the classic controller scaled to nothing", target: deployment("classic", "{control-plane: kserve-controller-manager}", "spec: {replicas: 0}"),
			want: absent("Deployment kserve/classic: scaled to 0 replicas, and no release renders it")},
		{name: "scaled to nothing by a release", target: deployment("classic", "{control-plane: kserve-controller-manager, helm.toolkit.fluxcd.io/name: k, helm.toolkit.fluxcd.io/namespace: flux}", "spec: {replicas: 0}") + release("flux", "k", "{}", "{}"),
			want: present("manual", "Deployment kserve/classic")},
		{name: "another controller", target: deployment("other", "{control-plane: other}", "spec: {}"), want: absent()},
		{name: "the discovery ConfigMap", target: discoveryConfig, want: present("chart", "ConfigMap agent-platform/serving")},
		{name: "definitions alone", target: isvc + llm,
			want: absent("API serving.kserve.io/v1alpha1 served: CRDs without a controller", "API serving.kserve.io/v1beta1 served: CRDs without a controller")},
		{name: "case 1", target: isvc + llm + discoveryConfig,
			want: present("chart", "API serving.kserve.io/v1alpha1 served", "API serving.kserve.io/v1beta1 served", "ConfigMap agent-platform/serving")},
		{name: "unreadable", noTarget: true, want: unknown(noFolder)},
		{name: "unreadable with ours", noTarget: true, management: ours, want: lacking(noFolder, present("cluster-manager", slice))},
		{name: "controllers unreadable", refuse: map[string]int{"wc1 GET /apis/apps/": http.StatusForbidden}, want: unknown("every Deployment on cluster org-acme/wc1: reading: forbidden by the test")},
		{name: "slice unreadable", target: discoveryConfig, refuse: map[string]int{"/helmreleases/wc1-agent-platform": http.StatusForbidden},
			want: unknown("HelmRelease org-acme/wc1-agent-platform: reading: forbidden by the test", "ConfigMap agent-platform/serving")},
		{name: "children that are not ready", management: ours + child("a", "") + child("b", `status: {conditions: [{type: Ready, status: "False", reason: InstallFailed, message: "no\n  space"}]}`) +
			child("c", `status: {conditions: [{type: Ready, status: "True", reason: InstallSucceeded, message: fine}]}`) + child("d", `status: {conditions: [{type: Ready, status: Unknown, reason: Progressing}]}`) +
			strings.Replace(child("e", `status: {conditions: [{type: Ready, status: "True"}]}`), "metadata: {", `metadata: {finalizers: [finalizers.fluxcd.io], deletionTimestamp: "2026-08-01T09:00:00Z", `, 1),
			want: present("cluster-manager",
				"HelmRelease org-acme/a: no Ready condition yet", slice, "HelmRelease org-acme/b: Ready False (InstallFailed: no space)",
				"HelmRelease org-acme/d: Ready Unknown (Progressing)", "HelmRelease org-acme/e: being deleted since 2026-08-01T09:00:00Z", noWebhook)},
	} {
		t.Run(test.name, func(t *testing.T) {
			snapshot, cluster := test.snapshot()
			got := snapshot.reader(t).ServingComponent(t.Context(), cluster)
			if diff := cmp.Diff(sortedEvidence(test.want), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// child is a HelmRelease that wc1's slice rendered.
func child(name, status string) string {
	document := release("org-acme", name, "{helm.toolkit.fluxcd.io/name: wc1-agent-platform, helm.toolkit.fluxcd.io/namespace: org-acme, helm.sh/chart: agent-platform-4.85.0}", toWC1)
	if status == "" {
		return document
	}
	return strings.TrimSuffix(document, "}\n") + ", " + status + "}\n"
}

func sortedEvidence(component clustermanager.Component) clustermanager.Component {
	slices.Sort(component.Evidence)
	return component
}
