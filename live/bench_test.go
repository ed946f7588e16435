package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/bench"
	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/live"
)

// BenchmarkApply plans and applies pools on a real API server, beside kubectl's server-side apply of the same objects and
// beside the same requests from this process, one after the other. Before each run the objects are brought to the
// state's form, which is not timed.
func BenchmarkApply(b *testing.B) {
	kubectl := bench.Tool(b, "kubectl")
	if _, err := os.Stat(kubectl); err != nil {
		b.Skip("there is no kubectl among the stock commands: make bench builds it")
	}
	s := bedScene(b, testbed.FluxSource, testbed.FluxHelm, testbed.FluxKustomize)
	for _, count := range []int{40, 200} {
		steps := benchmarkedSteps(count)
		manifest := manifestOf(b, steps)
		for _, state := range []struct {
			name    string
			prepare func()
			writes  int
		}{
			{"create", func() { s.clear(b, steps) }, count},
			{"unchanged", func() {}, 0},
			{"drifted=1", func() { s.spoil(b, steps[count/2]) }, 1},
		} {
			b.Run(fmt.Sprintf("objects=%d/state=%s", count, state.name), func(b *testing.B) {
				timed := func(name string, operation func() error) bench.Way {
					return bench.Way{Name: name, Run: func(b *testing.B) {
						for b.Loop() {
							b.StopTimer()
							state.prepare()
							s.wire.reset()
							b.StartTimer()
							if err := operation(); err != nil {
								b.Fatal(err)
							}
						}
						if name != "kubectl" {
							b.ReportMetric(float64(len(s.wire.writes)), "writes/op")
						}
					}}
				}
				bench.Interleave(b,
					timed("ours", func() error { return s.bring(b.Context(), steps, state.writes) }),
					timed("kubectl", func() error {
						command := exec.CommandContext(b.Context(), kubectl, "--kubeconfig", s.kubeconfig, "apply", "--server-side", "--force-conflicts", "-f", manifest)
						return bench.Run(command)
					}),
					timed("serial", func() error { return s.applySerially(b.Context(), steps) }),
				)
			})
		}
		s.clear(b, steps)
	}
}

// benchmarkedSteps are the sources and releases of pools, half of each.
func benchmarkedSteps(count int) []clustermanager.Step {
	var steps []clustermanager.Step
	for index := range count / 2 {
		pool := fmt.Sprintf("gpu-%03d", index)
		labels := map[string]string{
			"app.kubernetes.io/managed-by": "cluster-manager", "app.kubernetes.io/name": "gpu-node-pool", "giantswarm.io/cluster": "wc1", "giantswarm.io/node-pool": pool,
		}
		source := reference("source.toolkit.fluxcd.io/v1", "OCIRepository", "org-acme", "wc1-"+pool, labels)
		source.Object["spec"] = map[string]any{"interval": "10m", "url": "oci://charts.example/gpu-node-pool", "ref": map[string]any{"semver": ">=0.8.0 <1.0.0"}}
		release := reference("helm.toolkit.fluxcd.io/v2", "HelmRelease", "org-acme", "wc1-"+pool, labels)
		release.Object["spec"] = map[string]any{
			"interval": "10m", "chartRef": map[string]any{"kind": "OCIRepository", "name": "wc1-" + pool},
			"values": map[string]any{"pool": map[string]any{"name": pool, "maxSize": int64(4), "sizes": []any{"xlarge", "2xlarge"}}},
		}
		for _, object := range []*unstructured.Unstructured{source, release} {
			steps = append(steps, clustermanager.Step{Verb: clustermanager.Ensure, Lane: clustermanager.Declared, Object: object})
		}
	}
	return steps
}

func manifestOf(b *testing.B, steps []clustermanager.Step) string {
	b.Helper()
	var documents bytes.Buffer
	for _, step := range steps {
		content, err := json.Marshal(step.Object)
		if err != nil {
			b.Fatal(err)
		}
		documents.Write(append(content, "\n---\n"...))
	}
	file := filepath.Join(b.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, documents.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	return file
}

// bring is ours: plan and apply, and no write too many.
func (s *scene) bring(ctx context.Context, steps []clustermanager.Step, writes int) error {
	planned, err := live.Plan(ctx, s.clients(), steps)
	if err != nil {
		return err
	}
	result, err := live.Apply(ctx, planned, live.Options{
		Budget: clustermanager.Budget{Start: time.Now(), Limit: time.Minute}, Tool: "create_node_pool", Caller: "jane@acme.example", Time: time.Now(),
	})
	if err == nil && (result.Partial || result.Written != writes) {
		err = fmt.Errorf("%d written, %s", result.Written, result.NextStep)
	}
	return err
}

func (s *scene) applySerially(ctx context.Context, steps []clustermanager.Step) error {
	for _, step := range steps {
		reference := step.Reference()
		content, err := json.Marshal(step.Object)
		if err != nil {
			return err
		}
		group := step.Object.GroupVersionKind()
		_, err = s.wiredInstallation.Resource(resourceOf(group.Group, group.Version, group.Kind)).Namespace(reference.Namespace).
			Patch(ctx, reference.Name, types.ApplyPatchType, content, metav1.PatchOptions{FieldManager: "serial", Force: new(true)})
		if err != nil {
			return err
		}
	}
	return nil
}

// clear deletes the objects.
func (s *scene) clear(b *testing.B, steps []clustermanager.Step) {
	b.Helper()
	var deletes errgroup.Group
	deletes.SetLimit(8)
	for _, step := range steps {
		group := step.Object.GroupVersionKind()
		deletes.Go(func() error {
			_ = s.installation.Resource(resourceOf(group.Group, group.Version, group.Kind)).Namespace(step.Object.GetNamespace()).Delete(b.Context(), step.Object.GetName(), metav1.DeleteOptions{})
			return nil
		})
	}
	_ = deletes.Wait()
}

// spoil gives one object another interval.
func (s *scene) spoil(b *testing.B, step clustermanager.Step) {
	b.Helper()
	group := step.Object.GroupVersionKind()
	_, err := s.installation.Resource(resourceOf(group.Group, group.Version, group.Kind)).Namespace(step.Object.GetNamespace()).
		Patch(b.Context(), step.Object.GetName(), types.MergePatchType, []byte(`{"spec":{"interval":"1h"}}`), metav1.PatchOptions{})
	if err != nil {
		b.Fatal(err)
	}
}
