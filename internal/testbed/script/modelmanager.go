package script

import (
	"fmt"
	"maps"
	"testing"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Backend is a ModelBackend document, with the keys that model-manager knows and no others.
type Backend struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Kind   string `json:"kind"`
		Source string `json:"source"`
		KServe struct {
			Target struct {
				Cluster          string `json:"cluster"`
				Organization     string `json:"organization"`
				ServingNamespace string `json:"servingNamespace"`
				APIServer        string `json:"apiServer"`
				CABundle         string `json:"caBundle"`
			} `json:"target"`
			Discovery struct {
				Namespace string `json:"namespace"`
			} `json:"discovery"`
			GPUPool  *GPUPool           `json:"gpuPool"`
			GPUPools map[string]GPUPool `json:"gpuPools"`
		} `json:"kserve"`
	} `json:"spec"`
}

// GPUPool are the shapes of a pool.
type GPUPool struct {
	Instances []Instance `json:"instances"`
}

// Instance is a shape.
type Instance struct {
	InstanceType      string  `json:"instanceType"`
	Size              string  `json:"size"`
	VCPU              float64 `json:"vcpu"`
	MemoryGiB         float64 `json:"memoryGiB"`
	GPUs              float64 `json:"gpus"`
	GPUMemoryGiB      float64 `json:"gpuMemoryGiB"`
	UsableVCPU        float64 `json:"usableVcpu"`
	UsableMemoryGiB   float64 `json:"usableMemoryGiB"`
	ComputeCapability *string `json:"computeCapability"`
}

// The first model-managers to know a pool's shapes, and their compute capability.
var (
	knowsShapes     = semver.MustParse("0.23.7")
	knowsCapability = semver.MustParse("1.12.0")
)

// ModelManager plays model-manager: it reads the backends that are registered in a namespace, strictly.
type ModelManager struct {
	*player
	version  *semver.Version
	accepted map[string]Backend
	refused  map[string]string
}

// NewModelManager starts a model-manager of a version.
func NewModelManager(t testing.TB, config *rest.Config, namespace, version string) *ModelManager {
	t.Helper()
	parsed, err := semver.StrictNewVersion(version)
	if err != nil {
		t.Fatalf("model-manager %s: %v", version, err)
	}
	manager := &ModelManager{newPlayer(t, config), parsed, map[string]Backend{}, map[string]string{}}
	ours := func(do func(*unstructured.Unstructured)) func(*unstructured.Unstructured) error {
		return func(registered *unstructured.Unstructured) error {
			if registered.GetNamespace() == namespace && registered.GetLabels()["agent-platform.giantswarm.io/model-backend"] == "true" {
				do(registered)
			}
			return nil
		}
	}
	manager.watch(resource("", "v1", "configmaps"), ours(manager.read), ours(manager.forget))
	manager.start()
	return manager
}

// Accepted are the documents that it has, by the names of their ConfigMaps.
func (m *ModelManager) Accepted() map[string]Backend {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return maps.Clone(m.accepted)
}

// Refused is why it does not have the others, by the names of their ConfigMaps.
func (m *ModelManager) Refused() map[string]string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return maps.Clone(m.refused)
}

func (m *ModelManager) forget(registered *unstructured.Unstructured) {
	delete(m.accepted, registered.GetName())
	delete(m.refused, registered.GetName())
}

func (m *ModelManager) read(registered *unstructured.Unstructured) {
	m.forget(registered)
	text, _, _ := unstructured.NestedString(registered.Object, "data", "backend.yaml")
	backend, err := m.parse(text)
	if err != nil {
		m.refused[registered.GetName()] = err.Error()
		return
	}
	m.accepted[registered.GetName()] = backend
}

// parse knows the keys that its version knows.
func (m *ModelManager) parse(text string) (Backend, error) {
	var backend Backend
	if err := yaml.UnmarshalStrict([]byte(text), &backend); err != nil {
		return Backend{}, err
	}
	if backend.Kind != "ModelBackend" || backend.Metadata.Name == "" || backend.Spec.Kind != "kserve" {
		return Backend{}, fmt.Errorf("it is no kserve backend with a name: %s %q, %q", backend.Kind, backend.Metadata.Name, backend.Spec.Kind)
	}
	kserve := backend.Spec.KServe
	pools := maps.Clone(kserve.GPUPools)
	if kserve.GPUPool != nil {
		pools = map[string]GPUPool{"": *kserve.GPUPool}
	}
	if len(pools) > 0 && m.version.LessThan(knowsShapes) {
		return Backend{}, fmt.Errorf("unknown field: model-manager %s knows no shapes", m.version)
	}
	for _, pool := range pools {
		for _, instance := range pool.Instances {
			if instance.ComputeCapability != nil && m.version.LessThan(knowsCapability) {
				return Backend{}, fmt.Errorf("unknown field \"computeCapability\" for model-manager %s", m.version)
			}
		}
	}
	return backend, nil
}
