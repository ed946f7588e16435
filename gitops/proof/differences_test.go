package proof

import clustermanager "github.com/clustermanager/cluster-manager"

// differenceScenarios are what a proposal does to the objects of the tree.
func differenceScenarios() map[string]scenario {
	return map[string]scenario{
		"without prune": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "cluster-manager")}),
			change:  func(in *Input) { in.Target.Prune = false },
			refused: []string{"stop applying 1 (ConfigMap org-acme/quotas)"},
		},
		"another object changes": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/quotas.yaml": configMap("quotas", "none")}),
			refused: []string{"change 1 (ConfigMap org-acme/quotas)"},
		},
		"another object comes": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu.yaml": configMap("gpu", "l4") + "---\n" + configMap("stray", "x")}),
			refused: []string{"add 1 (ConfigMap org-acme/stray)"},
		},
		"removal": {
			before: fleet.with(pool), after: fleet,
			change: func(in *Input) { in.Objects = nil }, built: true,
			objects: []clustermanager.ObjectDiff{{ObjectReference: object("ConfigMap", "gpu"), Action: clustermanager.DiffRemove}},
		},
		"nothing to do": {before: fleet.with(pool), after: fleet.with(pool), built: true},
		"no entry above": {
			before: fleet, after: fleet.with(ourFolder),
			refused: []string{"does not reach ConfigMap org-acme/gpu", "clusters/wc1/kustomization.yaml does not list cluster-manager"},
		},
		"no entry in the folder": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/kustomization.yaml": kustomization("other.yaml"), "clusters/wc1/cluster-manager/other.yaml": configMap("gpu2", "x")}),
			change: func(in *Input) {
				in.Meant = append(in.Meant, object("ConfigMap", "gpu2"))
				in.Objects = append(in.Objects, composed("gpu2", "x"))
			},
			refused: []string{"does not reach ConfigMap org-acme/gpu:", "clusters/wc1/cluster-manager/kustomization.yaml does not list its files"},
		},
		"a patch takes it out": {
			before: fleet, after: fleet.with(pool),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"patches": []any{map[string]any{
					"patch":  "$patch: delete\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: gpu\n",
					"target": map[string]any{"kind": "ConfigMap", "name": "gpu"},
				}}})
			},
			refused: []string{"does not reach ConfigMap org-acme/gpu: its files are listed, so a patch of spec.patches"},
		},
		"a sealed Secret that is not listed": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu-secret.enc.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: gpu\n  namespace: org-acme\nstringData:\n  a: ENC[x]\nsops: {}\n"}),
			refused: []string{"does not reach Secret org-acme/gpu"},
		},
		"a dangling entry": {
			before: fleet, after: fleet.with(pool).without("clusters/wc1/cluster-manager/gpu.yaml"),
			refused: []string{"builds today and would not build after the merge", "clusters/wc1/cluster-manager/gpu.yaml"},
		},
		"the same object twice": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu.yaml": configMap("quotas", "l4")}),
			refused: []string{"may not add resource with an already registered id"},
		},
		"moved by namePrefix": {
			before: fleet, after: fleet.with(pool), change: func(in *Input) { in.Target.Spec = spec(map[string]any{"namePrefix": "pre-"}) },
			refused: []string{"would apply ConfigMap org-acme/gpu as ConfigMap org-acme/pre-gpu (spec.namePrefix)"},
		},
		"moved by targetNamespace": {
			before: fleet, after: fleet.with(pool), change: func(in *Input) { in.Target.Spec = spec(map[string]any{"targetNamespace": "other"}) },
			refused: []string{"as ConfigMap other/gpu (spec.targetNamespace)"},
		},
		"moved by a kustomization": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/kustomization.yaml": kustomization("gpu.yaml") + "nameSuffix: -x\n"}),
			refused: []string{"as ConfigMap org-acme/gpu-x (a namePrefix, nameSuffix, namespace or patch of a kustomization)"},
		},
		"patches of the spec": {
			before: fleet, after: fleet.with(pool), built: true, objects: added("gpu"),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"patches": []any{map[string]any{
					"patch":  "- op: replace\n  path: /data/key\n  value: patched\n",
					"target": map[string]any{"kind": "ConfigMap", "name": "gpu"},
				}}})
			},
			warnings: []string{"ConfigMap org-acme/gpu is built other than it was composed, at data.key"},
		},
	}
}
