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
	// ChartGPUOperator is the chart of a cluster's GPU operator.
	ChartGPUOperator = "gpu-operator"
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

// ReleaseObjects are the objects of a release whose values hold nothing secret. Both have the release's name.
type ReleaseObjects struct {
	// Source is where the chart comes from, Release the chart's release.
	Source, Release ObjectReference
}

// References are the objects in the order in which they are composed.
func (o ReleaseObjects) References() []ObjectReference { return []ObjectReference{o.Source, o.Release} }

func releaseObjects(cluster Cluster, chart string) ReleaseObjects {
	name := ReleaseName(cluster, chart)
	return ReleaseObjects{
		Source:  ObjectReference{APIVersion: SourceAPI.String(), Kind: "OCIRepository", Namespace: cluster.Namespace, Name: name},
		Release: ObjectReference{APIVersion: HelmAPI.String(), Kind: "HelmRelease", Namespace: cluster.Namespace, Name: name},
	}
}

// OperatorObjects names the objects of a cluster's GPU operator of ours.
func OperatorObjects(cluster Cluster) ReleaseObjects {
	return releaseObjects(cluster, ChartGPUOperator)
}

// SliceObjects names the objects of a cluster's serving slice of ours.
func SliceObjects(cluster Cluster) ReleaseObjects { return releaseObjects(cluster, ChartAgentPlatform) }

// SliceReference names a cluster's serving slice: the release of ours that serves models on it.
func SliceReference(cluster Cluster) ObjectReference { return SliceObjects(cluster).Release }

// backendConfigMap is the name of the shared backend document; that of a workload cluster's own has its name after it.
const backendConfigMap = "model-backend-kserve"

// SharedBackendReference names the backend document that the installation's own cluster has, and that workload clusters
// had before each got its own.
func SharedBackendReference(settings Settings) ObjectReference {
	return ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: settings.ModelManagerNamespace, Name: backendConfigMap}
}

// BackendReference names the backend document of model-manager that a cluster gets.
func BackendReference(cluster Cluster, settings Settings) ObjectReference {
	reference := SharedBackendReference(settings)
	if !cluster.Own {
		reference.Name += "-" + cluster.Name
	}
	return reference
}
