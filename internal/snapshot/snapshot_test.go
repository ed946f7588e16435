package snapshot_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/offline"
	"github.com/clustermanager/cluster-manager/internal/snapshot"
)

// needle stands in every place of the installation that nobody may hand on. It was made for this test.
const needle = "s3cr3t-needle"

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: wc1, cluster: {server: "https://user:s3cr3t-needle@api.wc1.example.com", certificate-authority-data: Q0E=}}]
users: [{name: admin, user: {token: s3cr3t-needle, client-key-data: czNjcjN0LW5lZWRsZQ==}}]
contexts: [{name: wc1, context: {cluster: wc1, user: admin}}]
current-context: wc1
`

// installation is what the API servers of the test hold.
var installation = map[string]string{
	"cluster-manager.yaml": "installation: gazelle\ncaller: {email: jane@acme.example, groups: [admins], github: jane}\n",
	"management/clusters.yaml": `
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: wc1
  namespace: org-acme
  managedFields: [{manager: someone}]
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"password":"s3cr3t-needle"}', kept: "yes"}
spec:
  controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: wc1}
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster, name: wc1, namespace: infra}
---
{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, metadata: {name: wc2, namespace: org-acme}}
---
{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, metadata: {name: gazelle, namespace: org-giantswarm}}
---
{apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, metadata: {name: wc1, namespace: org-acme}, spec: {version: v1.31.1}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster, metadata: {name: wc1, namespace: infra}, spec: {region: eu-central-1}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster, metadata: {name: unreferenced, namespace: infra}}
---
{apiVersion: security.giantswarm.io/v1alpha1, kind: Organization, metadata: {name: acme}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: org-acme}}
`,
	"management/flux.yaml": `
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: wc1, namespace: org-acme}
spec:
  chartRef: {kind: OCIRepository, name: wc1}
  values: {region: eu-central-1, replicas: 3, registry: {password: s3cr3t-needle}, args: ["--x=s3cr3t-needle"], controller: {env: [{name: A, value: s3cr3t-needle}]}, note: "https://u:s3cr3t-needle@x is down", proxy: "http://user:s3cr3t-needle@proxy:3128"}
  valuesFrom: [{kind: Secret, name: wc1-extra}, {kind: ConfigMap, name: wc1-values}]
