package survey

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// annotationPrune with the value "disabled" keeps Flux from pruning an object.
	annotationPrune = "kustomize.toolkit.fluxcd.io/prune"
)

// RemoveCluster reads the facts that a cluster's removal is composed from. Errors are as those of [Reader.NewCluster].
func (r *Reader) RemoveCluster(ctx context.Context, request clustermanager.DeleteClusterRequest) (clustermanager.RemoveClusterSurvey, error) {
	cluster := r.named(request.Organization, request.Name)
	if err := r.clusterAPIServed(ctx, cluster); err != nil {
		return clustermanager.RemoveClusterSurvey{}, err
	}
	made := clustermanager.RemoveClusterSurvey{Now: r.options.Now, Settings: r.options.Settings, Cluster: cluster}
	objects := clustermanager.ClusterRelease(cluster)
	var reads errgroup.Group
	start := func(read func()) {
		reads.Go(func() error { read(); return nil })
	}
	start(func() { made.Running = clustermanager.Read(r.runningCluster(ctx, cluster)) })
	start(func() {
		made.Release = clustermanager.Read(r.liveRelease(ctx, objects.Release))
		made.Kustomization = clustermanager.Read(r.applier(ctx, made.Release))
	})
	start(func() { made.Source = clustermanager.Read(r.live(ctx, objects.Source)) })
	start(func() { made.Values = clustermanager.Read(r.live(ctx, objects.Values)) })
	start(func() { made.Labelled = clustermanager.Read(r.ofCluster(ctx, cluster)) })
	start(func() { made.Neighbours = clustermanager.Read(r.neighbours(ctx, cluster)) })
	start(func() { made.Backends = clustermanager.Read(r.clusterBackends(ctx, cluster)) })
	start(func() { made.Models = clustermanager.Read(r.models(ctx, cluster)) })
	start(func() { made.Target = clustermanager.Read(r.OrganizationTarget(ctx, cluster)) })
	_ = reads.Wait()
	if err := ctx.Err(); err != nil {
		return clustermanager.RemoveClusterSurvey{}, fmt.Errorf("Cluster %s/%s: reading what its removal is composed from: %w", cluster.Namespace, cluster.Name, err)
	}
	return made, nil
}

func (r *Reader) runningCluster(ctx context.Context, cluster clustermanager.Cluster) (*clustermanager.RunningCluster, error) {
	object, err := r.get(ctx, clusterNoun, cluster.Namespace, cluster.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	running := &clustermanager.RunningCluster{UID: string(object.GetUID())}
	if deleted := object.GetDeletionTimestamp(); deleted != nil {
		running.DeletedAt = new(deleted.Time)
	}
	return running, nil
}

func (r *Reader) liveRelease(ctx context.Context, reference clustermanager.ObjectReference) (*clustermanager.LiveRelease, error) {
	object, err := r.get(ctx, helmReleaseNoun, reference.Namespace, reference.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	live, err := r.liveOf(ctx, reference, object)
	if err != nil {
		return nil, err
	}
	return &clustermanager.LiveRelease{
		LiveObject: *live, ReleaseUptake: uptakeOf(object), Deleting: object.GetDeletionTimestamp() != nil,
		PruneDisabled: object.GetAnnotations()[annotationPrune] == "disabled",
	}, nil
}

// applier is the Kustomization that has the release in its inventory.
func (r *Reader) applier(ctx context.Context, release clustermanager.Reading[*clustermanager.LiveRelease]) (*clustermanager.LiveKustomization, error) {
	found, known := release.Get()
	switch {
	case !known:
		return nil, release.Err()
	case found == nil || found.InInventoryOf == nil:
		return nil, nil
	}
	object, err := r.get(ctx, kustomizationNoun, found.InInventoryOf.Namespace, found.InInventoryOf.Name)
	if err != nil {
		return nil, err
	}
	live, err := r.liveOf(ctx, clustermanager.ReferenceTo(object), object)
	if err != nil {
		return nil, err
	}
	return &clustermanager.LiveKustomization{
		LiveObject: *live, Prune: isTrueAt(object.Object, "spec", "prune"), DeletionPolicy: textAt(object.Object, "spec", "deletionPolicy"),
		PruneDisabled: object.GetAnnotations()[annotationPrune] == "disabled",
	}, nil
}

// ofCluster are the releases and sources of the namespace that are labelled with the cluster, by kind and name.
func (r *Reader) ofCluster(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.LiveObject, error) {
	selector := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{clustermanager.LabelCluster: cluster.Name}).String()}
	source := nounOf(clustermanager.ClusterRelease(cluster).Source)
	found := []clustermanager.LiveObject{}
	for _, of := range []noun{helmReleaseNoun, source} {
		objects, err := r.list(ctx, of, cluster.Namespace, selector)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			live, err := r.liveOf(ctx, of.reference(object.GetNamespace(), object.GetName()), &object)
			if err != nil {
				return nil, err
			}
			found = append(found, *live)
		}
	}
	slices.SortFunc(found, func(a, b clustermanager.LiveObject) int {
		return cmp.Or(cmp.Compare(a.Reference.Kind, b.Reference.Kind), cmp.Compare(a.Reference.Name, b.Reference.Name))
	})
	return found, nil
}

// neighbours are the other clusters of the namespace.
func (r *Reader) neighbours(ctx context.Context, cluster clustermanager.Cluster) ([]string, error) {
	objects, err := r.list(ctx, clusterNoun, cluster.Namespace, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, object := range objects {
		if object.GetName() != cluster.Name {
			names = append(names, object.GetName())
		}
	}
	return clustermanager.SortedOnce(names), nil
}

// clusterBackends are the cluster's backend documents.
func (r *Reader) clusterBackends(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.Backend, error) {
	found, err := r.backends(ctx, cluster)
	return slices.DeleteFunc(slices.Clone(found), func(backend clustermanager.Backend) bool { return !backend.Of(cluster) }), err
}
