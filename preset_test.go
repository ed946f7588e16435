package clustermanager_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func TestParsePreset(t *testing.T) {
	for _, test := range []struct {
		name, document, fault string
		want                  clustermanager.Preset
	}{
		{name: "whole", document: `
apiVersion: agent-platform.giantswarm.io/v1alpha1
kind: ServingPreset
metadata: {name: qwen}
spec:
  displayName: Qwen
  model: {name: Qwen/Qwen3-8B}
  resources: {gpus: 2, requests: {cpu: 3500m, memory: 11.5Gi}}
  requirements: {weightsGiB: 16.5, overheadGiB: 4}
`, want: clustermanager.Preset{
			Name: "qwen", DisplayName: "Qwen", Model: "Qwen/Qwen3-8B", CPU: "3500m", Memory: "11.5Gi", GPUs: 2, WeightsGiB: 16.5, OverheadGiB: 4,
		}},
		{name: "defaults", document: "metadata: {name: qwen}\nspec: {model: a/b, resources: {requests: {cpu: 4}}}",
			want: clustermanager.Preset{Name: "qwen", Model: "a/b", CPU: "4", GPUs: 1, OverheadGiB: 30}},
		{name: "no YAML", document: "a: {", fault: "it is no YAML mapping"},
		{name: "empty", document: "", fault: "it is no YAML mapping"},
		{name: "no name", document: "spec: {}", fault: "it has no metadata.name"},
		{name: "text for a number", document: "metadata: {name: a}\nspec: {requirements: {weightsGiB: many}}", fault: "spec.requirements.weightsGiB is no number"},
		{name: "fewer than none", document: "metadata: {name: a}\nspec: {resources: {gpus: -1}}", fault: "spec.resources.gpus is no number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := clustermanager.ParsePreset([]byte(test.document))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if (err == nil) != (test.fault == "") || err != nil && err.Error() != test.fault {
				t.Errorf("%v, want %q", err, test.fault)
			}
		})
	}
}
