package compose

import (
	"encoding/json"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Of the platform's identity a slice takes what it needs. The secret is made for this test.
func TestTheSliceTakesNoSecretOfTheIdentity(t *testing.T) {
	survey := servingOf(t, "wc1")
	survey.Serving.Platform = changed(survey.Serving.Platform, func(p *clustermanager.Platform) {
		p.Identity = map[string]any{
			"issuerUrl": "https://dex.gazelle.example.io", "clientId": "dex-k8s-authenticator", "existingSecret": "agent-platform-identity",
			"clientSecret": canary, "extra": map[string]any{"token": canary},
		}
	})
	text := listing(composed(t, serving("wc1", "gpu-l4"), survey).Plan)
	if strings.Contains(text, canary) || strings.Contains(text, "identity.extra") || strings.Count(text, "global.identity.") != 3 {
		t.Error(text)
	}
}

// A kubeconfig's address may carry a user; neither the document nor the answer does.
func TestTheBackendNamesNoUser(t *testing.T) {
	survey := servingOf(t, "wc1")
	survey.Serving.Endpoint = clustermanager.Known(clustermanager.Endpoint{Server: "https://user:" + canary + "@api.wc1.acme.example.io:6443", CABundle: "PEM"})
	made := composed(t, serving("wc1", "gpu-l4"), survey)
	text, _ := json.Marshal(made)
	if all := string(text) + listing(made.Plan); strings.Contains(all, canary) || !strings.Contains(all, `kserve.target.apiServer = "https://api.wc1.acme.example.io:6443"`) ||
		made.Backend.Target != "wc1 (https://api.wc1.acme.example.io:6443)" {
		t.Errorf("%s\n%s", made.Backend.Target, all)
	}
	survey.Serving.Endpoint = clustermanager.Known(clustermanager.Endpoint{Server: "https://user:" + canary + "@%zz"})
	if _, err := NodePool(serving("wc1", "gpu-l4"), survey); clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || strings.Contains(err.Error(), canary) {
		t.Errorf("no URL: %v", err)
	}
}

// What the prerequisite asks for is what a new cluster gets.
func TestTheMissingTrustIsTheWholeBlock(t *testing.T) {
	survey := surveyOf(t, "wc1")
	survey.Settings.IssuerURL, survey.Settings.ClientID, survey.Settings.IssuerCA = "https://dex.else.example.io", "else", "CA in PEM"
	_, err := NodePool(pool("wc1", "gpu-l4"), survey)
	for _, line := range []string{"clientId: else", "issuerUrl: https://dex.else.example.io", "usernameClaim: email", "groupsClaim: groups", "caPem: CA in PEM"} {
		if err == nil || !strings.Contains(err.Error(), "      "+line+"\n") {
			t.Errorf("%s is missing: %v", line, err)
		}
	}
}
