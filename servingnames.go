package clustermanager

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
