package offline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/offline"
)

var (
	configMaps     = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets        = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	pods           = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	events         = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	nodes          = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	gateways       = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}
	ociRepository  = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "ocirepositories"}
	gitRepository  = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
	clusterObjects = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta1", Resource: "clusters"}
)

// write makes a folder of files, path to content.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// open opens the folder and closes it with the test.
func open(t *testing.T, options offline.Options) *offline.Installation {
	t.Helper()
	installation, err := offline.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := installation.Close(); err != nil {
			t.Error(err)
		}
	})
	return installation
}

// clients are client-go's own, with the caller's token.
type clients struct {
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	discovery discovery.DiscoveryInterfaceWithContext
}

func clientsFor(t *testing.T, config *rest.Config, token clustermanager.Secret) clients {
	t.Helper()
	config = rest.CopyConfig(config)
	config.BearerToken = token.Reveal()
	made := clients{}
	var err error
	if made.dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if made.metadata, err = metadata.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	made.discovery = discovery.ToDiscoveryInterfaceWithContext(client)
	return made
}

// names are namespace/name of the listed objects, in order.
func names(list *unstructured.UnstructuredList) []string {
	var found []string
	for _, item := range list.Items {
		found = append(found, clustermanager.NamespacedName{Namespace: item.GetNamespace(), Name: item.GetName()}.String())
	}
	return found
}

func TestOpenReadsTheSettings(t *testing.T) {
	folder := write(t, map[string]string{"cluster-manager.yaml": `
installation: gazelle
tenant-service-account: robot
dex-issuer-url: https://dex.acme.example.io
cluster-oidc-client-id: dex-k8s-authenticator
branch-prefix: bot
commit-budget: 4s
git-hosts: [github.com, "ghe.example.com=https://ghe.example.com/api/v3"]
read-only: true
max-request-bytes: 1048576
tools:
repos: trees
charts: packs
caller:
  email: jane@acme.example
  groups: [customer:acme:Admins]
  github: jane
`})
	installation := open(t, offline.Options{Dir: folder})
	want := clustermanager.Settings{
		Installation: "gazelle", TenantServiceAccount: "robot", IssuerURL: "https://dex.acme.example.io",
		ClientID: "dex-k8s-authenticator", BranchPrefix: "bot", CommitBudget: 4 * time.Second, ApplyBudget: 8 * time.Second,
		ModelManagerNamespace: "agent-platform", ServingNamespace: "model-serving", ServingCacheClaim: "hf-cache",
		ModelsCertificateIssuer: "letsencrypt-giantswarm",
		GitHosts: map[string]string{
			"github.com": "https://api.github.com", "ssh.github.com": "https://api.github.com",
			"ghe.example.com": "https://ghe.example.com/api/v3",
		},
	}
	if diff := cmp.Diff(want, installation.Settings); diff != "" {
		t.Error(diff)
	}
	if got, want := installation.Repositories(), filepath.Join(folder, "trees"); got != want {
		t.Errorf("repositories: %s, want %s", got, want)
	}
	if got := installation.Charts(); got != "" {
		t.Errorf("charts of a folder that is not there: %s", got)
	}
	if err := os.Mkdir(filepath.Join(folder, "packs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, want := installation.Charts(), filepath.Join(folder, "packs"); got != want {
		t.Errorf("charts: %s, want %s", got, want)
	}
	wantFlags := map[string]string{"read-only": "true", "max-request-bytes": "1048576"}
	for name, value := range wantFlags {
		if installation.Flags[name] != value {
			t.Errorf("flag %s: %q, want %q", name, installation.Flags[name], value)
		}
	}
	if _, set := installation.Flags["tools"]; set {
		t.Error("a key without a value is set")
	}
	caller := installation.Caller
	if caller.Email != "jane@acme.example" || len(caller.Groups) != 1 || caller.GitHub == nil || caller.GitHub.Login != "jane" {
		t.Errorf("caller: %+v", caller)
	}
	if caller.KubernetesToken.IsZero() || caller.GitHub.Token.IsZero() || caller.KubernetesToken.Equal(caller.GitHub.Token) {
		t.Error("the caller's tokens are not two tokens")
	}
	if config := installation.Config(); config.BearerToken != "" {
		t.Error("the configuration holds a credential")
	}
}

func TestOpenWithoutGitHub(t *testing.T) {
	installation := open(t, offline.Options{Dir: write(t, map[string]string{"cluster-manager.yaml": "caller: {email: a@b.example}\n"})})
	if installation.Caller.GitHub != nil {
		t.Error("a caller without a GitHub account has one")
	}
	if diff := cmp.Diff(clustermanager.DefaultSettings(), installation.Settings); diff != "" {
		t.Error(diff)
	}
}

func TestOpenNamesEveryFault(t *testing.T) {
	folder := write(t, map[string]string{
		"cluster-manager.yaml": "instalation: x\ncommit-budget: 9\nread-only: perhaps\ngit-hosts: ghe\nrepos: /tmp\n" +
			"caller: {mail: a}\nlisten: {a: b}\n",
		"management/broken.yaml":     "a: b: c\n",
		"management/deep/odd.yaml":   "kind: ConfigMap\n",
		"management/deep/scalar.yml": "hello\n",
		"management/one.yaml":        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
		"management/two.yaml":        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {x: y}}\n",
		"clusters/No_Name/a.yaml":    "",
	})
	_, err := offline.Open(t.Context(), offline.Options{Dir: folder})
	if err == nil {
		t.Fatal("opened")
	}
	for _, want := range []string{
		"cluster-manager.yaml: instalation: no such setting", `commit-budget: "9" is no duration`,
		`read-only: "perhaps" is neither true nor false`, "git-hosts: wants host=API root",
		"repos: wants a folder relative", "caller: wants email, groups (a list) and github (a login): unknown field \"mail\"",
		"listen: wants one value", "broken.yaml: document 1: no YAML", "deep/odd.yaml: document 1: no object",
		"scalar.yml: document 1: no mapping", "two.yaml: Namespace a stands twice", "No_Name: no name of a cluster",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	_, err = offline.Open(t.Context(), offline.Options{Dir: filepath.Join(folder, "management")})
	if err == nil || !strings.Contains(err.Error(), "is no snapshot") {
		t.Errorf("a folder without settings: %v", err)
	}
}

func TestClusterConfig(t *testing.T) {
	installation := open(t, offline.Options{Dir: write(t, map[string]string{
		"cluster-manager.yaml":       "installation: gazelle\n",
		"clusters/wc1/deep/one.yaml": "apiVersion: v1\nkind: Node\nmetadata: {name: wc1-0}\n",
	})})
	config, err := installation.ClusterConfig("wc1")
	if err != nil {
		t.Fatal(err)
	}
	token := installation.Caller.KubernetesToken
	list, err := clientsFor(t, config, token).dynamic.Resource(nodes).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("nodes of wc1: %v, %v", list, err)
	}
	list, err = clientsFor(t, installation.Config(), token).dynamic.Resource(nodes).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("nodes of the installation: %v, %v", list, err)
	}
	own, err := installation.ClusterConfig("gazelle")
	if err != nil || own.Host != installation.Config().Host {
		t.Errorf("own cluster: %v, %v", own, err)
	}
	for _, name := range []string{"wc2", "", "../management", "wc1/.."} {
		if _, err := installation.ClusterConfig(name); err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("cluster %q: %v", name, err)
		}
	}
}

