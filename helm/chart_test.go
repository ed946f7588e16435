// Package helm_test holds the chart: what it renders, what it refuses, and that an API server and the binary take it.
package helm_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/clustermanager/cluster-manager/internal/settings"
)

const (
	chart = "cluster-manager"
	// namespace is that of the releases of these tests.
	namespace = "tools"
)

// helm runs the stock command.
func helm(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	return run(t, "helm", arguments...)
}

func run(t *testing.T, tool string, arguments ...string) (string, error) {
	t.Helper()
	// What the command reads counts for whether a result is still good only when the test reads it too.
	if err := filepath.WalkDir(chart, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			_, err = os.ReadFile(path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	folder := os.Getenv("CLUSTER_MANAGER_TEST_TOOLS")
	if folder == "" {
		t.Skipf("CLUSTER_MANAGER_TEST_TOOLS names no folder with the %s command: make test provides it", tool)
	}
	command := exec.CommandContext(t.Context(), filepath.Join(folder, tool), arguments...)
	// Nothing of this machine's own configuration of helm counts.
	home := t.TempDir()
	command.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	var out, faults bytes.Buffer
	command.Stdout, command.Stderr = &out, &faults
	if err := command.Run(); err != nil {
		return faults.String() + out.String(), err
	}
	return out.String(), nil
}

// render returns the objects of a release with the values, in the order that helm prints them.
func render(t *testing.T, values string) []*unstructured.Unstructured {
	t.Helper()
	text, err := template(t, values)
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, text)
	}
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
	return objects
}

func template(t *testing.T, values string) (string, error) {
	t.Helper()
	// Helm takes a comma in the name for a list of names, and a test's own folder is named after it.
	folder, err := os.MkdirTemp("", "values-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return helm(t, "template", "cluster-manager", chart, "--namespace", namespace, "--values", file)
}

// find returns the one object of a kind.
func find(t *testing.T, objects []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	t.Helper()
	index := slices.IndexFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() == kind })
	if index < 0 {
		t.Fatalf("no %s is rendered", kind)
	}
	return objects[index]
}

func kinds(objects []*unstructured.Unstructured) []string {
	var all []string
	for _, object := range objects {
		all = append(all, object.GetKind())
	}
	slices.Sort(all)
	return all
}

// container is the Deployment's one.
func container(t *testing.T, objects []*unstructured.Unstructured) map[string]any {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(find(t, objects, "Deployment").Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("containers: %v, %v", containers, err)
	}
	return containers[0].(map[string]any)
}

func arguments(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	all, _, err := unstructured.NestedStringSlice(container(t, objects), "args")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// lab is the smallest release, signedIn one with OAuth, everything one that has all there is.
const (
	lab      = "installation: {name: gazelle}\n"
	signedIn = `
global:
  domain: gazelle.example.com
  identity: {issuerUrl: https://dex.gazelle.example.com, clientId: platform, ca: {secretName: dex-ca, key: root.pem}}
oauth: {enabled: true}
muster: {mcpServer: {enabled: true, labels: {team: rocket}, auth: {requiredAudiences: [clusters, platform]}}}
`
	everything = signedIn + `
installation: {name: gazelle}
serving: {sliceChartVersion: 4.1.0}
github:
  enabled: true
  gitHosts: [ghe.example.com=https://ghe.example.com/api/v3]
  authorizationServer: {clientCredentialsSecretRef: {name: app-client}}
  app: {id: 1234, privateKeySecret: {name: app}, webhookSecret: {name: app, key: hook}}
server: {readOnly: true, tools: [get_info, list_clusters], config: {caller-rate: 5}}
observability: {otel: {endpoint: http://otlp:4317, headers: a=b, resourceAttributes: c=d}}
serviceMonitor: {enabled: true, labels: {a: b}, interval: 30s}
networkPolicy: {from: [{podSelector: {matchLabels: {app: muster}}}], metricsFrom: [{namespaceSelector: {}}]}
logging: {verbose: true}
watcher: {enabled: true}
imagePullSecrets: [{name: registry}]
extraEnv: [{name: HTTPS_PROXY, value: http://proxy:3128}]
podAnnotations: {a: b}
podLabels: {c: d}
nodeSelector: {e: f}
tolerations: [{operator: Exists}]
affinity: {nodeAffinity: {}}
tmpVolume: {sizeLimit: ""}
`
)

func TestWhatIsRendered(t *testing.T) {
	t.Parallel()
	always := []string{"Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"}
	rights := []string{"ClusterRole", "ClusterRoleBinding"}
	for name, test := range map[string]struct {
		values string
		want   []string
	}{
		"nothing set":                        {"", slices.Concat(always, rights)},
		"lab":                                {lab, slices.Concat(always, rights)},
		"lab that is not to have rights":     {"rbac: {create: false}", always},
		"callers' own rights":                {signedIn, slices.Concat(always, []string{"MCPServer"})},
		"known callers, the pod's rights":    {signedIn + "\noauth: {enabled: true, downstream: {enabled: false}}", slices.Concat(always, rights, []string{"MCPServer"})},
		"everything":                         {everything, slices.Concat(always, rights, []string{"ConfigMap", "MCPServer", "Secret", "ServiceAccount", "ServiceMonitor"})},
		"one replica, nothing around it":     {"replicaCount: 1\nnetworkPolicy: {enabled: false}\nserviceAccount: {create: false}\nrbac: {create: false}", []string{"Deployment", "Service"}},
		"metrics off":                        {"observability: {metrics: {enabled: false}}\nserviceMonitor: {enabled: true}", slices.Concat(always, rights)},
		"without MCP, nothing is for muster": {signedIn + "\nmcp: {enabled: false}", always},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A document that sets a key twice is refused, so the last of two counts here.
			values := merged(t, test.values)
			slices.Sort(test.want)
			if difference := cmp.Diff(test.want, kinds(render(t, values))); difference != "" {
				t.Error(difference)
			}
		})
	}
}

