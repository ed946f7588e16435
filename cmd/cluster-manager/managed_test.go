package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustermanager/cluster-manager/internal/identity/identitytest"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/managed"
)

// clusterCall asks a server for acme's clusters. The code is that of the envelope.
func clusterCall(t *testing.T, endpoint, token string) (status int, code managed.Code, header http.Header) {
	t.Helper()
	address := strings.TrimSuffix(endpoint, "/mcp") + "/api/compute/kubernetesClusters/list"
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(`{"tenantId": "acme"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var envelope managed.Envelope
	if json.Unmarshal(body, &envelope) == nil && envelope.Error != nil {
		code = envelope.Error.Code
	}
	return response.StatusCode, code, response.Header
}

// managedFlags switch the managed clusters API on, for a person of an issuer.
func managedFlags(t *testing.T, issuer string) map[string]string {
	t.Helper()
	folder := t.TempDir()
	catalogue := `bindings: [{tenant: acme, role: viewer, users: ["` + issuer + `|subject-of-jane"]}]`
	if err := os.WriteFile(filepath.Join(folder, "catalog.yaml"), []byte(catalogue), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"database": filepath.Join(folder, "records.db"), "catalog": filepath.Join(folder, "catalog.yaml"), "listen": "127.0.0.1:0",
		"snapshot": filepath.Join("..", "..", "fixtures", "installations", "gazelle"),
	}
}

// TestS01ManagedClustersAreServedWithDatabaseAndCatalogue: with neither, or with one, there is no route; with one the log names the
// other; without signing in nobody is answered.
func TestS01ManagedClustersAreServedWithDatabaseAndCatalogue(t *testing.T) {
	for name, test := range map[string]struct {
		without []string
		status  int
		code    managed.Code
		log     string
	}{
		"neither":             {[]string{"database", "catalog"}, 404, "", "serving"},
		"no catalogue":        {[]string{"catalog"}, 404, "", "missing=catalog"},
		"no database":         {[]string{"database"}, 404, "", "missing=database"},
		"nobody is asked who": {nil, 401, managed.Unauthenticated, "enable-oauth"},
	} {
		flags := managedFlags(t, "https://issuer.example.com")
		for _, gone := range test.without {
			delete(flags, gone)
		}
		above := []settings.Source{settings.Flags(flags)}
		resolved, err := settings.Resolve(above...)
		if err != nil {
			t.Fatal(err)
		}
		endpoint, log := startServerOf(t, serveOptions{Resolved: resolved, above: above, keep: t.TempDir()})
		if status, code, _ := clusterCall(t, endpoint, ""); status != test.status || code != test.code {
			t.Errorf("%s: %d %s", name, status, code)
		}
		if !strings.Contains(log.String(), test.log) {
			t.Errorf("%s: the log does not say %q: %s", name, test.log, log)
		}
	}
}

func TestC40ManagedClustersAreForCallersWhoSignIn(t *testing.T) {
	issuer := identitytest.Start(t)
	endpoint, log := signInServer(t, signInFlags(t, issuer.URL(), issuer.Authority(), managedFlags(t, issuer.URL())))
	status, code, header := clusterCall(t, endpoint, "")
	if status != 401 || code != managed.Unauthenticated || !strings.HasPrefix(header.Get("WWW-Authenticate"), "Bearer ") {
		t.Errorf("without a token: %d %s %q", status, code, header.Get("WWW-Authenticate"))
	}
	token := issuer.Token(t, nil)
	if status, _, _ := clusterCall(t, endpoint, token); status != 200 {
		t.Errorf("a viewer: %d", status)
	}
	if status, code, _ := clusterCall(t, endpoint, issuer.Token(t, map[string]any{"sub": "another"})); status != 403 || code != managed.AccessDenied {
		t.Errorf("somebody else: %d %s", status, code)
	}
	if status, _, _ := clusterCall(t, endpoint, issuer.Token(t, map[string]any{"exp": 1})); status != 401 {
		t.Errorf("an expired token: %d", status)
	}
	if status, body := page(t, strings.TrimSuffix(endpoint, "/mcp")+"/api/compute/openapi.json"); status != 200 || !strings.Contains(body, `"openapi":"3.1.0"`) {
		t.Errorf("the description: %d %s", status, body)
	}
	if bytes.Contains([]byte(log.String()), []byte(token)) {
		t.Error("the log has a token")
	}
}
