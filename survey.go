package clustermanager

import "time"

// Survey is what was observed for one decision. It is built of Readings and can be written to a file and read back, so
// that a test's input is a file. A fact that no decision of the call needs is left unknown.
type Survey struct {
	// Now is the time of the call.
	Now time.Time `json:"now"`
	// Settings are the server's settings.
	Settings Settings `json:"settings"`
	// Cluster is the cluster that the call is about. That it exists is known before a survey is made.
	Cluster Cluster `json:"cluster"`
	// Values are the cluster's effective Helm values: the installation's below its own.
	Values Reading[EffectiveValues] `json:"values"`
	// Pins are the versions of the cluster's Release.
	Pins Reading[ReleasePins] `json:"pins"`
	// ControlPlaneVersion is the Kubernetes version that the control plane runs, without a leading v.
	ControlPlaneVersion Reading[string] `json:"controlPlaneVersion"`
	// Network is the cluster's region and the zones of its node subnets.
	Network Reading[Network] `json:"network"`
	// Pools are the cluster's pool releases, sorted by name.
	Pools Reading[[]PoolRelease] `json:"pools"`
	// Nodes are the target's nodes, sorted by name.
	Nodes Reading[[]Node] `json:"nodes,omitzero"`
	// GPUOperator is what runs GPU nodes on the target, and who put it there.
	GPUOperator Component `json:"gpuOperator,omitzero"`
	// Serving is what model serving is decided from; not read where serving is not asked for.
	Serving ServingSurvey `json:"serving,omitzero"`
	// Live are the objects on the installation under the names that the call would write. One that could not be read
	// has the reason; one that does not exist is known and nil.
	Live map[string]Reading[*LiveObject] `json:"live"`
	// Target is where in git the cluster's files go. Unknown with a refusal: what git or Flux has there cannot be
	// written to.
	Target Reading[Target] `json:"target"`
}

// LiveKey is the key of Survey.Live for an object: its identity's InventoryID.
func LiveKey(reference ObjectReference) string { return reference.InventoryID() }

// Cluster is a Cluster API cluster of the installation.
type Cluster struct {
	Namespace    string `json:"namespace"`
	Name         string `json:"name"`
	UID          string `json:"uid,omitempty"`
	Organization string `json:"organization"`
	// Release is the label release.giantswarm.io/version; "" when the cluster carries none.
	Release string `json:"release,omitempty"`
	// Own says that it is the installation's own cluster.
	Own bool `json:"own,omitempty"`
	// Deleting says that the cluster is being deleted.
	Deleting bool `json:"deleting,omitempty"`
}

// EffectiveValues are a cluster's Helm values and where a person changes them.
type EffectiveValues struct {
	Values Values `json:"values"`
	// Owner is where values are added, such as "HelmRelease org-acme/wc1".
	Owner string `json:"owner"`
}

// ReleasePins are the versions that a Release pins, without a leading v.
type ReleasePins struct {
	Release    string `json:"release"`
	Kubernetes string `json:"kubernetes"`
	Flatcar    string `json:"flatcar"`
	OSTooling  string `json:"osTooling"`
}

// MachineImage is the name of the image that the pins make.
func (p ReleasePins) MachineImage() string {
	return "flatcar-stable-" + p.Flatcar + "-kube-" + p.Kubernetes + "-tooling-" + p.OSTooling + "-gs"
}

// Network is what the cluster's infrastructure object tells of its network.
type Network struct {
	// Region is the provider's region, such as eu-central-1; "" when the object names none.
	Region string `json:"region"`
	// Zones are the zones of the node subnets, sorted.
	Zones []string `json:"zones"`
}

// PoolRelease is a HelmRelease of the gpu-node-pool chart.
type PoolRelease struct {
	Name  string `json:"name"`
	Pool  string `json:"pool"`
	Owned bool   `json:"owned"`
	// Accelerator and Sizes are the release's values pool.accelerator and pool.sizes; no sizes: the chart's default.
	Accelerator string   `json:"accelerator,omitempty"`
	Sizes       []string `json:"sizes,omitempty"`
	// Zones are the release's value pool.zones.
	Zones    []string `json:"zones,omitempty"`
	Deleting bool     `json:"deleting,omitempty"`
}

// LiveObject is what is known of an object on the installation for the ownership guard.
type LiveObject struct {
	Reference ObjectReference   `json:"reference"`
	Labels    map[string]string `json:"labels,omitempty"`
	// InInventoryOf is the Kustomization whose inventory lists the object; nil: none that its labels name.
	InInventoryOf *NamespacedName `json:"inInventoryOf,omitempty"`
	// DeletedAt is its deletionTimestamp; nil: it is not being deleted.
	DeletedAt *time.Time `json:"deletedAt,omitempty"`
}
