package clustermanager

import "encoding/json"

// ReleaseChart is the chart release-<provider> at one version, which a cluster is installed from.
type ReleaseChart struct {
	// URL is the chart's OCI address without a tag.
	URL     string `json:"url"`
	Version string `json:"version"`
	// Values are the chart's own values.yaml.
	Values map[string]any `json:"values"`
	// Schema is its values.schema.json; empty: it has none.
	Schema json.RawMessage `json:"schema,omitempty"`
	// RBACBootstrap is its file charts/cluster/files/helmreleases/rbac-bootstrap.yaml; nil: it has none.
	RBACBootstrap *string `json:"rbacBootstrap,omitempty"`
}
