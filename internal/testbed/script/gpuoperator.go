package script

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// operands are the DaemonSets of the GPU operator that this project looks at.
var operands = []string{"nvidia-device-plugin-daemonset", "gpu-feature-discovery"}

// GPUOperator plays the GPU operator, with what Workloads plays: a ClusterPolicy is ready, and its operands run in a
// namespace on every Node with a GPU. They go with the policy.
func GPUOperator(t testing.TB, config *rest.Config, namespace string) {
	t.Helper()
	Workloads(t, config)
	player := newPlayer(t, config)
	player.watch(resource("nvidia.com", "v1", "clusterpolicies"), func(policy *unstructured.Unstructured) error {
		if policy.GetDeletionTimestamp() != nil {
			return nil
		}
		for _, name := range operands {
			if err := player.create(ownedBy(policy, operand(namespace, name))); err != nil {
				return err
			}
		}
		list, changed := conditions(policy, condition{"Ready", "True", "Ready", ""}, condition{"Error", "False", "Ready", ""})
		if !changed {
			return nil
		}
		return player.status(policy, map[string]any{"state": "ready", "namespace": namespace, "conditions": list})
	}, nil)
	player.start()
}

func operand(namespace, name string) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	return object("apps/v1", "DaemonSet", namespace, name, map[string]any{
		"metadata": map[string]any{"labels": labels},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{
					"nodeSelector": map[string]any{"nvidia.com/gpu.present": "true"},
					"containers":   []any{map[string]any{"name": "operand", "image": "operand"}},
				},
			},
		},
	})
}
