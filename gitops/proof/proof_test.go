package proof

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
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

// scenario is two trees and what a proof of the second one says.
type scenario struct {
	before, after files
	change        func(*Input)
	built         bool
	objects       []clustermanager.ObjectDiff
	note          []string
	warnings      []string
	refused       []string
}

func (s scenario) input() Input {
	in := proposal(s.before, s.after)
	if s.change != nil {
		s.change(&in)
	}
	return in
}

// scenarios are trees that can be built, at least on one side.
func scenarios() map[string]scenario {
	generatedFleet := fleet.without("clusters/wc1/kustomization.yaml")
	folder := files{
		"clusters/wc1/cluster-manager/kustomization.yaml": pool["clusters/wc1/cluster-manager/kustomization.yaml"],
		"clusters/wc1/cluster-manager/gpu.yaml":           pool["clusters/wc1/cluster-manager/gpu.yaml"],
	}
	return map[string]scenario{
		"pool": {before: fleet, after: fleet.with(pool), built: true, objects: added("gpu")},
		"kustomization.yml": {
			before: fleet.without("clusters/wc1/kustomization.yaml").with(files{"clusters/wc1/kustomization.yml": fleet["clusters/wc1/kustomization.yaml"]}),
			after:  fleet.without("clusters/wc1/kustomization.yaml").with(folder).with(files{"clusters/wc1/kustomization.yml": pool["clusters/wc1/kustomization.yaml"]}),
			built:  true, objects: added("gpu"),
		},
		"Kustomization": {
			before: fleet.without("clusters/wc1/kustomization.yaml").with(files{"clusters/wc1/Kustomization": fleet["clusters/wc1/kustomization.yaml"]}),
			after:  fleet.without("clusters/wc1/kustomization.yaml").with(folder).with(files{"clusters/wc1/Kustomization": pool["clusters/wc1/kustomization.yaml"]}),
			built:  true, objects: added("gpu"),
		},
		"two kustomization files": {
			before: fleet, after: fleet.with(folder).with(files{"clusters/wc1/kustomization.yml": kustomization("wc1.yaml", "cluster-manager")}),
			refused: []string{"would not build after the merge", "Found multiple kustomization files"},
		},
		"generated": {before: generatedFleet, after: generatedFleet.with(folder), built: true, objects: added("gpu")},
		"generated nested": {
			before: generatedFleet.with(files{"clusters/wc1/apps/deep/a.yaml": configMap("a", "a"), "clusters/wc1/base/kustomization.yml": kustomization("b.yaml"), "clusters/wc1/base/b.yaml": configMap("b", "b"), "clusters/wc1/base/unlisted.yaml": "no object"}),
			after:  generatedFleet.with(folder).with(files{"clusters/wc1/apps/deep/a.yaml": configMap("a", "a"), "clusters/wc1/base/kustomization.yml": kustomization("b.yaml"), "clusters/wc1/base/b.yaml": configMap("b", "b"), "clusters/wc1/base/unlisted.yaml": "no object"}),
			built:  true, objects: added("gpu"),
		},
		"generated over a file that is no object": {
			before: generatedFleet, after: generatedFleet.with(folder).with(files{"clusters/wc1/cluster.yaml": "just: text"}),
			refused: []string{"would not build after the merge", "clusters/wc1/cluster.yaml"},
		},
		"a hidden list takes the others out": {
			before: generatedFleet, after: generatedFleet.with(folder).with(files{"clusters/wc1/kustomization.yaml": kustomization("cluster-manager")}),
			refused: []string{"prune 2 (ConfigMap org-acme/quotas, ConfigMap org-acme/wc1)"},
		},
		"without prune": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "cluster-manager")}),
			change:  func(in *Input) { in.Target.Prune = false },
			refused: []string{"stop applying 1 (ConfigMap org-acme/quotas)"},
		},
		"another object changes": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/quotas.yaml": configMap("quotas", "none")}),
			refused: []string{"change 1 (ConfigMap org-acme/quotas)"},
		},
		"another object comes": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu.yaml": configMap("gpu", "l4") + "---\n" + configMap("stray", "x")}),
			refused: []string{"add 1 (ConfigMap org-acme/stray)"},
		},
		"removal": {
			before: fleet.with(pool), after: fleet,
			change: func(in *Input) { in.Objects = nil }, built: true,
			objects: []clustermanager.ObjectDiff{{ObjectReference: object("ConfigMap", "gpu"), Action: clustermanager.DiffRemove}},
		},
		"nothing to do": {before: fleet.with(pool), after: fleet.with(pool), built: true},
		"no entry above": {
			before: fleet, after: fleet.with(folder),
			refused: []string{"does not reach ConfigMap org-acme/gpu", "clusters/wc1/kustomization.yaml does not list cluster-manager"},
		},
		"no entry in the folder": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/kustomization.yaml": kustomization("other.yaml"), "clusters/wc1/cluster-manager/other.yaml": configMap("gpu2", "x")}),
			change: func(in *Input) {
				in.Meant = append(in.Meant, object("ConfigMap", "gpu2"))
				in.Objects = append(in.Objects, composed("gpu2", "x"))
			},
			refused: []string{"does not reach ConfigMap org-acme/gpu:", "clusters/wc1/cluster-manager/kustomization.yaml does not list its files"},
		},
		"a sealed Secret that is not listed": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu-secret.enc.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: gpu\n  namespace: org-acme\nstringData:\n  a: ENC[x]\nsops: {}\n"}),
			refused: []string{"does not reach Secret org-acme/gpu"},
		},
		"a dangling entry": {
			before: fleet, after: fleet.with(pool).without("clusters/wc1/cluster-manager/gpu.yaml"),
			refused: []string{"builds today and would not build after the merge", "clusters/wc1/cluster-manager/gpu.yaml"},
		},
		"the same object twice": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu.yaml": configMap("quotas", "l4")}),
			refused: []string{"may not add resource with an already registered id"},
		},
		"moved by namePrefix": {
			before: fleet, after: fleet.with(pool), change: func(in *Input) { in.Target.Spec = spec(map[string]any{"namePrefix": "pre-"}) },
			refused: []string{"would apply ConfigMap org-acme/gpu as ConfigMap org-acme/pre-gpu (spec.namePrefix)"},
		},
		"moved by targetNamespace": {
			before: fleet, after: fleet.with(pool), change: func(in *Input) { in.Target.Spec = spec(map[string]any{"targetNamespace": "other"}) },
			refused: []string{"as ConfigMap other/gpu (spec.targetNamespace)"},
		},
		"moved by a kustomization": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/kustomization.yaml": kustomization("gpu.yaml") + "nameSuffix: -x\n"}),
			refused: []string{"as ConfigMap org-acme/gpu-x (a namePrefix, nameSuffix, namespace or patch of a kustomization)"},
		},
		"patches of the spec": {
			before: fleet, after: fleet.with(pool), built: true, objects: added("gpu"),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"patches": []any{map[string]any{
					"patch":  "- op: replace\n  path: /data/key\n  value: patched\n",
					"target": map[string]any{"kind": "ConfigMap", "name": "gpu"},
				}}})
			},
			warnings: []string{"ConfigMap org-acme/gpu is built other than it was composed, at data.key"},
		},
		"components, bases and labels": {
			before: fleet.with(files{
				"clusters/wc1/kustomization.yaml":     kustomization("wc1.yaml", "quotas.yaml", "../../bases/app") + "components:\n- ../../components/labels\n",
				"bases/app/kustomization.yaml":        kustomization("app.yaml"),
				"bases/app/app.yaml":                  configMap("app", "x"),
				"components/labels/kustomization.yml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels:\n- pairs: {team: a}\n",
			}),
			after: fleet.with(pool).with(files{
				"clusters/wc1/kustomization.yaml":     kustomization("wc1.yaml", "quotas.yaml", "../../bases/app", "cluster-manager") + "components:\n- ../../components/labels\n",
				"bases/app/kustomization.yaml":        kustomization("app.yaml"),
				"bases/app/app.yaml":                  configMap("app", "x"),
				"components/labels/kustomization.yml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels:\n- pairs: {team: a}\n",
			}),
			built: true, objects: added("gpu"),
		},
		"component of the spec": {
			before: fleet.with(files{"components/l/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {a: b}\n"}),
			after:  fleet.with(pool).with(files{"components/l/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {a: b}\n"}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"components": []any{"../../components/l", "../../components/gone"}, "ignoreMissingComponents": true})
			},
			built: true, objects: added("gpu"),
		},
		"postBuild": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": configMap("wc1", "${region}")}),
			after:  fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": configMap("wc1", "${region}")}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substitute": map[string]any{"region": "eu"}}})
			},
			built: true, objects: added("gpu"),
		},
		"an unknown variable": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu.yaml": configMap("gpu", "${zone}")}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substitute": map[string]any{"region": "eu"}}})
				in.Objects = []*unstructured.Unstructured{composed("gpu", "${zone}")}
			},
			refused: []string{"ConfigMap gpu: post-build substitution", `"zone"`},
		},
		"a variable in a value with the annotation": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu.yaml": strings.Replace(configMap("gpu", "${zone}"), "\ndata:", "\n  annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}\ndata:", 1)}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substitute": map[string]any{"zone": "eu"}}})
				in.Objects = []*unstructured.Unstructured{composed("gpu", "${zone}")}
			},
			built: true, objects: added("gpu"),
		},
		"a variable in a value without it": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu.yaml": configMap("gpu", "${zone}")}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substitute": map[string]any{"zone": "eu"}}})
				in.Objects = []*unstructured.Unstructured{composed("gpu", "${zone}")}
			},
			built: true, objects: added("gpu"), warnings: []string{"ConfigMap org-acme/gpu is built other than it was composed, at data.key"},
		},
		"variables that could not be read": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": configMap("wc1", "${region}")}),
			after:  fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": configMap("wc1", "${region}")}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substituteFrom": []any{map[string]any{"kind": "Secret", "name": "vars"}}}})
				in.Target.UnreadSubstitutes = []string{"Secret vars: forbidden"}
			},
			objects: added("gpu"), note: []string{"could not be read (Secret vars: forbidden)"},
		},
		"strategy Always": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": configMap("wc1", "${region:=eu}")}),
			after:  fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": configMap("wc1", "${region:=eu}")}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substituteStrategy": "Always"}})
			},
			built: true, objects: added("gpu"),
		},
		"base that does not build, same after": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": "{"}),
			objects: added("gpu"), note: []string{"the tree does not build today:", "wc1.yaml", "nothing but our folder's files and its one entry changes", "clusters/wc1/cluster-manager builds by itself"},
		},
		"base that does not build, another file changes": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": "{", "clusters/wc1/quotas.yaml": configMap("quotas", "x")}),
			refused: []string{"does not build today", "clusters/wc1/quotas.yaml changes too"},
		},
		"base that does not build, another entry goes": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": "{", "clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "cluster-manager")}),
			refused: []string{"does not build today", "clusters/wc1/kustomization.yaml changes too"},
		},
		"base that does not build, no entry": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(folder).with(files{"clusters/wc1/wc1.yaml": "{"}),
			refused: []string{"clusters/wc1/kustomization.yaml does not list cluster-manager"},
		},
		"base that does not build, entry left": {
			before: fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": "{"}),
			after:  fleet.with(files{"clusters/wc1/kustomization.yaml": pool["clusters/wc1/kustomization.yaml"], "clusters/wc1/wc1.yaml": "{"}),
			change: func(in *Input) { in.Objects = nil }, refused: []string{"lists cluster-manager, which would be gone"},
		},
		"base that does not build, removal": {
			before: fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}),
			change:  func(in *Input) { in.Objects = nil },
			objects: []clustermanager.ObjectDiff{{ObjectReference: object("ConfigMap", "gpu"), Action: clustermanager.DiffRemove}},
			note:    []string{"does not build today"},
		},
		"base that does not build, our folder neither": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": "{", "clusters/wc1/cluster-manager/gpu.yaml": "{"}),
			refused: []string{"clusters/wc1/cluster-manager does not build"},
		},
		"base that does not build, worse after": {
			before: fleet.with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "gone.yaml")}), after: fleet.with(pool).with(files{"clusters/wc1/kustomization.yaml": kustomization("cluster-manager", "gone2.yaml")}),
			refused: []string{"would not build after the merge"},
		},
		"base that does not build, mended": {
			before: fleet.with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "quotas.yaml", "cluster-manager")}), after: fleet.with(pool),
			note: []string{"does not build today", "the tree builds after the merge"},
		},
		"base that does not build, mended by another file": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(pool),
			refused: []string{"does not build today", "clusters/wc1/wc1.yaml changes too"},
		},
		".sourceignore over a staged file": {
			before: fleet.with(files{".sourceignore": "cluster-manager/\n"}), after: fleet.with(pool).with(files{".sourceignore": "cluster-manager/\n"}),
			refused: []string{"clusters/wc1/cluster-manager/gpu.yaml is left out of what Flux fetches by .sourceignore"},
		},
		"nested .sourceignore": {
			before: fleet.with(files{"clusters/wc1/.sourceignore": "gpu.yaml\n"}), after: fleet.with(pool).with(files{"clusters/wc1/.sourceignore": "gpu.yaml\n"}),
			refused: []string{"by clusters/wc1/.sourceignore"},
		},
		"spec.ignore": {
			before: fleet, after: fleet.with(pool), change: func(in *Input) { in.Target.Repository.Ignore = new("/clusters/*/cluster-manager/gpu.yaml") },
			refused: []string{"gpu.yaml is left out of what Flux fetches by spec.ignore of GitRepository flux/fleet"},
		},
		"spec.ignore takes back what .sourceignore leaves out": {
			before: fleet.with(files{".sourceignore": "gpu.yaml\n"}), after: fleet.with(pool).with(files{".sourceignore": "gpu.yaml\n"}),
			change: func(in *Input) { in.Target.Repository.Ignore = new("!gpu.yaml") },
			built:  true, objects: added("gpu"),
		},
		"an ignored file is no part of a generated tree": {
			before: generatedFleet.with(files{".sourceignore": "clusters/wc1/docs.yaml\n", "clusters/wc1/docs.yaml": "no object", "clusters/wc1/.sops.yaml": "creation_rules: []"}),
			after:  generatedFleet.with(folder).with(files{".sourceignore": "clusters/wc1/docs.yaml\n", "clusters/wc1/docs.yaml": "no object", "clusters/wc1/.sops.yaml": "creation_rules: []"}),
			built:  true, objects: added("gpu"),
		},
		"the root": {
			before: files{"a.yaml": configMap("a", "a"), ".sops.yaml": "creation_rules: []", ".github/workflow.yaml": "on: push"},
			after: files{"a.yaml": configMap("a", "a"), ".sops.yaml": "creation_rules: []", ".github/workflow.yaml": "on: push",
				"cluster-manager/kustomization.yaml": kustomization("gpu.yaml"), "cluster-manager/gpu.yaml": configMap("gpu", "l4")},
			change: func(in *Input) { in.Target.Path, in.Target.Spec = "", map[string]any{} },
			built:  true, objects: added("gpu"),
		},
	}
}

