package testbed_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/clustermanager/cluster-manager/internal/testbed"
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
