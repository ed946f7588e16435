package proof

import (
	"strings"
	"testing"
)

// A name that a disk takes and the build in memory does not is this check's limit: the tree is not called broken.
func TestUnusualNamesAreALimit(t *testing.T) {
	generated := fleet.without("clusters/wc1/kustomization.yaml").with(files{"clusters/wc1/my app.yaml": configMap("app", "a")})
	ours := files{}
	for name, content := range pool {
		if strings.HasPrefix(name, "clusters/wc1/cluster-manager/") {
			ours[name] = content
		}
	}
	result, err := proven(t, proposal(generated, generated.with(ours)))
	if err != nil {
		t.Fatal(err)
	}
	if result.Proof.Built || result.Broken || !strings.Contains(result.Proof.Note, `"clusters/wc1/my app.yaml" has a name that this check cannot hold`) {
		t.Errorf("%+v, broken %t", result.Proof, result.Broken)
	}
}

func TestBrokenTreeIsSaid(t *testing.T) {
	broken := fleet.with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "gone.yaml")})
	after := broken.with(pool).with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "gone.yaml", "cluster-manager")})
	result, err := proven(t, proposal(broken, after))
	if err != nil || !result.Broken || result.Proof.Built {
		t.Errorf("%+v, broken %t, %v", result.Proof, result.Broken, err)
	}
}
