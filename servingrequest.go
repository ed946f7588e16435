package clustermanager

// EnableModelServingRequest are the arguments of enable_model_serving. A nil pointer is an argument that was not given.
type EnableModelServingRequest struct {
	Cluster   string `json:"cluster" jsonschema:"name of the cluster"`
	Namespace string `json:"namespace,omitempty" jsonschema:"needed only when several clusters have the name"`
	Cache     *bool  `json:"cache,omitempty" jsonschema:"model cache of the serving slice; not given: as it is, off for a first slice"`
	Mode      Mode   `json:"mode,omitempty" jsonschema:"apply: on the installation; commit: a pull request in the repository that owns the cluster"`
	DryRun    bool   `json:"dryRun,omitempty" jsonschema:"show it and write nothing"`
}

// WithDefaults fills what was not given, except Cache, whose absence has a meaning of its own.
func (r EnableModelServingRequest) WithDefaults() EnableModelServingRequest {
	if r.Mode == "" {
		r.Mode = ModeApply
	}
	return r
}

// DisableModelServingRequest are the arguments of disable_model_serving.
type DisableModelServingRequest struct {
	Cluster   string `json:"cluster" jsonschema:"name of the cluster"`
	Namespace string `json:"namespace,omitempty" jsonschema:"needed only when several clusters have the name"`
	Force     bool   `json:"force,omitempty" jsonschema:"remove serving although models are served, or although what is served cannot be read"`
	Mode      Mode   `json:"mode,omitempty" jsonschema:"apply: on the installation; commit: a pull request in the repository that owns the cluster"`
	DryRun    bool   `json:"dryRun,omitempty" jsonschema:"show it and write nothing"`
}

// WithDefaults fills what was not given.
func (r DisableModelServingRequest) WithDefaults() DisableModelServingRequest {
	if r.Mode == "" {
		r.Mode = ModeApply
	}
	return r
}
