package proof

import clustermanager "github.com/clustermanager/cluster-manager"

// brokenBaseScenarios start from a tree that does not build today.
func brokenBaseScenarios() map[string]scenario {
	return map[string]scenario{
		"base that does not build, same after": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": "{"}),
			objects: added("gpu"), note: []string{"the tree does not build today:", "wc1.yaml", "nothing but our folder's files and its one entry changes", "clusters/wc1/cluster-manager builds by itself"},
		},
		"base that does not build, another file changes": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": "{", "clusters/wc1/quotas.yaml": configMap("quotas", "x")}),
			refused: []string{"does not build today", "clusters/wc1/quotas.yaml changes too"},
		},
		"base that does not build, another entry goes": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": "{", "clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "cluster-manager")}),
			refused: []string{"does not build today", "clusters/wc1/kustomization.yaml changes too"},
		},
		"base that does not build, no entry": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(ourFolder).with(files{"clusters/wc1/wc1.yaml": "{"}),
			refused: []string{"clusters/wc1/kustomization.yaml does not list cluster-manager"},
		},
		"base that does not build, entry left": {
			before: fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": "{"}),
			after:  fleet.with(files{"clusters/wc1/kustomization.yaml": pool["clusters/wc1/kustomization.yaml"], "clusters/wc1/wc1.yaml": "{"}),
			change: func(in *Input) { in.Objects = nil }, refused: []string{"lists cluster-manager, which would be gone"},
		},
		"base that does not build, removal": {
			before: fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}),
			change:  func(in *Input) { in.Objects = nil },
			objects: []clustermanager.ObjectDiff{{ObjectReference: object("ConfigMap", "gpu"), Action: clustermanager.DiffRemove}},
			note:    []string{"does not build today"},
		},
		"base that does not build, our folder neither": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": "{", "clusters/wc1/cluster-manager/gpu.yaml": "{"}),
			refused: []string{"clusters/wc1/cluster-manager does not build"},
		},
		"base that does not build, worse after": {
			before: fleet.with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "gone.yaml")}), after: fleet.with(pool).with(files{"clusters/wc1/kustomization.yaml": kustomization("cluster-manager", "gone2.yaml")}),
			refused: []string{"would not build after the merge"},
		},
		"base that does not build, mended": {
			before: fleet.with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "quotas.yaml", "cluster-manager")}), after: fleet.with(pool),
			note: []string{"does not build today", "the tree builds after the merge"},
		},
		"base that does not build, mended by another file": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": "{"}), after: fleet.with(pool),
			refused: []string{"does not build today", "clusters/wc1/wc1.yaml changes too"},
		},
	}
}
