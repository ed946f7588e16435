package survey

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// readRemains reads what goes with the cluster's last pool, once that pool is being removed: nothing else tells of it.
func (r *Reader) readRemains(ctx context.Context, survey *clustermanager.NodePoolsSurvey) {
	pool := lastPool(survey.Pools)
	if pool == nil || !pool.Removing(survey.Parts) {
		return
	}
	survey.Parts = r.parts(ctx, survey.Cluster)
}

// lastPool is the only pool with a release; nil: there are none or several.
func lastPool(pools []clustermanager.NodePoolFacts) *clustermanager.NodePoolFacts {
	var last *clustermanager.NodePoolFacts
	for index := range pools {
		if pools[index].Release.Or(nil) == nil {
			continue
		}
		if last != nil {
			return nil
		}
		last = &pools[index]
	}
	return last
}

// parts are the releases beside the pools.
func (r *Reader) parts(ctx context.Context, cluster clustermanager.Cluster) clustermanager.ClusterParts {
	operator, slice := clustermanager.OperatorObjects(cluster), clustermanager.SliceObjects(cluster)
	var made clustermanager.ClusterParts
	var reads errgroup.Group
	for _, read := range []func(){
		func() { made.Operator = r.standing(ctx, operator.Release) },
		func() { made.OperatorSource = r.standing(ctx, operator.Source) },
		func() { made.SliceRelease = r.standing(ctx, slice.Release) },
		func() { made.SliceSource = r.standing(ctx, slice.Source) },
		func() { made.Slice = clustermanager.Read(r.slice(ctx, cluster)) },
		func() { made.Children = clustermanager.Read(r.children(ctx, slice.Release)) },
	} {
		reads.Go(func() error { read(); return nil })
	}
	_ = reads.Wait()
	return made
}

// children are the HelmReleases that Flux labels as rendered by the slice, sorted by name.
func (r *Reader) children(ctx context.Context, slice clustermanager.ObjectReference) ([]clustermanager.SliceChild, error) {
	releases, err := r.list(ctx, helmReleaseNoun, slice.Namespace, metav1.ListOptions{LabelSelector: labels.Set{
		clustermanager.LabelHelmReleaseName: slice.Name, labelHelmReleaseNamespace: slice.Namespace,
	}.String()})
	if err != nil {
		return nil, err
	}
	found := []clustermanager.SliceChild{}
	for index := range releases {
		release := &releases[index]
		chart, err := r.chartOf(ctx, release)
		if err != nil {
			return nil, err
		}
		found = append(found, clustermanager.SliceChild{Name: release.GetName(), Chart: chart, DeletedAt: deletedAt(release)})
	}
	slices.SortFunc(found, func(a, b clustermanager.SliceChild) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// mountedClaims are the cluster's model cache claims, each with whether the cluster's slice mounts it where that is known.
func (r *Reader) mountedClaims(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.CacheClaim, error) {
	var claims []clustermanager.CacheClaim
	var cache clustermanager.Reading[*clustermanager.CacheState]
	var reads errgroup.Group
	reads.Go(func() (err error) { claims, err = r.cacheClaims(ctx, cluster); return err })
	reads.Go(func() error {
		slice, err := r.slice(ctx, cluster)
		cache = clustermanager.Read(cacheOf(slice), err)
		return nil
	})
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	return mountedClaims(claims, cache), nil
}

// standing is what an object's metadata says; nil: it does not exist. Whether a Kustomization applies it is not asked.
func (r *Reader) standing(ctx context.Context, reference clustermanager.ObjectReference) clustermanager.Reading[*clustermanager.LiveObject] {
	object, err := r.metadataOf(ctx, reference)
	if apierrors.IsNotFound(err) {
		return clustermanager.Known[*clustermanager.LiveObject](nil)
	}
	if err != nil {
		return clustermanager.Read[*clustermanager.LiveObject](nil, err)
	}
	live := &clustermanager.LiveObject{Reference: reference, Labels: object.GetLabels()}
	if deleted := object.GetDeletionTimestamp(); deleted != nil {
		live.DeletedAt = new(deleted.UTC())
	}
	return clustermanager.Known(live)
}
