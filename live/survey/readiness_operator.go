package survey

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// selectOperands chooses the DaemonSets that the GPU operator runs on GPU nodes.
const selectOperands = "app in (gpu-feature-discovery,nvidia-device-plugin-daemonset)"

// operands are the DaemonSets of the cluster's GPU operator.
func (r *Reader) operands(ctx context.Context, cluster clustermanager.Cluster) clustermanager.Reading[[]clustermanager.Operand] {
	found := r.onTarget(ctx, cluster, daemonSetNoun, selectOperands)
	return known(found, func(objects []unstructured.Unstructured) []clustermanager.Operand {
		operands := []clustermanager.Operand{}
		for _, object := range sortedByName(objects) {
			operands = append(operands, clustermanager.Operand{
				Name: object.GetName(), Namespace: object.GetNamespace(),
				Desired: int(numberAt(object.Object, "status", "desiredNumberScheduled")), Ready: int(numberAt(object.Object, "status", "numberReady")),
			})
		}
		return operands
	})
}

// readiness is how far the operator runs, but for its operands.
func (f operatorFacts) readiness() clustermanager.OperatorReadiness {
	return clustermanager.OperatorReadiness{
		Release: f.release(),
		ClusterPolicy: known(f.policies, func(policies []unstructured.Unstructured) *clustermanager.ClusterPolicyState {
			if len(policies) == 0 {
				return nil
			}
			first := sortedByName(policies)[0]
			return &clustermanager.ClusterPolicyState{Name: first.GetName(), State: textAt(first.Object, "status", "state")}
		}),
	}
}

// release is that of the highest provider. Where none was found while releases could not be read, it is unknown.
func (f operatorFacts) release() clustermanager.Reading[*clustermanager.ReleaseState] {
	if release := releaseOf(f.findings()); release != nil {
		return clustermanager.Known(new(releaseState(release)))
	}
	return clustermanager.Read[*clustermanager.ReleaseState](nil, cmp.Or(f.installation.Err(), f.releases.Err()))
}

// known is what is made of a value that was read; one that was not stays unknown with its cause.
func known[From, To any](from clustermanager.Reading[From], convert func(From) To) clustermanager.Reading[To] {
	value, is := from.Get()
	if !is {
		var none To
		return clustermanager.Read(none, from.Err())
	}
	return clustermanager.Known(convert(value))
}

// sortedByName are the objects by namespace and name.
func sortedByName(objects []unstructured.Unstructured) []unstructured.Unstructured {
	return slices.SortedFunc(slices.Values(objects), func(a, b unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
}
