package survey

import (
	"cmp"
	"context"
	"slices"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// CacheRemoval reads the facts that the removal of a cluster's model cache is decided from: those that its slice is
// composed from, the claims, and who mounts them. Its errors are NodePool's.
func (r *Reader) CacheRemoval(ctx context.Context, request clustermanager.RemoveModelCacheRequest) (clustermanager.CacheRemovalSurvey, error) {
	var models clustermanager.Reading[[]clustermanager.ServedModel]
	var mounts clustermanager.Reading[[]clustermanager.ClaimMount]
	survey, err := r.survey(ctx, request.Namespace, request.Cluster, func(made *clustermanager.Survey, values func() effectiveValues, start func(func())) {
		cluster := made.Cluster
		start(func() { made.Live = r.liveObjects(ctx, r.objectsOfServing(cluster)) })
		start(func() { made.GPUOperator = r.gpuOperator(ctx, cluster) })
		start(func() { made.Serving = r.servingSurvey(ctx, cluster, values) })
		start(func() { models = clustermanager.Read(r.models(ctx, cluster)) })
		start(func() { mounts = clustermanager.Read(r.claimMounts(ctx, cluster)) })
	})
	survey.Serving.Models = models
	return clustermanager.CacheRemovalSurvey{Survey: survey, Mounts: mounts}, err
}

// claimMounts are the pods of the serving namespace that hold a claim: Kubernetes keeps a claim until its last pod ends.
func (r *Reader) claimMounts(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.ClaimMount, error) {
	pods, err := r.listTarget(ctx, cluster, podNoun, r.options.Settings.ServingNamespace, nil)
	if err != nil {
		return nil, err
	}
	mounts := []clustermanager.ClaimMount{}
	for index := range pods {
		pod := &pods[index]
		if phase := textAt(pod.Object, "status", "phase"); phase == "Succeeded" || phase == "Failed" {
			continue
		}
		model, _ := predictorOf(pod)
		for _, volume := range mapsAt(pod.Object, "spec", "volumes") {
			if claim := textAt(volume, "persistentVolumeClaim", "claimName"); claim != "" {
				mounts = append(mounts, clustermanager.ClaimMount{
					Namespace: pod.GetNamespace(), Pod: pod.GetName(), Claim: claim, Kind: model.Kind, Model: model.Name,
				})
			}
		}
	}
	slices.SortFunc(mounts, func(a, b clustermanager.ClaimMount) int {
		return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Claim, b.Claim))
	})
	return slices.Compact(mounts), nil
}
