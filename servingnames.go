package clustermanager

// ChartGPUOperator is the chart of a cluster's GPU operator.
const ChartGPUOperator = "gpu-operator"

// Labels and finalizers of nodes, backend documents and serving objects.
const (
	// LabelMachinePool is on every node of a pool, with the name of the pool's release.
	LabelMachinePool = "giantswarm.io/machine-pool"
	// LabelDriver with the value "pre-installed" is on a node whose image has the NVIDIA driver.
	LabelDriver = "nvidia.com/gpu.deploy.driver"

	LabelModelBackend       = "agent-platform.giantswarm.io/model-backend"
	LabelModelBackendSource = "agent-platform.giantswarm.io/model-backend-source"

	// FinalizerServingConfig is on an LLMInferenceServiceConfig; the llm-d controller alone takes it off.
	FinalizerServingConfig = "serving.kserve.io/llmisvcconfig-finalizer"
)

// ReleaseObjects are the objects of a release without a Secret of its own: where the chart comes from, and the release.
// Both have the release's name.
type ReleaseObjects struct{ Source, Release ObjectReference }

// References are the objects in the order in which they are composed.
func (o ReleaseObjects) References() []ObjectReference { return []ObjectReference{o.Source, o.Release} }

// Release names the objects of a cluster's release of one of its parts, such as ChartGPUOperator or ChartAgentPlatform.
func Release(cluster Cluster, part string) ReleaseObjects {
	name := ReleaseName(cluster, part)
	return ReleaseObjects{
		Source:  ObjectReference{APIVersion: SourceAPI.String(), Kind: "OCIRepository", Namespace: cluster.Namespace, Name: name},
		Release: ObjectReference{APIVersion: HelmAPI.String(), Kind: "HelmRelease", Namespace: cluster.Namespace, Name: name},
	}
}

// KubeconfigSecretName is the name of the Secret with a cluster's kubeconfig, in the cluster's namespace.
func KubeconfigSecretName(cluster Cluster) string { return cluster.Name + "-kubeconfig" }

// sharedBackend is the backend of the installation's own cluster, and of a workload cluster that was registered before
// backends had names per cluster.
const sharedBackend = "kserve"

// BackendName is the name of a cluster's backend with model-manager.
func BackendName(cluster Cluster) string {
	if cluster.Own {
		return sharedBackend
	}
	return sharedBackend + "-" + cluster.Name
}

// BackendReference names the ConfigMap that registers a cluster's backend.
func BackendReference(settings Settings, cluster Cluster) ObjectReference {
	return backendReference(settings, BackendName(cluster))
}

// SharedBackendReference names the ConfigMap of the backend that the installation's own cluster has.
func SharedBackendReference(settings Settings) ObjectReference {
	return backendReference(settings, sharedBackend)
}

func backendReference(settings Settings, backend string) ObjectReference {
	return ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: settings.ModelManagerNamespace, Name: "model-backend-" + backend}
}
