package clustermanager

import "k8s.io/apimachinery/pkg/runtime/schema"

// Versions of the APIs that the product reads and composes.
var (
	ClusterAPI = schema.GroupVersion{Group: "cluster.x-k8s.io", Version: "v1beta1"}
	HelmAPI    = schema.GroupVersion{Group: "helm.toolkit.fluxcd.io", Version: "v2"}
	SourceAPI  = schema.GroupVersion{Group: "source.toolkit.fluxcd.io", Version: "v1"}
)

// Charts whose releases the product composes.
const (
	// ChartGPUNodePool is the chart of a node pool.
	ChartGPUNodePool = "gpu-node-pool"
	// ChartAgentPlatform is the chart of a cluster's serving slice.
	ChartAgentPlatform = "agent-platform"
)

// ReleaseName is the name of a cluster's release: a pool's, or that of another part.
func ReleaseName(cluster Cluster, part string) string { return cluster.Name + "-" + part }

// NodePoolObjects are the objects that a pool consists of. The survey reads them for the ownership guard, the composer
// writes or removes them.
type NodePoolObjects struct {
	// Source is where the chart comes from, Values the Secret with the values that are sealed, Release the chart's
	// release. Source and Release have the release's name.
	Source, Values, Release ObjectReference
}

// NodePool names the objects of a cluster's pool.
func NodePool(cluster Cluster, pool string) NodePoolObjects {
	name := ReleaseName(cluster, pool)
	return NodePoolObjects{
		Source:  ObjectReference{APIVersion: SourceAPI.String(), Kind: "OCIRepository", Namespace: cluster.Namespace, Name: name},
		Values:  ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: cluster.Namespace, Name: name + "-values"},
		Release: ObjectReference{APIVersion: HelmAPI.String(), Kind: "HelmRelease", Namespace: cluster.Namespace, Name: name},
	}
}

// References are the objects in the order in which they are composed.
func (o NodePoolObjects) References() []ObjectReference {
	return []ObjectReference{o.Source, o.Values, o.Release}
}

// MachinePoolReference names the MachinePool that the chart makes of a pool.
func MachinePoolReference(cluster Cluster, pool string) ObjectReference {
	return ObjectReference{
		APIVersion: ClusterAPI.String(), Kind: "MachinePool", Namespace: cluster.Namespace, Name: ReleaseName(cluster, pool),
	}
}

// SliceReference names a cluster's serving slice: the release of ours that serves models on it.
func SliceReference(cluster Cluster) ObjectReference {
	return ObjectReference{
		APIVersion: HelmAPI.String(), Kind: "HelmRelease", Namespace: cluster.Namespace, Name: ReleaseName(cluster, ChartAgentPlatform),
	}
}
