package clustermanager

// DeleteNodePoolRequest are the arguments of delete_node_pool.
type DeleteNodePoolRequest struct {
	Cluster   string `json:"cluster" jsonschema:"name of the cluster"`
	Namespace string `json:"namespace,omitempty" jsonschema:"needed only when several clusters have the name"`
	Name      string `json:"name" jsonschema:"name of the pool, as create_node_pool was given it"`
	Force     bool   `json:"force,omitempty" jsonschema:"remove the pool although its nodes are busy, models wait for one, or the cluster cannot be read"`
	Mode      Mode   `json:"mode,omitempty" jsonschema:"apply: on the installation; commit: a pull request in the repository that owns the cluster"`
	DryRun    bool   `json:"dryRun,omitempty" jsonschema:"show it and write nothing"`
}

// WithDefaults fills what was not given.
func (r DeleteNodePoolRequest) WithDefaults() DeleteNodePoolRequest {
	if r.Mode == "" {
		r.Mode = ModeApply
	}
	return r
}

// Validate checks what needs no read.
func (r DeleteNodePoolRequest) Validate() error {
	switch {
	case r.Cluster == "":
		return Refuse("cluster is missing: name the cluster that the pool belongs to")
	case !nodePoolName.MatchString(r.Name):
		return Refuse("pool name %q is none that create_node_pool takes: name the pool as list_node_pools shows it, without the cluster's name", r.Name)
	}
	return nil
}

// NodePoolRemovalSurvey is what was observed for the removal of one pool.
type NodePoolRemovalSurvey struct {
	Survey
	// Pool is the pool as it stands, with the pods of each of its nodes.
	Pool NodePoolFacts `json:"pool"`
	// Parts are the releases that go with the cluster's last pool.
	Parts ClusterParts `json:"parts"`
	// Predictors are the pods of the serving namespace that KServe made, sorted by name.
	Predictors Reading[[]Predictor] `json:"predictors"`
	// Configs are the serving configurations of every namespace of the cluster, sorted.
	Configs Reading[[]ObjectReference] `json:"configs"`
}

// Predictor is a pod that serves a model.
type Predictor struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Kind and Model are the kind and name of the object that it serves for.
	Kind  string `json:"kind"`
	Model string `json:"model"`
	Phase string `json:"phase,omitempty"`
	// NodeName is the node that it is on; "": none.
	NodeName string `json:"nodeName,omitempty"`
	// Pools are the releases of the pools that it names by its node selector, its required node affinity or Karpenter's
	// latest nomination; none: it may run on any.
	Pools []string `json:"pools,omitempty"`
}

// Finished says that the pod has ended.
func (p Predictor) Finished() bool { return p.Phase == "Succeeded" || p.Phase == "Failed" }