func TestKeepReplacesTheSnapshot(t *testing.T) {
	configMap := func(version, name, value string) string {
		return "apiVersion: " + version + "\nkind: Widget\nmetadata: {name: " + name + ", namespace: a}\nvalue: " + value + "\n"
	}
	dir := write(t, map[string]string{
		"cluster-manager.yaml": "",
		"management/a.yaml":    configMap("x.example/v1", "one", "old") + "---\n" + configMap("x.example/v1", "two", "old"),
		"clusters/wc1/a.yaml":  configMap("x.example/v1", "one", "old"),
		"clusters/wc2/a.yaml":  "",
	})
	keep := write(t, map[string]string{
		"management/b/b.yaml": configMap("x.example/v1beta1", "one", "new"),
		"clusters/wc1/b.yaml": configMap("x.example/v1", "one", "new"),
		"clusters/wc3/b.yaml": configMap("x.example/v1", "one", "new"),
	})
	installation := open(t, offline.Options{Dir: dir, Keep: keep})
	widgets := schema.GroupVersionResource{Group: "x.example", Version: "v1", Resource: "widgets"}
	values := func(config *rest.Config) map[string]any {
		list, err := clientsFor(t, config, installation.Caller.KubernetesToken).dynamic.Resource(widgets).
			List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]any{}
		for _, item := range list.Items {
			found[item.GetName()] = item.Object["value"]
		}
		return found
	}
	if diff := cmp.Diff(map[string]any{"one": "new", "two": "old"}, values(installation.Config())); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"wc1", "wc3"} {
		config, err := installation.ClusterConfig(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{"one": "new"}, values(config)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
