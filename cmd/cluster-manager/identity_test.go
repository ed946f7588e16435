package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/identity"
	"github.com/clustermanager/cluster-manager/internal/identity/identitytest"
	"github.com/clustermanager/cluster-manager/internal/localforge"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/internal/telemetry"
	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// signInFlags are the flags of a server that callers of an issuer sign in to.
func signInFlags(t *testing.T, issuer, authority string, more map[string]string) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte(authority), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := map[string]string{
		"enable-oauth": "true", "oauth-base-url": "https://manager.example.com", "dex-issuer-url": issuer, "dex-ca-file": file,
		"oauth-trusted-audiences": identitytest.Audience, "allow-private-oauth-urls": "true", "sso-allow-private-ips": "true",
		"listen": "127.0.0.1:0", "downstream-oauth": "true",
	}
	maps.Copy(flags, more)
	return flags
}

// signInServer serves what the flags and the files say, and returns when callers can be told apart.
func signInServer(t *testing.T, flags map[string]string, files ...settings.Source) (endpoint string, log *lockedBuffer) {
	t.Helper()
	above := append([]settings.Source{settings.Flags(flags)}, files...)
	resolved, err := settings.Resolve(above...)
	if err != nil {
		t.Fatal(err)
	}
	options := serveOptions{Resolved: resolved, above: above}
	if resolved.Snapshot != "" {
		options.keep = t.TempDir()
	}
	endpoint, log = startServerOf(t, options)
	untilReady(t, strings.TrimSuffix(endpoint, "/mcp"))
	return endpoint, log
}

func untilReady(t *testing.T, root string) {
	t.Helper()
	err := testbed.Eventually(t.Context(), func(context.Context) error {
		if status, body := page(t, root+"/readyz"); status != http.StatusOK {
			return errors.New(body)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// page gets a page.
func page(t *testing.T, address string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
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
	return response.StatusCode, string(body)
}

// signedCall calls a tool with headers. The result is nil where the request was refused.
func signedCall(t *testing.T, endpoint string, header map[string]string, tool string, arguments map[string]any) (status int, result *toolAnswer) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments}})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"MCP-Protocol-Version": "2025-06-18"}
	maps.Copy(all, header)
	status, message := post(t, endpoint, string(body), all)
	if message["result"] == nil {
		return status, nil
	}
	encoded, err := json.Marshal(message["result"])
	if err != nil {
		t.Fatal(err)
	}
	result = &toolAnswer{}
	if err := json.Unmarshal(encoded, result); err != nil {
		t.Fatal(err)
	}
	return status, result
}

// toolAnswer is what is read of a tool's result.
type toolAnswer struct {
	IsError    bool
	Content    []struct{ Text string }
	Structured json.RawMessage `json:"structuredContent"`
}

func (a *toolAnswer) info(t *testing.T) mcptools.Info {
	t.Helper()
	var info mcptools.Info
	if err := json.Unmarshal(a.Structured, &info); err != nil {
		t.Fatal(err)
	}
	return info
}

func bearing(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// A server over a folder: probes and metadata are open, the tools are not, and an issuer that is down keeps it unready.
func TestServeAsksWhoCalls(t *testing.T) {
	issuer := identitytest.Start(t)
	issuer.SetDown(true)
	flags := signInFlags(t, issuer.URL(), issuer.Authority(), map[string]string{"snapshot": filepath.Join("..", "..", "fixtures", "installations", "gazelle")})
	above := []settings.Source{settings.Flags(flags)}
	resolved, err := settings.Resolve(above...)
	if err != nil {
		t.Fatal(err)
	}
	endpoint, log := startServerOf(t, serveOptions{Resolved: resolved, above: above, keep: t.TempDir()})
	root := strings.TrimSuffix(endpoint, "/mcp")
	token := issuer.Token(t, nil)
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable, "/mcp": http.StatusUnauthorized, "/.well-known/oauth-protected-resource": http.StatusOK} {
		if status, body := page(t, root+path); status != want {
			t.Errorf("%s while the issuer is down: %d %s", path, status, body)
		}
	}
	if status, result := signedCall(t, endpoint, bearing(token), "get_info", nil); status != http.StatusServiceUnavailable || result != nil {
		t.Errorf("a call while the issuer is down: %d", status)
	}
	issuer.SetDown(false)
	untilReady(t, root)
	if status, body := page(t, root+"/.well-known/oauth-protected-resource/mcp"); status != http.StatusOK || !strings.Contains(body, `"resource":"https://manager.example.com/mcp"`) {
		t.Errorf("metadata: %d %s", status, body)
	}
	// A gateway's name is not this machine's.
	header := bearing(token)
	header["Host"] = "manager.example.com"
	status, result := signedCall(t, endpoint, header, "get_info", nil)
	if status != http.StatusOK || result == nil || result.IsError {
		t.Fatalf("a call: %d %+v", status, result)
	}
	if info := result.info(t); info.Modes.Commit || !strings.Contains(strings.Join(info.Notes, "\n"), "callers sign in at "+issuer.URL()) {
		t.Errorf("%+v", info)
	}
	header["Origin"], header["Sec-Fetch-Site"] = "https://example.com", "cross-site"
	if status, _ := signedCall(t, endpoint, header, "get_info", nil); status != http.StatusForbidden {
		t.Errorf("a page of another site: %d", status)
	}
	if !strings.Contains(log.String(), "callers sign in at "+issuer.URL()) {
		t.Errorf("the log does not say who callers are: %s", log)
	}
}