status: {history: [{chartVersion: 36.0.0+abc}]}
---
{apiVersion: source.toolkit.fluxcd.io/v1, kind: OCIRepository, metadata: {name: wc1, namespace: org-acme}, spec: {url: "oci://gsoci.azurecr.io/charts/giantswarm/release-aws"}}
---
{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: wc1-gpu, namespace: org-acme, labels: {app.kubernetes.io/name: gpu-node-pool}}, spec: {chartRef: {kind: OCIRepository, name: none}}}
---
{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: platform, namespace: platform}, spec: {chartRef: {kind: OCIRepository, name: none}, valuesFrom: [{kind: ConfigMap, name: platform-values}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: platform-values, namespace: platform}, data: {values.yaml: "{global: {domain: gazelle.example.io}}"}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: fleet, namespace: flux}
spec: {path: ./clusters, postBuild: {substitute: {region: x, api_token: s3cr3t-needle, dsn: "x;pwd=s3cr3t-needle", pulled: "ghp_s3cr3tneedle0000000000"}, substituteFrom: [{kind: Secret, name: variables}]}}
---
{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: fleet, namespace: flux}, spec: {url: "https://user:s3cr3t-needle@github.com/acme/fleet"}}
---
{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: ssh, namespace: flux}, spec: {url: "ssh://git@github.com/acme/fleet"}}
`,
	"management/values.yaml": `
{apiVersion: v1, kind: Secret, metadata: {name: wc1-kubeconfig, namespace: org-acme}, data: {value: "` + encoded(kubeconfig) + `", other: "` + encoded(needle) + `"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: wc2-kubeconfig, namespace: org-acme}, data: {value: "` + encoded(needle) + `"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: wc1-extra, namespace: org-acme}, data: {values.yaml: "` + encoded("password: "+needle) + `"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: wc1-gpu-values, namespace: org-acme}, data: {values.yaml: "` + encoded(needle) + `"}, stringData: {plain: s3cr3t-needle}}
---
{apiVersion: v1, kind: Secret, metadata: {name: variables, namespace: flux}, data: {a: "` + encoded(needle) + `"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: unrelated, namespace: org-acme}, data: {a: "` + encoded(needle) + `"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: elsewhere, namespace: kube-system}, data: {a: s3cr3t-needle}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: wc1-values, namespace: org-acme}
binaryData: {blob: "` + encoded(needle) + `"}
data:
  values.yaml: |
    # a comment that goes with what is masked
    registry:
      password: s3cr3t-needle
    name: wc1
  names.yaml: |
    apiKey: s3cr3t-needle
    api_key: s3cr3t-needle
    AWS_SECRET_ACCESS_KEY: s3cr3t-needle
    passphrase: s3cr3t-needle
    githubPat: s3cr3t-needle
    pat: s3cr3t-needle
    bearer: s3cr3t-needle
    connectionString: Server=x;Pwd=s3cr3t-needle
    dsn: "host=x user=y password=s3cr3t-needle port=5432"
    alerts: https://hooks.slack.com/services/T0/B0/s3cr3t-needle
    webhookUrl: https://chat.example/s3cr3t-needle
    files: [{path: /etc/x, content: "PASSWORD=s3cr3t-needle"}]
    env: [{name: A, value: s3cr3t-needle}, {name: WITH_WORKLOAD, value: "false"}]
    extraEnv: {A: s3cr3t-needle}
    args: [s3cr3t-needle, "8080"]
  run.sh: |
    login --token s3cr3t-needle --user jane
    export API_KEY="s3cr3t-needle"
    curl -H "Authorization: Bearer s3cr3t-needle"
  untouched.yaml: |
    # a comment that stays
    name: wc1
  list.yaml: |
    - token: s3cr3t-needle
  two.yaml: |
    name: wc1
    ---
    password: s3cr3t-needle
  script.sh: |
    curl https://user:s3cr3t-needle@example.com/x
    mail jane@acme.example
  password: |
    s3cr3t-needle
    of two lines: no mapping
  api-key.pem: "-----BEGIN PRIVATE KEY-----\ns3cr3t-needle\n"
---
apiVersion: v1
kind: Pod
metadata: {name: job, namespace: org-acme}
spec:
  initContainers: [{name: a, image: i, command: [login, s3cr3t-needle]}]
  containers: [{name: b, image: j, args: [--password=s3cr3t-needle], env: [{name: PASSWORD, value: s3cr3t-needle}],
    lifecycle: {preStop: {exec: {command: [s3cr3t-needle]}}, postStart: {httpGet: {httpHeaders: [{name: X, value: s3cr3t-needle}]}}}, livenessProbe: {httpGet: {httpHeaders: [{name: X, value: s3cr3t-needle}]}}}]
status: {containerStatuses: [{imageID: "docker-pullable://registry:5000/i@sha256:0123"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: event, namespace: org-acme, annotations: {example.io/api-token: s3cr3t-needle}}
spec: {serviceAccountName: x, volumes: [{name: v, secret: {secretName: kept}}]}
status: {message: "pulling https://u:s3cr3t-needle@x/y failed for jane@acme.example"}
`,
	"management/definition.yaml": `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: machinepools.cluster.x-k8s.io}
spec:
  group: cluster.x-k8s.io
  scope: Namespaced
  names: {plural: machinepools, kind: MachinePool}
  versions: [{name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {description: long}}}]
