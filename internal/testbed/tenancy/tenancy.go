// Package tenancy is the rule of multi-tenancy that installations enforce on HelmReleases, as a ValidatingAdmissionPolicy.
//
// It promises that, outside the platform's namespaces, a HelmRelease that is written carries a service account or a
// kubeconfig's Secret, and leaves its namespace, by target or storage namespace, with a kubeconfig alone.
//
// It leaves out what else a policy engine on an installation may ask for, sources of other namespaces among it, and the
// other kinds of Flux.
package tenancy

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Name is the name of the policy and its binding.
const Name = "flux-multi-tenancy"

// PlatformNamespaces are where the rule does not hold.
var PlatformNamespaces = []string{"flux-giantswarm", "flux-system", "giantswarm", "kube-system", "monitoring"}

// The conditions, in CEL. A kubeConfig of a ConfigMap does not count: the rule names the Secret.
const (
	kubeconfig = `(has(object.spec.kubeConfig) && has(object.spec.kubeConfig.secretRef) && object.spec.kubeConfig.secretRef.name != '')`
	account    = `(has(object.spec.serviceAccountName) && object.spec.serviceAccountName != '')`
)

func stays(field string) string {
	return "!has(object.spec." + field + ") || object.spec." + field + " == object.metadata.namespace || " + kubeconfig
}

// Objects are the policy and its binding.
func Objects() []*unstructured.Unstructured {
	var excluded []any
	for _, namespace := range PlatformNamespaces {
		excluded = append(excluded, namespace)
	}
	return []*unstructured.Unstructured{
		object("ValidatingAdmissionPolicy", map[string]any{
			"failurePolicy": "Fail",
			"matchConstraints": map[string]any{
				"namespaceSelector": map[string]any{"matchExpressions": []any{
					map[string]any{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": excluded},
				}},
				"resourceRules": []any{map[string]any{
					"apiGroups": []any{"helm.toolkit.fluxcd.io"}, "apiVersions": []any{"*"},
					"operations": []any{"CREATE", "UPDATE"}, "resources": []any{"helmreleases"},
				}},
			},
			"validations": []any{
				rule(account+" || "+kubeconfig, "a HelmRelease carries spec.serviceAccountName or spec.kubeConfig.secretRef.name"),
				rule(stays("targetNamespace"), "a HelmRelease leaves its namespace by spec.targetNamespace only with a kubeConfig"),
				rule(stays("storageNamespace"), "a HelmRelease leaves its namespace by spec.storageNamespace only with a kubeConfig"),
			},
		}),
		object("ValidatingAdmissionPolicyBinding", map[string]any{"policyName": Name, "validationActions": []any{"Deny"}}),
	}
}

func rule(expression, message string) map[string]any {
	return map[string]any{"expression": expression, "message": message, "reason": "Forbidden"}
}

func object(kind string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": Name}, "spec": spec,
	}}
}
