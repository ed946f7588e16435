package testbed_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/internal/testbed/tenancy"
)

func TestTenancy(t *testing.T) {
	bed := testbed.Start(t, testbed.Options{Tenancy: true})
	admin := client(t, bed.Admin())
	apply(t, bed, object("v1", "Namespace", "", "org-acme"), object("v1", "Namespace", "", "flux-giantswarm"))
	kubeconfig := map[string]any{"secretRef": map[string]any{"name": "wc1-kubeconfig"}}
	const identity, target, storage = "carries", "spec.targetNamespace", "spec.storageNamespace"
	for name, test := range map[string]struct {
		namespace string
		spec      map[string]any
		refused   string
	}{
		"account":                    {"", map[string]any{"serviceAccountName": "automation"}, ""},
		"kubeconfig":                 {"", map[string]any{"kubeConfig": kubeconfig}, ""},
		"kubeconfig and elsewhere":   {"", map[string]any{"kubeConfig": kubeconfig, "targetNamespace": "kube-system", "storageNamespace": "kube-system"}, ""},
		"account, own namespaces":    {"", map[string]any{"serviceAccountName": "automation", "targetNamespace": "org-acme", "storageNamespace": "org-acme"}, ""},
		"platform, nothing":          {"flux-giantswarm", map[string]any{"targetNamespace": "kube-system"}, ""},
		"nothing":                    {"", map[string]any{}, identity},
		"kubeconfig of a ConfigMap":  {"", map[string]any{"kubeConfig": map[string]any{"configMapRef": map[string]any{"name": "wc1"}}}, identity},
		"account and elsewhere":      {"", map[string]any{"serviceAccountName": "automation", "targetNamespace": "kube-system"}, target},
		"account, releases stored":   {"", map[string]any{"serviceAccountName": "automation", "storageNamespace": "kube-system"}, storage},
		"nothing, into the platform": {"", map[string]any{"targetNamespace": "flux-system"}, identity},
	} {
		t.Run(name, func(t *testing.T) {
			if test.namespace == "" {
				test.namespace = "org-acme"
			}
			release := object("helm.toolkit.fluxcd.io/v2", "HelmRelease", test.namespace, "x")
			test.spec["interval"] = "10m"
			test.spec["chartRef"] = map[string]any{"kind": "OCIRepository", "name": "x"}
			release.Object["spec"] = test.spec
			_, err := resourceOf(t, admin, release).Create(t.Context(), release, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			switch {
			case test.refused == "" && err != nil:
				t.Errorf("creating: %v", err)
			case test.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tenancy.Name) || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("creating: %v, want a refusal with %q", err, test.refused)
			}
		})
	}
}
