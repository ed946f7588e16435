package compose

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// ours are the labels of pool gpu-l4 of wc1, with others on top.
func ours(others map[string]string) map[string]string {
	labels := map[string]string{
		"app.kubernetes.io/managed-by": "cluster-manager", "app.kubernetes.io/name": "gpu-node-pool",
		"giantswarm.io/cluster": "wc1", "giantswarm.io/node-pool": "gpu-l4",
	}
	maps.Copy(labels, others)
	return labels
}

func TestOwnership(t *testing.T) {
	target := &clustermanager.NamespacedName{Namespace: "flux-giantswarm", Name: "wc1"}
	another := &clustermanager.NamespacedName{Namespace: "flux-giantswarm", Name: "apps"}
	kustomization := map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-giantswarm"}
	const exists = "HelmRelease org-acme/wc1-gpu-l4: it exists and "
	for name, test := range map[string]struct {
		labels    map[string]string
		inventory *clustermanager.NamespacedName
		mode      clustermanager.Mode
		noTarget  bool
		want      string
	}{
		"ours":                              {labels: ours(nil)},
		"ours, labelled by a Kustomization": {labels: ours(kustomization)},
		"ours, more labels":                 {labels: ours(map[string]string{"team": "x"})},
		"in the target's own inventory":     {labels: ours(nil), inventory: target},
		"in another inventory": {labels: ours(nil), inventory: another,
			want: "HelmRelease org-acme/wc1-gpu-l4: Kustomization flux-giantswarm/apps applies it, and the cluster's files go to Kustomization flux-giantswarm/wc1: take it out there first, or choose another pool name"},
		"in an inventory, no target": {labels: ours(nil), inventory: another, noTarget: true},
		"in an inventory, mode apply": {labels: ours(nil), inventory: target, mode: clustermanager.ModeApply,
			want: "HelmRelease org-acme/wc1-gpu-l4: Kustomization flux-giantswarm/wc1 applies it from git: use mode commit"},
		"ours, mode apply": {labels: ours(nil), mode: clustermanager.ModeApply},
		"a Kustomization's": {labels: kustomization,
			want: exists + "belongs to Kustomization flux-giantswarm/apps: change it in the repository behind that, or choose another pool name"},
		"a Kustomization's, by inventory": {labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}, inventory: target,
			want: exists + "belongs to Kustomization flux-giantswarm/wc1: change it in the repository behind that, or choose another pool name"},
		"another manager's": {labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
			want: exists + "is managed by Helm: choose another pool name, or remove it there"},
		"nobody's": {labels: map[string]string{"app.kubernetes.io/name": "gpu-node-pool"},
			want: exists + "its owner is unknown: choose another pool name, or remove it"},
		"another cluster's pool": {labels: ours(map[string]string{"giantswarm.io/cluster": "wc1-gpu", "giantswarm.io/node-pool": "l4-gpu"}),
			want: exists + `belongs to another release of ours (giantswarm.io/cluster="wc1-gpu", giantswarm.io/node-pool="l4-gpu"): choose another pool name`},
		"another chart": {labels: ours(map[string]string{"app.kubernetes.io/name": "gpu-operator"}),
			want: exists + `belongs to another release of ours (app.kubernetes.io/name="gpu-operator"): choose another pool name`},
	} {
		survey, request := surveyOf(t, "wc1"), pool("wc1", "gpu-l4")
		if test.mode != "" {
			request.Mode = test.mode
		}
		if test.noTarget {
			survey.Target = clustermanager.Unknown[clustermanager.Target]("internal error")
		}
		survey.Live["org-acme_wc1-gpu-l4_helm.toolkit.fluxcd.io_HelmRelease"] = clustermanager.Known(&clustermanager.LiveObject{
			Labels: test.labels, InInventoryOf: test.inventory,
		})
		message := ""
		if _, err := NodePool(request, survey); err != nil {
			message = err.Error()
		}
		if diff := cmp.Diff(test.want, message); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
