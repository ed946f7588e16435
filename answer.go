package clustermanager

// WriteResult is the answer of every tool that writes. Secret values appear as Masked.
type WriteResult struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Mode      Mode   `json:"mode"`
	DryRun    bool   `json:"dryRun"`
	// Objects are the live writes; empty in mode commit.
	Objects []Change `json:"objects"`

	Pool string `json:"pool,omitempty"`
	// Release is the name of the Release of a new cluster; ReleaseNote names a newer one that was not taken.
	Release             string `json:"release,omitempty"`
	ReleaseNote         string `json:"releaseNote,omitempty"`
	ChartVersion        string `json:"chartVersion,omitempty"`
	KubernetesVersion   string `json:"kubernetesVersion,omitempty"`
	ControlPlaneVersion string `json:"controlPlaneVersion,omitempty"`
	MachineImage        string `json:"machineImage,omitempty"`
	// Manifests are the composed objects.
	Manifests []map[string]any `json:"manifests,omitempty"`
	// GPUOperator and Serving are what the cluster has; left out by tools that say nothing of it.
	GPUOperator Component `json:"gpuOperator,omitzero"`
	Serving     Component `json:"serving,omitzero"`
	ServingResult
	// LastPool says that the removed pool was the cluster's last, so that GPU operator and serving went with it.
	LastPool  bool           `json:"lastPool,omitempty"`
	Sizes     []InstanceSize `json:"sizes,omitempty"`
	Zones     []string       `json:"zones,omitempty"`
	ZonesNote string         `json:"zonesNote,omitempty"`
	OIDC      *ClusterOIDC   `json:"oidc,omitempty"`
	RBAC      *ClusterRBAC   `json:"rbac,omitempty"`
	// WithCluster are the names of the HelmReleases that go with a cluster, Models what is served on it; ModelsNote says
	// why that is not known.
	WithCluster []string      `json:"withCluster,omitempty"`
	Models      []string      `json:"models,omitempty"`
	ModelsNote  string        `json:"modelsNote,omitempty"`
	Warnings    []string      `json:"warnings,omitempty"`
	Commit      *CommitResult `json:"commit,omitempty"`
	Partial     bool          `json:"partial,omitempty"`
	NextStep    string        `json:"nextStep,omitempty"`
}

// InstanceSize is a size of a pool: the machine as the provider lists it, what it leaves a predictor, and its price.
type InstanceSize struct {
	InstanceType string `json:"instanceType"`
	Size         string `json:"size"`
	VCPU         int    `json:"vcpu"`
	// MemoryGiB is the machine's memory, GPUMemoryGiB that of each GPU.
	MemoryGiB    int `json:"memoryGiB"`
	GPUs         int `json:"gpus"`
	GPUMemoryGiB int `json:"gpuMemoryGiB"`
	// ComputeCapability is NVIDIA's figure for the GPU, such as 8.9.
	ComputeCapability string `json:"computeCapability,omitempty"`
	// InstanceStoreDiskGB is one device, which is what a node gives its pods; InstanceStoreGB all of them.
	InstanceStoreGB     int `json:"instanceStoreGB"`
	InstanceStoreDisks  int `json:"instanceStoreDisks"`
	InstanceStoreDiskGB int `json:"instanceStoreDiskGB"`
	// UsableVCPU and UsableMemoryGiB are what the kubelet's reservations and the fleet's daemonsets leave, estimated.
	UsableVCPU      float64 `json:"usableVcpu"`
	UsableMemoryGiB float64 `json:"usableMemoryGiB"`
	// PricePerHourUSD is the list price, nil when there is none; PriceNote says why.
	PricePerHourUSD *float64 `json:"pricePerHourUSD,omitempty"`
	PriceSource     string   `json:"priceSource,omitempty"`
	PriceAsOf       string   `json:"priceAsOf,omitempty"`
	PriceNote       string   `json:"priceNote,omitempty"`
}

// CommitResult is what mode commit did, or would do.
type CommitResult struct {
	// Repository is owner/name.
	Repository string `json:"repository"`
	// Base is the branch that Flux follows.
	Base string `json:"base"`
	// Directory is where the files go.
	Directory string `json:"directory"`
	// Kustomization is namespace/name of the Kustomization that applies them.
	Kustomization string       `json:"kustomization"`
	Prune         bool         `json:"prune"`
	Branch        string       `json:"branch"`
	Files         []FileChange `json:"files"`
	Objects       []ObjectDiff `json:"objects"`
	Proof         Proof        `json:"proof"`
	// PullRequest is the URL; empty on a dry run or when there is nothing to do.
	PullRequest string   `json:"pullRequest,omitempty"`
	Number      int      `json:"number,omitempty"`
	Author      string   `json:"author,omitempty"`
	LiveSteps   []string `json:"liveSteps,omitempty"`
}

// Proof says whether the proposed tree was built as Flux builds it, and what could not be checked.
type Proof struct {
	Built bool   `json:"built"`
	Note  string `json:"note,omitempty"`
}

// APIAvailability says whether an API is served.
type APIAvailability string

const (
	APIServed APIAvailability = "served"
	APIAbsent APIAvailability = "absent"
	// APIUnknown says that it could not be found out.
	APIUnknown APIAvailability = "unknown"
)

// APIState says whether the installation serves an API group; Note why that is unknown.
type APIState struct {
	Group   string          `json:"group"`
	Version string          `json:"version"`
	State   APIAvailability `json:"state"`
	Note    string          `json:"note,omitempty"`
}
