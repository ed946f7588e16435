package proof

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/bench"
	"github.com/clustermanager/cluster-manager/render"
)

// BenchmarkProve writes a plan's files and proves them, beside the kustomize command that builds the tree before and
// after. Both build the same objects.
func BenchmarkProve(b *testing.B) {
	kustomize := bench.Tool(b, "kustomize")
	for _, objects := range []int{3, 40, 400, 1000} {
		b.Run(fmt.Sprintf("objects=%d", objects), func(b *testing.B) {
			base, target, plan := benchmarked(objects)
			var proven Result
			ours := bench.Ours(func() error {
				var err error
				proven, err = renderAndProve(b, base, target, plan)
				return err
			})
			folder := b.TempDir()
			written, err := render.Files(plan, target, base)
			if err != nil {
				b.Fatal(err)
			}
			for name, tree := range map[string]fs.FS{"before": base, "after": proposed(base, written)} {
				if err := os.CopyFS(filepath.Join(folder, name), tree); err != nil {
					b.Fatal(err)
				}
			}
			var built bytes.Buffer
			peer := bench.Commands(b, "kustomize", func() []*exec.Cmd {
				built.Reset()
				before := exec.CommandContext(b.Context(), kustomize, "build", filepath.Join(folder, "before", target.Path))
				after := exec.CommandContext(b.Context(), kustomize, "build", filepath.Join(folder, "after", target.Path))
				after.Stdout = &built
				return []*exec.Cmd{before, after}
			})
			bench.Interleave(b, ours, peer)
			for id, diff := range different(contents(proven.Built), parsed(b, built.Bytes())) {
				b.Fatalf("%s is built another way (-ours +kustomize):\n%s", id, diff)
			}
			if len(proven.Built) != objects {
				b.Errorf("%d objects built", len(proven.Built))
			}
		})
	}
}

// benchmarked is a folder of releases to which a pool of two objects comes, so many in all.
func benchmarked(objects int) (base fstest.MapFS, target clustermanager.Target, plan clustermanager.Plan) {
	tree := files{}
	var entries []string
	for i := range objects - 2 {
		name := fmt.Sprintf("o%d.yaml", i)
		entries = append(entries, name)
		tree["clusters/wc1/"+name] = release(fmt.Sprintf("o%d", i))
	}
	tree["clusters/wc1/kustomization.yaml"] = kustomization(entries...)
	for _, kind := range []string{"OCIRepository", "HelmRelease"} {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.io/v1", "kind": kind, "metadata": map[string]any{"name": "gpu", "namespace": "org-acme"},
			"spec": map[string]any{"interval": "10m", "values": map[string]any{"pool": map[string]any{"name": "gpu"}}},
		}}
		plan.Steps = append(plan.Steps, clustermanager.Step{Verb: clustermanager.Ensure, Lane: clustermanager.Declared, Object: object})
	}
	return tree.fsys(), proposal(tree, tree).Target, plan
}

func renderAndProve(tb testing.TB, base fstest.MapFS, target clustermanager.Target, plan clustermanager.Plan) (Result, error) {
	written, err := render.Files(plan, target, base)
	if err != nil {
		return Result{}, err
	}
	result, err := Prove(tb.Context(), Input{
		Base: base, Proposed: proposed(base, written), Target: target, Staged: written.Paths(),
		Meant:   plan.Objects(clustermanager.Ensure, clustermanager.Declared),
		Objects: render.Objects(plan, target), Diff: render.Diff,
	})
	if err == nil && !result.Proof.Built {
		err = fmt.Errorf("not built: %s", result.Proof.Note)
	}
	return result, err
}

// proposed is the base with the files written.
func proposed(base fstest.MapFS, written clustermanager.FileSet) fstest.MapFS {
	tree := maps.Clone(base)
	for path, file := range written {
		tree[path] = &fstest.MapFile{Data: file.Content, Mode: 0o644}
	}
	return tree
}

// contents are objects by their identity; the command sorts them, Flux does not.
func contents(objects []*unstructured.Unstructured) map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, object := range objects {
		all[clustermanager.ReferenceTo(object).String()] = object.Object
	}
	return all
}

func parsed(b *testing.B, stream []byte) map[string]map[string]any {
	b.Helper()
	var objects []*unstructured.Unstructured
	for document := range bytes.SplitSeq(stream, []byte("\n---\n")) {
		text, err := yaml.YAMLToJSON(document)
		if err != nil {
			b.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			b.Fatal(err)
		}
		objects = append(objects, object)
	}
	return contents(objects)
}

// different are the differences of two builds by object.
func different(ours, peers map[string]map[string]any) map[string]string {
	differences := map[string]string{}
	for _, side := range []map[string]map[string]any{ours, peers} {
		for id := range side {
			if diff := cmp.Diff(ours[id], peers[id]); diff != "" {
				differences[id] = diff
			}
		}
	}
	return differences
}

// mostAllocations is what a proof of 40 objects may take; it took nine tenths of that when this was written, and more
// while each object was written as YAML and read again.
const mostAllocations = 200_000

// What changes nothing is built once.
func TestEqualTreesAreBuiltOnce(t *testing.T) {
	base, target, plan := benchmarked(40)
	written, err := render.Files(plan, target, base)
	if err != nil {
		t.Fatal(err)
	}
	merged := proposed(base, written)
	allocations := func(base fstest.MapFS) float64 {
		return testing.AllocsPerRun(5, func() {
			if _, err := renderAndProve(t, base, target, plan); err != nil {
				t.Fatal(err)
			}
		})
	}
	changes, same := allocations(base), allocations(merged)
	t.Logf("%.0f allocations where a pool comes, %.0f where nothing changes", changes, same)
	if changes > mostAllocations {
		t.Errorf("%.0f allocations, most %d", changes, mostAllocations)
	}
	if same > changes*2/3 {
		t.Errorf("%.0f allocations where nothing changes, %.0f where a pool comes", same, changes)
	}
}

// release is a HelmRelease of a usual size.
func release(name string) string {
	return fmt.Sprintf(`apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: %s
  namespace: org-acme
  labels:
    app.kubernetes.io/managed-by: someone
    giantswarm.io/cluster: wc1
spec:
  chartRef:
    kind: OCIRepository
    name: %[1]s
  interval: 10m
  targetNamespace: kube-system
  install: {remediation: {retries: 3}}
  upgrade: {remediation: {retries: 3}}
  values:
    replicas: 2
    resources:
      requests: {cpu: 100m, memory: 128Mi}
      limits: {memory: 256Mi}
    nodeSelector: {role: general}
    tolerations:
    - {key: dedicated, operator: Exists, effect: NoSchedule}
`, name)
}
