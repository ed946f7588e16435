package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Objects returns the declared objects that the plan ensures, in its order, as they stand in the target's files:
// without ownerReferences and status, since git knows no UID, and with [clustermanager.AnnotationSubstitute] where Flux
// would rewrite one of their strings. The values of a Secret are [clustermanager.Masked]. The plan is not changed.
func Objects(plan clustermanager.Plan, target clustermanager.Target) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, step := range declared(plan, clustermanager.Ensure) {
		object := inFile(step, target.Inner())
		if isSecret(step.Reference()) {
			mask(object)
		}
		objects = append(objects, object)
	}
	return objects
}

// Brought is the Flux Kustomization that the target's plan brings, as it stands in its file; nil: it brings none.
func Brought(target clustermanager.Target) *unstructured.Unstructured {
	if !target.Brings() || target.Placement.Kustomization == nil {
		return nil
	}
	return inFile(clustermanager.Step{Object: &unstructured.Unstructured{Object: target.Placement.Kustomization}}, target)
}

// YAML returns the objects as documents with sorted keys, joined by a line of three dashes. It ends with one newline;
// of no objects it is empty.
func YAML(objects ...*unstructured.Unstructured) ([]byte, error) {
	documents := make([]string, 0, len(objects))
	for _, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: writing as YAML: %w", clustermanager.ReferenceTo(object), err)
		}
		documents = append(documents, string(document))
	}
	return []byte(strings.Join(documents, "---\n")), nil
}

// declared returns the plan's steps of the verb that go to git.
func declared(plan clustermanager.Plan, verb clustermanager.Verb) []clustermanager.Step {
	var steps []clustermanager.Step
	for _, step := range plan.Steps {
		if step.Verb == verb && step.Lane == clustermanager.Declared {
			steps = append(steps, step)
		}
	}
	return steps
}

// isSecret says whether an object is sealed in git: its kind alone decides.
func isSecret(reference clustermanager.ObjectReference) bool {
	return reference.Kind == "Secret" && reference.Group() == ""
}

func inFile(step clustermanager.Step, target clustermanager.Target) *unstructured.Unstructured {
	object := step.Object.DeepCopy()
	unstructured.RemoveNestedField(object.Object, "metadata", "ownerReferences")
	unstructured.RemoveNestedField(object.Object, "status")
	if target.Substitutes && substitutable(step) {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[clustermanager.AnnotationSubstitute] = "disabled"
		object.SetAnnotations(annotations)
	}
	return object
}

// substitutable says whether Flux's substitution would change the step's object. Flux substitutes after decrypting, so
// a Secret's plain values count.
func substitutable(step clustermanager.Step) bool {
	if anyString(step.Object.Object, rewritten) {
		return true
	}
	for _, value := range step.SecretData {
		if rewritten(value.Reveal()) {
			return true
		}
	}
	return false
}

// rewritten says whether a text holds what the substitution reads: an expression, or a doubled dollar sign, which it
// takes for an escaped one and halves.
func rewritten(text string) bool { return strings.Contains(text, "${") || strings.Contains(text, "$$") }

// anyString says whether the predicate holds for any string in the value, keys included: Flux substitutes in the text.
func anyString(value any, holds func(string) bool) bool {
	switch value := value.(type) {
	case string:
		return holds(value)
	case map[string]any:
		for key, element := range value {
			if holds(key) || anyString(element, holds) {
				return true
			}
		}
	case []any:
		for _, element := range value {
			if anyString(element, holds) {
				return true
			}
		}
	}
	return false
}

func mask(secret *unstructured.Unstructured) {
	for _, field := range []string{"data", "stringData"} {
		values, found, _ := unstructured.NestedMap(secret.Object, field)
		if !found {
			continue
		}
		for key := range values {
			values[key] = clustermanager.Masked
		}
		secret.Object[field] = values
	}
}

// revealed returns the Secret of the step as its file has it before sealing.
func revealed(step clustermanager.Step, target clustermanager.Target) (clustermanager.Secret, error) {
	object := inFile(step, target)
	values := map[string]any{}
	for key, value := range step.SecretData {
		values[key] = value.Reveal()
	}
	masked, _, _ := unstructured.NestedMap(object.Object, "stringData")
	for _, key := range slices.Sorted(maps.Keys(masked)) {
		if _, known := values[key]; !known {
			return clustermanager.Secret{}, fmt.Errorf("%s: writing its file: the plan holds no value of %q", step.Reference(), key)
		}
	}
	object.Object["stringData"] = values
	text, err := YAML(object)
	if err != nil {
		return clustermanager.Secret{}, err
	}
	return clustermanager.NewSecret(string(text)), nil
}