`,
	"clusters/wc1/all.yaml": `
{apiVersion: v1, kind: Node, metadata: {name: wc1-0}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: "system:node"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: any, namespace: default}, data: {a: "` + encoded(needle) + `"}}
`,
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// options serve the installation, with some requests forbidden, and export it as its caller.
func options(t *testing.T, forbidden func(*http.Request) bool) snapshot.Options {
	t.Helper()
	opened, err := offline.Open(t.Context(), offline.Options{Dir: write(t, installation)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	target, err := url.Parse(strings.TrimSuffix(opened.Config().Host, "/installation"))
	if err != nil {
		t.Fatal(err)
	}
	behind := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if !forbidden(request) {
			behind.ServeHTTP(writer, request)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		writer.WriteHeader(http.StatusForbidden)
		_, _ = writer.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not for you"}`))
	}))
	t.Cleanup(proxy.Close)
	server := func(path string) (snapshot.Server, error) {
		config := &rest.Config{Host: proxy.URL + path, BearerToken: opened.Caller.KubernetesToken.Reveal(), QPS: -1}
		made := snapshot.Server{}
		if made.Dynamic, err = dynamic.NewForConfig(config); err != nil {
			return made, err
		}
		made.Discovery, err = discovery.NewDiscoveryClientForConfig(config)
		return made, err
	}
	exported := snapshot.Options{
		Dir: filepath.Join(t.TempDir(), "out"), Settings: opened.Settings, Given: map[string]string{"installation": "gazelle"}, Caller: opened.Caller,
		Workload: func(cluster clustermanager.Cluster, endpoint clustermanager.Endpoint) (snapshot.Server, error) {
			if endpoint.Server != "https://api."+cluster.Name+".example.com" || endpoint.CABundle != "CA" {
				t.Errorf("endpoint %+v", endpoint)
			}
			return server("/clusters/" + cluster.Name)
		},
	}
	if exported.Installation, err = server("/installation"); err != nil {
		t.Fatal(err)
	}
	return exported
}

func none(*http.Request) bool { return false }

// contents are the files of a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(os.DirFS(folder), name)
		files[name] = string(content)
		info, infoErr := entry.Info()
		if infoErr == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s may be read by others: %s", name, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestNoSecretLeaves(t *testing.T) {
	t.Parallel()
	exported := options(t, none)
	if _, err := snapshot.Export(t.Context(), exported); err != nil {
		t.Fatal(err)
	}
	files := contents(t, exported.Dir)
	for name, content := range files {
		texts := []string{content}
		var object struct {
			Kind string            `json:"kind"`
			Data map[string]string `json:"data"`
		}
		if err := yaml.Unmarshal([]byte(content), &object); err == nil && object.Kind == "Secret" {
			for _, value := range object.Data {
				plain, err := base64.StdEncoding.DecodeString(value)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				texts = append(texts, string(plain))
			}
		}
		for _, text := range texts {
			for _, form := range []string{needle, "s3cr3tneedle", encoded(needle), "last-applied", "managedFields", "openAPIV3Schema"} {
				if strings.Contains(text, form) {
					t.Errorf("%s holds %q:\n%s", name, form, text)
				}
			}
		}
	}
	var secret struct {
		Data map[string][]byte `json:"data"`
	}
	if err := yaml.Unmarshal([]byte(files["management/org-acme/secret-wc1-kubeconfig.yaml"]), &secret); err != nil {
		t.Fatal(err)
	}
	if config := string(secret.Data["value"]); !strings.Contains(config, "server: https://api.wc1.example.com") || !strings.Contains(config, "certificate-authority-data: Q0E=") || strings.Contains(config, "admin") {
		t.Errorf("kubeconfig:\n%s", config)
	}
	if string(secret.Data["other"]) != clustermanager.Masked {
		t.Errorf("another key: %s", secret.Data["other"])
	}
	for name, want := range map[string][]string{
		"management/org-acme/helmrelease-wc1.yaml":      {"region: eu-central-1", "replicas: 3", "password: <redacted>", "proxy: http://<redacted>@proxy:3128"},
		"management/org-acme/configmap-wc1-values.yaml": {"name: wc1", "# a comment that stays", "curl https://", "name: WITH_WORKLOAD", `- "8080"`, "host=x user=y", "login --token <redacted> --user jane", "mail jane@acme.example"},
		"management/org-acme/cluster-wc1.yaml":          {`kept: "yes"`},
		"management/org-acme/pod-job.yaml":              {"image: i", "image: j", "docker-pullable://registry:5000/i@sha256:0123"},
		"management/org-acme/pod-event.yaml":            {"secretName: kept", "pulling https://<redacted>@x/y failed for jane@acme.example"},
		"management/flux/gitrepository-fleet.yaml":      {"url: https://github.com/acme/fleet"},
		"management/flux/gitrepository-ssh.yaml":        {"url: ssh://git@github.com/acme/fleet"},
		"management/flux/kustomization-fleet.yaml":      {"region: x", "api_token: <redacted>"},
	} {
		for _, text := range want {
			if text == "curl https://" {
				text = "<redacted>@example.com/x"
			}
			if !strings.Contains(files[name], text) {
				t.Errorf("%s lacks %q:\n%s", name, text, files[name])
			}
		}
	}
}

