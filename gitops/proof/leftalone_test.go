package proof

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What the tree around it makes Flux skip is said: such a merge would have no effect.
func TestAnnotationsThatMakeFluxSkip(t *testing.T) {
	for annotation, said := range map[string]bool{
		"kustomize.toolkit.fluxcd.io/reconcile: disabled": true,
		"kustomize.toolkit.fluxcd.io/ssa: Ignore":         true,
		"kustomize.toolkit.fluxcd.io/ssa: Merge":          false,
		"team: a":                                         false,
	} {
		annotated := func(tree files) files {
			const list = "clusters/wc1/kustomization.yaml"
			return tree.with(files{list: tree[list] + "commonAnnotations:\n  " + annotation + "\n"})
		}
		in := proposal(annotated(fleet), annotated(fleet.with(pool)))
		in.Objects = []*unstructured.Unstructured{composed("gpu", "gpu")}
		result, err := proven(t, in)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(result.Warnings, "\n"), "gets the annotation "+annotation); got != said {
			t.Errorf("%s: warned %t: %q", annotation, got, result.Warnings)
		}
	}
}
