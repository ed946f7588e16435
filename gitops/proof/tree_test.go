package proof

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// files is a tree as a test writes it: path to content.
type files map[string]string

func (f files) with(more files) files {
	all := maps.Clone(f)
	maps.Copy(all, more)
	return all
}

func (f files) without(names ...string) files {
	all := maps.Clone(f)
	for _, name := range names {
		delete(all, name)
	}
	return all
}

// fsys is the tree as a file system. A content "-> x" is a symbolic link to x, "submodule" a submodule.
func (f files) fsys() fstest.MapFS {
	tree := fstest.MapFS{}
	for name, content := range f {
		target, isLink := strings.CutPrefix(content, "-> ")
		switch {
		case isLink:
			tree[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
		case content == "submodule":
			tree[name] = &fstest.MapFile{Mode: fs.ModeIrregular}
		default:
			tree[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
		}
	}
	return tree
}

// changed are the paths that differ between two trees.
func changed(before, after files) []string {
	names := map[string]bool{}
	for name, content := range before {
		names[name] = after[name] != content
	}
	for name, content := range after {
		if old, ok := before[name]; !ok || old != content {
			names[name] = true
		}
	}
	maps.DeleteFunc(names, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(names))
}

func configMap(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: org-acme\ndata:\n  key: %q\n", name, value)
}

func kustomization(entries ...string) string {
	return "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- " + strings.Join(entries, "\n- ") + "\n"
}

func object(kind, name string) clustermanager.ObjectReference {
	return clustermanager.ObjectReference{APIVersion: "v1", Kind: kind, Namespace: "org-acme", Name: name}
}

func composed(name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": "org-acme"},
		"data":     map[string]any{"key": value},
	}}
}

// fleet is a cluster's folder with a kustomization; pool is what a proposal adds to it.
var (
	fleet = files{
		"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "quotas.yaml"),
		"clusters/wc1/wc1.yaml":           configMap("wc1", "release"),
		"clusters/wc1/quotas.yaml":        configMap("quotas", "ten"),
		"README.md":                       "a fleet",
	}
	pool = files{
		"clusters/wc1/kustomization.yaml":                 kustomization("wc1.yaml", "quotas.yaml", "cluster-manager"),
		"clusters/wc1/cluster-manager/kustomization.yaml": kustomization("gpu.yaml"),
		"clusters/wc1/cluster-manager/gpu.yaml":           configMap("gpu", "l4"),
	}
)

// generatedFleet is the fleet without a kustomization, so that Flux generates one; ourFolder is what a proposal adds to
// it.
var (
	generatedFleet = fleet.without("clusters/wc1/kustomization.yaml")
	ourFolder      = pool.without("clusters/wc1/kustomization.yaml")
)

func spec(fields map[string]any) map[string]any {
	all := map[string]any{"path": "./clusters/wc1", "prune": true, "interval": "5m"}
	maps.Copy(all, fields)
	return all
}

// proposal is the input for two trees; the object gpu is meant to be ensured.
func proposal(before, after files) Input {
	return Input{
		Base: before.fsys(), Proposed: after.fsys(), Staged: changed(before, after),
		Target: clustermanager.Target{
			Repository:    clustermanager.GitRepository{Source: clustermanager.NamespacedName{Namespace: "flux", Name: "fleet"}, Owner: "acme", Name: "fleet"},
			Kustomization: clustermanager.NamespacedName{Namespace: "flux", Name: "wc1"},
			Path:          "clusters/wc1", Prune: true, Spec: spec(nil),
		},
		Meant:   []clustermanager.ObjectReference{object("ConfigMap", "gpu")},
		Objects: []*unstructured.Unstructured{composed("gpu", "l4")},
		Diff:    diff,
	}
}

// diff stands in for the renderer's.
func diff(before, after []*unstructured.Unstructured) []clustermanager.ObjectDiff {
	var diffs []clustermanager.ObjectDiff
	old, now := byIdentity(before), byIdentity(after)
	for id, object := range now {
		switch was, ok := old[id]; {
		case !ok:
			diffs = append(diffs, clustermanager.ObjectDiff{ObjectReference: clustermanager.ReferenceTo(object), Action: clustermanager.DiffAdd})
		case !reflect.DeepEqual(was.Object, object.Object):
			diffs = append(diffs, clustermanager.ObjectDiff{ObjectReference: clustermanager.ReferenceTo(object), Action: clustermanager.DiffChange})
		}
	}
	for id, object := range old {
		if _, ok := now[id]; !ok {
			diffs = append(diffs, clustermanager.ObjectDiff{ObjectReference: clustermanager.ReferenceTo(object), Action: clustermanager.DiffRemove})
		}
	}
	slices.SortFunc(diffs, func(a, b clustermanager.ObjectDiff) int { return strings.Compare(a.String(), b.String()) })
	return diffs
}

// proven runs Prove and asserts that nothing is left in the temporary folder.
func proven(t *testing.T, in Input) (Result, error) {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	result, err := Prove(t.Context(), in)
	left, readErr := os.ReadDir(temp)
	if readErr != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v %v", left, readErr)
	}
	if err != nil && strings.Contains(err.Error(), temp[1:]) {
		t.Errorf("the error names the temporary folder: %v", err)
	}
	return result, err
}

func added(name string) []clustermanager.ObjectDiff {
	return []clustermanager.ObjectDiff{{ObjectReference: object("ConfigMap", name), Action: clustermanager.DiffAdd}}
}
