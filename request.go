package clustermanager

import (
	"regexp"
)

// Mode is the door a write leaves through.
type Mode string

const (
	ModeApply  Mode = "apply"
	ModeCommit Mode = "commit"
)

// Rules of create_node_pool's arguments, shared by the input schema and Validate.
const (
	// NodePoolNamePattern is what a pool may be called: 5 to 20 characters.
	NodePoolNamePattern = `^[a-z0-9][-a-z0-9]{3,18}[a-z0-9]$`
	// DefaultAccelerator is the accelerator of a pool that names none.
	DefaultAccelerator = "nvidia-l4"
	// DefaultMaxGPUs is the GPU limit of a pool that names none.
	DefaultMaxGPUs = 4
)

var nodePoolName = regexp.MustCompile(NodePoolNamePattern)

// CreateNodePoolRequest are the arguments of create_node_pool. A nil pointer is an argument that was not given.
type CreateNodePoolRequest struct {
	Cluster      string   `json:"cluster" jsonschema:"name of the cluster"`
	Namespace    string   `json:"namespace,omitempty" jsonschema:"needed only when several clusters have the name"`
	Name         string   `json:"name" jsonschema:"name of the pool: 5 to 20 lower-case letters, digits and dashes, starting and ending with a letter or digit"`
	Accelerator  string   `json:"accelerator,omitempty" jsonschema:"GPU of the nodes"`
	Sizes        []string `json:"sizes,omitempty" jsonschema:"instance sizes of the accelerator's family, such as xlarge; none: the chart's xlarge, 2xlarge, 4xlarge"`
	MaxGPUs      *int     `json:"maxGpus,omitempty" jsonschema:"most GPUs that the pool's nodes have together"`
	ChartVersion string   `json:"chartVersion,omitempty" jsonschema:"exact version of the gpu-node-pool chart; none: the newest below the next major"`
	Prewarm      bool     `json:"prewarm,omitempty" jsonschema:"launch the first node with the release; on the installation's own cluster only"`
	Zones        []string `json:"zones,omitempty" jsonschema:"availability zones the nodes are pinned to, of the cluster's node subnets; none: every zone"`
	Cache        *bool    `json:"cache,omitempty" jsonschema:"model cache of the serving slice; not given: as it is, off for a first slice"`
	Serving      *bool    `json:"serving,omitempty" jsonschema:"compose model serving with the pool; false: the pool alone"`
	Mode         Mode     `json:"mode,omitempty" jsonschema:"apply: on the installation; commit: a pull request in the repository that owns the cluster"`
	DryRun       bool     `json:"dryRun,omitempty" jsonschema:"show it and write nothing"`
}

// WithDefaults fills what was not given, except Cache and Serving's absence where absence has a meaning of its own.
func (r CreateNodePoolRequest) WithDefaults() CreateNodePoolRequest {
	if r.Accelerator == "" {
		r.Accelerator = DefaultAccelerator
	}
	if r.MaxGPUs == nil {
		limit := DefaultMaxGPUs
		r.MaxGPUs = &limit
	}
	if r.Serving == nil {
		serving := true
		r.Serving = &serving
	}
	if r.Mode == "" {
		r.Mode = ModeApply
	}
	return r
}

// Validate checks what needs neither a table nor a read. It expects the defaults filled.
func (r CreateNodePoolRequest) Validate() error {
	switch {
	case r.Cluster == "":
		return Refuse("cluster is missing: name the cluster that gets the pool")
	case !nodePoolName.MatchString(r.Name):
		return Refuse("pool name %q is not allowed: use 5 to 20 lower-case letters, digits and dashes, starting and ending with a letter or digit", r.Name)
	case *r.MaxGPUs < 1:
		return Refuse("maxGpus is %d: a pool needs at least 1", *r.MaxGPUs)
	}
	return nil
}
