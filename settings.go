package clustermanager

import "time"

// Settings are the server's settings that decisions depend on, as its flags, environment and file gave them.
type Settings struct {
	// Installation is the name of the installation, which is also its own cluster's; may be empty.
	Installation string `json:"installation,omitempty"`
	// TenantServiceAccount is the ServiceAccount in org-… namespaces that releases are installed as; empty: none is
	// named in a release.
	TenantServiceAccount string `json:"tenantServiceAccount,omitempty"`
	// ModelManagerNamespace is where backend documents go.
	ModelManagerNamespace string `json:"modelManagerNamespace,omitempty"`
	// ServingNamespace is the namespace on a target that models are served in, ServingCacheClaim the base name of the
	// model cache's claims there.
	ServingNamespace  string `json:"servingNamespace,omitempty"`
	ServingCacheClaim string `json:"servingCacheClaim,omitempty"`
	// SliceChartVersion pins the chart of every slice; "": it follows the platform's.
	SliceChartVersion string `json:"sliceChartVersion,omitempty"`
	// ModelsCertificateIssuer is the ClusterIssuer of the models host's certificate; "": none is named.
	ModelsCertificateIssuer string `json:"modelsCertificateIssuer,omitempty"`
	// GPUOperatorDCGMExporter switches the operator's metrics exporter on.
	GPUOperatorDCGMExporter bool `json:"gpuOperatorDcgmExporter,omitempty"`
	// IssuerURL and ClientID name the identity provider that workload clusters must trust; checked only when both
	// are set.
	IssuerURL string `json:"issuerUrl,omitempty"`
	ClientID  string `json:"clientId,omitempty"`
	// BranchPrefix is the first segment of every branch of a proposal.
	BranchPrefix string `json:"branchPrefix,omitempty"`
	// GitHosts maps a host in a GitRepository's URL to the root of its GitHub API. Other hosts are refused.
	GitHosts map[string]string `json:"gitHosts,omitempty"`
	// IssuerCA is the authority of the identity provider, PEM; "" where its certificate is publicly known.
	IssuerCA string `json:"issuerCa,omitempty"`
	// ApplyBudget is the time that writes to the installation may take from the call's start.
	ApplyBudget time.Duration `json:"applyBudget,omitempty"`
	// CommitBudget is the time that a call in mode commit may take from its start.
	CommitBudget time.Duration `json:"commitBudget,omitempty"`
}

// DefaultSettings are the settings of a server that was given no flag.
func DefaultSettings() Settings {
	return Settings{
		TenantServiceAccount:  "automation",
		ModelManagerNamespace: "agent-platform", ServingNamespace: "model-serving", ServingCacheClaim: "hf-cache",
		ModelsCertificateIssuer: "letsencrypt-giantswarm", ApplyBudget: 8 * time.Second,
		BranchPrefix: "cluster-manager",
		GitHosts: map[string]string{
			"github.com":     "https://api.github.com",
			"ssh.github.com": "https://api.github.com",
		},
		CommitBudget: 9 * time.Second,
	}
}
