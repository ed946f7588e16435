package render

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// toolsVariable names the folder that holds the stock commands.
const toolsVariable = "CLUSTER_MANAGER_TEST_TOOLS"

// kustomizeBuild builds a directory of the tree with the stock command.
func kustomizeBuild(t *testing.T, tree fstest.MapFS, directory string) []*unstructured.Unstructured {
	t.Helper()
	tools := os.Getenv(toolsVariable)
	if tools == "" {
		t.Skip("needs the kustomize command; make test provides it")
	}
	root := t.TempDir()
	if err := os.CopyFS(root, tree); err != nil {
		t.Fatal(err)
	}
	built, err := exec.CommandContext(t.Context(), filepath.Join(tools, "kustomize"), "build", filepath.Join(root, directory)).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("kustomize build: %s", exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(string(built), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

// What the stock command builds of a written tree is what was there before and the plan's objects.
func TestKustomizeBuildsThePlan(t *testing.T) {
	quotas := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: wc1-quotas\n  namespace: org-acme\n"
	plan := steps(credentials("wc1-my-secret-values"), pool("wc1-my-secret"))
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		for _, own := range []string{"", "kustomization.yaml", "kustomization.yml", "Kustomization"} {
			t.Run(name+" above "+own, func(t *testing.T) {
				base := fstest.MapFS{
					"clusters/wc1/" + name:         text("resources: # all\n  - quotas.yaml\n  - second.yaml\n"),
					"clusters/wc1/quotas.yaml":     text(quotas),
					"clusters/wc1/second.yaml":     text(strings.ReplaceAll(quotas, "wc1-quotas", "second")),
					"clusters/wc1/unlisted/x.yaml": text("a: b\n"),
				}
				if own != "" {
					base["clusters/wc1/cluster-manager/"+own] = text("resources: [third.yaml]\n")
					base["clusters/wc1/cluster-manager/third.yaml"] = text(strings.ReplaceAll(quotas, "wc1-quotas", "third"))
				}
				files, err := Files(plan, clustermanager.Target{Path: "clusters/wc1"}, base)
				if err != nil {
					t.Fatal(err)
				}
				after := kustomizeBuild(t, merge(base, files), "clusters/wc1")
				for _, object := range after {
					if values, found, _ := unstructured.NestedMap(object.Object, "stringData"); found {
						if !strings.Contains(values["values.yaml"].(string), madeUpPassword) {
							t.Error("the Secret's file does not hold its value")
						}
						mask(object)
					}
				}
				want := Objects(plan, clustermanager.Target{})
				kept := []string{"second", "wc1-quotas"}
				if own != "" {
					kept = []string{"second", "third", "wc1-quotas"}
				}
				for _, name := range kept {
					want = append(want, object("v1", "ConfigMap", name, nil))
				}
				if diff := cmp.Diff([]clustermanager.ObjectDiff{}, Diff(want, after)); diff != "" {
					t.Errorf("the plan and what is built differ:\n%s", diff)
				}
			})
		}
	}
}

// Pools come and go, and the tree is what it was, byte for byte; each tree in between builds to its pools.
func TestKustomizeBuildsWhatComesAndGoes(t *testing.T) {
	tree := fstest.MapFS{
		"clusters/wc1/kustomization.yaml": text("# fleet\r\nresources:\r\n  - quotas.yaml # of the cluster\r\n\r\n  - 'zebra.yaml'"),
		"clusters/wc1/quotas.yaml":        text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: quotas\n  namespace: org-acme\n"),
		"clusters/wc1/zebra.yaml":         text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: zebra\n  namespace: org-acme\n"),
	}
	original := merge(tree, nil)
	kept := []*unstructured.Unstructured{object("v1", "ConfigMap", "quotas", nil), object("v1", "ConfigMap", "zebra", nil)}
	first, second := steps(pool("a"), credentials("a-values")), steps(pool("b"))
	for _, stage := range []struct {
		plan, left clustermanager.Plan
	}{
		{first, first},
		{second, steps(first.Steps, second.Steps)},
		{steps(removePool("a"), removeCredentials("a-values")), second},
		{steps(removePool("b")), steps()},
	} {
		files, err := Files(stage.plan, clustermanager.Target{Path: "clusters/wc1"}, tree)
		if err != nil {
			t.Fatal(err)
		}
		tree = merge(tree, files)
		if os.Getenv(toolsVariable) == "" {
			continue
		}
		built := kustomizeBuild(t, tree, "clusters/wc1")
		for _, object := range built {
			mask(object)
		}
		want := append(Objects(stage.left, clustermanager.Target{}), kept...)
		if diff := cmp.Diff([]clustermanager.ObjectDiff{}, Diff(want, built)); diff != "" {
			t.Errorf("what is built differs:\n%s", diff)
		}
	}
	if diff := cmp.Diff(original, tree); diff != "" {
		t.Errorf("the tree is not what it was:\n%s", diff)
	}
}
