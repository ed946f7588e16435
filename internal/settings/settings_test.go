package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func environment(values map[string]string) Source {
	return Environment(func(name string) string { return values[name] }, func(Setting) bool { return true })
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	got, err := Resolve()
	want := Resolved{
		Settings: clustermanager.DefaultSettings(), Given: map[string]string{},
		Server:  Server{Listen: "127.0.0.1:8080", MCPPath: "/mcp", MaxRequestBytes: 1048576, CallerRate: 10, CallerConcurrency: 8, OAuth: OAuth{GitHubAPIURL: "https://api.github.com"}, GitHubApp: GitHubApp{WebhookPath: "/github/webhook"}},
		Managed: Managed{MaxClusters: 10, CredentialTTL: time.Hour, TenantRate: 20},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestEverySettingReachesItsField(t *testing.T) {
	t.Parallel()
	authority := write(t, "ca.pem", "made for this test")
	file := write(t, "config.yaml", `
installation: gazelle
model-manager-namespace: models
serving-namespace: serving
serving-cache-claim: cache
slice-chart-version: 4.86.0
tenant-service-account: robot
models-certificate-issuer: lab
gpu-operator-dcgm-exporter: true
dex-issuer-url: https://dex.example.com
dex-ca-file: `+authority+`
cluster-oidc-client-id: clusters
branch-prefix: bot
git-hosts: [github.com, "ghe.example.com=https://ghe.example.com/api/v3"]
commit-budget: 4s
apply-budget: 5s
snapshot: folder
kubeconfig: kube.yaml
kube-context: lab
in-cluster: true
read-only: true
tools: [get_info, " list_clusters"]
listen: "[::1]:9090"
mcp-path: /tools/mcp
max-request-bytes: 10
stdio: true
verbose: true
caller-rate: 3
caller-concurrency: 0
database: postgres://robot:secret@db.example.com/records
catalog: catalog.yaml
max-clusters-per-tenant: 3
credential-ttl-seconds: 1800
tenant-rate: 0
deleted-retention: 720h
events-webhook-url: https://events.example.com/hook
events-webhook-secret-file: /run/secrets/hook
enable-oauth:
mcp-enabled: false
`)
	got, err := Resolve(File(file))
	if err != nil {
		t.Fatal(err)
	}
	want := Resolved{
		Settings: clustermanager.Settings{
			Installation: "gazelle", ModelManagerNamespace: "models", ServingNamespace: "serving", ServingCacheClaim: "cache",
			SliceChartVersion: "4.86.0", TenantServiceAccount: "robot", ModelsCertificateIssuer: "lab", GPUOperatorDCGMExporter: true,
			IssuerURL: "https://dex.example.com", IssuerCA: "made for this test", ClientID: "clusters", BranchPrefix: "bot",
			GitHosts: map[string]string{
				"github.com": "https://api.github.com", "ssh.github.com": "https://api.github.com", "ghe.example.com": "https://ghe.example.com/api/v3",
			},
			CommitBudget: 4 * time.Second, ApplyBudget: 5 * time.Second,
		},
		Server: Server{
			Snapshot: "folder", Kubeconfig: "kube.yaml", KubeContext: "lab", InCluster: true, ReadOnly: true, Tools: []string{"get_info", "list_clusters"},
			Listen: "[::1]:9090", MCPPath: "/tools/mcp", MaxRequestBytes: 10, Stdio: true, Verbose: true,
			WithoutMCP: true, CallerRate: 3, OAuth: OAuth{GitHubAPIURL: "https://api.github.com"}, GitHubApp: GitHubApp{WebhookPath: "/github/webhook"},
		},
		Managed: Managed{
			Database: clustermanager.NewSecret("postgres://robot:secret@db.example.com/records"), Catalog: filepath.Join(filepath.Dir(file), "catalog.yaml"),
			MaxClusters: 3, CredentialTTL: 30 * time.Minute, DeletedRetention: 720 * time.Hour,
			EventsURL: "https://events.example.com/hook", EventsSecretFile: "/run/secrets/hook",
		},
	}
	got.Given = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, setting := range All() {
		if setting.Built() && setting.Name != "config" && setting.take == nil {
			t.Errorf("%s goes nowhere", setting.Name)
		}
	}
}

func TestTheFirstSourceWins(t *testing.T) {
	t.Parallel()
	file := File(write(t, "config.yaml", "installation: file\nbranch-prefix: file\nserving-namespace: file\ngit-hosts: a=https://a.example.com\n"))
	got, err := Resolve(
		Flags(map[string]string{"installation": "flag", "git-hosts": "b=https://b.example.com"}),
		environment(map[string]string{
			"CLUSTER_MANAGER_INSTALLATION": "environment", "CLUSTER_MANAGER_BRANCH_PREFIX": "environment", "CLUSTER_MANAGER_SERVING_NAMESPACE": "",
		}), file)
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Settings; s.Installation != "flag" || s.BranchPrefix != "environment" || s.ServingNamespace != "file" || s.ServingCacheClaim != "hf-cache" {
		t.Errorf("got %+v", s)
	}
	if _, there := got.Settings.GitHosts["a"]; there || got.Settings.GitHosts["b"] == "" {
		t.Errorf("a list is added to the one that it overrides: %v", got.Settings.GitHosts)
	}
	if got := Lookup("branch-prefix", Flags(nil), environment(map[string]string{"CLUSTER_MANAGER_BRANCH_PREFIX": "x"}), file); got != "x" {
		t.Errorf("lookup %q", got)
	}
}

// Every fault is found at once, in every source, also where another source's value would win.
func TestEveryFaultOfEverySource(t *testing.T) {
	t.Parallel()
	file := write(t, "config.yaml", "instalation: x\ncommit-budget: 9\nlisten: {a: b}\ngit-hosts: ghe\ndex-ca-file: none.pem\nconfig: x\nsecret-digest-key-file: x\n")
	_, err := Resolve(
		Flags(map[string]string{"commit-budget": "1s", "listen": "8080", "mcp-path": "mcp{", "max-request-bytes": "0", "secret-digest-key-file": "x", "dex-ca-file": "/dev/null"}),
		environment(map[string]string{"CLUSTER_MANAGER_READ_ONLY": "perhaps", "CLUSTER_MANAGER_SECRET_DIGEST_KEY_FILE": "y", "CLUSTER_MANAGER_CALLER_RATE": "-1"}),
		File(file), File(file+".none"))
	if err == nil {
		t.Fatal("resolved")
	}
	for _, want := range []string{
		file + ": instalation: no such setting", file + `: commit-budget: "9" is no duration such as 9s`, file + ": listen: wants one value",
		file + ": git-hosts: wants host=API root", file + ": dex-ca-file: " + filepath.Join(filepath.Dir(file), "none.pem") + ": no such file",
		file + ": config: no such setting", file + ": secret-digest-key-file: comes with a later build: leave it out", file + ".none: the file does not exist",
		`flag --listen: "8080" is no address and port`, `flag --mcp-path: "mcp{" is no path such as /mcp`, "flag --max-request-bytes: 0 is below 1",
		"flag --secret-digest-key-file: comes with a later build", `environment variable CLUSTER_MANAGER_READ_ONLY: "perhaps" is neither true nor false`,
		"environment variable CLUSTER_MANAGER_SECRET_DIGEST_KEY_FILE: comes with a later build", "environment variable CLUSTER_MANAGER_CALLER_RATE: -1 is below 0",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	if got := strings.Count(err.Error(), "; ") + 1; got != 15 {
		t.Errorf("%d faults, want 15: %v", got, err)
	}
}

// What is not built is refused by any value that asks for it, and by none that does not.
func TestWhatIsNotBuilt(t *testing.T) {
	t.Parallel()
	values := map[Form]string{Text: "x", Boolean: "true", Number: "5", Duration: "1h", List: "x", Path: "x"}
	count := 0
	for _, setting := range All() {
		if setting.Built() {
			continue
		}
		count++
		value := values[setting.Form]
		if _, err := Resolve(Flags(map[string]string{setting.Name: value})); err == nil || err.Error() != "flag --"+setting.Name+": comes with a later build: leave it out" {
			t.Errorf("%s: %v", setting.Name, err)
		}
		for _, harmless := range setting.harmless {
			if _, err := Resolve(Flags(map[string]string{setting.Name: harmless})); harmless != "" && err != nil {
				t.Errorf("%s %s: %v", setting.Name, harmless, err)
			}
		}
	}
	if count == 0 {
		t.Error("all is built")
	}
}

// A snapshot's file tells of the server that it was taken from: its listener and what this build lacks are left aside.
func TestASnapshotsFile(t *testing.T) {
	t.Parallel()
	file := write(t, "cluster-manager.yaml", "installation: gazelle\nlisten: :8080\nin-cluster: true\nenable-oauth: true\nread-only: true\ncaller: {email: a}\n")
	source, own := Snapshot(file, "caller")
	got, err := Resolve(Flags(map[string]string{"branch-prefix": "x"}), source)
	if err != nil {
		t.Fatal(err)
	}
	if got.Settings.Installation != "gazelle" || got.Settings.BranchPrefix != "x" || !got.ReadOnly || got.Listen != DefaultListen || got.InCluster {
		t.Errorf("got %+v", got)
	}
	if got.Given["enable-oauth"] != "true" || got.Given["listen"] != ":8080" {
		t.Errorf("given %v", got.Given)
	}
	if diff := cmp.Diff(map[string]any{"caller": map[string]any{"email": "a"}}, own); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"enable-oauth: perhaps": `enable-oauth: "perhaps" is neither true nor false`, "snapshot: x": "snapshot: no such setting", "- a": "the file is not a mapping",
	} {
		source, _ := Snapshot(write(t, "cluster-manager.yaml", text))
		if _, err := Resolve(source); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	source, _ = Snapshot(file + ".none")
	if _, err := Resolve(source); err == nil || !strings.HasSuffix(err.Error(), "the file does not exist, so the folder is no snapshot") {
		t.Errorf("got %v", err)
	}
}

// The published names: what a chart or a script sets must not change.
func TestTheTableIsThePublishedOne(t *testing.T) {
	t.Parallel()
	published := `--listen CLUSTER_MANAGER_LISTEN
--kubeconfig KUBECONFIG
--kube-context KUBE_CONTEXT
--in-cluster KUBERNETES_IN_CLUSTER
--installation CLUSTER_MANAGER_INSTALLATION
--model-manager-namespace CLUSTER_MANAGER_MODEL_MANAGER_NAMESPACE
--serving-namespace CLUSTER_MANAGER_SERVING_NAMESPACE
--serving-cache-claim CLUSTER_MANAGER_SERVING_CACHE_CLAIM
--slice-chart-version CLUSTER_MANAGER_SLICE_CHART_VERSION
--tenant-service-account CLUSTER_MANAGER_TENANT_SERVICE_ACCOUNT
--models-certificate-issuer CLUSTER_MANAGER_MODELS_CERTIFICATE_ISSUER
--gpu-operator-dcgm-exporter CLUSTER_MANAGER_GPU_OPERATOR_DCGM_EXPORTER
--apply-budget CLUSTER_MANAGER_APPLY_BUDGET
--commit-budget CLUSTER_MANAGER_COMMIT_BUDGET
--mcp-enabled CLUSTER_MANAGER_MCP_ENABLED
--mcp-path CLUSTER_MANAGER_MCP_PATH
--enable-oauth CLUSTER_MANAGER_OAUTH_ENABLED
--oauth-base-url CLUSTER_MANAGER_OAUTH_BASE_URL
--dex-issuer-url DEX_ISSUER_URL
--dex-ca-file DEX_CA_FILE
--allow-private-oauth-urls CLUSTER_MANAGER_OAUTH_ALLOW_PRIVATE_URLS
--oauth-trusted-audiences OAUTH_TRUSTED_AUDIENCES
--sso-allow-private-ips SSO_ALLOW_PRIVATE_IPS
--downstream-oauth CLUSTER_MANAGER_DOWNSTREAM_OAUTH
--github-authorization-server CLUSTER_MANAGER_GITHUB_AUTHORIZATION_SERVER
--github-api-url CLUSTER_MANAGER_GITHUB_API_URL
--cluster-oidc-client-id CLUSTER_MANAGER_CLUSTER_OIDC_CLIENT_ID
--verbose CLUSTER_MANAGER_VERBOSE
--config CLUSTER_MANAGER_CONFIG
--stdio CLUSTER_MANAGER_STDIO
--snapshot CLUSTER_MANAGER_SNAPSHOT
--read-only CLUSTER_MANAGER_READ_ONLY
--tools CLUSTER_MANAGER_TOOLS
--max-request-bytes CLUSTER_MANAGER_MAX_REQUEST_BYTES
--caller-rate CLUSTER_MANAGER_CALLER_RATE
--caller-concurrency CLUSTER_MANAGER_CALLER_CONCURRENCY
--branch-prefix CLUSTER_MANAGER_BRANCH_PREFIX
--git-hosts CLUSTER_MANAGER_GIT_HOSTS
--secret-digest-key-file CLUSTER_MANAGER_SECRET_DIGEST_KEY_FILE
--github-app-id CLUSTER_MANAGER_GITHUB_APP_ID
--github-app-private-key-file CLUSTER_MANAGER_GITHUB_APP_PRIVATE_KEY_FILE
--github-webhook-secret-file CLUSTER_MANAGER_GITHUB_WEBHOOK_SECRET_FILE
--github-webhook-path CLUSTER_MANAGER_GITHUB_WEBHOOK_PATH
--database CLUSTER_MANAGER_DATABASE
--catalog CLUSTER_MANAGER_CATALOG
--max-clusters-per-tenant CLUSTER_MANAGER_MAX_CLUSTERS_PER_TENANT
--credential-ttl-seconds CLUSTER_MANAGER_CREDENTIAL_TTL_SECONDS
--tenant-rate CLUSTER_MANAGER_TENANT_RATE
--deleted-retention CLUSTER_MANAGER_DELETED_RETENTION
--events-webhook-url CLUSTER_MANAGER_EVENTS_WEBHOOK_URL
--events-webhook-secret-file CLUSTER_MANAGER_EVENTS_WEBHOOK_SECRET_FILE
--watcher-token-file CLUSTER_MANAGER_WATCHER_TOKEN_FILE`
	var got []string
	for _, setting := range All() {
		got = append(got, "--"+setting.Name+" "+setting.Variable)
		if setting.Help == "" {
			t.Errorf("%s has no help", setting.Name)
		}
		if found, there := Find(setting.Name); !there || found.Variable != setting.Variable {
			t.Errorf("%s is not found", setting.Name)
		}
	}
	want := strings.Split(published, "\n")
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-published +table:\n%s", diff)
	}
}
