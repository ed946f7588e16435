package render

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func TestDiff(t *testing.T) {
	value := func(content any) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{object("v1", "ConfigMap", "x", map[string]any{"data": content})}
	}
	for _, test := range []struct {
		name          string
		before, after any
		want          []string
	}{
		{"equal", map[string]any{"a": []any{int64(1), nil}}, map[string]any{"a": []any{int64(1), nil}}, nil},
		{"numbers by value", []any{int64(4), 2.5, int32(7)}, []any{float64(4), 2.5, uint64(7)}, nil},
		{"large numbers by value", int64(math.MaxInt64), float64(math.MaxInt64), []string{"data"}},
		{"no number", math.NaN(), int64(1), []string{"data"}},
		{"a number and its text", int64(4), "4", []string{"data"}},
		{"a leaf", map[string]any{"a": map[string]any{"b": "x"}}, map[string]any{"a": map[string]any{"b": "y"}}, []string{"data.a.b"}},
		{"an added subtree", map[string]any{"z": "1"}, map[string]any{"z": "1", "a": map[string]any{"c": "2", "b": []any{"3"}}}, []string{"data.a.b[0]", "data.a.c"}},
		{"a removed subtree", map[string]any{"a": map[string]any{"b": map[string]any{}}, "c": "1"}, map[string]any{"c": "1"}, []string{"data.a.b"}},
		{"a list that grows", []any{"a"}, []any{"a", map[string]any{"b": "c"}}, []string{"data[1].b"}},
		{"a list that shrinks", []any{"a", "b"}, []any{"b"}, []string{"data[0]", "data[1]"}},
		{"another shape", map[string]any{"a": "x"}, map[string]any{"a": map[string]any{"b": "x"}}, []string{"data.a", "data.a.b"}},
		{"a key with dots", map[string]any{"values.yaml": "a"}, map[string]any{"values.yaml": "b"}, []string{`data["values.yaml"]`}},
		{"an absent key and a null", map[string]any{"b": "c"}, map[string]any{"a": nil, "b": "c"}, []string{"data.a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, difference := range Diff(value(test.before), value(test.after)) {
				got = append(got, difference.Changes...)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDiffOfObjects(t *testing.T) {
	labelled := ociRepository("changed")
	labelled.SetLabels(map[string]string{"a.b/c": madeUpPassword, "plain": "x"})
	newer := object("source.toolkit.fluxcd.io/v2", "OCIRepository", "newer", nil)
	older := object("source.toolkit.fluxcd.io/v1", "OCIRepository", "newer", nil)
	elsewhere := ociRepository("changed")
	elsewhere.SetNamespace("org-a")
	before := []*unstructured.Unstructured{helmRelease("same"), ociRepository("changed"), helmRelease("gone"), older}
	after := []*unstructured.Unstructured{newer, elsewhere, labelled, helmRelease("added"), helmRelease("same")}
	reference := func(namespace, kind, version, name string) clustermanager.ObjectReference {
		return clustermanager.ObjectReference{APIVersion: version, Kind: kind, Namespace: namespace, Name: name}
	}
	const helm, source = "helm.toolkit.fluxcd.io/v2", "source.toolkit.fluxcd.io/v1"
	want := []clustermanager.ObjectDiff{
		{ObjectReference: reference("org-a", "OCIRepository", source, "changed"), Action: clustermanager.DiffAdd},
		{ObjectReference: reference("org-acme", "HelmRelease", helm, "added"), Action: clustermanager.DiffAdd},
		{ObjectReference: reference("org-acme", "HelmRelease", helm, "gone"), Action: clustermanager.DiffRemove},
		{ObjectReference: reference("org-acme", "OCIRepository", source, "changed"), Action: clustermanager.DiffChange,
			Changes: []string{"metadata.labels.plain", `metadata.labels["a.b/c"]`}},
		{ObjectReference: reference("org-acme", "OCIRepository", "source.toolkit.fluxcd.io/v2", "newer"), Action: clustermanager.DiffChange,
			Changes: []string{"apiVersion"}},
	}
	got := Diff(before, after)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if strings.Contains(fmt.Sprint(got), madeUpPassword) {
		t.Error("a value is in the answer")
	}
	if got := Diff(before, before); got == nil || len(got) > 0 {
		t.Errorf("of the same: %v", got)
	}
	if got := Diff(nil, nil); got == nil {
		t.Error("of nothing: nil")
	}
}

func BenchmarkDiff(b *testing.B) {
	var before, after []*unstructured.Unstructured
	for index := range 1000 {
		before = append(before, helmRelease(fmt.Sprint("release-", index)))
		after = append(after, helmRelease(fmt.Sprint("release-", index)))
	}
	after[500] = helmRelease("another")
	for b.Loop() {
		if got := Diff(before, after); len(got) != 2 {
			b.Fatal(got)
		}
	}
}
