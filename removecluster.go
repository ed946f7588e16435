package clustermanager

import "time"

// DeleteClusterRequest are the arguments of delete_cluster.
type DeleteClusterRequest struct {
	Organization string `json:"organization" jsonschema:"organization of the cluster"`
	Name         string `json:"name" jsonschema:"name of the cluster"`
	Mode         Mode   `json:"mode,omitempty" jsonschema:"apply: on the installation; commit: a pull request in the repository that owns the organization"`
	DryRun       bool   `json:"dryRun,omitempty" jsonschema:"show it and write nothing"`
}

// WithDefaults fills what was not given.
func (r DeleteClusterRequest) WithDefaults() DeleteClusterRequest {
	if r.Mode == "" {
		r.Mode = ModeApply
	}
	return r
}

// RemoveClusterSurvey is what was observed for the removal of a cluster.
type RemoveClusterSurvey struct {
	// Now is the time of the call.
	Now time.Time `json:"now"`
	// Settings are the server's settings.
	Settings Settings `json:"settings"`
	// Cluster names the cluster: namespace, name, organization, and whether it is the installation's own.
	Cluster Cluster `json:"cluster"`
	// Running is the Cluster object; nil: there is none.
	Running Reading[*RunningCluster] `json:"running"`
	// Release is the cluster's HelmRelease; nil: there is none. Source and Values are the other two of its objects.
	Release Reading[*LiveRelease] `json:"release"`
	Source  Reading[*LiveObject]  `json:"source"`
	Values  Reading[*LiveObject]  `json:"values"`
	// Labelled are the HelmReleases and OCIRepositories of the namespace that are labelled with the cluster, Release and
	// Source among them, by kind and name.
	Labelled Reading[[]LiveObject] `json:"labelled"`
	// Neighbours are the names of the other clusters of the namespace, sorted.
	Neighbours Reading[[]string] `json:"neighbours"`
	// Backends are the cluster's backend documents of model-manager (Backend.Of), by name.
	Backends Reading[[]Backend] `json:"backends"`
	// Models are every model served on the cluster.
	Models Reading[[]ServedModel] `json:"models"`
	// Kustomization is the Flux Kustomization that has the release in its inventory; nil: none has.
	Kustomization Reading[*LiveKustomization] `json:"kustomization"`
	// Target is where in git the organization's clusters are listed, with its Placement's directory set.
	Target Reading[Target] `json:"target"`
}

// RunningCluster is what a removal asks of a Cluster object.
type RunningCluster struct {
	UID string `json:"uid,omitempty"`
	// DeletedAt is when it was deleted; nil: it was not.
	DeletedAt *time.Time `json:"deletedAt,omitempty"`
}

// LiveRelease is a HelmRelease as a removal sees it.
type LiveRelease struct {
	LiveObject
	ReleaseUptake
	Deleting bool `json:"deleting,omitempty"`
	// PruneDisabled says that an annotation keeps Flux from pruning it.
	PruneDisabled bool `json:"pruneDisabled,omitempty"`
}

// LiveKustomization is a Flux Kustomization as a removal sees it.
type LiveKustomization struct {
	LiveObject
	Prune bool `json:"prune,omitempty"`
	// DeletionPolicy is spec.deletionPolicy; "" is Flux's default, MirrorPrune.
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	// PruneDisabled says that an annotation keeps Flux from pruning it.
	PruneDisabled bool `json:"pruneDisabled,omitempty"`
}

// Removes says whether the objects that it applies go with the Kustomization when it is deleted.
func (k LiveKustomization) Removes() bool {
	switch k.DeletionPolicy {
	case "Orphan":
		return false
	case "Delete", "WaitForTermination":
		return true
	}
	return k.Prune
}
