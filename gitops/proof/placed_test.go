package proof

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const acme = "mc/organizations/acme/workload-clusters/"

func flux(name string) string {
	return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: " + name + "\n  namespace: flux\nspec:\n  path: ./x\n"
}

func fluxReference(name string) clustermanager.ObjectReference {
	return clustermanager.ObjectReference{APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: "Kustomization", Namespace: "flux", Name: name}
}

// organization is a tree of gitops-template's layout with a cluster; placed is what a proposal adds to it.
var (
	organization = files{
		"mc/organizations/acme/acme.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: org-acme\n",
		acme + "kustomization.yaml":       kustomization("wc1.yaml"),
		acme + "wc1.yaml":                 flux("clusters-wc1"),
		acme + "wc1/mapi/quotas.yaml":     configMap("quotas", "ten"),
	}
	placed = files{
		acme + "kustomization.yaml":       kustomization("wc1.yaml", "dev01.yaml"),
		acme + "dev01.yaml":               flux("mc-clusters-dev01"),
		acme + "dev01/kustomization.yaml": kustomization("dev01.yaml"),
		acme + "dev01/dev01.yaml":         configMap("gpu", "l4"),
	}
	unlisted = files{acme + "kustomization.yaml": organization[acme+"kustomization.yaml"]}
)

// outer makes the input that of the organization's Kustomization, inner that of the one that the proposal brings.
func outer(in *Input) {
	in.Target.Path, in.Target.Spec = "mc", map[string]any{"path": "./mc", "prune": true}
	in.Target.Placement = &clustermanager.Placement{
		Directory: acme + "dev01", Name: clustermanager.NamespacedName{Namespace: "flux", Name: "mc-clusters-dev01"},
	}
	in.Meant = append(in.Meant, fluxReference("mc-clusters-dev01"))
	in.Objects = []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
		"metadata": map[string]any{"name": "mc-clusters-dev01", "namespace": "flux"}, "spec": map[string]any{"path": "./x"},
	}}}
}

func inner(in *Input) {
	outer(in)
	in.Target = in.Target.Inner()
	in.Placed, in.Objects = true, []*unstructured.Unstructured{composed("gpu", "l4")}
}

func going(change func(*Input)) func(*Input) {
	return func(in *Input) {
		change(in)
		in.Objects = nil
	}
}

// placedScenarios are proposals that bring a Flux Kustomization, or take it away: two trees, each proven.
func placedScenarios() map[string]scenario {
	whole := organization.with(placed)
	fluxDiff := func(action clustermanager.DiffAction) []clustermanager.ObjectDiff {
		return []clustermanager.ObjectDiff{{ObjectReference: fluxReference("mc-clusters-dev01"), Action: action}}
	}
	broken := files{"mc/organizations/acme/acme.yaml": "{"}
	generated := organization.without(acme + "kustomization.yaml")
	return map[string]scenario{
		"a cluster comes":                  {before: organization, after: whole, change: outer, built: true, objects: fluxDiff(clustermanager.DiffAdd)},
		"a cluster comes, its tree":        {before: organization, after: whole, change: inner, built: true, objects: added("gpu")},
		"a cluster changes, its tree":      {before: whole, after: whole, change: inner, built: true},
		"a cluster goes":                   {before: whole, after: organization, change: going(outer), built: true, objects: fluxDiff(clustermanager.DiffRemove)},
		"a cluster without its list entry": {before: organization, after: whole.with(unlisted), change: outer, refused: []string{"does not reach Kustomization flux/mc-clusters-dev01", "workload-clusters/kustomization.yaml does not list dev01.yaml"}},
		"a list that nothing reaches": {
			before: organization.with(files{"mc/kustomization.yaml": kustomization("organizations/acme/acme.yaml")}),
			after:  whole.with(files{"mc/kustomization.yaml": kustomization("organizations/acme/acme.yaml")}),
			change: outer, refused: []string{"no kustomization under mc lists mc/organizations/acme/workload-clusters"},
		},
		"a list with the new entry alone": {
			before: generated, after: generated.with(placed).with(files{acme + "kustomization.yaml": kustomization("dev01.yaml")}),
			change: outer, refused: []string{"prune 2 (ConfigMap org-acme/quotas, Kustomization flux/clusters-wc1)"},
		},
		"a list with all that was generated": {
			before: generated, after: generated.with(placed).with(files{acme + "kustomization.yaml": kustomization("wc1/mapi/quotas.yaml", "wc1.yaml", "dev01.yaml")}),
			change: outer, built: true, objects: fluxDiff(clustermanager.DiffAdd),
		},
		"a cluster goes, its tree": {
			before: whole.with(files{acme + "dev01/kustomization.yaml": kustomization("dev01.yaml", "pool.yaml"), acme + "dev01/pool.yaml": configMap("pool", "x")}),
			after:  organization, change: going(inner), built: true,
			objects: []clustermanager.ObjectDiff{
				{ObjectReference: object("ConfigMap", "gpu"), Action: clustermanager.DiffRemove}, {ObjectReference: object("ConfigMap", "pool"), Action: clustermanager.DiffRemove},
			},
		},
		"a cluster goes that does not build": {
			before: whole.with(files{acme + "dev01/dev01.yaml": "{"}), after: organization,
			change: func(in *Input) {
				going(inner)(in)
				in.Staged = []string{acme + "dev01/dev01.yaml", acme + "dev01/kustomization.yaml"}
			},
			note: []string{"does not build today"},
		},
		"a cluster that does not build":       {before: organization, after: whole.with(files{acme + "dev01/dev01.yaml": "{"}), change: inner, refused: []string{"would not build after the merge"}},
		"a cluster with a stray object":       {before: organization, after: whole.with(files{acme + "dev01/dev01.yaml": configMap("gpu", "l4") + "---\n" + configMap("stray", "x")}), change: inner, refused: []string{"add 1 (ConfigMap org-acme/stray)"}},
		"a tree that does not build":          {before: organization.with(broken), after: whole.with(broken), change: outer, objects: fluxDiff(clustermanager.DiffAdd), note: []string{"the tree does not build today", "nothing but our folder's files and its one entry changes"}},
		"a broken tree, a cluster goes":       {before: whole.with(broken), after: organization.with(broken), change: going(outer), objects: fluxDiff(clustermanager.DiffRemove), note: []string{"the tree does not build today"}},
		"a broken tree, another file changes": {before: organization.with(broken), after: whole.with(broken).with(files{acme + "wc1.yaml": flux("x")}), change: outer, refused: []string{"workload-clusters/wc1.yaml changes too"}},
		"a broken tree, another entry goes":   {before: organization.with(broken), after: whole.with(broken).with(files{acme + "kustomization.yaml": kustomization("dev01.yaml")}), change: outer, refused: []string{"workload-clusters/kustomization.yaml changes too"}},
		"a broken tree, no entry":             {before: organization.with(broken), after: whole.with(broken).with(unlisted), change: outer, refused: []string{"does not list dev01.yaml"}},
		"a broken tree, an entry left":        {before: whole.with(broken), after: whole.with(broken).without(acme+"dev01.yaml", acme+"dev01/dev01.yaml", acme+"dev01/kustomization.yaml"), change: going(outer), refused: []string{"lists dev01.yaml, which would be gone"}},
		"left out by an ignore": {before: organization, after: whole, change: func(in *Input) {
			outer(in)
			in.Target.Repository.Ignore = new("dev01.yaml\n")
		}, refused: []string{"left out of what Flux fetches by spec.ignore"}},
	}
}
