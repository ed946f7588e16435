package clustermanager

import "time"

// NodePools is the answer of list_node_pools.
type NodePools struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	// ControlPlaneVersion is the Kubernetes version that the control plane should run, with a leading v; "" when it
	// could not be read, and Notes say why.
	ControlPlaneVersion string       `json:"controlPlaneVersion"`
	Backend             BackendState `json:"backend"`
	// NodePools are sorted by name.
	NodePools []NodePoolStatus `json:"nodePools"`
	// Notes say what could not be read.
	Notes []string `json:"notes,omitempty"`
}

// NodePoolStatus is one pool of a cluster and where its lifecycle stands.
type NodePoolStatus struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Version is the Kubernetes version of the pool's machines, with a leading v; "" without a MachinePool.
	Version             string `json:"version"`
	ControlPlaneVersion string `json:"controlPlaneVersion"`
	// Replicas and ReadyReplicas are the MachinePool's; nil: it could not be read.
	Replicas      *int     `json:"replicas,omitempty"`
	ReadyReplicas *int     `json:"readyReplicas,omitempty"`
	InstanceTypes []string `json:"instanceTypes"`
	// Accelerator and Sizes are those of a GPU pool; no sizes where they are not in the product's table.
	Accelerator string         `json:"accelerator,omitempty"`
	Sizes       []InstanceSize `json:"sizes,omitempty"`
	// OwnerRelease is the release behind the pool; absent: none.
	OwnerRelease *NamespacedName `json:"ownerRelease,omitempty"`
	// Phase is absent where a step that decides it could not be read.
	Phase Phase           `json:"phase,omitempty"`
	Steps []LifecycleStep `json:"steps"`
	// Deleting says that the pool is being removed; Pending is what of its removal is still there, in the order in which
	// it goes.
	Deleting bool     `json:"deleting,omitempty"`
	Pending  []Change `json:"pending,omitempty"`
	// Notes say what could not be read.
	Notes []string `json:"notes,omitempty"`
}

// Phase is where a pool's lifecycle stands.
type Phase string

const (
	PhaseCreating Phase = "creating"
	PhaseReady    Phase = "ready"
	PhaseScaling  Phase = "scaling"
	PhaseRemoving Phase = "removing"
	PhaseFailed   Phase = "failed"
)

// StepState is how far a step of a pool's lifecycle is.
type StepState string

const (
	StepPending    StepState = "pending"
	StepInProgress StepState = "inProgress"
	StepDone       StepState = "done"
	StepFailed     StepState = "failed"
)

// The steps of a pool's lifecycle, in their order.
const (
	StepRelease     = "release"
	StepMachinePool = "machinePool"
	StepNodes       = "nodes"
	StepPrewarm     = "prewarm"
)

// LifecycleStep is one step of a pool's lifecycle.
type LifecycleStep struct {
	Name string `json:"name"`
	// State is absent where the step could not be read; Message says why.
	State StepState `json:"state,omitempty"`
	// Since is when the state began, FinishedAt when a step that is done was finished.
	Since      *time.Time `json:"since,omitempty"`
	FinishedAt *time.Time `json:"finishedAt,omitempty"`
	Message    string     `json:"message,omitempty"`
}
