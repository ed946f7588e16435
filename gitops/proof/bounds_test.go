package proof

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// laughs is a billion laughs: ten nodes become 10^9.
func laughs(indent string) string {
	text := indent + "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		text += fmt.Sprintf("%sa%d: &a%d [%s]\n", indent, i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return text
}

// TestBounds covers trees that would take a build's memory or time. Each passes with our folder alone.
func TestBounds(t *testing.T) {
	many := files{"clusters/wc1/many.yaml": "x"}
	var text strings.Builder
	for i := range maxObjects {
		text.WriteString("---\n" + configMap(fmt.Sprintf("m%d", i), "x"))
	}
	many["clusters/wc1/many.yaml"] = text.String()
	doubling := files{}
	for i := range 24 {
		next := fmt.Sprintf("../../../d/%d", i+1)
		for _, half := range []string{"a", "b"} {
			doubling[fmt.Sprintf("d/%d/%s/kustomization.yaml", i, half)] = kustomization(next+"/a", next+"/b") + "namePrefix: " + half + "-\n"
		}
	}
	for _, half := range []string{"a", "b"} {
		doubling["d/24/"+half+"/kustomization.yaml"] = kustomization("x.yaml")
		doubling["d/24/"+half+"/x.yaml"] = configMap("x"+half, "x")
	}
	large := files{}
	for i := range 9 {
		large[fmt.Sprintf("clusters/wc1/%d.yaml", i)] = "# " + strings.Repeat("x", maxFileBytes-2)
	}
	for name, test := range map[string]struct {
		more  files
		entry string
		text  string
		note  string
	}{
		"2,001 objects":            {more: many, entry: "many.yaml", note: "more than 2000 objects"},
		"a base in each other one": {more: doubling, entry: "../../d/0/a", note: "more than 2000 objects"},
		"billion laughs":           {more: files{"clusters/wc1/l.yaml": configMap("l", "x") + "more:\n" + laughs("  ")}, entry: "l.yaml", note: "YAML nodes"},
		"laughs in a kustomization": {more: files{"clusters/wc1/l/kustomization.yaml": kustomization("x.yaml") + laughs("")},
			entry: "l", note: "more nodes than a kustomization can need"},
		"laughs in an inline patch": {entry: "quotas.yaml", text: "patches:\n- target: {kind: ConfigMap}\n  patch: |\n" + laughs("    "), note: "more nodes than a kustomization can need"},
		"laughs in a patch inside a transformer": {entry: "quotas.yaml", note: "more nodes than a kustomization can need",
			text: "transformers:\n- |\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: x}\n  target: {kind: ConfigMap}\n  patch: |\n" + laughs("    ")},
		"laughs in a plugin's file": {more: files{"clusters/wc1/p.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npatch: |\n" + laughs("  ")},
			entry: "quotas.yaml", text: "transformers: [p.yaml]\n", note: "YAML nodes"},
		"a node in itself": {more: files{"clusters/wc1/l.yaml": "a: &a\n  b: *a\n"}, entry: "l.yaml", note: "YAML nodes"},
		"large files":      {more: large, entry: "0.yaml", text: "configMapGenerator:\n- name: x\n  files: [1.yaml, 2.yaml, 3.yaml, 4.yaml, 5.yaml, 6.yaml, 7.yaml, 8.yaml]\n", note: "more than 32 MiB"},
		"a large file":     {more: files{"clusters/wc1/big.yaml": "# " + strings.Repeat("x", maxFileBytes)}, entry: "big.yaml", note: "clusters/wc1/big.yaml is larger than 4 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			before := fleet.with(test.more).with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", test.entry) + test.text})
			after := before.with(pool).with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", test.entry, "cluster-manager") + test.text})
			var start, end runtime.MemStats
			runtime.ReadMemStats(&start)
			result, err := proven(t, proposal(before, after))
			runtime.ReadMemStats(&end)
			if err != nil || result.Proof.Built {
				t.Fatalf("got %+v, %v, want it not built", result.Proof, err)
			}
			for _, part := range []string{test.note, onlyOurs, "clusters/wc1/cluster-manager builds by itself"} {
				if !strings.Contains(result.Proof.Note, part) {
					t.Errorf("note %q lacks %q", result.Proof.Note, part)
				}
			}
			if d := cmp.Diff(added("gpu"), result.Objects); d != "" {
				t.Errorf("objects (-want +got):\n%s", d)
			}
			if took := end.TotalAlloc - start.TotalAlloc; took > 256<<20 {
				t.Errorf("%d MiB were allocated", took>>20)
			}
		})
	}
}

// TestVariablesBound does not build a tree whose variables make it large.
func TestVariablesBound(t *testing.T) {
	text := configMap("wc1", strings.Repeat("${a}", 1000))
	in := proposal(fleet.with(files{"clusters/wc1/wc1.yaml": text}), fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": text}))
	in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substitute": map[string]any{"a": strings.Repeat("x", 1<<16)}}})
	result, err := proven(t, in)
	if err != nil || result.Proof.Built || !strings.Contains(result.Proof.Note, "its variables make it larger than 32 MiB") {
		t.Errorf("got %+v, %v, want it not built", result.Proof, err)
	}
}

// TestCycles ends on kustomizations that refer to each other.
func TestCycles(t *testing.T) {
	for name, more := range map[string]files{
		"itself": {"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "."), "x": "x"},
		"round":  {"clusters/wc1/kustomization.yaml": kustomization("../../a"), "a/kustomization.yaml": kustomization("../b"), "b/kustomization.yaml": kustomization("../a")},
		"above":  {"clusters/wc1/kustomization.yaml": kustomization("../.."), "kustomization.yaml": kustomization("clusters/wc1")},
	} {
		t.Run(name, func(t *testing.T) {
			before := fleet.with(more)
			after := before.with(pool).with(files{"clusters/wc1/kustomization.yaml": more["clusters/wc1/kustomization.yaml"] + "- cluster-manager\n"})
			result, err := proven(t, proposal(before, after))
			if err != nil || result.Proof.Built || !strings.Contains(result.Proof.Note, "does not build today") ||
				!strings.Contains(result.Proof.Note, "cycle") {
				t.Errorf("got %+v, %v, want a base that does not build", result.Proof, err)
			}
		})
	}
}
