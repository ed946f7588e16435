package main

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clustermanager/cluster-manager/mcptools"
)

// What is exported of the installation, as the person who calls, gives the same answers from the folder. It needs the
// first part.
func (e *endToEnd) testSnapshot(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "gazelle")
	live := e.open(t, engineer)
	report, err := live.export(t.Context(), folder, e.github(engineer))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range report.Unread {
		// The definitions are read so that a kind without an object is served too. The tools read none on an installation.
		if !strings.Contains(line, "customresourcedefinitions.apiextensions.k8s.io") {
			t.Errorf("not exported: %s", line)
		}
	}
	e.keepsSecrets(t, folder)
	opened, err := openSnapshot(t.Context(), snapshotOptions{
		directory: folder, now: time.Now, forge: &outsideForge{addresses: e.forge, token: e.tokens["jane"]},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	online, offline := e.as(t, engineer), dialed(t, opened)
	calls := []struct {
		tool      string
		arguments map[string]any
	}{
		{"list_clusters", nil},
		{"list_releases", nil},
		{"list_node_pools", map[string]any{"cluster": "wc1"}},
		{"create_node_pool", map[string]any{"cluster": "wc1", "name": "gpu-l4", "mode": "commit", "dryRun": true}},
		{"create_node_pool", map[string]any{"cluster": "wc1", "name": "gpu-a10g", "accelerator": "nvidia-a10g", "mode": "commit", "dryRun": true}},
		{"create_node_pool", map[string]any{"cluster": "wc1", "name": "gpu-a10g", "accelerator": "nvidia-a10g", "mode": "apply", "dryRun": true}},
		{"create_node_pool", map[string]any{"cluster": "wc1", "name": "gpu-a10g", "accelerator": "nvidia-a10g", "serving": false, "mode": "apply", "dryRun": true}},
		{"create_cluster", map[string]any{"organization": "acme", "name": "wc5", "provider": "aws", "mode": "commit", "dryRun": true}},
		{"delete_node_pool", map[string]any{"cluster": "wc1", "name": "gpu-l4", "mode": "commit", "dryRun": true}},
	}
	for _, call := range calls {
		want, got := comparableAnswer(t, online, call.tool, call.arguments), comparableAnswer(t, offline, call.tool, call.arguments)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %v (-live +folder):\n%s", call.tool, call.arguments, diff)
		}
	}
}

// keepsSecrets wants nothing in a folder that opens something.
func (e *endToEnd) keepsSecrets(t *testing.T, folder string) {
	t.Helper()
	hidden := map[string]string{
		"a registry's password": registryPassword, "the platform's password": "not-a-real-password-of-the-platform",
		"jane's GitHub token": e.tokens["jane"].Reveal(), "jane's token": e.bed.Token(engineer).Reveal(),
		"the token of wc1's kubeconfig": e.wc1.Admin().BearerToken,
	}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for what, secret := range hidden {
			if strings.Contains(string(content), secret) || strings.Contains(string(content), base64.StdEncoding.EncodeToString([]byte(secret))) {
				t.Errorf("%s: %s is in it", path, what)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// comparableAnswer is an answer, or the class and words of a refusal.
func comparableAnswer(t *testing.T, client *mcptools.Client, tool string, arguments map[string]any) any {
	t.Helper()
	result := called(t, client, tool, arguments)
	if result.Reason != "" {
		return string(result.Reason) + ": " + strings.Join(result.Texts, " ")
	}
	var answer any
	if err := json.Unmarshal([]byte(result.Texts[0]), &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// dialed serves the tools over HTTP, and connects a client.
func dialed(t *testing.T, opened *installation) *mcptools.Client {
	t.Helper()
	server := httptest.NewServer(opened.tools.Handler("/mcp"))
	t.Cleanup(server.Close)
	client, err := mcptools.Dial(t.Context(), server.URL+"/mcp", version)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
