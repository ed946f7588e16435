package survey

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	reasonChildNotReady = "ChildNotReady"
	// sliceNamespaceOfWorkload is where a slice's parts run on a workload cluster unless its values say otherwise.
	sliceNamespaceOfWorkload = "agent-platform"
)

// readiness is what the facts of the detection tell of it.
func (f servingFacts) readiness() clustermanager.ServingReadiness {
	return clustermanager.ServingReadiness{
		Release:     f.release(),
		Children:    f.childStates(),
		Controllers: f.controllerStates(),
		Configs: known(f.configs, func(configs []unstructured.Unstructured) *int {
			if configs == nil {
				return nil
			}
			return new(len(configs))
		}),
		Webhook: f.webhook,
		Cache:   f.cache(),
	}
}

// release is the slice of this product's. It is ready once its children are: the release itself is so before they have
// installed.
func (f servingFacts) release() clustermanager.Reading[*clustermanager.ReleaseState] {
	if err := f.slice.Err(); err != nil || !f.ownSlice() {
		return clustermanager.Read[*clustermanager.ReleaseState](nil, err)
	}
	state := releaseState(f.slice.Or(nil))
	if !state.IsReady() {
		return clustermanager.Known(&state)
	}
	children, read := f.childStates().Get()
	if !read {
		state.Ready, state.Message = nil, "its children could not be read: "+f.children.Reason()
		return clustermanager.Known(&state)
	}
	var pending []string
	for _, child := range children {
		if !child.IsReady() {
			pending = append(pending, pendingText(child))
		}
	}
	if len(pending) > 0 {
		state.Ready, state.Reason, state.Message = new(false), reasonChildNotReady, strings.Join(pending, "; ")
	}
	return clustermanager.Known(&state)
}

func (f servingFacts) childStates() clustermanager.Reading[[]clustermanager.ReleaseState] {
	return known(f.children, func(children []unstructured.Unstructured) []clustermanager.ReleaseState {
		states := []clustermanager.ReleaseState{}
		for _, child := range sortedByName(children) {
			states = append(states, releaseState(&child))
		}
		return states
	})
}

func (f servingFacts) controllerStates() clustermanager.Reading[[]clustermanager.Controller] {
	return known(f.controllers, func(controllers []unstructured.Unstructured) []clustermanager.Controller {
		states := []clustermanager.Controller{}
		for _, object := range sortedByName(controllers) {
			replicas, set, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
			if !set {
				replicas = 1
			}
			states = append(states, clustermanager.Controller{
				Name: object.GetName(), Namespace: object.GetNamespace(),
				Available: int(numberAt(object.Object, "status", "readyReplicas")), Replicas: int(replicas),
			})
		}
		return states
	})
}

// domain is the one that the slice of this product's serves models below; "" without such a slice.
func (f servingFacts) domain() (string, error) {
	if !f.ownSlice() {
		return "", nil
	}
	slice, err := releasedSlice(f.cluster.Name, f.slice.Or(nil))
	return textAt(slice.Values.Reveal(), "global", "domain"), err
}

// cache is what the slice's values say of the model cache: the chart has it on, and mounts a claim of its own naming.
func (f servingFacts) cache() clustermanager.Reading[*clustermanager.CacheState] {
	if err := f.slice.Err(); err != nil || !f.ownSlice() {
		return clustermanager.Read[*clustermanager.CacheState](nil, err)
	}
	slice, err := releasedSlice(f.cluster.Name, f.slice.Or(nil))
	return clustermanager.Read(cacheOf(&slice), err)
}

// cacheOf is the model cache of a slice; nil without a slice.
func cacheOf(slice *clustermanager.Slice) *clustermanager.CacheState {
	switch {
	case slice == nil:
		return nil
	case !slice.CacheOn():
		return &clustermanager.CacheState{}
	}
	return &clustermanager.CacheState{Enabled: true, Claim: slice.CacheClaim()}
}

// namespaceOf is where the slice's parts run on the target.
func namespaceOf(cluster clustermanager.Cluster, slice *unstructured.Unstructured) (string, error) {
	switch {
	case slice != nil && owned(slice):
		released, err := releasedSlice(cluster.Name, slice)
		return released.TargetNamespace(), err
	case cluster.Own:
		return cluster.Namespace, nil
	}
	return sliceNamespaceOfWorkload, nil
}

// configObjects are the serving configurations of the slice's namespace on the target; nil: their API is not served.
func (r *Reader) configObjects(ctx context.Context, cluster clustermanager.Cluster) list {
	return clustermanager.Read(r.readConfigs(ctx, cluster))
}

func (r *Reader) readConfigs(ctx context.Context, cluster clustermanager.Cluster) ([]unstructured.Unstructured, error) {
	target, err := r.target(ctx, cluster)
	if err != nil {
		return nil, err
	}
	version, err := target.storageVersion(ctx, llmConfigs)
	if err != nil || version == "" {
		return nil, err
	}
	slice, err := r.sliceRelease(ctx, cluster)
	if err != nil {
		return nil, err
	}
	namespace, err := namespaceOf(cluster, slice)
	if err != nil {
		return nil, err
	}
	configs, err := target.list(ctx, noun{"LLMInferenceServiceConfig", kserve(version, llmConfigs)}, namespace, metav1.ListOptions{})
	if err == nil && configs == nil {
		configs = []unstructured.Unstructured{}
	}
	return configs, err
}

// mountedClaims are the claims with whether the slice mounts each; where the slice could not be read they do not say.
func mountedClaims(claims []clustermanager.CacheClaim, cache clustermanager.Reading[*clustermanager.CacheState]) []clustermanager.CacheClaim {
	state, is := cache.Get()
	if !is {
		return claims
	}
	claims = slices.Clone(claims)
	for index := range claims {
		claims[index].Mounted = new(state != nil && state.Enabled && state.Claim == claims[index].Name)
	}
	return claims
}
