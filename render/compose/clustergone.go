package compose

import (
	"fmt"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// managedByHelm is the manager of what a chart renders.
const managedByHelm = "Helm"

// composeGone removes what the uninstall of a cluster left: its registration, then the releases and sources that are
// labelled with it and called after it, then its values. In mode commit its files go, and the rest is for mode apply.
func (r *clusterRemoval) composeGone() error {
	r.removeBackends()
	left, err := r.leftovers()
	if err != nil {
		return err
	}
	objects := clustermanager.ClusterRelease(r.survey.Cluster)
	if r.inCommit() {
		for _, reference := range []clustermanager.ObjectReference{objects.Release, objects.Source, objects.Values} {
			r.remove(clustermanager.Declared, reference, r.labels(), clustermanager.Composed)
		}
		left = slices.DeleteFunc(left, func(live clustermanager.LiveObject) bool {
			return live.Reference.Identity() == objects.Source.Identity()
		})
	}
	for _, live := range left {
		r.remove(clustermanager.Teardown, live.Reference, map[string]string{
			clustermanager.LabelManagedBy: live.Labels[clustermanager.LabelManagedBy], clustermanager.LabelCluster: r.survey.Cluster.Name,
		}, clustermanager.Labelled)
	}
	values, known := r.survey.Values.Get()
	switch {
	case !known:
		return r.unread("its values", r.survey.Values.Reason())
	case values == nil || values.Labels[clustermanager.LabelManagedBy] != clustermanager.ManagedBy:
		values = nil
	case values.InInventoryOf != nil && !r.inCommit():
		return clustermanager.Refuse("%s: Kustomization %s applies it from git: use mode %s", values.Reference, values.InInventoryOf, clustermanager.ModeCommit)
	case !r.inCommit():
		r.remove(clustermanager.Declared, values.Reference, r.labels(), clustermanager.Composed)
	}
	return r.concludeGone(len(left) > 0 || values != nil)
}

// concludeGone says what it means that nothing was found.
func (r *clusterRemoval) concludeGone(left bool) error {
	cluster := r.survey.Cluster
	nothing := &clustermanager.NotFound{
		What: r.named(), Suffix: "nothing of it is left; list_clusters names the clusters that there are",
		Block: &clustermanager.NotFoundBlock{Cluster: cluster.Name, Namespace: cluster.Namespace, NothingLeft: true},
	}
	backends := slices.ContainsFunc(r.result.Plan.Steps, func(step clustermanager.Step) bool { return step.Lane == clustermanager.Runtime })
	switch {
	case r.inCommit():
		r.result.Plan.NotCarried = nothing
		if left || backends || len(r.warnings) > 0 {
			r.result.Plan.NotCarried = clustermanager.Refuse("%s: it is gone and the repository carries none of it, but something of it is left on the installation: remove that in mode %s", r.named(), clustermanager.ModeApply)
		}
		r.tellLiveSteps()
	case len(r.result.Plan.Steps) == 0 && len(r.warnings) == 0:
		return nothing
	}
	return nil
}

// leftovers are the releases, then the sources, that Helm or we made for the cluster, each by name.
func (r *clusterRemoval) leftovers() ([]clustermanager.LiveObject, error) {
	labelled, known := r.survey.Labelled.Get()
	if !known {
		return nil, r.unread("what its uninstall left", r.survey.Labelled.Reason())
	}
	neighbours, known := r.survey.Neighbours.Get()
	if !known && len(labelled) > 0 {
		return nil, r.unread("which other clusters are in its namespace, whose names may begin alike,", r.survey.Neighbours.Reason())
	}
	var left []clustermanager.LiveObject
	for _, live := range labelled {
		manager := live.Labels[clustermanager.LabelManagedBy]
		switch {
		case !calledAfter(live.Reference.Name, r.survey.Cluster.Name, neighbours):
		case manager != clustermanager.ManagedBy && manager != managedByHelm:
			r.warnings = append(r.warnings, fmt.Sprintf("%s: it is labelled with the cluster, and neither Helm nor create_cluster made it (%s), so it is left", live.Reference, ownerOf(live)))
		case live.InInventoryOf != nil && r.inCommit():
		case live.InInventoryOf != nil:
			return nil, clustermanager.Refuse("%s: Kustomization %s applies it from git: remove it in the repository behind that, or use mode %s", live.Reference, live.InInventoryOf, clustermanager.ModeCommit)
		default:
			left = append(left, live)
		}
	}
	slices.SortStableFunc(left, func(a, b clustermanager.LiveObject) int {
		return strings.Compare(a.Reference.Kind+" "+a.Reference.Name, b.Reference.Kind+" "+b.Reference.Name)
	})
	return left, nil
}

// calledAfter says whether a name is the cluster's or begins with it, and not with that of a neighbour whose longer name
// it fits as well.
func calledAfter(name, cluster string, neighbours []string) bool {
	fits := func(cluster string) bool { return name == cluster || strings.HasPrefix(name, cluster+"-") }
	return fits(cluster) && !slices.ContainsFunc(neighbours, func(neighbour string) bool {
		return len(neighbour) > len(cluster) && fits(neighbour)
	})
}

// tellLiveSteps says what is left to do after the merge, by what Flux makes of it.
func (r *clusterRemoval) tellLiveSteps() {
	target, known := r.survey.Target.Get()
	if !r.inCommit() || !known {
		return
	}
	const apply = "delete_cluster in mode apply with the same arguments"
	kustomization, _ := r.survey.Kustomization.Get()
	name := target.Placement.Name.String()
	keeps := kustomization != nil && !kustomization.Removes() || r.release != nil && r.release.PruneDisabled
	prunes := target.Prune && (kustomization == nil || !kustomization.PruneDisabled)
	switch {
	case r.release == nil && !prunes:
		r.say("the cluster's release does not stand yet, or no more; the merge does not remove the cluster's Kustomization " + name + ", should Flux have applied it by then: after it call " + apply + ", which deletes that Kustomization and so the cluster, and once it is gone the same call once more, which removes what the uninstall left")
	case r.release == nil:
		r.say("the cluster's release does not stand yet, or no more; the merge removes the cluster's Kustomization " + name + ", and with it what Flux has made of it; then call " + apply + ", which removes what the uninstall left")
	case keeps && prunes:
		r.say("the merge removes the cluster's Kustomization " + name + ", which leaves the cluster as it is (its prune and deletionPolicy, or an annotation of the release); then call " + apply + ", which removes the cluster, and once it is gone the same call once more, which removes what the uninstall left")
	case prunes:
		r.say("the merge removes the cluster's Kustomization " + name + ", which removes the release and so the cluster; once it is gone, call " + apply + ", which removes what the uninstall left")
	case keeps:
		r.say("the merge does not remove the cluster's Kustomization " + name + ", and its removal would leave the cluster as it is (its prune and deletionPolicy, or an annotation of the release): after the merge delete that Kustomization, then call " + apply + ", which removes the cluster, and once it is gone the same call once more, which removes what the uninstall left")
	default:
		r.say("the merge does not remove the cluster's Kustomization " + name + "; after it call " + apply + ", which deletes that Kustomization and so the cluster, and once it is gone the same call once more, which removes what the uninstall left")
	}
	if slices.ContainsFunc(r.result.Plan.Steps, func(step clustermanager.Step) bool { return step.Lane == clustermanager.Runtime }) {
		r.say("if the pull request is closed unmerged, call create_node_pool or enable_model_serving again, which registers the cluster with model-manager anew")
	}
}

func (r *clusterRemoval) say(step string) { r.result.LiveSteps = append(r.result.LiveSteps, step) }
