package compose

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Which provider the cluster trusts: the caller's block whole, else the installation's, else none with a note.
func TestClusterOIDC(t *testing.T) {
	settings := clustermanager.Settings{IssuerURL: "https://dex.gazelle.example.io", ClientID: "dex-k8s-authenticator", IssuerCA: "-----BEGIN CERTIFICATE-----\nMIIBfixture\n-----END CERTIFICATE-----\n"}
	block := func(block any) object {
		return object{"global": object{"controlPlane": object{"oidc": block, "replicas": 3}}}
	}
	for name, test := range map[string]struct {
		settings clustermanager.Settings
		values   object
		want     clustermanager.ClusterOIDC
		oidc     any
	}{
		"installation": {settings, object{"global": object{"controlPlane": object{"replicas": 3}}},
			clustermanager.ClusterOIDC{Source: "installation", IssuerURL: settings.IssuerURL, ClientID: settings.ClientID, UsernameClaim: "email", GroupsClaim: "groups", CA: true},
			object{"issuerUrl": settings.IssuerURL, "clientId": settings.ClientID, "usernameClaim": "email", "groupsClaim": "groups", "caPem": settings.IssuerCA}},
		"the caller's": {settings, block(object{"issuerUrl": "https://other.example"}), clustermanager.ClusterOIDC{Source: "values", IssuerURL: "https://other.example"}, object{"issuerUrl": "https://other.example"}},
		"in any form":  {settings, block(object{}), clustermanager.ClusterOIDC{Source: "values"}, object{}},
		"none":         {clustermanager.Settings{IssuerURL: settings.IssuerURL}, object{}, clustermanager.ClusterOIDC{Source: "none"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			survey, request := freeName(t), newCluster("aws", "")
			survey.Settings, request.Values = test.settings, clustermanager.NewValues(test.values)
			cluster := clusterOf(t, request, survey)
			if (cluster.OIDC.Note == "") != (test.want.Source != "none") {
				t.Errorf("note %q", cluster.OIDC.Note)
			}
			cluster.OIDC.Note = ""
			if diff := cmp.Diff(test.want, cluster.OIDC) + cmp.Diff(test.oidc, lookup(valuesOf(t, cluster.Plan), "global", "controlPlane", "oidc")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// valuesOf are the values in the composed ConfigMap.
func valuesOf(t testing.TB, plan clustermanager.Plan) map[string]any {
	t.Helper()
	text, _, _ := unstructured.NestedString(plan.Steps[1].Object.Object, "data", "values.yaml")
	var values map[string]any
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}
