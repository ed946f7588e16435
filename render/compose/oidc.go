package compose

import (
	clustermanager "github.com/clustermanager/cluster-manager"
)

// Claims of an id_token that a cluster takes names from.
const (
	usernameClaim = "email"
	groupsClaim   = "groups"
)

var oidcPath = []string{"global", "controlPlane", "oidc"}

// composeOIDC makes the cluster's API server trust the provider that this server trusts. A block of the caller's, in any
// form, stays whole.
func (d *clusterDecision) composeOIDC() error {
	given, there, err := find(d.values, oidcPath)
	settings := d.survey.Settings
	switch {
	case err != nil:
		return clustermanager.Refuse("%s: values: %v, and a block belongs below it: make it one, or leave it out", d.named(), err)
	case there:
		block, _ := given.(map[string]any)
		d.oidc = clustermanager.ClusterOIDC{
			Source: clustermanager.SourceValues, IssuerURL: text(block, "issuerUrl"), ClientID: text(block, "clientId"),
			UsernameClaim: text(block, "usernameClaim"), GroupsClaim: text(block, "groupsClaim"), CA: text(block, "caPem") != "",
		}
	case settings.IssuerURL == "" || settings.ClientID == "":
		d.oidc = clustermanager.ClusterOIDC{
			Source: clustermanager.SourceNone,
			Note:   d.untrusting("this server does not know the identity provider and the audience that clusters trust (settings dex-issuer-url and cluster-oidc-client-id), so the cluster gets no such block: it takes nobody's token until values has global.controlPlane.oidc"),
		}
	default:
		set(d.values, oidcBlock(settings), oidcPath...)
		d.oidc = clustermanager.ClusterOIDC{
			Source: clustermanager.SourceInstallation, IssuerURL: settings.IssuerURL, ClientID: settings.ClientID,
			UsernameClaim: usernameClaim, GroupsClaim: groupsClaim, CA: settings.IssuerCA != "",
		}
	}
	return nil
}

// oidcBlock is the trust of a cluster's API server in the provider that this server trusts.
func oidcBlock(settings clustermanager.Settings) map[string]any {
	block := map[string]any{
		"issuerUrl": settings.IssuerURL, "clientId": settings.ClientID, "usernameClaim": usernameClaim, "groupsClaim": groupsClaim,
	}
	if settings.IssuerCA != "" {
		block["caPem"] = settings.IssuerCA
	}
	return block
}

// untrusting is the note where nothing is composed: the installation's values may have a block all the same.
func (d *clusterDecision) untrusting(note string) string {
	block, _ := lookup(d.installation, oidcPath...).(map[string]any)
	if len(block) == 0 {
		return note
	}
	return "this server composes no such block, and the installation's values have one, which the cluster takes: " + clustermanager.OneLine(text(block, "issuerUrl"), longestShown) + " with client id " + clustermanager.OneLine(text(block, "clientId"), longestShown)
}
