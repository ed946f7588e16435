package compose

import (
	"encoding/json"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Credentials among a new cluster's values never reach git, nor an answer; a ConfigMap holds them where the caller asks
// for one, with a warning. They are made for this test.
func TestClusterCredentials(t *testing.T) {
	request := newCluster("aws", "36.0.0")
	request.Values = clustermanager.NewValues(object{"global": object{
		"components": object{"containerd": object{"containerRegistries": object{"docker.io": []any{
			object{"endpoint": "registry-1.docker.io", "credentials": object{"username": "made-up-user", "password": "made-up-password"}},
		}}}},
		"connectivity": object{"proxy": object{"enabled": true, "httpProxy": "http://made-up-user:made-up-password@proxy.example.io:3128"}},
	}})
	const registry = "global.components.containerd.containerRegistries.docker.io[0].credentials."
	paths := []string{"global.connectivity.proxy.httpProxy", registry + "password", registry + "username"}
	_, err := Cluster(request, freeName(t))
	if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.Contains(err.Error(), "ConfigMap org-acme/dev01-values") || !strings.Contains(err.Error(), "mode apply") {
		t.Fatal(err)
	}
	request.Mode = clustermanager.ModeApply
	survey := freeName(t)
	survey.TenantBound = clustermanager.Known(true)
	made, applied := Cluster(request, survey)
	if applied != nil {
		t.Fatal(applied)
	}
	warned := strings.Join(made.Plan.Warnings, "\n")
	for _, path := range paths {
		if !strings.Contains(err.Error(), path) || !strings.Contains(warned, path) {
			t.Errorf("%s is not named in\n%v\n%s", path, err, warned)
		}
	}
	var shown []byte
	for _, step := range made.Plan.Steps {
		text, _ := json.Marshal(made.Shown[step.Reference()])
		shown = append(shown, text...)
	}
	if strings.Contains(err.Error()+warned+string(shown), "made-up") || strings.Count(string(shown), "redacted") != 3 {
		t.Errorf("%v\n%s\n%s", err, warned, shown)
	}
	if text, _ := json.Marshal(made.Plan.Steps[1].Object.Object); !strings.Contains(string(text), "made-up-password") {
		t.Errorf("what is written lost them: %s", text)
	}
}

// Without a provider of the server's the installation's own block stands, and is told.
func TestTheInstallationsTrustIsTold(t *testing.T) {
	survey := freeName(t)
	survey.Settings.IssuerURL = ""
	request := newCluster("aws", "36.0.0")
	if note := clusterOf(t, request, survey).OIDC.Note; !strings.Contains(note, "it takes nobody's token") {
		t.Error(note)
	}
	values := survey.InstallationValues.Or(clustermanager.Values{}).Reveal()
	set(values, "https://dex.example.io", "global", "controlPlane", "oidc", "issuerUrl")
	if note := clusterOf(t, request, survey).OIDC.Note; strings.Contains(note, "nobody") || !strings.Contains(note, "https://dex.example.io") {
		t.Error(note)
	}
}

// A release whose Release is gone still has a name in a sentence.
func TestAReleaseThatIsGoneHasAName(t *testing.T) {
	survey := made(t, "20.0.0")
	survey.Tags = clustermanager.Known([]string{})
	_, err := Cluster(newCluster("aws", ""), survey)
	if err == nil || !strings.Contains(err.Error(), "release aws-20.0.0 is not published") {
		t.Error(err)
	}
}
