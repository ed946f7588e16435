package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
	"github.com/clustermanager/cluster-manager/internal/offline"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// liveStandIn is a live installation for tests: the API servers of the fixtures over TLS, found by a kubeconfig whose user
// has a token, with wc1 behind the endpoint of its own Secret, and a forge that the GitRepositories name. All of it is on
// loopback.
type liveStandIn struct {
	// folder holds snapshot, trees, kept, kubeconfig.yaml and config.yaml.
	folder string
	server *httptest.Server
	forge  *localforge.Forge
	// offline is what answers behind the server.
	offline *offline.Installation
	// token is the kubeconfig's, githubToken the forge's.
	token, githubToken string
	// admitted is a token that the API servers take beside the kubeconfig's.
	admitted atomic.Pointer[string]
	// requests counts those to the installation and to wc1.
	installation, workload atomic.Int64
}

// startLive brings one up in a folder.
func startLive(ctx context.Context, folder string) (*liveStandIn, error) {
	live := &liveStandIn{folder: folder, githubToken: "ghu_" + "madeForTheTest0123456789"}
	var behind atomic.Pointer[httputil.ReverseProxy]
	live.server = httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if strings.HasPrefix(request.URL.Path, "/clusters/") {
			live.workload.Add(1)
		} else {
			live.installation.Add(1)
		}
		if admitted := live.admitted.Load(); admitted != nil && request.Header.Get("Authorization") == "Bearer "+*admitted {
			request.Header.Set("Authorization", "Bearer "+live.token)
		}
		behind.Load().ServeHTTP(writer, request)
	}))
	fixtures := filepath.Join("..", "..", "fixtures")
	for to, from := range map[string]string{"snapshot": "installations/gazelle", "trees": "repos"} {
		if err := os.CopyFS(filepath.Join(folder, to), os.DirFS(filepath.Join(fixtures, filepath.FromSlash(from)))); err != nil {
			return live, err
		}
	}
	if err := live.startForge(ctx); err != nil {
		return live, err
	}
	if err := live.edit(); err != nil {
		return live, err
	}
	var err error
	if live.offline, err = offline.Open(ctx, offline.Options{Dir: filepath.Join(folder, "snapshot")}); err != nil {
		return live, err
	}
	live.token = live.offline.Caller.KubernetesToken.Reveal()
	target, err := url.Parse(strings.TrimSuffix(live.offline.Config().Host, "/installation"))
	if err != nil {
		return live, err
	}
	behind.Store(httputil.NewSingleHostReverseProxy(target))
	return live, live.describe()
}

func (l *liveStandIn) startForge(ctx context.Context) (err error) {
	l.forge, err = localforge.Start(ctx, localforge.Options{
		Repositories: filepath.Join(l.folder, "kept", "repos"), State: filepath.Join(l.folder, "kept", "forge.json"),
	})
	if err != nil {
		return err
	}
	l.forge.AddUser(localforge.User{Login: "jane", Email: "jane@acme.example", ID: 1, Token: clustermanager.NewSecret(l.githubToken), Push: true})
	return l.forge.Import("acme", "fleet", filepath.Join(l.folder, "trees", "acme", "fleet"))
}

// edit points the fixtures at this machine: the fleet's repository at the forge, wc1's kubeconfig at the server.
func (l *liveStandIn) edit() error {
	management := filepath.Join(l.folder, "snapshot", "management")
	repository := filepath.Join(management, "default", "gitrepository-fleet.yaml")
	content, err := os.ReadFile(repository)
	if err != nil {
		return err
	}
	content = []byte(strings.Replace(string(content), "https://github.com/acme/fleet", l.forge.CloneURL("acme", "fleet"), 1))
	if err := os.WriteFile(repository, content, 0o600); err != nil {
		return err
	}
	secret := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata:\n  name: wc1-kubeconfig\n  namespace: org-acme\ntype: cluster.x-k8s.io/secret\ndata:\n  value: %s\n",
		base64.StdEncoding.EncodeToString([]byte(l.kubeconfig("/clusters/wc1", "an admin's token that nobody must use"))))
	return os.WriteFile(filepath.Join(management, "org-acme", "secret-wc1-kubeconfig.yaml"), []byte(secret), 0o600)
}

