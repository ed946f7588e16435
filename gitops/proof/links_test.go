package proof

import (
	"strings"
	"testing"
)

// TestLinks never follows symbolic links and submodules.
func TestLinks(t *testing.T) {
	withEntry := func(entry string) (string, string) {
		return kustomization("wc1.yaml", "quotas.yaml", entry), kustomization("wc1.yaml", "quotas.yaml", entry, "cluster-manager")
	}
	linked, linkedAfter := withEntry("linked.yaml")
	inside, insideAfter := withEntry("modules/app")
	for name, test := range map[string]struct {
		tree          files
		before, after string
		note, refused string
	}{
		"entry is a link":      {tree: files{"clusters/wc1/linked.yaml": "-> /etc/passwd"}, before: linked, after: linkedAfter, note: "clusters/wc1/linked.yaml is a symbolic link"},
		"entry in a submodule": {tree: files{"clusters/wc1/modules": "submodule"}, before: inside, after: insideAfter, note: "clusters/wc1/modules is a submodule"},
		"our folder is a link": {tree: files{"clusters/wc1/cluster-manager": "-> ../../elsewhere"}, before: fleet["clusters/wc1/kustomization.yaml"], after: pool["clusters/wc1/kustomization.yaml"], refused: "clusters/wc1/cluster-manager is a symbolic link"},
		"the path has a link":  {tree: files{"clusters": "-> other"}, refused: "clusters is a symbolic link"},
		"the path is a module": {tree: files{"clusters": "submodule"}, refused: "clusters is a submodule"},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := test.tree, test.tree
			if test.before != "" {
				before = fleet.with(test.tree).with(files{"clusters/wc1/kustomization.yaml": test.before})
				after = fleet.with(pool).with(test.tree).with(files{"clusters/wc1/kustomization.yaml": test.after})
				if test.refused != "" {
					after = after.without("clusters/wc1/cluster-manager/kustomization.yaml", "clusters/wc1/cluster-manager/gpu.yaml")
				}
			}
			result, err := proven(t, proposal(before, after))
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("got %v, want a refusal with %q", err, test.refused)
				}
				return
			}
			if err != nil || result.Proof.Built || !strings.Contains(result.Proof.Note, test.note) {
				t.Errorf("got %+v, %v, want a note with %q", result.Proof, err, test.note)
			}
		})
	}
}