// TestProve covers what passes and what is refused over trees that can be built.
func TestProve(t *testing.T) {
	for name, test := range scenarios() {
		t.Run(name, func(t *testing.T) {
			result, err := proven(t, test.input())
			if len(test.refused) > 0 {
				var refusal *clustermanager.Refusal
				if !errors.As(err, &refusal) {
					t.Fatalf("got %+v, %v, want a refusal", result.Proof, err)
				}
				for _, part := range test.refused {
					if !strings.Contains(refusal.Message, part) {
						t.Errorf("refusal %q lacks %q", refusal.Message, part)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if result.Proof.Built != test.built || (len(test.note) == 0) != (result.Proof.Note == "") {
				t.Errorf("proof %+v, want built %t", result.Proof, test.built)
			}
			for _, part := range test.note {
				if !strings.Contains(result.Proof.Note, part) {
					t.Errorf("note %q lacks %q", result.Proof.Note, part)
				}
			}
			if d := cmp.Diff(test.objects, result.Objects); d != "" {
				t.Errorf("objects (-want +got):\n%s", d)
			}
			if d := cmp.Diff(test.warnings, result.Warnings); d != "" {
				t.Errorf("warnings (-want +got):\n%s", d)
			}
		})
	}
}

// TestSubstitution looks at what came out of the post-build step.
func TestInputThatCannotBeProven(t *testing.T) {
	withoutDiff, odd := proposal(fleet, fleet.with(pool)), proposal(fleet, fleet.with(pool))
	withoutDiff.Diff = nil
	odd.Target.Spec = map[string]any{"path": func() {}}
	for want, in := range map[string]Input{
		"Kustomization flux/wc1: proving: no Diff was given":                                withoutDiff,
		"Kustomization flux/wc1: proving: copying its spec: json: unsupported type: func()": odd,
	} {
		if _, err := Prove(t.Context(), in); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestSubstitution(t *testing.T) {
	for name, test := range map[string]struct {
		value, want string
		postBuild   map[string]any
		unread      []string
	}{
		"variable and default":  {"${region}-${zone:=a}", "eu-a", map[string]any{"substitute": map[string]any{"region": "eu"}}, nil},
		"no variables":          {"${zone:=a}", "${zone:=a}", map[string]any{}, nil},
		"no variables, Always":  {"${zone:=a}", "a", map[string]any{"substituteStrategy": "Always"}, nil},
		"variables not read":    {"${zone:=a}${b}", "a", map[string]any{}, []string{"Secret vars: forbidden"}},
		"no postBuild":          {"${zone:=a}", "${zone:=a}", nil, nil},
		"variables of sources":  {"${region}-${account}", "eu-1", map[string]any{"substitute": map[string]any{"region": "eu"}}, nil},
		"a dollar sign doubled": {"$${zone}", "${zone}", map[string]any{"substitute": map[string]any{"region": "eu"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			more := files{"clusters/wc1/wc1.yaml": configMap("wc1", test.value)}
			in := proposal(fleet.with(more), fleet.with(pool).with(more))
			if test.postBuild != nil {
				in.Target.Spec = spec(map[string]any{"postBuild": test.postBuild})
			}
			in.Target.UnreadSubstitutes = test.unread
			in.Target.Variables = map[string]clustermanager.Secret{}
			if name == "variables of sources" {
				in.Target.Variables["account"], in.Target.Variables["region"] = clustermanager.NewSecret("1"), clustermanager.NewSecret("below")
			}
			result, err := proven(t, in)
			if err != nil {
				t.Fatal(err)
			}
			built := byIdentity(result.Built)[object("ConfigMap", "wc1").Identity()]
			if got, _, _ := unstructured.NestedString(built.Object, "data", "key"); got != test.want {
				t.Errorf("data.key is %q, want %q", got, test.want)
			}
		})
	}
}

// TestSubstitutedValueStaysOut gives a variable a value that breaks the text: the refusal must not quote it.
func TestSubstitutedValueStaysOut(t *testing.T) {
	after := fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu.yaml": strings.Replace(configMap("gpu", "x"), `"x"`, "${token}", 1)})
	in := proposal(fleet, after)
	in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substitute": map[string]any{"token": "*made-up-token"}}})
	_, err := proven(t, in)
	var refusal *clustermanager.Refusal
	if !errors.As(err, &refusal) || strings.Contains(err.Error(), "made-up") {
		t.Errorf("got %v, want a refusal without the value", err)
	}
}

// TestSweep takes old folders of ours and nothing else.
func TestSweep(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, age := range map[string]time.Duration{
		tempPrefix + "old": 2 * time.Hour, tempPrefix + "new": time.Minute, "other": 48 * time.Hour,
	} {
		at := filepath.Join(temp, name)
		if err := errors.Join(os.MkdirAll(filepath.Join(at, "x"), 0o700), os.Chtimes(at, now, now.Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(now); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(temp, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{filepath.Join(temp, tempPrefix+"new"), filepath.Join(temp, "other")}, left); d != "" {
		t.Errorf("left (-want +got):\n%s", d)
	}
}
