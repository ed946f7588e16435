package mcptools

import (
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/live/session"
)

// unwanted are the kinds whose objects have what is read of them and no more, which their definitions do not take, and
// those that serving alone needs.
var unwanted = []string{"kubeadmcontrolplane", "clusterissuer", "customresourcedefinition", "node", "storageclass", "karpentermachinepool"}

// load puts what the fixtures have of cluster wc1 onto a bed, status included.
func load(t *testing.T, client *testbed.Client) {
	t.Helper()
	folder := filepath.Join("..", "fixtures", "installations", "gazelle", "management")
	var later []*unstructured.Unstructured
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.Base(path)
		wanted := strings.HasPrefix(path, filepath.Join(folder, "cluster-scoped")) || strings.Contains(name, "wc1") || strings.Contains(name, "installation-values")
		kind, _, _ := strings.Cut(name, "-")
		if err != nil || entry.IsDir() || !wanted || slices.Contains(unwanted, kind) {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(content, &object.Object); err != nil {
			return err
		}
		if object.GetKind() == "Namespace" {
			return create(t, client, object)
		}
		later = append(later, object)
		return nil
	})
	for _, object := range later {
		if err == nil {
			err = create(t, client, object)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, client *testbed.Client, object *unstructured.Unstructured) error {
	resource, err := client.Of(object)
	if err != nil || object.GetName() == "default" {
		return err
	}
	status := object.Object["status"]
	object.SetUID("")
	made, err := resource.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil || status == nil || object.GetKind() == "Namespace" {
		return err
	}
	made.Object["status"] = status
	_, err = resource.UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
	return err
}

// create_node_pool in mode apply, as a person with rights and as one without, on a real API server.
func TestApplyOnARealAPIServer(t *testing.T) {
	bed := testbed.Start(t, testbed.Options{
		Users: []testbed.User{{Email: "jane@acme.example", Groups: []string{"acme:admins"}}, {Email: "rita@acme.example", Groups: []string{"acme:readers"}}},
		Definitions: []testbed.Set{
			testbed.FluxSource, testbed.FluxHelm, testbed.FluxKustomize, testbed.ClusterAPI, testbed.AWS, testbed.Apps, testbed.Releases, testbed.Organizations,
		},
	})
	admin, err := testbed.NewClient(bed.Admin())
	if err != nil {
		t.Fatal(err)
	}
	for group, role := range map[string]string{"acme:admins": "cluster-admin", "acme:readers": "reader"} {
		binding := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": role},
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
			"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}},
		}}
		if err := admin.Apply(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
	}
	reader := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": "reader"},
		"rules": []any{map[string]any{"apiGroups": []any{"*"}, "resources": []any{"*"}, "verbs": []any{"get", "list"}}},
	}}
	if err := admin.Apply(t.Context(), reader); err != nil {
		t.Fatal(err)
	}
	load(t, admin)
	settings := clustermanager.DefaultSettings()
	settings.Installation = "gazelle"
	// The cluster is its own installation here: the bed has one API server.
	itself := func(clustermanager.Cluster, clustermanager.Endpoint) (*rest.Config, error) { return bed.Admin(), nil }
	made, err := New(Options{
		Settings: settings, Sessions: session.New(bed.Admin(), itself), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	pool := func(email string, more map[string]any) clustermanager.WriteResult {
		t.Helper()
		arguments := map[string]any{"cluster": "wc1", "name": "gpu-l4", "serving": false}
		for key, value := range more {
			arguments[key] = value
		}
		raw, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		tool := made.list[slices.IndexFunc(made.list, func(tool Tool) bool { return tool.Name == "create_node_pool" })]
		call := Call{
			Caller: clustermanager.Caller{Email: email, KubernetesToken: bed.Token(email)}, Start: time.Now(), Now: time.Now(), Progress: func(string) {}, bounds: &bounds{},
		}
		answer, err := tool.Handle(t.Context(), call, raw)
		if err != nil {
			t.Fatal(err)
		}
		return answer.(clustermanager.WriteResult)
	}
	check := func(what string, got clustermanager.WriteResult, want ...string) {
		t.Helper()
		if !slices.Equal(told(got.Objects), want) {
			t.Errorf("%s: %v, %s", what, told(got.Objects), got.NextStep)
		}
	}
	check("dry run", pool("jane@acme.example", map[string]any{"dryRun": true}), "would-create OCIRepository", "would-create HelmRelease", "would-create OCIRepository", "would-create HelmRelease")
	refused := pool("rita@acme.example", nil)
	check("without the right to write", refused, "pending OCIRepository", "pending HelmRelease", "pending OCIRepository", "pending HelmRelease")
	if !refused.Partial || !strings.Contains(refused.NextStep, "forbidden") || !strings.Contains(refused.NextStep, "0 done, 4 pending") {
		t.Error(refused.NextStep)
	}
	check("create", pool("jane@acme.example", nil), "create OCIRepository", "create HelmRelease", "create OCIRepository", "create HelmRelease")
	check("dry run after it", pool("jane@acme.example", map[string]any{"dryRun": true}), "unchanged OCIRepository", "unchanged HelmRelease", "unchanged OCIRepository", "unchanged HelmRelease")
	check("another limit", pool("jane@acme.example", map[string]any{"maxGpus": 8}), "unchanged OCIRepository", "update HelmRelease", "unchanged OCIRepository", "unchanged HelmRelease")
	check("the same again", pool("jane@acme.example", map[string]any{"maxGpus": 8}), "unchanged OCIRepository", "unchanged HelmRelease", "unchanged OCIRepository", "unchanged HelmRelease")
}