func TestWhatIsExported(t *testing.T) {
	t.Parallel()
	exported := options(t, none)
	var asked []string
	exported.Charts = func(_ context.Context, url, version string) ([]snapshot.Chart, error) {
		asked = append(asked, url+" "+version)
		return []snapshot.Chart{{Name: "release-aws", Version: version, Files: map[string][]byte{"Chart.yaml": []byte("name: release-aws"), "charts/cluster/values.yaml": []byte("a: 1")}}},
			errors.New("chart agent-platform-connectivity: the registry does not answer")
	}
	report, err := snapshot.Export(t.Context(), exported)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"charts/release-aws-36.0.0/Chart.yaml", "charts/release-aws-36.0.0/charts/cluster/values.yaml",
		"cluster-manager.yaml", "clusters/wc1/cluster-scoped/clusterrolebinding-system_node.yaml", "clusters/wc1/cluster-scoped/node-wc1-0.yaml",
		"management/cluster-scoped/customresourcedefinition-machinepools.cluster.x-k8s.io.yaml", "management/cluster-scoped/namespace-org-acme.yaml",
		"management/cluster-scoped/organization-acme.yaml", "management/flux/gitrepository-fleet.yaml", "management/flux/gitrepository-ssh.yaml",
		"management/flux/kustomization-fleet.yaml", "management/flux/secret-variables.yaml", "management/infra/awscluster-wc1.yaml",
		"management/org-acme/cluster-wc1.yaml", "management/org-acme/cluster-wc2.yaml", "management/org-acme/configmap-wc1-values.yaml",
		"management/org-acme/helmrelease-wc1-gpu.yaml", "management/org-acme/helmrelease-wc1.yaml", "management/org-acme/kubeadmcontrolplane-wc1.yaml",
		"management/org-acme/ocirepository-wc1.yaml", "management/org-acme/pod-event.yaml", "management/org-acme/pod-job.yaml", "management/org-acme/secret-wc1-extra.yaml",
		"management/org-acme/secret-wc1-gpu-values.yaml", "management/org-acme/secret-wc1-kubeconfig.yaml", "management/org-acme/secret-wc2-kubeconfig.yaml",
		"management/org-giantswarm/cluster-gazelle.yaml", "management/platform/configmap-platform-values.yaml",
		"management/platform/helmrelease-platform.yaml", "not-exported.txt",
	}
	files := contents(t, exported.Dir)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"oci://gsoci.azurecr.io/charts/giantswarm/release-aws 36.0.0"}, asked); diff != "" {
		t.Error(diff)
	}
	unread := []string{
		"Cluster org-acme/wc2: its kubeconfig Secret holds no kubeconfig",
		"chart agent-platform-connectivity: the registry does not answer",
	}
	if diff := cmp.Diff(unread, report.Unread); diff != "" || report.Charts != 1 || report.Objects != 26 || !slices.Equal(report.Clusters, []string{"wc1"}) {
		t.Errorf("report %+v\n%s", report, diff)
	}
	for _, line := range unread {
		if !strings.Contains(files["not-exported.txt"], line) {
			t.Errorf("the folder's list lacks %s", line)
		}
	}
	// What was exported is a snapshot.
	again, err := offline.Open(t.Context(), offline.Options{Dir: exported.Dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	if again.Settings.Installation != "gazelle" || again.Caller.Email != "jane@acme.example" || again.Caller.GitHub == nil || again.Caller.GitHub.Login != "jane" {
		t.Errorf("settings %+v, caller %+v", again.Settings, again.Caller)
	}
}

// What may not be read is listed, and asked of each namespace that the caller may know of.
func TestWhatIsForbidden(t *testing.T) {
	t.Parallel()
	exported := options(t, func(request *http.Request) bool {
		path := strings.TrimPrefix(request.URL.Path, "/installation")
		return slices.Contains([]string{
			"/apis/cluster.x-k8s.io/v1beta1/clusters", "/apis/cluster.x-k8s.io/v1beta1/namespaces/org-acme/clusters/wc1",
			"/api/v1/namespaces/org-acme/secrets/wc1-kubeconfig", "/api/v1/nodes",
		}, path)
	})
	report, err := snapshot.Export(t.Context(), exported)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Cluster org-acme/wc1: its kubeconfig Secret is not there, or cannot be read",
		"Cluster org-acme/wc2: its kubeconfig Secret holds no kubeconfig",
		"installation: clusters.cluster.x-k8s.io of all namespaces: listing: not for you; 1 namespaces were asked one by one",
		"installation: secrets org-acme/wc1-kubeconfig: reading: not for you",
	}
	if diff := cmp.Diff(want, report.Unread); diff != "" {
		t.Error(diff)
	}
	files := contents(t, exported.Dir)
	if files["management/org-acme/cluster-wc1.yaml"] == "" || files["management/org-acme/secret-wc1-kubeconfig.yaml"] != "" || files["management/org-giantswarm/cluster-gazelle.yaml"] != "" {
		t.Error("not what the namespaces hold")
	}
}

