package proof

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"

	"github.com/fluxcd/pkg/kustomize"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// extract writes the artifact of a tree into a folder, as Flux unpacks it.
func extract(t *testing.T, f files, ignore *string) string {
	t.Helper()
	root := t.TempDir()
	a := newArtifact(f.fsys(), "x", ignore)
	for name, content := range f {
		at, _, err := a.at(name)
		if err != nil {
			t.Fatal(err)
		}
		if at == file {
			if err := writeNew(filepath.Join(root, name), []byte(content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// fluxBuild is what Flux's controller does with an artifact: generate, build, check, substitute.
func fluxBuild(ctx context.Context, root, dir string, spec map[string]any) ([]*unstructured.Unstructured, error) {
	owner := unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	if _, err := kustomize.NewGenerator(root, owner).WriteFile(filepath.Join(root, dir)); err != nil {
		return nil, err
	}
	built, err := kustomize.SecureBuild(root, filepath.Join(root, dir), false)
	if err != nil {
		return nil, err
	}
	post := newSubstitution(spec, nil, false)
	var objects []*unstructured.Unstructured
	for _, resource := range built.Resources() {
		if err := post.apply(ctx, resource); err != nil {
			return nil, err
		}
		object, err := flatten(resource)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// TestEqualToFlux holds our build against the library's, over a disk, on both sides of every scenario.
func TestEqualToFlux(t *testing.T) {
	for name, scenario := range scenarios() {
		in := scenario.input()
		if len(in.Target.UnreadSubstitutes) > 0 {
			continue // Flux would know the variables that this side could not read.
		}
		t.Run(name, func(t *testing.T) {
			p, err := newProver(in)
			if err != nil {
				t.Fatal(err)
			}
			dir := path.Clean(in.Target.Path)
			before, after, err := p.both(t.Context(), dir, p.spec)
			if err != nil {
				t.Fatal(err)
			}
			for i, side := range []side{before, after} {
				if side.tree.absent {
					continue // There is no Kustomization then that Flux would build.
				}
				tree := []files{scenario.before, scenario.after}[i]
				want, fault := fluxBuild(t.Context(), extract(t, tree, in.Target.Repository.Ignore), dir, p.spec)
				if (fault == nil) != (side.fault == nil) {
					t.Errorf("side %d: Flux's fault is %v, ours %v", i, fault, side.fault)
				}
				if d := cmp.Diff(want, side.objects); fault == nil && d != "" {
					t.Errorf("side %d (-Flux +ours):\n%s", i, d)
				}
			}
		})
	}
}

// TestEqualToKustomize holds our build against the stock command where no field of Flux is in play.
func TestEqualToKustomize(t *testing.T) {
	command := filepath.Join(os.Getenv("CLUSTER_MANAGER_TEST_TOOLS"), "kustomize")
	if _, err := os.Stat(command); err != nil || !filepath.IsAbs(command) {
		t.Skip("needs the kustomize command: make test provides it")
	}
	for name, scenario := range scenarios() {
		in := scenario.input()
		kinds := newArtifact(in.Proposed, "x", nil)
		own, _, err := readKustomization(kinds, path.Clean(in.Target.Path))
		if scenario.change != nil || len(scenario.refused) > 0 || own == "" || err != nil || !scenario.built {
			continue
		}
		t.Run(name, func(t *testing.T) {
			build := exec.Command(command, "build", "--load-restrictor", "LoadRestrictionsNone", filepath.Join(extract(t, scenario.after, nil), in.Target.Path))
			text, err := build.Output()
			if err != nil {
				t.Fatal(err)
			}
			var objects []*unstructured.Unstructured
			for decoder := yaml.NewYAMLToJSONDecoder(bytes.NewReader(text)); ; {
				object := &unstructured.Unstructured{}
				if decoder.Decode(&object.Object) != nil {
					break
				}
				objects = append(objects, object)
			}
			result, err := proven(t, in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(byIdentity(objects), byIdentity(result.Built)); d != "" {
				t.Errorf("-kustomize +ours:\n%s", d)
			}
		})
	}
}

// openAPI is a schema that gives a list of a custom kind a merge key.
const openAPI = `{"definitions": {"v1.Fleet": {"properties": {
  "spec": {"properties": {"pools": {"type": "array", "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge", "items": {"properties": {"name": {"type": "string"}}}}}}},
  "x-kubernetes-group-version-kind": [{"group": "acme.example", "kind": "Fleet", "version": "v1"}]}}}`

// TestSchemaStaysInItsBuild builds a tree with a schema of its own beside trees without: the schema is in force for
// that one alone, while builds run at the same time.
func TestSchemaStaysInItsBuild(t *testing.T) {
	custom := files{
		"clusters/wc1/fleet.yaml":  "apiVersion: acme.example/v1\nkind: Fleet\nmetadata: {name: f}\nspec:\n  pools:\n  - {name: a, size: 1}\n  - {name: b, size: 1}\n",
		"clusters/wc1/schema.json": openAPI,
	}
	patch := "patches:\n- patch: '{apiVersion: acme.example/v1, kind: Fleet, metadata: {name: f}, spec: {pools: [{name: b, size: 2}]}}'\n"
	for range 4 {
		for name, test := range map[string]struct {
			text  string
			pools int
		}{
			"with":    {"openapi: {path: schema.json}\n", 2},
			"without": {"", 1},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				text := patch + test.text
				before := fleet.with(custom).with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "fleet.yaml") + text})
				after := before.with(pool).with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "fleet.yaml", "cluster-manager") + text})
				result, err := Prove(t.Context(), proposal(before, after))
				if err != nil {
					t.Fatal(err)
				}
				for _, object := range result.Built {
					if pools, _, _ := unstructured.NestedSlice(object.Object, "spec", "pools"); object.GetKind() == "Fleet" && len(pools) != test.pools {
						t.Errorf("%d pools are left, want %d", len(pools), test.pools)
					}
				}
			})
		}
	}
}

// TestWords keeps a build's error in one printable line with the repository's paths.
func TestWords(t *testing.T) {
	for given, want := range map[string]string{
		"accumulating '/clusters/wc1/x.yaml':\n\tbad \x1b[31mred\x07": "accumulating 'clusters/wc1/x.yaml': bad [31mred",
		"see https://example.com/x":                                   "see https://example.com/x",
	} {
		if got := words(errors.New(given)); got != want {
			t.Errorf("words(%q) is %q, want %q", given, got, want)
		}
	}
}
