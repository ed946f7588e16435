package testbed_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/internal/testbed/script"
)

const charts = fixtures + "/charts"

// tenantOf makes a namespace with the tenant's service account, and with its rights there unless told otherwise.
func tenantOf(t *testing.T, bed *testbed.Bed, namespace string, rights bool) {
	t.Helper()
	apply(t, bed, objects(t, strings.ReplaceAll(`
{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: automation, namespace: NAMESPACE}}
`, "NAMESPACE", namespace))...)
	if rights {
		apply(t, bed, tenantRights(t, namespace))
	}
}

func tenantRights(t *testing.T, namespace string) *unstructured.Unstructured {
	t.Helper()
	return objects(t, strings.ReplaceAll(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: write-all-customer-sa, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: automation, namespace: NAMESPACE}]
`, "NAMESPACE", namespace))[0]
}

// release is an OCIRepository and a HelmRelease as this product composes them, of a chart's newest version.
func release(t *testing.T, chart, name, spec string) []*unstructured.Unstructured {
	t.Helper()
	made := objects(t, strings.NewReplacer("CHART", chart, "NAME", name).Replace(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: NAME, namespace: org-acme}
spec: {interval: 10m, url: "oci://gsoci.azurecr.io/charts/giantswarm/CHART", ref: {semver: ">=0.1.0"}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: org-acme}
spec:
  interval: 10m
  releaseName: NAME
  chartRef: {kind: OCIRepository, name: NAME}
`)+spec)
	return made
}

func ready(status, words string) func(*unstructured.Unstructured) error {
	return func(found *unstructured.Unstructured) error {
		if observed, _, _ := unstructured.NestedInt64(found.Object, "status", "observedGeneration"); observed != found.GetGeneration() {
			return fmt.Errorf("generation %d of %d is observed: %v", observed, found.GetGeneration(), found.Object["status"])
		}
		return conditionIs(found, "Ready", status, words)
	}
}

// ownerless is a golden without the Cluster that owns it, which the garbage collector would miss.
func ownerless(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	for _, object := range objects {
		object.SetOwnerReferences(nil)
	}
	return objects
}

func TestHelmInstallsWhatIsComposed(t *testing.T) {
	bed := testbed.Start(t, testbed.Options{Helm: true, Tenancy: true, Charts: charts, Definitions: testbed.PoolPath})
	admin := client(t, bed.Admin())
	tenantOf(t, bed, "org-acme", true)
	pool := ownerless(goldenOf(t, "pool-l4-default"))
	apply(t, bed, pool...)
	helmRelease := pool[1]
	waitFor(t, admin, helmRelease, ready("True", "Helm install succeeded for release org-acme/wc1-gpu-l4.v1 with chart gpu-node-pool@0.8.0+"))
	source := read(t, admin, pool[0])
	revision, _, _ := unstructured.NestedString(source.Object, "status", "artifact", "revision")
	digest, found := strings.CutPrefix(revision, "0.8.0@sha256:")
	if !found {
		t.Fatalf("source-controller has %s", revision)
	}
	installed := read(t, admin, helmRelease)
	history, _, _ := unstructured.NestedSlice(installed.Object, "status", "history")
	attempted, _, _ := unstructured.NestedString(installed.Object, "status", "lastAttemptedRevision")
	version := "0.8.0+" + digest[:12]
	first := history[0].(map[string]any)
	if attempted != version || len(history) != 1 || first["chartVersion"] != version || first["status"] != "deployed" {
		t.Errorf("attempted %s, history %v", attempted, history)
	}
	if diff := cmp.Diff([]string{"finalizers.fluxcd.io"}, installed.GetFinalizers()); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	machines := object("cluster.x-k8s.io/v1beta1", "MachinePool", "org-acme", "wc1-gpu-l4")
	labels := read(t, admin, machines).GetLabels()
	if labels["helm.toolkit.fluxcd.io/name"] != "wc1-gpu-l4" || labels["helm.toolkit.fluxcd.io/namespace"] != "org-acme" {
		t.Errorf("labels of the MachinePool: %v", labels)
	}
	absent(t, admin, object("batch/v1", "Job", "org-acme", "wc1-gpu-l4-prewarm"))

	// Nothing is released again for the asking, and what changes is upgraded.
	reconcile(t, admin, helmRelease)
	waitFor(t, admin, helmRelease, handled)
	if err := unstructured.SetNestedField(helmRelease.Object, "7", "spec", "values", "pool", "maxSize", "nvidia.com/gpu"); err != nil {
		t.Fatal(err)
	}
	apply(t, bed, helmRelease)
	waitFor(t, admin, helmRelease, ready("True", "Helm upgrade succeeded for release org-acme/wc1-gpu-l4.v2"))
	infrastructure := object("infrastructure.cluster.x-k8s.io/v1beta2", "AWSMachinePool", "org-acme", "wc1-gpu-l4")
	if most, _, _ := unstructured.NestedInt64(read(t, admin, infrastructure).Object, "spec", "maxSize"); most != 7 {
		t.Errorf("upgraded to %d GPUs", most)
	}

	remove(t, admin, helmRelease)
	gone(t, admin, helmRelease)
	absent(t, admin, machines)
	absent(t, admin, infrastructure)
}

