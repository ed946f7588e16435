package clustermanager

// RemoveModelCacheRequest are the arguments of remove_model_cache.
type RemoveModelCacheRequest struct {
	Cluster   string `json:"cluster" jsonschema:"name of the cluster"`
	Namespace string `json:"namespace,omitempty" jsonschema:"needed only when several clusters have the name"`
	Claim     string `json:"claim,omitempty" jsonschema:"one claim, as list_clusters names it; not given: all"`
	Mode      Mode   `json:"mode,omitempty" jsonschema:"apply removes on the cluster; commit answers what to do instead"`
	DryRun    bool   `json:"dryRun,omitempty" jsonschema:"show it and write nothing"`
}

// WithDefaults fills what was not given.
func (r RemoveModelCacheRequest) WithDefaults() RemoveModelCacheRequest {
	if r.Mode == "" {
		r.Mode = ModeApply
	}
	return r
}

// CacheRemovalSurvey is what was observed for the removal of a cluster's model cache.
type CacheRemovalSurvey struct {
	Survey
	// Mounts are the claims of the serving namespace that pods mount which have not ended, by pod, then claim.
	Mounts Reading[[]ClaimMount] `json:"mounts"`
}

// ClaimMount is a pod that mounts a claim.
type ClaimMount struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Claim     string `json:"claim"`
	// Kind and Model are the kind and name of the object that the pod serves for; "": it serves for none.
	Kind  string `json:"kind,omitempty"`
	Model string `json:"model,omitempty"`
}
