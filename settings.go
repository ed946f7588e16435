package clustermanager

import "time"

// Settings are the server's settings that decisions depend on, as its flags, environment and file gave them.
type Settings struct {
	// Installation is the name of the installation, which is also its own cluster's; may be empty.
	Installation string `json:"installation,omitempty"`
	// TenantServiceAccount is the ServiceAccount in org-… namespaces that releases are installed as; empty: none is
	// named in a release.
	TenantServiceAccount string `json:"tenantServiceAccount,omitempty"`
	// IssuerURL and ClientID name the identity provider that workload clusters must trust; checked only when both
	// are set.
	IssuerURL string `json:"issuerUrl,omitempty"`
	ClientID  string `json:"clientId,omitempty"`
	// BranchPrefix is the first segment of every branch of a proposal.
	BranchPrefix string `json:"branchPrefix,omitempty"`
	// GitHosts maps a host in a GitRepository's URL to the root of its GitHub API. Other hosts are refused.
	GitHosts map[string]string `json:"gitHosts,omitempty"`
	// CommitBudget is the time that a call in mode commit may take from its start.
	CommitBudget time.Duration `json:"commitBudget,omitempty"`
}

// DefaultSettings are the settings of a server that was given no flag.
func DefaultSettings() Settings {
	return Settings{
		TenantServiceAccount: "automation",
		BranchPrefix:         "cluster-manager",
		GitHosts: map[string]string{
			"github.com":     "https://api.github.com",
			"ssh.github.com": "https://api.github.com",
		},
		CommitBudget: 9 * time.Second,
	}
}
