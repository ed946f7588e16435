package clustermanager

import "time"

// NodePoolsSurvey is what was observed of the pools of one cluster. Facts that only some calls need are left unknown
// by the others.
type NodePoolsSurvey struct {
	Now      time.Time `json:"now"`
	Settings Settings  `json:"settings"`
	Cluster  Cluster   `json:"cluster"`
	// ControlPlaneVersion is the version that the control plane should run, with a leading v.
	ControlPlaneVersion Reading[string] `json:"controlPlaneVersion"`
	// Network is the cluster's region and the zones of its node subnets.
	Network Reading[Network] `json:"network"`
	// Pools are the cluster's pools, sorted by name.
	Pools []NodePoolFacts `json:"pools"`
	// Unread says which of the two lists that pools are found in could not be read.
	Unread []string `json:"unread,omitempty"`
	// Backends are model-manager's backend documents that this product registered, of every cluster.
	Backends Reading[[]Backend] `json:"backends"`
	// Parts are the releases that the cluster's pools share.
	Parts ClusterParts `json:"parts"`
}

// ClusterParts are the releases beside the pools that go with the last of them.
type ClusterParts struct {
	// Operator and OperatorSource are the GPU operator's release of ours and its OCIRepository; nil: it does not exist.
	Operator       Reading[*LiveObject] `json:"operator"`
	OperatorSource Reading[*LiveObject] `json:"operatorSource"`
	// SliceRelease is the release that serves models, SliceSource its OCIRepository.
	SliceRelease Reading[*LiveObject] `json:"sliceRelease"`
	SliceSource  Reading[*LiveObject] `json:"sliceSource"`
	// Slice is the slice as decisions read it; nil: there is none of ours.
	Slice Reading[*Slice] `json:"slice"`
	// Children are the releases that the slice rendered on the installation, sorted by name.
	Children Reading[[]SliceChild] `json:"children"`
}

// SliceChild is a HelmRelease on the installation that Flux labels as rendered by the slice.
type SliceChild struct {
	Name string `json:"name"`
	// Chart is the name of its chart, which tells what it is, whatever it is called.
	Chart string `json:"chart"`
	// DeletedAt is its deletionTimestamp.
	DeletedAt *time.Time `json:"deletedAt,omitempty"`
}

// NodePoolFacts are what was observed of one pool.
type NodePoolFacts struct {
	// Name is the MachinePool's name, else the release's.
	Name string `json:"name"`
	// Owner is the release that Flux labels as the one that rendered the MachinePool, else the pool's own release.
	Owner *NamespacedName `json:"owner,omitempty"`
	// Release is the pool's release of the chart gpu-node-pool; nil: it has none.
	Release Reading[*PoolReleaseFacts] `json:"release"`
	// Source and Secret are the release's OCIRepository and values Secret; nil: it does not exist. They are read for a
	// release of ours alone.
	Source Reading[*LiveObject] `json:"source,omitzero"`
	Secret Reading[*LiveObject] `json:"secret,omitzero"`
	// MachinePool is nil when there is none.
	MachinePool Reading[*MachinePoolFacts] `json:"machinePool"`
	// Machines is what the infrastructure object says; not read without a MachinePool.
	Machines Reading[MachineFacts] `json:"machines,omitzero"`
	// Claims are Karpenter's NodeClaims of the pool, Nodes its Nodes, both sorted by name.
	Claims Reading[[]NodeClaim] `json:"claims"`
	Nodes  Reading[[]PoolNode]  `json:"nodes"`
	// Events are Karpenter's warnings about NodeClaims that it could not launch.
	Events Reading[[]LaunchEvent] `json:"events"`
	// CacheClaims are the target's model cache claims, read only while a pool that is pinned to zones has launches that
	// fail.
	CacheClaims Reading[[]CacheClaim] `json:"cacheClaims,omitzero"`
	// Prewarm is read only for a pool whose release asks for it.
	Prewarm Reading[PrewarmFacts] `json:"prewarm,omitzero"`
}

// NodePool is the name that the pool's NodeClaims and Nodes carry: the release's, else the MachinePool's.
func (f NodePoolFacts) NodePool() string {
	if release := f.Release.Or(nil); release != nil {
		return release.Name
	}
	return f.Name
}

// Readable says whether at least one of the pool's two lists on the cluster could be read.
func (f NodePoolFacts) Readable() bool { return f.Claims.Err() == nil || f.Nodes.Err() == nil }

// Removing says that the pool is on its way out: the release or the MachinePool is being deleted, or, of a release of
// ours, another object of it or the operator's release, or its source is gone already.
func (f NodePoolFacts) Removing(parts ClusterParts) bool {
	release, machinePool := f.Release.Or(nil), f.MachinePool.Or(nil)
	if release != nil && release.DeletedAt != nil || machinePool != nil && machinePool.DeletedAt != nil {
		return true
	}
	if release == nil || !release.Owned {
		return false
	}
	for _, reading := range []Reading[*LiveObject]{f.Source, f.Secret, parts.Operator} {
		if live := reading.Or(nil); live != nil && live.DeletedAt != nil && live.Labels[LabelManagedBy] == ManagedBy {
			return true
		}
	}
	source, known := f.Source.Get()
	return known && source == nil
}

