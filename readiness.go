package clustermanager

import "time"

// ClusterStatus is what was observed of one cluster, part by part. A part that could not be read is unknown with its
// reason.
type ClusterStatus struct {
	Cluster Cluster `json:"cluster"`
	// GPUOperator and Serving are what runs GPU nodes and serves models on the cluster, and who put it there.
	GPUOperator       Component         `json:"gpuOperator"`
	OperatorReadiness OperatorReadiness `json:"operatorReadiness"`
	Serving           Component         `json:"serving"`
	ServingReadiness  ServingReadiness  `json:"servingReadiness"`
	// PoolReleases are the releases of the pool chart, sorted by name.
	PoolReleases Reading[[]PoolReleaseState] `json:"poolReleases"`
	Network      Reading[Network]            `json:"network"`
	// CommitTarget is where in git the cluster stands; nil: no Kustomization owns it.
	CommitTarget Reading[*CommitTarget] `json:"commitTarget"`
	// Admins are bound as cluster-admin by the values that create_cluster composed; nil: it did not make the cluster.
	Admins Reading[*Admins] `json:"admins"`
}

// Fleet is what was observed of an installation's clusters.
type Fleet struct {
	ClusterAPI APIState `json:"clusterApi"`
	// Clusters are sorted by namespace, then name.
	Clusters []ClusterStatus `json:"clusters"`
	// More says that clusters follow the last one.
	More bool `json:"more,omitempty"`
	// Note names the namespaces that were read where the caller may not read all.
	Note string `json:"note,omitempty"`
}

// OperatorReadiness is how far the GPU operator runs.
type OperatorReadiness struct {
	// Release is the operator's HelmRelease of the highest provider; nil: there is none.
	Release Reading[*ReleaseState] `json:"release,omitzero"`
	// ClusterPolicy is the first by name; nil: there is none.
	ClusterPolicy Reading[*ClusterPolicyState] `json:"clusterPolicy,omitzero"`
	// Operands are the device plugin's and the feature discovery's DaemonSets, sorted by namespace and name.
	Operands Reading[[]Operand] `json:"operands,omitzero"`
}

// ServingReadiness is how far model serving runs. Configs, Presets, ModelsGateway and Webhook are read only where
// serving is present, and not read is known and nil.
type ServingReadiness struct {
	// Release is the cluster's slice, ready once every child is too; nil: there is none of this product's.
	Release Reading[*ReleaseState] `json:"release,omitzero"`
	// Children are the releases that the slice rendered, sorted by name.
	Children Reading[[]ReleaseState] `json:"children,omitzero"`
	// Controllers are KServe's, sorted by namespace and name.
	Controllers   Reading[[]Controller]   `json:"controllers,omitzero"`
	Configs       Reading[*int]           `json:"configs,omitzero"`
	Backend       BackendState            `json:"backend,omitzero"`
	Presets       Reading[*int]           `json:"presets,omitzero"`
	ModelsGateway Reading[*ModelsGateway] `json:"modelsGateway,omitzero"`
	Webhook       Reading[*Webhook]       `json:"webhook,omitzero"`
	// Cache is what the slice's values say of the model cache; nil: there is no slice of this product's.
	Cache       Reading[*CacheState]  `json:"cache,omitzero"`
	CacheClaims Reading[[]CacheClaim] `json:"cacheClaims,omitzero"`
}

// ReleaseState is the state of a HelmRelease.
type ReleaseState struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Ready is the condition of that name; nil: it is Unknown, or not there yet.
	Ready *bool `json:"ready,omitempty"`
	// Reason is the condition's; Message its text on one line, given only while the release is not ready.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is when the condition last changed.
	Since     *time.Time `json:"since,omitempty"`
	DeletedAt *time.Time `json:"deletedAt,omitempty"`
}

// IsReady says whether the release is known to be ready and stays.
func (s ReleaseState) IsReady() bool { return s.Ready != nil && *s.Ready && s.DeletedAt == nil }

// ClusterPolicyState is the GPU operator's own state: ready, notReady or ignored; "" before it wrote one.
type ClusterPolicyState struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

// Operand is a DaemonSet that the GPU operator runs on GPU nodes.
type Operand struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Desired and Ready are status.desiredNumberScheduled and status.numberReady.
	Desired int `json:"desired"`
	Ready   int `json:"ready"`
}

// Controller is a controller's Deployment.
type Controller struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Available is status.readyReplicas, Replicas spec.replicas.
	Available int `json:"available"`
	Replicas  int `json:"replicas"`
}

// CacheState is what a slice's values say of the model cache.
type CacheState struct {
	Enabled bool `json:"enabled"`
	// Claim is the claim that predictors mount; "" while the cache is off.
	Claim string `json:"claim,omitempty"`
}

// Webhook is the admission webhook of LLMInferenceServices.
type Webhook struct {
	// Configurations admit them: <resource>/<name>, sorted.
	Configurations []string `json:"configurations"`
	// Namespace and Service are what the first of them calls.
	Namespace string `json:"namespace,omitempty"`
	Service   string `json:"service,omitempty"`
	// Endpoints counts the Service's ready addresses; nil: they could not be read, and Message says why.
	Endpoints *int `json:"endpoints,omitempty"`
	// Ready is nil when the endpoints could not be read; Message says why.
	Ready   *bool  `json:"ready,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// ModelsGateway is the Gateway that listens for the models host.
type ModelsGateway struct {
	Name        string              `json:"name"`
	Namespace   string              `json:"namespace"`
	Ready       bool                `json:"ready"`
	Reason      string              `json:"reason,omitempty"`
	Message     string              `json:"message,omitempty"`
	Listener    GatewayListener     `json:"listener"`
	Certificate *GatewayCertificate `json:"certificate,omitempty"`
	// CertificateNote says why the certificate could not be looked for.
	CertificateNote string `json:"certificateNote,omitempty"`
}

// GatewayListener is a Gateway's listener. A condition that is not there yet is false.
type GatewayListener struct {
	Name         string `json:"name"`
	Hostname     string `json:"hostname"`
	Programmed   bool   `json:"programmed"`
	ResolvedRefs bool   `json:"resolvedRefs"`
	Reason       string `json:"reason,omitempty"`
}

// GatewayCertificate is the Certificate behind a listener's TLS Secret.
type GatewayCertificate struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Ready     bool   `json:"ready"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	// Challenge is the pending ACME challenge: <type> <state>: <reason>.
	Challenge string `json:"challenge,omitempty"`
}

// PoolReleaseState is a HelmRelease of the gpu-node-pool chart.
type PoolReleaseState struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// ChartVersion is status.lastAttemptedRevision, else spec.chart.spec.version; "" when neither is there.
	ChartVersion string `json:"chartVersion"`
	// Ready is the condition of that name; nil: it is Unknown, or not there yet.
	Ready    *bool `json:"ready,omitempty"`
	Deleting bool  `json:"deleting,omitempty"`
}

// CommitTarget is where in git a cluster stands, as answers show it. Where that could not be followed, Note alone is
// given.
type CommitTarget struct {
	// Repository is owner/name, Kustomization namespace/name of the one that applies the cluster.
	Repository    string `json:"repository,omitempty"`
	Branch        string `json:"branch,omitempty"`
	Path          string `json:"path,omitempty"`
	Kustomization string `json:"kustomization,omitempty"`
	Prune         *bool  `json:"prune,omitempty"`
	Note          string `json:"note,omitempty"`
}
