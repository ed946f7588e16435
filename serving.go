package clustermanager

// ServingSurvey is what model serving on a cluster is decided from. "The target" is the cluster itself, as against the
// installation that manages it; both are one for the installation's own cluster.
type ServingSurvey struct {
	// Endpoint is where the target's API server answers, from the cluster's kubeconfig Secret. The own cluster's is
	// read too, and no decision needs it.
	Endpoint Reading[Endpoint] `json:"endpoint,omitzero"`
	// Component is what serves models on the target, and who put it there.
	Component Component `json:"component,omitzero"`
	// Slice is the release of ours that serves models; nil: there is none. A release of its name that is not ours is in
	// Survey.Live.
	Slice Reading[*Slice] `json:"slice,omitzero"`
	// OtherSlices are the slices of other clusters in the cluster's namespace, sorted by name.
	OtherSlices Reading[[]Slice] `json:"otherSlices,omitzero"`
	// Platform is the installation's own agent-platform release, which a slice takes after.
	Platform Reading[Platform] `json:"platform,omitzero"`
	// GatewayAPI is the target's Gateway API.
	GatewayAPI Reading[GatewayAPI] `json:"gatewayApi,omitzero"`
	// Issuer is the check of the ClusterIssuer that a slice with its own certificate needs. Unknown with a refusal: it
	// cannot issue.
	Issuer Reading[CertificateIssuer] `json:"issuer,omitzero"`
	// Backends are model-manager's backend documents that this product registered, of every cluster, sorted by name.
	Backends Reading[[]Backend] `json:"backends,omitzero"`
	// Presets are the serving presets that the target publishes, sorted by name.
	Presets Reading[[]Preset] `json:"presets,omitzero"`
	// CacheClaims are the model cache claims of the target, sorted by name.
	CacheClaims Reading[[]CacheClaim] `json:"cacheClaims,omitzero"`
	// Namespace is the target's serving namespace; nil: there is none.
	Namespace Reading[*ServingNamespace] `json:"namespace,omitzero"`
	// Configs are the serving configurations of the slice's namespace on the target.
	Configs Reading[ServingConfigs] `json:"configs,omitzero"`
	// Models are every model served on the target, sorted by kind, namespace and name.
	Models Reading[[]ServedModel] `json:"models,omitzero"`
	// PrepullImages are the images that somebody else's serving pulls ahead on the target, in their order.
	PrepullImages Reading[[]string] `json:"prepullImages,omitzero"`
	// Charts is what the registry holds for the slice's version.
	Charts Reading[SliceCharts] `json:"charts,omitzero"`
}

// Endpoint is where an API server answers and by which authority it is known.
type Endpoint struct {
	Server string `json:"server"`
	// CABundle is PEM.
	CABundle string `json:"caBundle"`
}

// Node is a node of the target as the GPU operator's composition sees it.
type Node struct {
	Name    string `json:"name"`
	OSImage string `json:"osImage,omitempty"`
	// Labels are those that begin with nvidia.com/ and giantswarm.io/machine-pool, no other.
	Labels map[string]string `json:"labels,omitempty"`
	// GPUs are the allocatable nvidia.com/gpu.
	GPUs int `json:"gpus,omitempty"`
}

// Slice is a cluster's agent-platform release.
type Slice struct {
	ReleaseUptake
	Cluster string         `json:"cluster"`
	Release NamespacedName `json:"release"`
	Owned   bool           `json:"owned"`
	// Values are the release's spec.values.
	Values Values `json:"values"`
	// Tag or Range is what its OCIRepository follows; both "": the OCIRepository is absent.
	Tag   string `json:"tag,omitempty"`
	Range string `json:"range,omitempty"`
	// Deployed is status.history[0].chartVersion; "" before the first install.
	Deployed string `json:"deployed,omitempty"`
	// Removing says that the release is being deleted, or stands without its OCIRepository.
	Removing bool `json:"removing,omitempty"`
}

// Platform is the installation's own release of the agent-platform chart.
type Platform struct {
	Release NamespacedName `json:"release"`
	// ChartVersion is status.history[0].chartVersion, with the build metadata that Flux appends; "" when nothing is
	// deployed yet.
	ChartVersion string `json:"chartVersion"`
	// Domain is global.domain, Identity global.identity as it stands.
	Domain   string         `json:"domain"`
	Identity map[string]any `json:"identity,omitempty"`
	// TLSSecret is gatewayApi.gateway.tls.secretName; "" when the platform names none.
	TLSSecret string `json:"tlsSecret,omitempty"`
	// DexNamespace and DexPort are gateway.jwksEgress.namespace and .port; "" and 0 where they stand at the default.
	DexNamespace string `json:"dexNamespace,omitempty"`
	DexPort      int    `json:"dexPort,omitempty"`
	// Namespace is where the platform's workloads run: gitops.targetNamespace, else status.history[0].namespace.
	Namespace string `json:"namespace,omitempty"`
	// SubstrateNamespace is components.substrate.targetNamespace; "" where it stands at the default.
	SubstrateNamespace string `json:"substrateNamespace,omitempty"`
	// ModelManagerVersion is the deployed chart version of the model-manager release that the platform rendered.
	ModelManagerVersion Reading[string] `json:"modelManagerVersion,omitzero"`
}