// Condition is a condition of an object's status.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is lastTransitionTime; nil: it has none.
	Since *time.Time `json:"since,omitempty"`
}

// ConditionOf returns the condition of the type; nil: there is none.
func ConditionOf(conditions []Condition, of string) *Condition {
	for index := range conditions {
		if conditions[index].Type == of {
			return &conditions[index]
		}
	}
	return nil
}

// PoolReleaseFacts are a pool's release as its lifecycle is told from.
type PoolReleaseFacts struct {
	PoolRelease
	ReleaseUptake
	Namespace string    `json:"namespace"`
	Created   time.Time `json:"created"`
	// DeletedAt is its deletionTimestamp.
	DeletedAt  *time.Time  `json:"deletedAt,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
	// Prewarm is the release's value pool.prewarm.enabled.
	Prewarm bool `json:"prewarm,omitempty"`
	// Fault says why its values could not be read whole; "": they were.
	Fault string `json:"fault,omitempty"`
}

// MachinePoolFacts are a MachinePool as its pool's lifecycle is told from.
type MachinePoolFacts struct {
	// Version is the Kubernetes version of its machines, with a leading v; "" when it names none.
	Version       string      `json:"version,omitempty"`
	Replicas      int         `json:"replicas"`
	ReadyReplicas int         `json:"readyReplicas"`
	Created       time.Time   `json:"created"`
	DeletedAt     *time.Time  `json:"deletedAt,omitempty"`
	Conditions    []Condition `json:"conditions,omitempty"`
	// InfrastructureReady is status.infrastructureReady.
	InfrastructureReady bool `json:"infrastructureReady,omitempty"`
}

// MachineFacts is what a MachinePool's infrastructure object says of the machines, sorted.
type MachineFacts struct {
	InstanceTypes []string `json:"instanceTypes"`
	ProviderIDs   []string `json:"providerIDs"`
}

// NodeClaim is Karpenter's order of one node.
type NodeClaim struct {
	Name       string      `json:"name"`
	Created    time.Time   `json:"created"`
	DeletedAt  *time.Time  `json:"deletedAt,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
	// NodeName and ProviderID are its status's; "" before the node registers and the instance runs.
	NodeName   string `json:"nodeName,omitempty"`
	ProviderID string `json:"providerID,omitempty"`
	// LastPodEvent is status.lastPodEventTime.
	LastPodEvent *time.Time `json:"lastPodEvent,omitempty"`
}

// PoolNode is a Node of a pool.
type PoolNode struct {
	Name       string    `json:"name"`
	Created    time.Time `json:"created"`
	ProviderID string    `json:"providerID,omitempty"`
	Ready      bool      `json:"ready,omitempty"`
	// GPUs are the allocatable nvidia.com/gpu.
	GPUs int64 `json:"gpus,omitempty"`
	// Pods are those of the node, sorted by namespace and name. They are not read for every pool.
	Pods Reading[[]NodePod] `json:"pods,omitzero"`
}

// NodePod is a pod of a node, as far as it may hold the node.
type NodePod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	NodeName  string `json:"nodeName,omitempty"`
	Phase     string `json:"phase,omitempty"`
	// DaemonSet says that one owns it.
	DaemonSet bool  `json:"daemonSet,omitempty"`
	Priority  int64 `json:"priority,omitempty"`
	// GPUs are the nvidia.com/gpu of its containers: limits, else requests; those of its init containers only where its
	// containers ask for none.
	GPUs int64 `json:"gpus,omitempty"`
	// Predictor says that its labels make it a KServe predictor.
	Predictor bool `json:"predictor,omitempty"`
}

// LaunchEvent is a warning of Karpenter about a NodeClaim.
type LaunchEvent struct {
	Claim   string    `json:"claim"`
	Time    time.Time `json:"time"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
}

// PrewarmFacts are a pool's placeholder Job and its pods.
type PrewarmFacts struct {
	// Job is nil when there is none.
	Job *PrewarmJob `json:"job,omitempty"`
	// Pod is the newest of the Job's pods; nil: it has none.
	Pod *PrewarmPod `json:"pod,omitempty"`
}

// PrewarmJob is the Job <release>-prewarm.
type PrewarmJob struct {
	Name       string      `json:"name"`
	Created    time.Time   `json:"created"`
	Conditions []Condition `json:"conditions,omitempty"`
	Completed  *time.Time  `json:"completed,omitempty"`
	// DeadlineSeconds is spec.activeDeadlineSeconds; 0: none.
	DeadlineSeconds int64 `json:"deadlineSeconds,omitempty"`
}

// PrewarmPod is a pod of the placeholder Job.
type PrewarmPod struct {
	Name       string      `json:"name"`
	Created    time.Time   `json:"created"`
	DeletedAt  *time.Time  `json:"deletedAt,omitempty"`
	Phase      string      `json:"phase,omitempty"`
	Started    *time.Time  `json:"started,omitempty"`
	NodeName   string      `json:"nodeName,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	Message    string      `json:"message,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
	// Ended is the first of its containers that ended; nil: none did.
	Ended *EndedContainer `json:"ended,omitempty"`
}

// EndedContainer is a container that ended.
type EndedContainer struct {
	Name     string `json:"name"`
	Reason   string `json:"reason,omitempty"`
	ExitCode int64  `json:"exitCode"`
}
