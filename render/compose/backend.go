package compose

import (
	"cmp"
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// backendKey is the key of a backend's ConfigMap that model-manager reads.
const backendKey = "backend.yaml"

// decideBackend registers the cluster with model-manager. The registration of a serving layer that is somebody else's
// is left to it where it has one.
func (s *slice) decideBackend() error {
	shared, err := s.sharedBackend()
	if err != nil {
		return err
	}
	if !s.composed && s.registeredElsewhere() {
		s.warn("%s: it exists and is not ours, so the backend of cluster %s stays as it is", s.backendReference(), s.survey.Cluster.Name)
		return nil
	}
	document, err := s.backendDocument()
	if err != nil {
		return err
	}
	step := clustermanager.Step{Verb: clustermanager.Ensure, Lane: clustermanager.Runtime, Object: s.backendObject(s.backendReference())}
	step.Object.Object["data"] = map[string]any{backendKey: document}
	s.backend = []clustermanager.Step{step}
	if shared {
		s.shared = []clustermanager.Step{{Verb: clustermanager.Remove, Lane: clustermanager.Runtime, Object: s.backendObject(clustermanager.SharedBackendReference(s.survey.Settings))}}
	}
	return nil
}

// leftovers are the registrations that an earlier one of this cluster left.
func (s *slice) leftovers() []clustermanager.Step { return s.shared }

func (s *slice) backendReference() clustermanager.ObjectReference {
	return clustermanager.BackendReference(s.survey.Cluster, s.survey.Settings)
}

func (s *slice) registeredElsewhere() bool {
	live, known := s.survey.Live[clustermanager.LiveKey(s.backendReference())].Get()
	return known && live != nil && live.Labels[clustermanager.LabelManagedBy] != clustermanager.ManagedBy
}

// sharedBackend says whether this workload cluster is registered under the name that the installation's own cluster
// has, as it was before backends had names per cluster. The own cluster is refused while one is.
func (s *slice) sharedBackend() (bool, error) {
	backends, known := s.survey.Serving.Backends.Get()
	if !known {
		s.warn("whether a backend of cluster %s stands under an earlier name was not checked: %s", s.survey.Cluster.Name, s.survey.Serving.Backends.Reason())
		return false, nil
	}
	own, shared := s.backendReference(), clustermanager.SharedBackendReference(s.survey.Settings)
	movable := false
	for _, backend := range backends {
		name := backend.ConfigMap.Name
		theirs := !backend.Of(s.survey.Cluster)
		switch {
		case theirs && name == own.Name && s.survey.Cluster.Own:
			return false, clustermanager.Refuse("ConfigMap %s: workload cluster %s is registered under the backend name that cluster %s needs: run create_node_pool or enable_model_serving for %s again, which moves it to a name of its own, then call again",
				backend.ConfigMap, backend.Cluster, s.survey.Cluster.Name, backend.Cluster)
		case theirs && name == own.Name:
			return false, clustermanager.Refuse("ConfigMap %s: cluster %s of organization %s is registered under the backend name that %s needs: remove that registration first",
				backend.ConfigMap, backend.Cluster, backend.Organization, s.cluster())
		case !theirs && name == shared.Name && name != own.Name && backend.Owned:
			movable = true
		}
	}
	return movable, nil
}

// backendObject is a registration without its document.
func (b *base) backendObject(reference clustermanager.ObjectReference) *unstructured.Unstructured {
	return owned(clustermanager.Cluster{}, reference, map[string]string{
		clustermanager.LabelModelBackend:       "true",
		clustermanager.LabelModelBackendSource: clustermanager.ManagedBy,
		clustermanager.LabelManagedBy:          clustermanager.ManagedBy,
		clustermanager.LabelCluster:            b.survey.Cluster.Name,
	})
}

// backendDocument is the text that model-manager reads. It holds no credential: the caller of a model brings their own.
func (s *slice) backendDocument() (string, error) {
	target := map[string]any{
		"cluster": s.survey.Cluster.Name, "organization": s.survey.Cluster.Organization, "servingNamespace": s.survey.Settings.ServingNamespace,
	}
	if s.survey.Cluster.Own {
		target["cluster"] = "local"
	} else {
		endpoint, err := s.endpoint()
		if err != nil {
			return "", err
		}
		target["apiServer"], target["caBundle"] = endpoint.Server, endpoint.CABundle
	}
	kserve := map[string]any{"target": target}
	switch {
	case s.composed:
		kserve["discovery"] = map[string]any{"namespace": s.namespace()}
	case s.discovery != nil:
		kserve["discovery"] = s.discovery
	}
	s.setShapes(kserve)
	// Maps of strings always encode.
	text, _ := yaml.Marshal(map[string]any{
		"apiVersion": "agent-platform.giantswarm.io/v1alpha1", "kind": "ModelBackend",
		"metadata": map[string]any{"name": clustermanager.BackendName(s.survey.Cluster)},
		"spec":     map[string]any{"kind": "kserve", "source": clustermanager.ManagedBy, "kserve": kserve},
	})
	return string(text), nil
}

// endpoint is where the cluster's API server answers, without the user that an address may carry: the document and the
// answer are no place for a credential.
func (s *slice) endpoint() (clustermanager.Endpoint, error) {
	endpoint, err := need(s.base, s.survey.Serving.Endpoint, "where its API server answers, which model-manager has to know,")
	if err != nil {
		return endpoint, err
	}
	address, err := url.Parse(endpoint.Server)
	if err != nil || address.Host == "" {
		return clustermanager.Endpoint{}, clustermanager.Refuse("%s: the server's address in its kubeconfig is no URL, and model-manager has to know it: correct it in Secret %s/%s",
			s.cluster(), s.survey.Cluster.Namespace, clustermanager.KubeconfigSecretName(s.survey.Cluster))
	}
	if address.User != nil {
		address.User = nil
		endpoint.Server = address.String()
	}
	return endpoint, nil
}

// setShapes names what the pools' nodes have, so that model-manager can judge a model before there is a node: of one
// pool without its name, of several by the pool's release. Only our own pools are named.
func (s *slice) setShapes(kserve map[string]any) {
	version := s.platform.ModelManagerVersion.Or("")
	shapes := map[string]any{}
	for _, pool := range s.pools {
		if !pool.owned {
			continue
		}
		instances := pool.shapes(version)
		if len(instances) == 0 {
			s.warn("HelmRelease %s/%s: its values name no accelerator and sizes that are known, so the backend document names none of its nodes' shapes", s.survey.Cluster.Namespace, pool.release)
			continue
		}
		shapes[pool.release] = map[string]any{"instances": instances}
	}
	switch len(shapes) {
	case 0:
	case 1:
		for _, only := range shapes {
			kserve["gpuPool"] = only
		}
	default:
		kserve["gpuPools"] = shapes
	}
}

// shapes are the pool's instances, with the keys that the model-manager of the version parses.
func (p gpuPool) shapes(modelManager string) []any {
	var shapes []any
	for _, size := range p.instances() {
		shape := map[string]any{
			"instanceType": size.InstanceType, "size": size.Size, "vcpu": size.VCPU, "memoryGiB": size.MemoryGiB,
			"gpus": size.GPUs, "gpuMemoryGiB": size.GPUMemoryGiB, "usableVcpu": size.UsableVCPU, "usableMemoryGiB": size.UsableMemoryGiB,
		}
		capability := catalog.ComputeCapability(p.accelerator)
		if capability != "" && catalog.BackendTakes(modelManager, "computeCapability") {
			shape["computeCapability"] = capability
		}
		shapes = append(shapes, shape)
	}
	return shapes
}

func (s *slice) backendResult() *clustermanager.BackendResult {
	if len(s.backend) == 0 {
		return nil
	}
	reference, target := s.backendReference(), "local"
	if !s.survey.Cluster.Own {
		endpoint, _ := s.endpoint()
		target = fmt.Sprintf("%s (%s)", s.survey.Cluster.Name, endpoint.Server)
	}
	return &clustermanager.BackendResult{
		Kind: "kserve", Backend: clustermanager.BackendName(s.survey.Cluster), Namespace: reference.Namespace, Name: reference.Name, Target: target,
	}
}

// discoveryOf is what a document says of where presets and configurations are found; nil: nothing.
func discoveryOf(document string) map[string]any {
	var read map[string]any
	if yaml.Unmarshal([]byte(document), &read) != nil {
		return nil
	}
	discovery, _ := lookup(read, "spec", "kserve", "discovery").(map[string]any)
	return discovery
}

// remainingBackend writes the cluster's document for the pools that remain beside the one that goes. Without a slice of
// ours somebody else serves, or ours is on its way through a pull request: the document's own discovery stays.
func (r *nodePoolRemoval) remainingBackend(reference clustermanager.ObjectReference, document string) (clustermanager.Step, error) {
	existing, err := need(r.base, r.survey.Serving.Slice, "its serving slice")
	if err != nil {
		return clustermanager.Step{}, err
	}
	s := &slice{base: r.base, composed: existing != nil, existing: existing, platform: r.survey.Serving.Platform.Or(clustermanager.Platform{}), discovery: discoveryOf(document)}
	if existing != nil {
		s.chart = catalog.SliceAt(cmp.Or(existing.Deployed, existing.Tag))
	}
	for _, release := range r.survey.Pools.Or(nil) {
		if release.Name != r.objects.Release.Name && !release.Deleting {
			s.pools = append(s.pools, gpuPool{release.Name, release.Accelerator, release.Sizes, release.Owned})
		}
	}
	written, err := s.backendDocument()
	if err != nil {
		return clustermanager.Step{}, err
	}
	step := clustermanager.Step{Verb: clustermanager.Ensure, Lane: clustermanager.Runtime, Object: r.backendObject(reference)}
	step.Object.Object["data"] = map[string]any{backendKey: written}
	return step, nil
}