// On a live installation every caller's own token goes to the API server, and while GitHub is down only mode commit is off.
func TestCallersOfALiveInstallation(t *testing.T) {
	live, issuer := newLive(t), identitytest.Start(t)
	flags := signInFlags(t, issuer.URL(), issuer.Authority(), map[string]string{
		"github-authorization-server": "https://github.com/apps/a-manager", "github-api-url": live.forge.APIURL(),
	})
	endpoint, log := signInServer(t, flags, settings.File(filepath.Join(live.folder, "config.yaml")))
	idToken := issuer.Token(t, nil)
	live.admitted.Store(&idToken)
	pair := func(user string) map[string]string {
		return map[string]string{"Authorization": "Bearer " + user, identity.IDTokenHeader: idToken}
	}
	var told strings.Builder
	call := func(header map[string]string, tool string, arguments map[string]any) *toolAnswer {
		t.Helper()
		status, result := signedCall(t, endpoint, header, tool, arguments)
		if status != http.StatusOK || result == nil {
			t.Fatalf("%s: %d", tool, status)
		}
		for _, content := range result.Content {
			told.WriteString(content.Text)
		}
		return result
	}
	pool := func(mode string) map[string]any {
		return map[string]any{"cluster": "wc1", "name": "gpu-l4", "serving": false, "mode": mode, "dryRun": true}
	}
	if info := call(pair(live.githubToken), "get_info", nil).info(t); !info.Modes.Commit || info.ClusterAPI.State != clustermanager.APIServed {
		t.Errorf("%+v", info)
	}
	if proposed := call(pair(live.githubToken), "create_node_pool", pool("commit")); proposed.IsError || !strings.Contains(proposed.Content[0].Text, `"author":"jane"`) {
		t.Errorf("mode commit: %s", proposed.Content[0].Text)
	}
	other := map[string]string{"Authorization": "Bearer " + live.githubToken, identity.IDTokenHeader: issuer.Token(t, map[string]any{"sub": "another"})}
	if info := call(other, "get_info", nil).info(t); info.ClusterAPI.State != clustermanager.APIUnknown {
		t.Errorf("another caller reads as the first one: %+v", info.ClusterAPI)
	}
	if status, result := signedCall(t, endpoint, pair("ghu_madeForTheTestUnknown01"), "get_info", nil); status != http.StatusUnauthorized || result != nil {
		t.Errorf("a user token that GitHub does not know: %d", status)
	}
	if status, _ := signedCall(t, endpoint, bearing(live.githubToken), "get_info", nil); status != http.StatusUnauthorized {
		t.Errorf("without an id_token: %d", status)
	}

	// The login of a token that GitHub knows is kept; one that is new to the server has to be asked for.
	const newToken = "ghu_madeForTheTestNew0123456789"
	live.forge.AddUser(localforge.User{Login: "jane", Email: "jane@acme.example", ID: 1, Token: clustermanager.NewSecret(newToken), Push: true})
	live.forge.Inject(localforge.Fault{Path: "**/user", Times: 3, Status: http.StatusBadGateway})
	if info := call(pair(newToken), "get_info", nil).info(t); info.ClusterAPI.State != clustermanager.APIServed {
		t.Errorf("get_info while GitHub is down: %+v", info)
	}
	if planned := call(pair(newToken), "create_node_pool", pool("apply")); planned.IsError || !strings.Contains(planned.Content[0].Text, "would-create") {
		t.Errorf("mode apply while GitHub is down: %s", planned.Content[0].Text)
	}
	if refused := call(pair(newToken), "create_node_pool", pool("commit")); !refused.IsError ||
		!strings.Contains(refused.Content[0].Text, "mode commit is not possible now, because GitHub cannot say whose authorization this is: status 502 Bad Gateway: call again later, or with mode apply") {
		t.Errorf("mode commit while GitHub is down: %s", refused.Content[0].Text)
	}
	if proposed := call(pair(newToken), "create_node_pool", pool("commit")); proposed.IsError {
		t.Errorf("mode commit once GitHub answers: %s", proposed.Content[0].Text)
	}
	secrets := needles{"an id_token": idToken, "its signature": idToken[strings.LastIndex(idToken, ".")+1:], "a user token": live.githubToken, "another": newToken, "the kubeconfig's": live.token}
	for _, leak := range append(secrets.find("the log", []byte(log.String())), secrets.find("an answer", []byte(told.String()))...) {
		t.Error(leak)
	}
	if !strings.Contains(log.String(), "tool=create_node_pool") {
		t.Error("there is no log to look through")
	}
}

