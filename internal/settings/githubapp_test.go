package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustermanager/cluster-manager/internal/settings"
)

// Id, key and webhook secret are there together or not at all; a fault tells no content.
func TestTheAppsSettingsGoTogether(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const secret = "webhook-secret-made-for-this-test"
	key, hook, empty := file("key.pem", "key-made-for-this-test\n"), file("secret", secret+"\n"), file("empty", "\n")
	whole := map[string]string{"github-app-id": "7", "github-app-private-key-file": key, "github-webhook-secret-file": hook}
	for name, test := range map[string]struct {
		given map[string]string
		want  string
	}{
		"none":                {map[string]string{}, ""},
		"all":                 {whole, ""},
		"the id alone":        {map[string]string{"github-app-id": "7"}, "github-app-id: it is for nothing without github-app-private-key-file and github-webhook-secret-file"},
		"no secret":           {map[string]string{"github-app-id": "7", "github-app-private-key-file": key}, "without github-webhook-secret-file"},
		"an id that is none":  {map[string]string{"github-app-id": "my-app"}, `"my-app" is no id of a GitHub App`},
		"an absent key":       {map[string]string{"github-app-private-key-file": filepath.Join(folder, "absent")}, "no such file"},
		"an empty secret":     {map[string]string{"github-webhook-secret-file": empty}, "the file is empty"},
		"the path of tools":   {map[string]string{"github-app-id": "7", "github-app-private-key-file": key, "github-webhook-secret-file": hook, "github-webhook-path": "/mcp"}, "choose another one"},
		"a path that is none": {map[string]string{"github-webhook-path": "hook"}, "no path such as /github/webhook"},
	} {
		resolved, err := settings.Resolve(settings.Flags(test.given))
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", name, err, test.want)
		case err != nil && strings.Contains(err.Error(), secret):
			t.Errorf("%s: the secret is told: %v", name, err)
		case name == "all" && (resolved.GitHubApp.ID != 7 || resolved.GitHubApp.WebhookSecret.Reveal() != secret || resolved.GitHubApp.WebhookPath != "/github/webhook"):
			t.Errorf("resolved: %+v", resolved.GitHubApp)
		}
	}
}
