package compose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const issuer, clientID = "https://dex.gazelle.example.io", "dex-k8s-authenticator"

type object = map[string]any

func TestTrustedIssuer(t *testing.T) {
	trusted := object{"issuerUrl": issuer + "/", "clientId": clientID}
	entry := object{"issuerUrl": issuer, "clientId": clientID, "usernameClaim": "email", "groupsClaim": "groups"}
	block := object{"global": object{"controlPlane": object{"oidc": entry}}}
	structuredBlock := object{"global": object{"controlPlane": object{"oidc": object{"structuredAuthentication": object{
		"issuers": []any{entry},
	}}}}}
	for name, test := range map[string]struct {
		oidc   any
		change func(*clustermanager.Survey)
		want   object
	}{
		"trusted":                        {oidc: trusted},
		"no block":                       {want: block},
		"block of another form":          {oidc: "x", want: block},
		"another client":                 {oidc: object{"issuerUrl": issuer, "clientId": "other"}, want: block},
		"another issuer":                 {oidc: object{"issuerUrl": issuer + "/other", "clientId": clientID}, want: block},
		"own cluster":                    {change: func(s *clustermanager.Survey) { s.Cluster.Own = true }},
		"server without an issuer":       {change: func(s *clustermanager.Survey) { s.Settings.IssuerURL = "" }},
		"server without a client id":     {change: func(s *clustermanager.Survey) { s.Settings.ClientID = "" }},
		"structured, one of several":     {oidc: object{"structuredAuthentication": object{"enabled": true, "issuers": []any{object{}, "x", trusted}}}},
		"structured, none":               {oidc: object{"structuredAuthentication": object{"enabled": true}}, want: structuredBlock},
		"structured, only the block has": {oidc: object{"structuredAuthentication": object{"enabled": true}, "issuerUrl": issuer, "clientId": clientID}, want: structuredBlock},
		"structured off":                 {oidc: object{"structuredAuthentication": object{"enabled": false, "issuers": []any{trusted}}}, want: block},
	} {
		t.Run(name, func(t *testing.T) {
			survey := surveyOf(t, "wc1")
			survey.Settings.IssuerURL, survey.Settings.ClientID = issuer, clientID
			setValue(&survey, object{"oidc": test.oidc}, "controlPlane")
			if test.change != nil {
				test.change(&survey)
			}
			_, err := NodePool(pool("wc1", "gpu-l4"), survey)
			if test.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("not refused")
			}
			if diff := cmp.Diff(test.want, snippetOf(t, err.Error())); diff != "" {
				t.Error(diff)
			}
			if list := strings.Contains(err.Error(), "# issuers is a list: keep the entries it has and append this one\n"); list != strings.HasPrefix(name, "structured,") {
				t.Errorf("the remark on the list: %s", err)
			}
		})
	}
}

func TestAllMissingPrerequisitesAtOnce(t *testing.T) {
	survey := surveyOf(t, "wc1")
	survey.Settings = clustermanager.Settings{IssuerURL: issuer, ClientID: clientID}
	survey.Values = clustermanager.Known(clustermanager.EffectiveValues{Owner: "ConfigMap org-acme/wc1-userconfig"})
	_, err := NodePool(pool("wc1", "gpu-l4"), survey)
	if err == nil {
		t.Fatal("not refused")
	}
	const want = `Cluster org-acme/wc1: a pool needs a base domain and the name of its management cluster and trust in the issuer https://dex.gazelle.example.io with client id dex-k8s-authenticator, which its values lack: add to the values of ConfigMap org-acme/wc1-userconfig

global:
  connectivity:
    baseDomain: <base domain of the installation>
  controlPlane:
    oidc:
      clientId: dex-k8s-authenticator
      groupsClaim: groups
      issuerUrl: https://dex.gazelle.example.io
      usernameClaim: email
  managementCluster: <name of the installation>

The change rolls the control plane, which takes about 15 minutes; run the call again once it is done`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

// snippetOf decodes the YAML that a refusal tells to add.
func snippetOf(t *testing.T, message string) map[string]any {
	t.Helper()
	parts := strings.Split(message, "\n\n")
	if len(parts) != 3 {
		t.Fatalf("no YAML block in %q", message)
	}
	added := map[string]any{}
	if err := yaml.Unmarshal([]byte(parts[1]), &added); err != nil {
		t.Fatal(err)
	}
	return added
}
