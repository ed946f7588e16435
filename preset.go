package clustermanager

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// What a preset asks for that names neither.
const (
	presetGPUs        = 1
	presetOverheadGiB = 30
)

// ParsePreset reads the document of a serving preset, as a cluster publishes it and as the connectivity chart ships it.
// The error repeats nothing of the document.
func ParsePreset(document []byte) (Preset, error) {
	var fields map[string]any
	if err := yaml.Unmarshal(document, &fields); err != nil || fields == nil {
		return Preset{}, errors.New("it is no YAML mapping")
	}
	text := func(path ...string) string {
		value, _, _ := unstructured.NestedString(fields, path...)
		return value
	}
	made := Preset{
		Name: text("metadata", "name"), DisplayName: text("spec", "displayName"), Model: text("spec", "model"),
		CPU: quantityAt(fields, "cpu"), Memory: quantityAt(fields, "memory"),
		GPUs: presetGPUs, OverheadGiB: presetOverheadGiB,
	}
	if made.Name == "" {
		return Preset{}, errors.New("it has no metadata.name")
	}
	if made.Model == "" {
		made.Model = text("spec", "model", "name")
	}
	gpus := float64(made.GPUs)
	for _, number := range []struct {
		to   *float64
		path []string
	}{
		{&gpus, []string{"resources", "gpus"}},
		{&made.WeightsGiB, []string{"requirements", "weightsGiB"}},
		{&made.OverheadGiB, []string{"requirements", "overheadGiB"}},
	} {
		value, there, err := unstructured.NestedFieldNoCopy(fields, append([]string{"spec"}, number.path...)...)
		if err != nil || !there || value == nil {
			continue
		}
		figure, is := value.(float64)
		if !is || figure < 0 {
			return Preset{}, fmt.Errorf("spec.%s.%s is no number", number.path[0], number.path[1])
		}
		*number.to = figure
	}
	made.GPUs = int(gpus)
	return made, nil
}

// quantityAt is a request of the preset as text; YAML may have it as a number.
func quantityAt(fields map[string]any, resource string) string {
	value, _, _ := unstructured.NestedFieldNoCopy(fields, "spec", "resources", "requests", resource)
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
