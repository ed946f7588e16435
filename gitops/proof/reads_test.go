package proof

import (
	"context"
	"io/fs"
	"testing"
)

// counting counts the files that are opened.
type counting struct {
	fs.FS
	opened map[string]int
}

func (c counting) Open(name string) (fs.File, error) {
	c.opened[name]++
	return c.FS.Open(name)
}

// TestReadsLittle opens no file that the build does not reach, and asks for what it reaches at once.
func TestReadsLittle(t *testing.T) {
	before := fleet.with(files{
		"clusters/wc1/unlisted.yaml": configMap("u", "u"), "clusters/wc2/kustomization.yaml": kustomization("x.yaml"),
		"clusters/wc1/docs/a.md": "x", "clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "quotas.yaml"),
	})
	in := proposal(before, before.with(pool))
	opened := map[string]int{}
	in.Base, in.Proposed = counting{in.Base, opened}, counting{in.Proposed, opened}
	wanted := map[string]bool{}
	in.Load = func(_ context.Context, dir string, blobs func(string) bool) error {
		return fs.WalkDir(in.Proposed, dir, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && blobs(name) {
				wanted[name] = true
			}
			return err
		})
	}
	if _, err := proven(t, in); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"clusters/wc1/unlisted.yaml", "clusters/wc1/docs/a.md", "clusters/wc2/kustomization.yaml", "README.md"} {
		if opened[name] > 0 || wanted[name] {
			t.Errorf("%s was read", name)
		}
	}
	for _, name := range []string{"clusters/wc1/wc1.yaml", "clusters/wc1/quotas.yaml", "clusters/wc1/cluster-manager/gpu.yaml"} {
		if !wanted[name] {
			t.Errorf("%s was not asked for at once: %v", name, wanted)
		}
	}
}
