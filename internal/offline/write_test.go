package offline_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/offline"
)

var helmReleases = clustermanager.HelmAPI.WithResource("helmreleases")

const writable = `
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: a, namespace: x, uid: given, finalizers: [f], labels: {l: "1"}}
spec: {interval: 10m, values: {list: [1, 2], gone: true}}
status: {observedGeneration: 3}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: x}
data: {k: v}
`

func writeScene(t *testing.T) (dynamic.Interface, *offline.Installation, offline.Options) {
	t.Helper()
	options := offline.Options{
		Dir:  write(t, map[string]string{"cluster-manager.yaml": "", "management/a.yaml": writable}),
		Keep: t.TempDir(), Now: func() time.Time { return time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC) },
	}
	installation := open(t, options)
	return clientsFor(t, installation.Config(), installation.Caller.KubernetesToken).dynamic, installation, options
}

func objectOf(apiVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	object.SetNamespace("x")
	object.SetName(name)
	for key, value := range fields {
		object.Object[key] = value
	}
	return object
}

func TestCreate(t *testing.T) {
	client, _, _ := writeScene(t)
	releases := client.Resource(helmReleases).Namespace("x")
	object := objectOf("helm.toolkit.fluxcd.io/v2", "HelmRelease", "b", map[string]any{
		"spec": map[string]any{"interval": "1m"}, "status": map[string]any{"x": "y"},
	})
	if _, err := releases.Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	if _, err := releases.Get(t.Context(), "b", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run made it: %v", err)
	}
	made, err := releases.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if made.GetUID() == "" || made.GetResourceVersion() == "" || made.GetGeneration() != 1 || made.GetCreationTimestamp().Hour() != 10 || made.Object["status"] != nil {
		t.Errorf("made: %v", made.Object)
	}
	if _, err := releases.Create(t.Context(), object, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("again: %v", err)
	}
	if err := releases.Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	other, err := releases.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil || other.GetUID() == made.GetUID() {
		t.Errorf("another one of the name has the uid of the first: %v", err)
	}
	for name, wrong := range map[string]*unstructured.Unstructured{
		"another kind": objectOf("helm.toolkit.fluxcd.io/v2", "Kustomization", "k", nil),
		"no name":      objectOf("helm.toolkit.fluxcd.io/v2", "HelmRelease", "", nil),
	} {
		if _, err := releases.Create(t.Context(), wrong, metav1.CreateOptions{}); !apierrors.IsBadRequest(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUpdate(t *testing.T) {
	client, _, _ := writeScene(t)
	releases := client.Resource(helmReleases).Namespace("x")
	live, err := releases.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stale := live.DeepCopy()
	live.SetAnnotations(map[string]string{"a": "b"})
	live.Object["status"] = map[string]any{}
	first, err := releases.Update(t.Context(), live, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if first.GetGeneration() != 0 || cmp.Diff(stale.Object["status"], first.Object["status"]) != "" {
		t.Errorf("metadata alone: %v", first.Object)
	}
	first.Object["spec"] = map[string]any{"interval": "5m"}
	second, err := releases.Update(t.Context(), first, metav1.UpdateOptions{})
	if err != nil || second.GetGeneration() != 1 || second.GetResourceVersion() == first.GetResourceVersion() {
		t.Errorf("spec: %v, %v", second, err)
	}
	if _, err := releases.Update(t.Context(), stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a stale one: %v", err)
	}
	if _, err := releases.UpdateStatus(t.Context(), second, metav1.UpdateOptions{}); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("the status: %v", err)
	}
	same, err := releases.Update(t.Context(), second, metav1.UpdateOptions{})
	if err != nil || same.GetResourceVersion() != second.GetResourceVersion() {
		t.Errorf("no change: %v, %v", same.GetResourceVersion(), err)
	}
}

func TestPatch(t *testing.T) {
	for _, test := range []struct {
		name string
		form types.PatchType
		body string
		want map[string]any
		is   func(error) bool
	}{
		{"merge", types.MergePatchType, `{"spec":{"interval":"1m","values":{"gone":null}}}`, map[string]any{"interval": "1m", "values": map[string]any{"list": []any{int64(1), int64(2)}}}, nil},
		{"apply", types.ApplyPatchType, `{"apiVersion":"helm.toolkit.fluxcd.io/v2","kind":"HelmRelease","metadata":{"name":"a"},"spec":{"values":{"list":[3]}}}`,
			map[string]any{"interval": "10m", "values": map[string]any{"list": []any{int64(3)}, "gone": true}}, nil},
		{"json", types.JSONPatchType, `[{"op":"test","path":"/spec/interval","value":"10m"},{"op":"add","path":"/spec/values/list/-","value":3},{"op":"remove","path":"/spec/values/gone"},{"op":"replace","path":"/spec/interval","value":"2m"}]`,
			map[string]any{"interval": "2m", "values": map[string]any{"list": []any{int64(1), int64(2), int64(3)}}}, nil},
		{"json, a test that fails", types.JSONPatchType, `[{"op":"test","path":"/spec/interval","value":"1m"}]`, nil, apierrors.IsBadRequest},
		{"json, nothing there", types.JSONPatchType, `[{"op":"remove","path":"/spec/x/y"}]`, nil, apierrors.IsBadRequest},
		{"json, an index too far", types.JSONPatchType, `[{"op":"replace","path":"/spec/values/list/2","value":1}]`, nil, apierrors.IsBadRequest},
		{"stale", types.MergePatchType, `{"metadata":{"resourceVersion":"0"}}`, nil, apierrors.IsConflict},
		{"another object", types.MergePatchType, `{"metadata":{"uid":"other"}}`, nil, apierrors.IsConflict},
		{"strategic", types.StrategicMergePatchType, `{}`, nil, apierrors.IsUnsupportedMediaType},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, _, _ := writeScene(t)
			releases := client.Resource(helmReleases).Namespace("x")
			got, err := releases.Patch(t.Context(), "a", test.form, []byte(test.body), metav1.PatchOptions{FieldManager: "t"})
			if test.is != nil {
				if !test.is(err) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Object["spec"]); diff != "" || got.GetLabels()["l"] != "1" || len(got.GetFinalizers()) != 1 {
				t.Errorf("(-want +got)\n%s%v", diff, got.Object["metadata"])
			}
		})
	}
}

func TestApplyCreatesWhatIsAbsent(t *testing.T) {
	client, _, _ := writeScene(t)
	secret := objectOf("v1", "Secret", "s", map[string]any{"stringData": map[string]any{"k": "made-for-the-test"}})
	made, err := client.Resource(secrets).Namespace("x").Apply(t.Context(), "s", secret, metav1.ApplyOptions{FieldManager: "t"})
	want := map[string]any{"k": base64.StdEncoding.EncodeToString([]byte("made-for-the-test"))}
	if err != nil || cmp.Diff(want, made.Object["data"]) != "" || made.Object["stringData"] != nil {
		t.Errorf("%v, %v", made, err)
	}
	secret.SetName("r")
	secret.SetResourceVersion("1")
	if _, err := client.Resource(secrets).Namespace("x").Apply(t.Context(), "r", secret, metav1.ApplyOptions{FieldManager: "t"}); !apierrors.IsConflict(err) {
		t.Errorf("with the version of one that is gone: %v", err)
	}
}

func TestDelete(t *testing.T) {
	client, _, _ := writeScene(t)
	releases, maps := client.Resource(helmReleases).Namespace("x"), client.Resource(configMaps).Namespace("x")
	wrong := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(types.UID("other"))}}
	if err := releases.Delete(t.Context(), "a", wrong); !apierrors.IsConflict(err) {
		t.Errorf("another's uid: %v", err)
	}
	if err := maps.Delete(t.Context(), "c", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Error(err)
	}
	if _, err := maps.Get(t.Context(), "c", metav1.GetOptions{}); err != nil {
		t.Errorf("a dry run took it: %v", err)
	}
	for range 2 {
		if err := releases.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		held, err := releases.Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil || held.GetDeletionTimestamp() == nil {
			t.Fatalf("with a finalizer: %v, %v", held, err)
		}
	}
	if _, err := releases.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":[]}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := releases.Delete(t.Context(), "a", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("its last finalizer is off: %v", err)
	}
	if err := client.Resource(configMaps).Namespace("x").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("a collection: %v", err)
	}
}