// merged lets the last of a document's equal keys win.
func merged(t *testing.T, text string) string {
	t.Helper()
	values := map[string]any{}
	var part strings.Builder
	flush := func() {
		var keys map[string]any
		if err := yaml.Unmarshal([]byte(part.String()), &keys); err != nil {
			t.Fatal(err)
		}
		for key, value := range keys {
			values[key] = value
		}
		part.Reset()
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			flush()
		}
		part.WriteString(line + "\n")
	}
	flush()
	content, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestArgumentsAreThoseOfTheBinary(t *testing.T) {
	t.Parallel()
	authority := filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(authority, []byte("made for this test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string]string{"lab": lab, "signed in": signedIn, "everything": everything} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := map[string]string{}
			for _, argument := range arguments(t, render(t, values))[1:] {
				flag, value, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
				if _, known := settings.Find(flag); !known {
					t.Errorf("%s: serve has no such flag", argument)
				}
				if strings.HasPrefix(value, "/etc/cluster-manager/") {
					value = authority
				}
				if flag != "config" {
					given[flag] = value
				}
			}
			if _, err := settings.Resolve(settings.Flags(given)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatTheValuesBecome(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values  string
		want    []string
		without []string
	}{
		"lab":                              {lab, []string{"--installation=gazelle", "--in-cluster=true", "--listen=:8080"}, []string{"--enable-oauth", "--cluster-oidc-client-id", "--github-", "--config", "--tools"}},
		"the platform's identity contract": {signedIn, []string{"--dex-issuer-url=https://dex.gazelle.example.com", "--dex-ca-file=/etc/cluster-manager/idp-ca/root.pem", "--oauth-base-url=https://cluster-manager.gazelle.example.com", "--oauth-trusted-audiences=platform,clusters", "--cluster-oidc-client-id=clusters", "--downstream-oauth=true"}, nil},
		"own values win over it": {signedIn + `
oauth: {enabled: true, baseURL: https://x.example.com, trustedAudiences: [mine], dex: {issuerURL: https://issuer.example.com, caSecret: {name: own}}}
createdClusters: {oidc: {clientID: theirs}}`, []string{"--dex-issuer-url=https://issuer.example.com", "--dex-ca-file=/etc/cluster-manager/idp-ca/root.pem", "--oauth-base-url=https://x.example.com", "--oauth-trusted-audiences=mine,clusters,platform", "--cluster-oidc-client-id=theirs"}, nil},
		"everything": {everything, []string{"--github-authorization-server=https://github.com/apps/giantswarm-cluster-manager", "--git-hosts=ghe.example.com=https://ghe.example.com/api/v3", "--github-app-id=1234", "--read-only=true", "--tools=get_info,list_clusters", "--verbose=true"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := arguments(t, render(t, merged(t, test.values)))
			for _, want := range test.want {
				if !slices.Contains(got, want) {
					t.Errorf("%s is not among %q", want, got)
				}
			}
			for _, prefix := range test.without {
				if slices.ContainsFunc(got, func(argument string) bool { return strings.HasPrefix(argument, prefix) }) {
					t.Errorf("%s is among %q", prefix, got)
				}
			}
		})
	}
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ values, want string }{
		"GitHub without OAuth":     {"github: {enabled: true}", "github.enabled needs oauth.enabled"},
		"OAuth without an issuer":  {"oauth: {enabled: true, baseURL: https://x.example.com, trustedAudiences: [a]}", "set oauth.dex.issuerURL or global.identity.issuerUrl"},
		"OAuth without a base URL": {"oauth: {enabled: true, dex: {issuerURL: https://x.example.com}, trustedAudiences: [a]}", "set oauth.baseURL or global.domain"},
		"OAuth without audience":   {"oauth: {enabled: true, baseURL: https://x.example.com, dex: {issuerURL: https://x.example.com}}", "set oauth.trustedAudiences"},
		"half of a GitHub App":     {"github: {app: {id: 7}}", "go together"},
		"an unknown value":         {"replicas: 3", "replicas"},
		"an unknown value below":   {"oauth: {dex: {clientSecret: x}}", "clientSecret"},
		"a value of another form":  {"replicaCount: two", "replicaCount"},
		"a protocol there is not":  {"observability: {otel: {protocol: http/json}}", "protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := template(t, test.values)
			if err == nil || !strings.Contains(text, test.want) {
				t.Errorf("answered %v, %s, want %q", err, text, test.want)
			}
		})
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	if text, err := helm(t, "lint", "--strict", chart); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestReadmeIsThatOfTheValues(t *testing.T) {
	t.Parallel()
	want, err := run(t, "helm-docs", "--dry-run", "--sort-values-order", "file", "--chart-search-root", ".")
	if err != nil {
		t.Fatalf("%v\n%s", err, want)
	}
	have, err := os.ReadFile(filepath.Join(chart, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(string(have))); difference != "" {
		t.Errorf("make helm-docs (-values +README.md):\n%s", difference)
	}
}

// A rule that the tools need and the chart lacks would show in a lab alone.
func TestRightsAreThoseOfThePermissions(t *testing.T) {
	t.Parallel()
	type rule struct {
		APIGroups, Resources, Verbs []string
	}
	pairs := func(rules []rule) []string {
		var all []string
		for _, rule := range rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						all = append(all, group+"/"+resource+" "+verb)
					}
				}
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	var have []rule
	read(t, filepath.Join(chart, "files", "rules.yaml"), &have)
	content, err := os.ReadFile(filepath.Join("..", "docs", "permissions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var want []rule
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var role struct{ Rules []rule }
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		want = append(want, role.Rules...)
	}
	if difference := cmp.Diff(pairs(want), pairs(have)); difference != "" || len(want) == 0 {
		t.Errorf("docs/permissions.yaml and the chart's rights differ (-documented +chart):\n%s", difference)
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(content, into); err != nil {
		t.Fatal(err)
	}
}

// The schema tells editors and helm what there is, so it has every value with its default.
func TestSchemaHasEveryValue(t *testing.T) {
	t.Parallel()
	var values, schema map[string]any
	read(t, filepath.Join(chart, "values.yaml"), &values)
	read(t, filepath.Join(chart, "values.schema.json"), &schema)
	var compare func(path string, value any, schema map[string]any)
	compare = func(path string, value any, schema map[string]any) {
		keys, isMap := value.(map[string]any)
		properties, described := schema["properties"].(map[string]any)
		if isMap && described && path != ".global" {
			for key, below := range keys {
				property, known := properties[key].(map[string]any)
				if !known {
					t.Errorf("%s.%s: the schema lacks it", path, key)
					continue
				}
				compare(path+"."+key, below, property)
			}
			for key := range properties {
				if _, there := keys[key]; !there {
					t.Errorf("%s.%s: values.yaml lacks it", path, key)
				}
			}
			return
		}
		if difference := cmp.Diff(value, schema["default"]); difference != "" {
			t.Errorf("%s: the default differs (-values +schema):\n%s", path, difference)
		}
	}
	compare("", values, schema)
}