// GatewayAPI is what the target says of the Gateway API.
type GatewayAPI struct {
	Installed bool `json:"installed"`
	// Version and Channel are the annotations of the bundle; "" when the CRD carries none.
	Version string `json:"version,omitempty"`
	Channel string `json:"channel,omitempty"`
	// ComposedBy is the annotation cluster-manager.giantswarm.io/gateway-api-composed-by: <namespace>/<slice release>.
	ComposedBy string `json:"composedBy,omitempty"`
}

// CertificateIssuer is a ClusterIssuer that can issue for the models host.
type CertificateIssuer struct {
	Name string `json:"issuer"`
	// Solver is http01 or dns01; "" for an issuer that is not ACME. Zone is the DNS zone of a dns01 solver.
	Solver string `json:"solver,omitempty"`
	Zone   string `json:"zone,omitempty"`
}

// Backend is a backend document of model-manager.
type Backend struct {
	ConfigMap NamespacedName `json:"configMap"`
	// Name is the backend's, from the document: kserve or kserve-<cluster>.
	Name string `json:"name"`
	// Cluster is the label giantswarm.io/cluster, Organization the document's spec.kserve.target.organization.
	Cluster      string `json:"cluster"`
	Organization string `json:"organization,omitempty"`
	Owned        bool   `json:"owned"`
	// Document is the document as it stands.
	Document string `json:"document,omitempty"`
}

// Preset is a serving preset, as far as its fit on a node is concerned.
type Preset struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName,omitempty"`
	Model       string `json:"model,omitempty"`
	// CPU and Memory are the requests as Kubernetes quantities; "" when none is set.
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
	// GPUs is 1 where the preset names none, OverheadGiB 30.
	GPUs        int     `json:"gpus"`
	WeightsGiB  float64 `json:"weightsGiB"`
	OverheadGiB float64 `json:"overheadGiB"`
}

// ServingNamespace is the namespace that models are served in.
type ServingNamespace struct {
	Name     string `json:"name"`
	Deleting bool   `json:"deleting,omitempty"`
	// Retired is the annotation cluster-manager.giantswarm.io/retired: <RFC3339>: <reason>.
	Retired string `json:"retired,omitempty"`
	// RenderedBy is the HelmRelease that its Flux labels name.
	RenderedBy NamespacedName `json:"renderedBy"`
}

// ServingConfigs are the LLMInferenceServiceConfigs of the slice's namespace.
type ServingConfigs struct {
	Namespace string `json:"namespace"`
	Count     int    `json:"count"`
	// Terminating are the names of those that are being deleted, sorted.
	Terminating []string `json:"terminating,omitempty"`
	// ControllerRuns says that the llm-d controller has a ready replica.
	ControllerRuns Reading[bool] `json:"controllerRuns"`
}

// ServedModel is an InferenceService or LLMInferenceService of the target.
type ServedModel struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Model is the model's id; "" when it is not known.
	Model string `json:"model,omitempty"`
	// Managed says that model-manager put it into the serving namespace.
	Managed  bool `json:"managed,omitempty"`
	Deleting bool `json:"deleting,omitempty"`
}

// longestModel is how many characters of a model's id a sentence repeats.
const longestModel = 120

// String is <Kind> <namespace>/<name>, and the model's id in parentheses when it is known, on one line.
func (m ServedModel) String() string {
	text := m.Kind + " " + NamespacedName{m.Namespace, m.Name}.String()
	if m.Model != "" {
		text += " (" + OneLine(m.Model, longestModel) + ")"
	}
	return text
}

// SliceCharts are the charts that a slice at one version is made of, as the registry holds them.
type SliceCharts struct {
	// Version is the version of agent-platform that was read.
	Version string `json:"version"`
	// Values are agent-platform's own values.yaml.
	Values Reading[map[string]any] `json:"values,omitzero"`
	// Connectivity is the chart of the component agent-platform-connectivity at the version that agent-platform brings.
	Connectivity Reading[ConnectivityChart] `json:"connectivity,omitzero"`
}

// ConnectivityChart is the chart of the component agent-platform-connectivity.
type ConnectivityChart struct {
	Version string         `json:"version"`
	Values  map[string]any `json:"values"`
	// Presets are the presets that the chart ships, sorted by name.
	Presets []Preset `json:"presets,omitempty"`
}
