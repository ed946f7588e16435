package proof

// kustomizationScenarios are the ways in which a tree lists what is built.
func kustomizationScenarios() map[string]scenario {
	return map[string]scenario{
		"pool": {before: fleet, after: fleet.with(pool), built: true, objects: added("gpu")},
		"kustomization.yml": {
			before: fleet.without("clusters/wc1/kustomization.yaml").with(files{"clusters/wc1/kustomization.yml": fleet["clusters/wc1/kustomization.yaml"]}),
			after:  fleet.without("clusters/wc1/kustomization.yaml").with(ourFolder).with(files{"clusters/wc1/kustomization.yml": pool["clusters/wc1/kustomization.yaml"]}),
			built:  true, objects: added("gpu"),
		},
		"Kustomization": {
			before: fleet.without("clusters/wc1/kustomization.yaml").with(files{"clusters/wc1/Kustomization": fleet["clusters/wc1/kustomization.yaml"]}),
			after:  fleet.without("clusters/wc1/kustomization.yaml").with(ourFolder).with(files{"clusters/wc1/Kustomization": pool["clusters/wc1/kustomization.yaml"]}),
			built:  true, objects: added("gpu"),
		},
		"two kustomization files": {
			before: fleet, after: fleet.with(ourFolder).with(files{"clusters/wc1/kustomization.yml": kustomization("wc1.yaml", "cluster-manager")}),
			refused: []string{"would not build after the merge", "Found multiple kustomization files"},
		},
		"generated": {before: generatedFleet, after: generatedFleet.with(ourFolder), built: true, objects: added("gpu")},
		"generated nested": {
			before: generatedFleet.with(files{"clusters/wc1/apps/deep/a.yaml": configMap("a", "a"), "clusters/wc1/base/kustomization.yml": kustomization("b.yaml"), "clusters/wc1/base/b.yaml": configMap("b", "b"), "clusters/wc1/base/unlisted.yaml": "no object"}),
			after:  generatedFleet.with(ourFolder).with(files{"clusters/wc1/apps/deep/a.yaml": configMap("a", "a"), "clusters/wc1/base/kustomization.yml": kustomization("b.yaml"), "clusters/wc1/base/b.yaml": configMap("b", "b"), "clusters/wc1/base/unlisted.yaml": "no object"}),
			built:  true, objects: added("gpu"),
		},
		"generated over a file that is no object": {
			before: generatedFleet, after: generatedFleet.with(ourFolder).with(files{"clusters/wc1/cluster.yaml": "just: text"}),
			refused: []string{"would not build after the merge", "clusters/wc1/cluster.yaml"},
		},
		"a hidden list takes the others out": {
			before: generatedFleet, after: generatedFleet.with(ourFolder).with(files{"clusters/wc1/kustomization.yaml": kustomization("cluster-manager")}),
			refused: []string{"prune 2 (ConfigMap org-acme/quotas, ConfigMap org-acme/wc1)"},
		},
		"components, bases and labels": {
			before: fleet.with(files{
				"clusters/wc1/kustomization.yaml":     kustomization("wc1.yaml", "quotas.yaml", "../../bases/app") + "components:\n- ../../components/labels\n",
				"bases/app/kustomization.yaml":        kustomization("app.yaml"),
				"bases/app/app.yaml":                  configMap("app", "x"),
				"components/labels/kustomization.yml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels:\n- pairs: {team: a}\n",
			}),
			after: fleet.with(pool).with(files{
				"clusters/wc1/kustomization.yaml":     kustomization("wc1.yaml", "quotas.yaml", "../../bases/app", "cluster-manager") + "components:\n- ../../components/labels\n",
				"bases/app/kustomization.yaml":        kustomization("app.yaml"),
				"bases/app/app.yaml":                  configMap("app", "x"),
				"components/labels/kustomization.yml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels:\n- pairs: {team: a}\n",
			}),
			built: true, objects: added("gpu"),
		},
		"component of the spec": {
			before: fleet.with(files{"components/l/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {a: b}\n"}),
			after:  fleet.with(pool).with(files{"components/l/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {a: b}\n"}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"components": []any{"../../components/l", "../../components/gone"}, "ignoreMissingComponents": true})
			},
			built: true, objects: added("gpu"),
		},
		"the root": {
			before: files{"a.yaml": configMap("a", "a"), ".sops.yaml": "creation_rules: []", ".github/workflow.yaml": "on: push"},
			after: files{"a.yaml": configMap("a", "a"), ".sops.yaml": "creation_rules: []", ".github/workflow.yaml": "on: push",
				"cluster-manager/kustomization.yaml": kustomization("gpu.yaml"), "cluster-manager/gpu.yaml": configMap("gpu", "l4")},
			change: func(in *Input) { in.Target.Path, in.Target.Spec = "", map[string]any{} },
			built:  true, objects: added("gpu"),
		},
	}
}
