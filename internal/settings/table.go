package settings

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// All returns the table, in the order of a command's help.
func All() []Setting { return slices.Clone(table) }

// Find returns the row of a name.
func Find(name string) (Setting, bool) {
	index := slices.IndexFunc(table, func(setting Setting) bool { return setting.Name == name })
	if index < 0 {
		return Setting{}, false
	}
	return table[index], true
}

// Defaults of the server's own settings, for who starts one without a command line.
const (
	DefaultListen          = "127.0.0.1:8080"
	DefaultMCPPath         = "/mcp"
	DefaultMaxRequestBytes = 1 << 20
)

// table is filled at start, because the rows name the functions that read it.
var table = slices.Concat(decisions(clustermanager.DefaultSettings()), own(), oauth(), limits(), githubApp(), managed(), later())

// decisions are the settings that decisions depend on. Their defaults are those of the root package.
func decisions(d clustermanager.Settings) []Setting {
	text := func(field func(*clustermanager.Settings) *string) func(*Resolved, string) error {
		return func(r *Resolved, value string) error { *field(&r.Settings) = value; return nil }
	}
	duration := func(field func(*clustermanager.Settings) *time.Duration) func(*Resolved, string) error {
		return func(r *Resolved, value string) (err error) {
			*field(&r.Settings), err = time.ParseDuration(value)
			return err
		}
	}
	type values = clustermanager.Settings
	return []Setting{
		{Name: "installation", Variable: "CLUSTER_MANAGER_INSTALLATION", Form: Text, Default: d.Installation, Help: "name of the installation, which is also its own cluster's", take: text(func(s *values) *string { return &s.Installation })},
		{Name: "model-manager-namespace", Variable: "CLUSTER_MANAGER_MODEL_MANAGER_NAMESPACE", Form: Text, Default: d.ModelManagerNamespace, Help: "namespace of model-manager, where backend documents go", take: text(func(s *values) *string { return &s.ModelManagerNamespace })},
		{Name: "serving-namespace", Variable: "CLUSTER_MANAGER_SERVING_NAMESPACE", Form: Text, Default: d.ServingNamespace, Help: "namespace on a cluster that models are served in", take: text(func(s *values) *string { return &s.ServingNamespace })},
		{Name: "serving-cache-claim", Variable: "CLUSTER_MANAGER_SERVING_CACHE_CLAIM", Form: Text, Default: d.ServingCacheClaim, Help: "base name of the model cache's claims", take: text(func(s *values) *string { return &s.ServingCacheClaim })},
		{Name: "slice-chart-version", Variable: "CLUSTER_MANAGER_SLICE_CHART_VERSION", Form: Text, Default: d.SliceChartVersion, Help: "chart version of every serving slice; empty: it follows the platform's", take: text(func(s *values) *string { return &s.SliceChartVersion })},
		{Name: "tenant-service-account", Variable: "CLUSTER_MANAGER_TENANT_SERVICE_ACCOUNT", Form: Text, Default: d.TenantServiceAccount, Help: "ServiceAccount in org- namespaces that releases are installed as", take: text(func(s *values) *string { return &s.TenantServiceAccount })},
		{Name: "models-certificate-issuer", Variable: "CLUSTER_MANAGER_MODELS_CERTIFICATE_ISSUER", Form: Text, Default: d.ModelsCertificateIssuer, Help: "ClusterIssuer of the models host's certificate", take: text(func(s *values) *string { return &s.ModelsCertificateIssuer })},
		{Name: "gpu-operator-dcgm-exporter", Variable: "CLUSTER_MANAGER_GPU_OPERATOR_DCGM_EXPORTER", Form: Boolean, Default: strconv.FormatBool(d.GPUOperatorDCGMExporter), Help: "switch the GPU operator's metrics exporter on", take: takeBoolean(func(r *Resolved) *bool { return &r.Settings.GPUOperatorDCGMExporter })},
		{Name: "dex-issuer-url", Variable: "DEX_ISSUER_URL", Form: Text, Default: d.IssuerURL, Help: "OpenID Connect issuer that created clusters trust", take: text(func(s *values) *string { return &s.IssuerURL })},
		{Name: "dex-ca-file", Variable: "DEX_CA_FILE", Form: Path, Help: "file with the issuer's certificate authority, PEM", take: takeAuthority},
		{Name: "cluster-oidc-client-id", Variable: "CLUSTER_MANAGER_CLUSTER_OIDC_CLIENT_ID", Form: Text, Default: d.ClientID, Help: "audience that created clusters trust", take: text(func(s *values) *string { return &s.ClientID })},
		{Name: "branch-prefix", Variable: "CLUSTER_MANAGER_BRANCH_PREFIX", Form: Text, Default: d.BranchPrefix, Help: "first segment of every branch", take: text(func(s *values) *string { return &s.BranchPrefix })},
		{Name: "git-hosts", Variable: "CLUSTER_MANAGER_GIT_HOSTS", Form: List, Help: "further Git hosts, host=API root, beside github.com", take: addGitHosts},
		{Name: "commit-budget", Variable: "CLUSTER_MANAGER_COMMIT_BUDGET", Form: Duration, Default: d.CommitBudget.String(), Help: "time that a call in mode commit may take", take: duration(func(s *values) *time.Duration { return &s.CommitBudget })},
		{Name: "apply-budget", Variable: "CLUSTER_MANAGER_APPLY_BUDGET", Form: Duration, Default: d.ApplyBudget.String(), Help: "time that writes to the installation may take from a call's start", take: duration(func(s *values) *time.Duration { return &s.ApplyBudget })},
	}
}

