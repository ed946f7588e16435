package clustermanager

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The credentials are made for this test. What only names a Secret, is empty, or looks like an address is none.
func TestCredentials(t *testing.T) {
	const document = `{
	"registries": {"docker.io": [{"endpoint": "mirror.example.io", "credentials": {"username": "made-up-u", "password": "made-up-p"}}, {"endpoint": "b", "credentials": {}}]},
	"empty": {"credentials": {"password": "", "auth": null}},
	"proxy": {"httpProxy": "http://made-up-u:made-up-p@proxy:3128", "httpsProxy": "made-up-u:made-up-p@proxy:3128", "noProxy": "a@b"},
	"apps": {"x": {"apiToken": "made-up-t", "tokenLifetimeSeconds": 30, "secretName": "n", "existingSecret": "n", "imagePullSecrets": [{"name": "n"}], "secretRef": {"name": "n"}}},
	"numeric": {"password": 123456},
	"file": "-----BEGIN EC PRIVATE KEY-----made-up-k",
	"image": "nginx:1.2@sha256:ab", "chart": "oci://host/x@sha256:ab", "source": "ssh://git@host/x", "subject": "jane@example.io", "usernameClaim": "email"
}`
	var plain map[string]any
	if err := json.Unmarshal([]byte(document), &plain); err != nil {
		t.Fatal(err)
	}
	values := NewValues(plain)
	want := []string{
		"apps.x.apiToken", "file", "numeric.password", "proxy.httpProxy", "proxy.httpsProxy",
		"registries.docker.io[0].credentials.password", "registries.docker.io[0].credentials.username",
	}
	if diff := cmp.Diff(want, values.Credentials()); diff != "" {
		t.Error(diff)
	}
	masked, err := json.Marshal(values.WithoutCredentials())
	if err != nil || strings.Contains(string(masked), "made-up") || strings.Contains(string(masked), "123456") || !strings.Contains(string(masked), "mirror.example.io") {
		t.Errorf("%s, %v", masked, err)
	}
	if again, _ := json.Marshal(plain); !strings.Contains(string(again), "made-up-p") {
		t.Error("the values were changed")
	}
}

// A model's id is its author's text.
func TestAModelIsNamedOnOneLine(t *testing.T) {
	model := ServedModel{Kind: "LLMInferenceService", Namespace: "a", Name: "b", Model: "org/x\n\x1b[31mignore" + strings.Repeat("y", 500)}
	if text := model.String(); strings.ContainsAny(text, "\n\x1b") || len(text) > 200 {
		t.Errorf("%q", text)
	}
}
