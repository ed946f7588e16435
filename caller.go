package clustermanager

// Caller is the person a call is made for. Only the authentication middleware makes one, or the offline installation
// from its settings, or a process that is its own caller (then without a Kubernetes token); everything behind it takes it
// as an argument. Nothing in the product acts with another identity.
type Caller struct {
	// Issuer is the identity provider, and Subject its name for the person; both are empty offline.
	Issuer  string `json:"issuer,omitempty"`
	Subject string `json:"subject,omitempty"`
	// Email is the username that the API servers take from the id_token.
	Email string `json:"email,omitempty"`
	// Groups are the identity provider's groups.
	Groups []string `json:"groups,omitempty"`
	// KubernetesToken is the id_token that is presented to every API server.
	KubernetesToken Secret `json:"kubernetesToken,omitzero"`
	// GitHub is the person's GitHub side; nil when the call carries no App user token, so mode commit is not theirs.
	GitHub *GitHubIdentity `json:"github,omitempty"`
	// NoGitHub says why GitHub is nil although the call carries a token, such as GitHub that does not answer.
	NoGitHub string `json:"-"`
}

// ConnectGitHub is the way out of a call whose GitHub token is missing or no longer accepted.
const ConnectGitHub = "connect GitHub where you signed in, then call again"

// GitHubIdentity is the caller as GitHub knows them, with the App user token that acts for them.
type GitHubIdentity struct {
	// Login is the account's name; "" where a process's own token is the caller's, until GitHub is asked.
	Login string `json:"login"`
	// Token is the GitHub App's user token of this person (ghu_…).
	Token Secret `json:"token,omitzero"`
}