// What a call leaves is what the next one finds; the snapshot stays as it was.
func TestKeptStateIsReadBeforeTheSnapshot(t *testing.T) {
	client, installation, options := writeScene(t)
	if err := client.Resource(configMaps).Namespace("x").Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(helmReleases).Namespace("x").Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"interval":"1m"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	made, err := client.Resource(configMaps).Namespace("x").Create(t.Context(), objectOf("v1", "ConfigMap", "d", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := installation.Close(); err != nil {
		t.Fatal(err)
	}

	again := open(t, options)
	client = clientsFor(t, again.Config(), again.Caller.KubernetesToken).dynamic
	if _, err := client.Resource(configMaps).Namespace("x").Get(t.Context(), "c", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what was deleted is back: %v", err)
	}
	release, err := client.Resource(helmReleases).Namespace("x").Get(t.Context(), "a", metav1.GetOptions{})
	if interval, _, _ := unstructured.NestedString(release.Object, "spec", "interval"); err != nil || interval != "1m" || release.GetUID() != "given" {
		t.Errorf("what was changed: %v, %v", release, err)
	}
	kept, err := client.Resource(configMaps).Namespace("x").Get(t.Context(), "d", metav1.GetOptions{})
	if err != nil || kept.GetUID() != made.GetUID() {
		t.Errorf("what was made: %v, %v", kept, err)
	}
	if _, err := client.Resource(configMaps).Namespace("x").Create(t.Context(), objectOf("v1", "ConfigMap", "c", nil), metav1.CreateOptions{}); err != nil {
		t.Errorf("made anew: %v", err)
	}
	content, err := os.ReadFile(filepath.Join(options.Dir, "management", "a.yaml"))
	if err != nil || string(content) != writable {
		t.Errorf("the snapshot was changed: %v", err)
	}
	err = filepath.WalkDir(options.Keep, func(path string, entry os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".new") {
			t.Errorf("%s was left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestADefinitionServesItsKindAndTakesItAlong(t *testing.T) {
	client, _, _ := writeScene(t)
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "relays.nimbus.example"},
		"spec": map[string]any{
			"group": "nimbus.example", "names": map[string]any{"kind": "Relay", "plural": "relays"}, "scope": "Namespaced",
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}},
		},
	}}
	relays := client.Resource(schema.GroupVersionResource{Group: "nimbus.example", Version: "v1", Resource: "relays"}).Namespace("x")
	if _, err := relays.List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("before: %v", err)
	}
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := relays.Create(t.Context(), objectOf("nimbus.example/v1", "Relay", "r", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := definitions.Delete(t.Context(), "relays.nimbus.example", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := relays.Get(t.Context(), "r", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after: %v", err)
	}
}