// handled checks that Flux has looked at an object as it was asked to.
func handled(found *unstructured.Unstructured) error {
	asked := found.GetAnnotations()["reconcile.fluxcd.io/requestedAt"]
	if got, _, _ := unstructured.NestedString(found.Object, "status", "lastHandledReconcileAt"); got != asked {
		return fmt.Errorf("handled is %q, not %q", got, asked)
	}
	return ready("True", "install succeeded")(found)
}

func remove(t *testing.T, client *testbed.Client, object *unstructured.Unstructured) {
	t.Helper()
	if err := resourceOf(t, client, object).Delete(t.Context(), object.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// The slice's release makes releases of its own, whose objects live on another API server.
func TestHelmReachesWorkloadClusters(t *testing.T) {
	bed := testbed.Start(t, testbed.Options{Helm: true, Tenancy: true, Charts: charts})
	workload := bed.Workload(t, testbed.GPUOperator, testbed.KServe, testbed.Gateway)
	admin, there := client(t, bed.Admin()), client(t, workload.Admin())
	script.GPUOperator(t, workload.Admin(), "kube-system")
	script.KServe(t, workload.Admin())
	tenantOf(t, bed, "org-acme", true)

	operator := release(t, "gpu-operator", "wc1-gpu-operator", `
  install: {crds: CreateReplace}
  upgrade: {crds: CreateReplace}
  kubeConfig: {secretRef: {name: wc1-kubeconfig}}
  targetNamespace: kube-system
  storageNamespace: kube-system
  values: {gpu-operator: {driver: {enabled: false}}}
`)
	apply(t, bed, operator...)
	waitFor(t, admin, operator[1], func(found *unstructured.Unstructured) error {
		return conditionIs(found, "Ready", "False", "failed to get KubeConfig secret 'org-acme/wc1-kubeconfig'")
	})
	secret, err := workload.KubeconfigSecret("org-acme", "wc1")
	if err != nil {
		t.Fatal(err)
	}
	apply(t, bed, secret)
	waitFor(t, admin, operator[1], ready("True", "Helm install succeeded for release kube-system/wc1-gpu-operator.v1 with chart gpu-operator@1.2.0+"))
	policy := read(t, there, object("nvidia.com/v1", "ClusterPolicy", "", "cluster-policy"))
	if driver, _, _ := unstructured.NestedBool(policy.Object, "spec", "driver", "enabled"); driver {
		t.Error("the driver is enabled")
	}
	definition := read(t, there, object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "noderules.charts.example.com"))
	if definition.GetLabels()["helm.toolkit.fluxcd.io/name"] != "wc1-gpu-operator" {
		t.Errorf("labels of the chart's definition: %v", definition.GetLabels())
	}

	slice := release(t, "agent-platform", "wc1-agent-platform", `
  serviceAccountName: automation
  values:
    components:
      modelServing: {enabled: true}
      kserve-llmisvc-crd: {enabled: true}
      kserve-llmisvc-resources: {enabled: true}
      kserve-runtime-configs: {enabled: true}
    global: {domain: wc1.acme.example.io}
    gitops: {target: {name: wc1, kubeConfig: {secretRef: {name: wc1-kubeconfig}}}, targetNamespace: agent-platform}
    modelServing: {modelsGateway: {enabled: true}}
`)
	apply(t, bed, slice...)
	waitFor(t, admin, slice[1], ready("True", "agent-platform@4.117.0+"))
	children := map[string]string{
		"agent-platform-connectivity": "4.117.0", "agentgateway": "1.0.0", "kserve-llmisvc-crd": "0.4.0",
		"kserve-llmisvc-resources": "0.4.0", "kserve-runtime-configs": "0.4.0",
	}
	for name, version := range children {
		child := object("helm.toolkit.fluxcd.io/v2", "HelmRelease", "org-acme", "wc1-"+name)
		waitFor(t, admin, child, ready("True", "Helm install succeeded for release agent-platform/"+name+".v1 with chart "+name+"@"+version+"+"))
		if labels := read(t, admin, child).GetLabels(); labels["helm.toolkit.fluxcd.io/name"] != "wc1-agent-platform" {
			t.Errorf("labels of %s: %v", name, labels)
		}
	}
	controller := object("apps/v1", "Deployment", "agent-platform", "llmisvc-controller-manager")
	read(t, there, controller)
	absent(t, admin, controller)
	config := object("serving.kserve.io/v1alpha1", "LLMInferenceServiceConfig", "agent-platform", "kserve-config-llm-template")
	read(t, there, config)
	read(t, there, object("gateway.networking.k8s.io/v1", "Gateway", "agent-platform", "models"))

	remove(t, admin, object("helm.toolkit.fluxcd.io/v2", "HelmRelease", "org-acme", "wc1-kserve-llmisvc-resources"))
	gone(t, there, controller)
	remove(t, admin, operator[1])
	gone(t, admin, operator[1])
	absent(t, there, policy)
	read(t, there, definition)
}

func TestHelmSaysWhatIsInItsWay(t *testing.T) {
	bed := testbed.Start(t, testbed.Options{Helm: true, Charts: charts, Definitions: append(testbed.PoolPath, testbed.Kubeadm)})
	admin := client(t, bed.Admin())
	tenantOf(t, bed, "org-acme", false)

	// The tenant's rights come later: none at first, then too few, until too many tries were in vain, then all.
	pool := release(t, "gpu-node-pool", "wc1-gpu-l4", "  serviceAccountName: automation\n  install: {remediation: {retries: 1}}\n  values: {cluster: {name: wc1}, pool: {maxSize: {nvidia.com/gpu: \"1\"}}}\n")
	apply(t, bed, pool...)
	waitFor(t, admin, pool[1], func(found *unstructured.Unstructured) error {
		return conditionIs(found, "Ready", "False", "secrets is forbidden")
	})
	few := tenantRights(t, "org-acme")
	few.SetName("few")
	few.Object["roleRef"].(map[string]any)["name"] = "edit"
	apply(t, bed, few)
	waitFor(t, admin, pool[1], func(found *unstructured.Unstructured) error {
		return errors.Join(conditionIs(found, "Stalled", "True", "forbidden"), ready("False", "Helm install failed for release org-acme/wc1-gpu-l4")(found))
	})
	machines := object("cluster.x-k8s.io/v1beta1", "MachinePool", "org-acme", "wc1-gpu-l4")
	absent(t, admin, machines)
	apply(t, bed, tenantRights(t, "org-acme"))
	reset(t, admin, pool[1])
	waitFor(t, admin, pool[1], ready("True", "Helm install succeeded"))

	// Values of a ConfigMap that is not there yet, then those of two with the later on top.
	cluster := release(t, "release-aws", "wc1", `
  serviceAccountName: automation
  valuesFrom:
    - {kind: ConfigMap, name: cluster-app-installation-values, valuesKey: values.yaml}
    - {kind: Secret, name: wc1-values}
`)
	cluster[0].Object["spec"].(map[string]any)["ref"] = map[string]any{"tag": "36.0.0"}
	apply(t, bed, cluster...)
	waitFor(t, admin, cluster[1], func(found *unstructured.Unstructured) error {
		return conditionIs(found, "Ready", "False", "could not resolve ConfigMap chart values reference 'org-acme/cluster-app-installation-values'")
	})
	apply(t, bed, objects(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-app-installation-values, namespace: org-acme}
data: {values.yaml: "global: {metadata: {name: x, organization: acme}, managementCluster: gazelle}"}
---
apiVersion: v1
kind: Secret
metadata: {name: wc1-values, namespace: org-acme}
stringData: {values.yaml: "global: {metadata: {name: wc1, preventDeletion: perhaps}, release: {version: 36.0.0}}"}
`)...)
	waitFor(t, admin, cluster[1], func(found *unstructured.Unstructured) error {
		return conditionIs(found, "Ready", "False", "preventDeletion")
	})
	apply(t, bed, objects(t, `
apiVersion: v1
kind: Secret
metadata: {name: wc1-values, namespace: org-acme}
stringData: {values.yaml: "global: {metadata: {name: wc1}, release: {version: 36.0.0}}"}
`)...)
	reset(t, admin, cluster[1])
	waitFor(t, admin, cluster[1], ready("True", "release-aws@36.0.0+"))
	made := read(t, admin, object("cluster.x-k8s.io/v1beta1", "Cluster", "org-acme", "wc1"))
	if labels := made.GetLabels(); labels["giantswarm.io/organization"] != "acme" || labels["release.giantswarm.io/version"] != "36.0.0" {
		t.Errorf("labels of the Cluster: %v", labels)
	}

	// One that is suspended leaves what it has installed.
	cluster[1].Object["spec"].(map[string]any)["suspend"] = true
	apply(t, bed, cluster[1])
	remove(t, admin, cluster[1])
	gone(t, admin, cluster[1])
	read(t, admin, made)

	unknown := release(t, "gpu-node-pool", "later", "  serviceAccountName: automation\n  dependsOn: [{name: wc1}]\n")
	apply(t, bed, unknown...)
	waitFor(t, admin, unknown[1], func(found *unstructured.Unstructured) error {
		return conditionIs(found, "Stalled", "True", "does not support dependsOn")
	})
	nowhere := release(t, "no-such-chart", "nowhere", "  serviceAccountName: automation\n")
	apply(t, bed, nowhere...)
	waitFor(t, admin, nowhere[0], func(found *unstructured.Unstructured) error { return conditionIs(found, "Ready", "False", "") })
	waitFor(t, admin, nowhere[1], func(found *unstructured.Unstructured) error {
		return conditionIs(found, "Ready", "False", "OCIRepository 'org-acme/nowhere' is not ready")
	})
}

// reset asks for another try after too many.
func reset(t *testing.T, client *testbed.Client, object *unstructured.Unstructured) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%[1]q,"reconcile.fluxcd.io/resetAt":%[1]q}}}`, time.Now().Format(time.RFC3339Nano))
	_, err := resourceOf(t, client, object).Patch(t.Context(), object.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