// own are the settings of one process.
func own() []Setting {
	text := func(field func(*Resolved) *string) func(*Resolved, string) error {
		return func(r *Resolved, value string) error { *field(r) = value; return nil }
	}
	return []Setting{
		{Name: "config", Variable: "CLUSTER_MANAGER_CONFIG", Form: Text, Scope: Reach, Help: "YAML file of settings, whose keys are the flags' names"},
		{Name: "snapshot", Variable: "CLUSTER_MANAGER_SNAPSHOT", Form: Text, Scope: Reach, Help: "a folder instead of an installation", take: text(func(r *Resolved) *string { return &r.Snapshot })},
		{Name: "kubeconfig", Variable: "KUBECONFIG", Form: Text, Scope: Reach, Help: "kubeconfig of the installation; empty: as kubectl finds it", take: text(func(r *Resolved) *string { return &r.Kubeconfig })},
		{Name: "kube-context", Variable: "KUBE_CONTEXT", Form: Text, Scope: Reach, Help: "context of the kubeconfig; empty: its current one", take: text(func(r *Resolved) *string { return &r.KubeContext })},
		{Name: "in-cluster", Variable: "KUBERNETES_IN_CLUSTER", Form: Boolean, Scope: Reach, Default: "false", Help: "use the pod's own configuration", take: takeBoolean(func(r *Resolved) *bool { return &r.InCluster })},
		{Name: "read-only", Variable: "CLUSTER_MANAGER_READ_ONLY", Form: Boolean, Scope: Offer, Default: "false", Help: "leave the tools out that write", take: takeBoolean(func(r *Resolved) *bool { return &r.ReadOnly })},
		{Name: "tools", Variable: "CLUSTER_MANAGER_TOOLS", Form: List, Scope: Offer, Help: "the tools that are offered; empty: all", take: func(r *Resolved, value string) error { r.Tools = elements(value); return nil }},
		{Name: "listen", Variable: "CLUSTER_MANAGER_LISTEN", Form: Text, Scope: Listener, Default: DefaultListen, Help: "address to listen on; a loopback address, unless --enable-oauth is set: then any, and by default " + DefaultOAuthListen, take: takeListen},
		{Name: "mcp-path", Variable: "CLUSTER_MANAGER_MCP_PATH", Form: Text, Scope: Listener, Default: DefaultMCPPath, Help: "path of the MCP endpoint", take: takePath},
		{Name: "stdio", Variable: "CLUSTER_MANAGER_STDIO", Form: Boolean, Scope: Listener, Default: "false", Help: "speak MCP on standard input and output, without a listener", take: takeBoolean(func(r *Resolved) *bool { return &r.Stdio })},
		{Name: "verbose", Variable: "CLUSTER_MANAGER_VERBOSE", Form: Boolean, Scope: Listener, Default: "false", Help: "log more", take: takeBoolean(func(r *Resolved) *bool { return &r.Verbose })},
	}
}

// later are the settings of what this build does not have.
func later() []Setting {
	rows := []Setting{
		{Name: "secret-digest-key-file", Form: Text},
	}
	for i := range rows {
		rows[i].later, rows[i].Scope, rows[i].Help = true, Listener, "comes with a later build"
		rows[i].harmless = append(rows[i].harmless, "")
		if rows[i].Variable == "" {
			rows[i].Variable = "CLUSTER_MANAGER_" + strings.ToUpper(strings.ReplaceAll(rows[i].Name, "-", "_"))
		}
	}
	return rows
}

func takeBoolean(field func(*Resolved) *bool) func(*Resolved, string) error {
	return func(r *Resolved, value string) (err error) {
		*field(r), err = strconv.ParseBool(value)
		return err
	}
}

// mcpPath is a plain path that is none of the probes'.
var mcpPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

func takePath(r *Resolved, value string) error {
	if !mcpPath.MatchString(value) || value == "/healthz" || value == "/readyz" {
		return fmt.Errorf("%q is no path such as %s", value, DefaultMCPPath)
	}
	r.MCPPath = value
	return nil
}

func takeListen(r *Resolved, value string) error {
	if _, _, err := net.SplitHostPort(value); err != nil {
		return fmt.Errorf("%q is no address and port such as %s", value, DefaultListen)
	}
	r.Listen = value
	return nil
}

// takeAuthority reads the file.
func takeAuthority(r *Resolved, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, errors.Unwrap(err))
	}
	r.Settings.IssuerCA = string(content)
	return nil
}

// addGitHosts adds "host=API root" pairs to the hosts that are there. A host that is there may stand alone.
func addGitHosts(r *Resolved, value string) error {
	for _, entry := range elements(value) {
		host, root, _ := strings.Cut(entry, "=")
		host = strings.ToLower(host)
		if _, there := r.Settings.GitHosts[host]; there && root == "" {
			continue
		}
		api, err := url.Parse(root)
		if err != nil || host == "" || api.Host == "" || (api.Scheme != "https" && api.Scheme != "http") {
			return errors.New("wants host=API root, such as ghe.example.com=https://ghe.example.com/api/v3")
		}
		r.Settings.GitHosts[host] = root
	}
	return nil
}