// A server that keeps its callers' tokens to itself reads with its own credentials, and says so.
func TestCallersBesideTheServersOwnCredentials(t *testing.T) {
	live, issuer := newLive(t), identitytest.Start(t)
	flags := signInFlags(t, issuer.URL(), issuer.Authority(), map[string]string{"downstream-oauth": "false"})
	endpoint, log := signInServer(t, flags, settings.File(filepath.Join(live.folder, "config.yaml")))
	_, result := signedCall(t, endpoint, bearing(issuer.Token(t, nil)), "get_info", nil)
	if info := result.info(t); info.ClusterAPI.State != clustermanager.APIServed || !strings.Contains(strings.Join(info.Notes, "\n"), "with this server's own credentials") {
		t.Errorf("%+v", info)
	}
	_, result = signedCall(t, endpoint, bearing(issuer.Token(t, nil)), "list_node_pools", map[string]any{"cluster": "wc1"})
	if live.workload.Load() != 0 || !strings.Contains(result.Content[0].Text, "a workload cluster is read as the caller alone") {
		t.Errorf("the workload cluster was asked %d times: %s", live.workload.Load(), result.Content[0].Text)
	}
	if !strings.Contains(log.String(), "with this server's own credentials") {
		t.Errorf("the log does not say so: %s", log)
	}
}

// A server that callers sign in to takes no GitHub token of one person, and presents theirs to no other host.
func TestGitHubTokensOfAServer(t *testing.T) {
	live, issuer := newLive(t), identitytest.Start(t)
	resolved, err := settings.Resolve(settings.Flags(signInFlags(t, issuer.URL(), issuer.Authority(), nil)), settings.File(filepath.Join(live.folder, "config.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	in, err := newSignIn(resolved, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openLive(liveOptions{Resolved: resolved, signIn: in, github: githubToken{clustermanager.NewSecret(live.githubToken), live.forgeHost()}}); err != errTokenOfOne { //nolint:errorlint // it is returned as it is
		t.Errorf("got %v", err)
	}
	if _, err := in.resolve(resolved.Settings)(live.forge.CloneURL("acme", "fleet")); clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
		t.Errorf("the forge is not api.github.com: %v", err)
	}
	if _, err := in.resolve(resolved.Settings)("https://github.com/acme/fleet"); err != nil {
		t.Error(err)
	}
}

// In a pod of a lab nobody is asked who they are, and the server is asked by its Service's name.
func TestAPodOfALabIsAskedByItsName(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]int{":8080": http.StatusOK, "127.0.0.1:8080": http.StatusForbidden} {
		options := serveOptions{Resolved: settings.Resolved{Server: settings.Server{Listen: listen, InCluster: true, MCPPath: "/mcp", WithoutMCP: true}}}
		if err := options.check(); err != nil {
			t.Errorf("%s: %v", listen, err)
		}
		observed, err := telemetry.Start(t.Context(), telemetry.Options{Variable: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		handler, err := routes(&installation{}, nil, options, observed)
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest(http.MethodGet, "http://cluster-manager.tools.svc:8080/healthz", nil)
		answered := httptest.NewRecorder()
		handler.ServeHTTP(answered, request)
		if answered.Code != want {
			t.Errorf("%s: %d, want %d", listen, answered.Code, want)
		}
	}
}
