package clustermanager_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Each file is applied by the Kustomization with the deepest folder that holds it, of its own repository and branch.
func TestWhoAppliesFiles(t *testing.T) {
	t.Parallel()
	follower := func(name, path, repository, branch string) clustermanager.Follower {
		return clustermanager.Follower{Target: clustermanager.Target{
			Kustomization: clustermanager.NamespacedName{Namespace: "default", Name: name}, Path: path,
			Repository: clustermanager.GitRepository{Owner: "acme", Name: repository, Branch: branch},
		}}
	}
	followers := []clustermanager.Follower{
		follower("root", "", "Fleet", "main"), follower("clusters", "clusters", "fleet", "main"), follower("wc1", "clusters/wc1", "fleet", "main"),
		follower("staging", "clusters/wc1", "fleet", "staging"), follower("others", "clusters/wc1", "others", "main"),
	}
	for name, test := range map[string]struct {
		repository, branch string
		files, want        []string
	}{
		"the deepest":             {"acme/fleet", "main", []string{"clusters/wc1/cluster-manager/pool.yaml"}, []string{"wc1"}},
		"a name alike":            {"acme/fleet", "main", []string{"clusters/wc10/pool.yaml"}, []string{"clusters"}},
		"several, most first":     {"acme/fleet", "main", []string{"clusters/wc1.yaml", "clusters/wc1/a.yaml", "clusters/wc1/b.yaml"}, []string{"wc1", "clusters"}},
		"outside of every folder": {"acme/fleet", "main", []string{"README.md"}, []string{"root"}},
		"another branch":          {"acme/fleet", "staging", []string{"clusters/wc1/a.yaml"}, []string{"staging"}},
		"nobody":                  {"acme/fleet", "release", []string{"clusters/wc1/a.yaml"}, nil},
		"no files":                {"acme/fleet", "main", nil, nil},
	} {
		var got []string
		for _, follower := range clustermanager.AppliersOf(followers, test.repository, test.branch, test.files) {
			got = append(got, follower.Kustomization.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
