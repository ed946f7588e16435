package compose

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// servingConfigVersion is the version that a configuration is named by; it is read and written at the stored one.
const servingConfigVersion = "serving.kserve.io/v1alpha1"

// healing makes room for a slice: the serving namespace is taken back, and configurations that an earlier serving layer
// left terminating are removed, so that the slice's release creates them anew instead of adopting and losing them.
func (s *slice) healing() []clustermanager.Step {
	if !s.composed {
		return nil
	}
	return append(s.takeBack(), s.strandedConfigs()...)
}

func (s *slice) takeBack() []clustermanager.Step {
	namespace, _ := s.survey.Serving.Namespace.Get()
	if namespace == nil || namespace.Retired == "" {
		return nil
	}
	object := onTarget("v1", "Namespace", "", namespace.Name)
	object.SetAnnotations(map[string]string{clustermanager.AnnotationRetired: ""})
	return []clustermanager.Step{{
		Verb: clustermanager.Annotate, Lane: clustermanager.Runtime, Object: object,
		At: clustermanager.AtTarget, Ownership: clustermanager.Labelled,
	}}
}

// strandedConfigs removes configurations finalizer and all, only where it is known that no controller runs.
func (s *slice) strandedConfigs() []clustermanager.Step {
	configs, known := s.survey.Serving.Configs.Get()
	if !known {
		s.warn("whether serving configurations are left terminating on cluster %s was not checked: %s", s.survey.Cluster.Name, s.survey.Serving.Configs.Reason())
		return nil
	}
	runs, known := configs.ControllerRuns.Get()
	switch {
	case len(configs.Terminating) == 0:
		return nil
	case !known:
		s.warn("namespace %s on cluster %s: %d serving configurations are being deleted, and whether the llm-d controller runs that finishes it is not known, so they are left: %s",
			configs.Namespace, s.survey.Cluster.Name, len(configs.Terminating), configs.ControllerRuns.Reason())
		return nil
	case runs:
		s.warn("namespace %s on cluster %s: %d serving configurations are being deleted, which the running llm-d controller finishes", configs.Namespace, s.survey.Cluster.Name, len(configs.Terminating))
		return nil
	}
	s.warn("namespace %s on cluster %s: %d serving configurations are left terminating and no llm-d controller runs that would let them go: they are removed, finalizer and all, so that the slice creates them anew",
		configs.Namespace, s.survey.Cluster.Name, len(configs.Terminating))
	var steps []clustermanager.Step
	for _, name := range configs.Terminating {
		steps = append(steps, clustermanager.Step{
			Verb: clustermanager.Remove, Lane: clustermanager.Runtime,
			Object: onTarget(servingConfigVersion, "LLMInferenceServiceConfig", configs.Namespace, name),
			At:     clustermanager.AtTarget, Ownership: clustermanager.Labelled, StorageVersion: true,
			Finalizers: []string{clustermanager.FinalizerServingConfig},
		})
	}
	return steps
}

// controllerRuns says whether the llm-d controller runs on the cluster, as far as its serving configurations were read.
func controllerRuns(configs clustermanager.Reading[clustermanager.ServingConfigs]) clustermanager.Reading[bool] {
	found, known := configs.Get()
	if !known {
		return clustermanager.Read(false, configs.Err())
	}
	return found.ControllerRuns
}

// onTarget names an object of the cluster itself.
func onTarget(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}