func (l *liveStandIn) kubeconfig(path, token string) string {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.server.Certificate().Raw})
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: jane, user: {token: %q}}]
contexts: [{name: lab, context: {cluster: lab, user: jane}}]
current-context: lab
`, l.server.URL+path, base64.StdEncoding.EncodeToString(authority), token)
}

// describe writes the kubeconfig and the settings that find all of it.
func (l *liveStandIn) describe() error {
	forge, err := url.Parse(l.forge.URL())
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(l.folder, "kubeconfig.yaml"), []byte(l.kubeconfig("/installation", l.token)), 0o600),
		os.WriteFile(filepath.Join(l.folder, "config.yaml"), fmt.Appendf(nil,
			"installation: gazelle\nkubeconfig: %s\ngit-hosts: %s=%s\n", filepath.Join(l.folder, "kubeconfig.yaml"), forge.Host, l.forge.APIURL()), 0o600))
}

func (l *liveStandIn) close() error {
	l.server.Close()
	var errs []error
	if l.forge != nil {
		errs = append(errs, l.forge.Close())
	}
	if l.offline != nil {
		errs = append(errs, l.offline.Close())
	}
	return errors.Join(errs...)
}

func newLive(t *testing.T) *liveStandIn {
	t.Helper()
	live, err := startLive(t.Context(), t.TempDir())
	t.Cleanup(func() {
		if err := live.close(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// forgeHost is the forge's host as the setting git-hosts names it.
func (l *liveStandIn) forgeHost() string { return strings.TrimPrefix(l.forge.URL(), "http://") }

// liveInScript starts one in a script's folder: live FOLDER. FORGE_HOST and FORGE_TOKEN name its forge.
func liveInScript(script *testscript.TestScript, negated bool, arguments []string) {
	if negated || len(arguments) != 1 {
		script.Fatalf("usage: live FOLDER")
	}
	folder := script.MkAbs(arguments[0])
	live, err := startLive(context.Background(), folder)
	script.Defer(func() { script.Check(live.close()) })
	script.Check(err)
	script.Setenv("FORGE_HOST", live.forgeHost())
	script.Setenv("FORGE_TOKEN", live.githubToken)
}

// dial opens a live installation as serve does and connects a client in this process.
func (l *liveStandIn) dial(t *testing.T, github githubToken) *mcptools.Client {
	t.Helper()
	resolved, err := settings.Resolve(settings.File(filepath.Join(l.folder, "config.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := openLive(liveOptions{Resolved: resolved, github: github, now: time.Now, registry: func(string) string { return "127.0.0.1:1" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	client, err := opened.tools.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func callPool(t *testing.T, client *mcptools.Client, more map[string]any) mcptools.Result {
	t.Helper()
	data, err := json.Marshal(poolArguments("wc1", "gpu-l4", more))
	if err != nil {
		t.Fatal(err)
	}
	result, err := client.Call(t.Context(), "create_node_pool", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// A live installation is read and proposed to as the process itself: one pull request, authored by the token's owner.
func TestALiveInstallationIsProposedTo(t *testing.T) {
	live := newLive(t)
	client := live.dial(t, githubToken{clustermanager.NewSecret(live.githubToken), live.forgeHost()})
	result := callPool(t, client, nil)
	if result.Reason != "" {
		t.Fatal(result.Texts)
	}
	var answer clustermanager.WriteResult
	if err := json.Unmarshal([]byte(result.Texts[0]), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Commit == nil || answer.Commit.Number != 1 || answer.Commit.Author != "jane" || answer.Commit.Repository != "acme/fleet" {
		t.Errorf("commit %+v", answer.Commit)
	}
	if live.installation.Load() == 0 {
		t.Error("the installation was not asked")
	}
	for _, text := range result.Texts {
		if strings.Contains(text, live.token) || strings.Contains(text, live.githubToken) {
			t.Error("a token is in the answer")
		}
	}
}

// A token goes to the host that it is for, and to no other that the settings allow.
func TestAGitHubTokenIsForOneHost(t *testing.T) {
	live := newLive(t)
	client := live.dial(t, githubToken{clustermanager.NewSecret(live.githubToken), "github.com"})
	result := callPool(t, client, nil)
	if result.Reason != clustermanager.ReasonRefused || !strings.Contains(result.Texts[0], "and the GitHub token that the server was started with is for github.com") {
		t.Errorf("got %s %v", result.Reason, result.Texts)
	}
	if requests := live.forge.Requests(); len(requests) > 0 {
		t.Errorf("the forge was asked: %v", requests)
	}
	// Without a token the door is closed before anything is read.
	before := live.installation.Load()
	result = callPool(t, live.dial(t, githubToken{}), nil)
	if result.Reason != clustermanager.ReasonRefused || live.installation.Load() != before {
		t.Errorf("got %s %v", result.Reason, result.Texts)
	}
}

func TestTheGitHubTokenLeavesTheEnvironment(t *testing.T) {
	t.Setenv(githubTokenVariable, "made for this test")
	t.Setenv(githubHostVariable, "")
	if token := takeGitHubToken(); token.Reveal() != "made for this test" || token.host != "github.com" || os.Getenv(githubTokenVariable) != "" {
		t.Errorf("host %s, left %q", token.host, os.Getenv(githubTokenVariable))
	}
	if token := takeGitHubToken(); !token.IsZero() {
		t.Error("a token is there that nobody gave")
	}
}

// A local client that speaks over the process's own streams gets its answers there, and the log nothing of them.
func TestServeOnStandardInputAndOutput(t *testing.T) {
	live := newLive(t)
	resolved, err := settings.Resolve(settings.Flags(map[string]string{"stdio": "true"}), settings.File(filepath.Join(live.folder, "config.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	in, requests := io.Pipe()
	answers, out := io.Pipe()
	log := &sink{}
	ended := make(chan error, 1)
	go func() { ended <- serve(t.Context(), serveOptions{Resolved: resolved, in: in, out: out}, log, nil) }()
	lines := bufio.NewScanner(answers)
	ask := func(request, want string) {
		t.Helper()
		if _, err := io.WriteString(requests, request+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Errorf("answered %s", lines.Text())
		}
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, `"serverInfo"`)
	ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_info","arguments":{}}}`, `"state":"served"`)
	if err := requests.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if logged := string(log.take()); strings.Contains(logged, "clusterApi") || strings.Contains(logged, live.token) {
		t.Errorf("log: %s", logged)
	}
}
