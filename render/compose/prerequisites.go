package compose

import (
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// missing is a prerequisite that the cluster's values lack.
type missing struct {
	what string
	// add is what has to be added, at path.
	add  any
	path []string
	// remark is a comment above the YAML; empty: none.
	remark string
}

// checkPrerequisites refuses a cluster whose values lack what a pool needs, naming everything that is missing at once.
func (d *decision) checkPrerequisites() error {
	effective, known := d.survey.Values.Get()
	if !known {
		return clustermanager.Refuse("%s: its values could not be read, and a pool needs its base domain: %s; see to that, then call again",
			d.cluster(), d.survey.Values.Reason())
	}
	values := effective.Values.Reveal()
	var lacks []missing
	if text(values, "global", "connectivity", "baseDomain") == "" {
		lacks = append(lacks, missing{
			what: "a base domain", add: "<base domain of the installation>", path: []string{"global", "connectivity", "baseDomain"},
		})
	}
	if managementCluster(values, d.survey.Settings) == "" {
		lacks = append(lacks, missing{
			what: "the name of its management cluster", add: "<name of the installation>", path: []string{"global", "managementCluster"},
		})
	}
	if lack, lacking := d.untrustedIssuer(values); lacking {
		lacks = append(lacks, lack)
	}
	if len(lacks) == 0 {
		return nil
	}
	return d.refuseMissing(lacks, owner(effective))
}

// untrustedIssuer asks whether the API server of a workload cluster takes the tokens of the server's identity provider.
// The installation's own does, else nobody would be signed in.
func (d *decision) untrustedIssuer(values map[string]any) (missing, bool) {
	settings := d.survey.Settings
	if d.survey.Cluster.Own || settings.IssuerURL == "" || settings.ClientID == "" {
		return missing{}, false
	}
	lack := missing{
		what: "trust in the issuer " + settings.IssuerURL + " with client id " + settings.ClientID,
		add:  oidcBlock(settings),
		path: oidcPath,
	}
	oidc, _ := lookup(values, oidcPath...).(map[string]any)
	structured, _ := oidc["structuredAuthentication"].(map[string]any)
	if enabled, _ := structured["enabled"].(bool); !enabled {
		return lack, !trusts(oidc, settings)
	}
	issuers, _ := structured["issuers"].([]any)
	for _, issuer := range issuers {
		if trusts(issuer, settings) {
			return missing{}, false
		}
	}
	lack.add, lack.path = []any{lack.add}, slices.Concat(oidcPath, []string{"structuredAuthentication", "issuers"})
	lack.remark = "# issuers is a list: keep the entries it has and append this one"
	return lack, true
}

// trusts compares an issuer's block with the settings; a trailing slash of the URL does not count.
func trusts(block any, settings clustermanager.Settings) bool {
	fields, _ := block.(map[string]any)
	return strings.TrimSuffix(text(fields, "issuerUrl"), "/") == strings.TrimSuffix(settings.IssuerURL, "/") &&
		text(fields, "clientId") == settings.ClientID
}

func (d *decision) refuseMissing(lacks []missing, owner string) error {
	var what, remarks []string
	add := map[string]any{}
	for _, lack := range lacks {
		what = append(what, lack.what)
		set(add, lack.add, lack.path...)
		if lack.remark != "" {
			remarks = append(remarks, lack.remark+"\n")
		}
	}
	// Maps of strings always encode.
	snippet, _ := yaml.Marshal(add)
	return clustermanager.Refuse("%s: a pool needs %s, which its values lack: add to %s\n\n%s%s\n"+
		"The change rolls the control plane, which takes about 15 minutes; run the call again once it is done",
		d.cluster(), strings.Join(what, " and "), owner, strings.Join(remarks, ""), snippet)
}
