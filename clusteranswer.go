package clustermanager

// Release sources of an answer's oidc and rbac blocks.
const (
	// SourceInstallation: the server's own settings.
	SourceInstallation = "installation"
	// SourceComposed: what was read of the release chart and the organization, put together.
	SourceComposed = "composed"
	// SourceValues: the caller's values.
	SourceValues = "values"
	// SourceNone: nothing.
	SourceNone = "none"
)

// ClusterOIDC says which identity provider a new cluster's API server trusts.
type ClusterOIDC struct {
	Source        string `json:"source"`
	IssuerURL     string `json:"issuerUrl,omitempty"`
	ClientID      string `json:"clientId,omitempty"`
	UsernameClaim string `json:"usernameClaim,omitempty"`
	GroupsClaim   string `json:"groupsClaim,omitempty"`
	// CA says whether the block holds the provider's certificate authority.
	CA   bool   `json:"ca,omitempty"`
	Note string `json:"note,omitempty"`
}

// ClusterRBAC says who is bound cluster-wide on a new cluster.
type ClusterRBAC struct {
	Source string   `json:"source"`
	Role   string   `json:"role,omitempty"`
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
	Note   string   `json:"note,omitempty"`
}

// ReleaseList is the answer of list_releases.
type ReleaseList struct {
	// Providers are the lines that create_cluster offers.
	Providers []string `json:"providers"`
	// Releases are sorted by provider, newest first.
	Releases []ListedRelease `json:"releases"`
	Note     string          `json:"note,omitempty"`
}

// ListedRelease is a Release as list_releases answers it.
type ListedRelease struct {
	Name              string `json:"name"`
	Provider          string `json:"provider"`
	Version           string `json:"version"`
	State             string `json:"state"`
	Date              string `json:"date,omitempty"`
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// ClusterChart is cluster-<provider>@<version>.
	ClusterChart string      `json:"clusterChart,omitempty"`
	ReleaseChart ListedChart `json:"releaseChart"`
	// Offered says whether create_cluster takes the release, Note why not.
	Offered bool   `json:"offered"`
	Note    string `json:"note,omitempty"`
}

// ListedChart is the release chart of a Release.
type ListedChart struct {
	URL     string `json:"url"`
	Version string `json:"version"`
	// Published says whether the registry lists the version; absent: it could not be read, and Note says why.
	Published *bool  `json:"published,omitempty"`
	Note      string `json:"note,omitempty"`
}