func TestTheCallerIsAsked(t *testing.T) {
	t.Parallel()
	exported := options(t, none)
	exported.Caller = clustermanager.Caller{}
	exported.Installation.Dynamic = reviewing{exported.Installation.Dynamic}
	if _, err := snapshot.Export(t.Context(), exported); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, exported.Dir)["cluster-manager.yaml"]; got != "caller:\n  email: jane@acme.example\n  groups:\n  - admins\ninstallation: gazelle\n" {
		t.Errorf("settings %s", got)
	}
}

// reviewing answers whom the API server takes the caller for.
type reviewing struct{ dynamic.Interface }

func (r reviewing) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	if resource.Resource == "selfsubjectreviews" {
		return review{}
	}
	return r.Interface.Resource(resource)
}

type review struct {
	dynamic.NamespaceableResourceInterface
}

func (review) Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions, ...string) (*unstructured.Unstructured, error) {
	user := map[string]any{"username": "jane@acme.example", "groups": []any{"admins"}}
	return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"userInfo": user}}}, nil
}

func TestAFolderThatHoldsSomethingIsRefused(t *testing.T) {
	t.Parallel()
	exported := options(t, none)
	exported.Dir = write(t, map[string]string{"mine.txt": "mine"})
	if _, err := snapshot.Export(t.Context(), exported); err == nil || !strings.Contains(err.Error(), "it is not empty, and nothing in it is replaced") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(map[string]string{"mine.txt": "mine"}, contents(t, exported.Dir)); diff != "" {
		t.Error(diff)
	}
}
