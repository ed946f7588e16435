package render

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// steps joins groups of steps into a plan.
func steps(groups ...[]clustermanager.Step) clustermanager.Plan {
	var plan clustermanager.Plan
	for _, group := range groups {
		plan.Steps = append(plan.Steps, group...)
	}
	return plan
}

func object(apiVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	content := map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": "org-acme"},
	}
	for key, value := range fields {
		content[key] = value
	}
	return &unstructured.Unstructured{Object: content}
}

func declare(verb clustermanager.Verb, objects ...*unstructured.Unstructured) []clustermanager.Step {
	var steps []clustermanager.Step
	for _, object := range objects {
		steps = append(steps, clustermanager.Step{Verb: verb, Lane: clustermanager.Declared, Object: object})
	}
	return steps
}

func ociRepository(name string) *unstructured.Unstructured {
	return object("source.toolkit.fluxcd.io/v1", "OCIRepository", name, map[string]any{"spec": map[string]any{
		"interval": "10m", "url": "oci://registry.example/charts/gpu-node-pool",
	}})
}

func helmRelease(name string) *unstructured.Unstructured {
	release := object("helm.toolkit.fluxcd.io/v2", "HelmRelease", name, map[string]any{
		"spec": map[string]any{
			"interval": "10m",
			"chartRef": map[string]any{"kind": "OCIRepository", "name": name},
			"values":   map[string]any{"pool": map[string]any{"maxSize": map[string]any{"nvidia.com/gpu": "4"}}},
		},
		"status": map[string]any{"observedGeneration": int64(1)},
	})
	release.SetLabels(map[string]string{clustermanager.LabelManagedBy: clustermanager.ManagedBy})
	_ = unstructured.SetNestedSlice(release.Object, []any{map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "wc1", "uid": "0001",
	}}, "metadata", "ownerReferences")
	return release
}

// pool is the release of a node pool as a composer declares it, with what stays out of git beside it.
func pool(name string) []clustermanager.Step {
	return append(declare(clustermanager.Ensure, ociRepository(name), helmRelease(name)),
		clustermanager.Step{Verb: clustermanager.Ensure, Lane: clustermanager.Runtime, Object: object("v1", "ConfigMap", "backend", nil)},
		clustermanager.Step{Verb: clustermanager.Remove, Lane: clustermanager.Teardown, Object: object("v1", "ConfigMap", "rest", nil)},
		clustermanager.Step{Verb: clustermanager.Await, Lane: clustermanager.Declared, Object: helmRelease(name)},
	)
}

func removePool(name string) []clustermanager.Step {
	return declare(clustermanager.Remove,
		object("helm.toolkit.fluxcd.io/v2", "HelmRelease", name, nil),
		object("source.toolkit.fluxcd.io/v1", "OCIRepository", name, nil))
}

// credentials is a Secret whose value was made for the test.
func credentials(name string) []clustermanager.Step {
	return []clustermanager.Step{{
		Verb: clustermanager.Ensure, Lane: clustermanager.Declared,
		Object: object("v1", "Secret", name, map[string]any{
			"type": "Opaque", "stringData": map[string]any{"values.yaml": clustermanager.Masked},
		}),
		SecretData: map[string]clustermanager.Secret{
			"values.yaml": clustermanager.NewSecret("cluster:\n  registryCredentials: " + madeUpPassword + "\n"),
		},
	}}
}

// madeUpPassword guards nothing.
const madeUpPassword = "made-up-for-this-test"

func removeCredentials(name string) []clustermanager.Step {
	return declare(clustermanager.Remove, object("v1", "Secret", name, nil))
}
