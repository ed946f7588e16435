package compose

import (
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// The setting names the claims of slices to come. A slice that runs keeps the one that it mounts.
func TestASliceKeepsItsClaim(t *testing.T) {
	cache := func(fields map[string]any) map[string]any {
		return map[string]any{"modelServing": map[string]any{"cache": fields}}
	}
	for _, test := range []struct {
		name   string
		values map[string]any
		want   string
	}{
		{"no slice", nil, "model-serving/models"},
		{"a slice on the chart's claim", map[string]any{}, "model-serving/hf-cache"},
		{"a slice on a claim of its own", cache(map[string]any{"pvc": map[string]any{"name": "mine"}}), "model-serving/mine"},
		{"a slice without the cache", cache(map[string]any{"enabled": false}), "model-serving/models"},
	} {
		survey := servingOf(t, "wc1")
		survey.Settings.ServingCacheClaim = "models"
		if test.values != nil {
			runs(&survey, test.values)
		}
		made := enabled(t, clustermanager.EnableModelServingRequest{Cluster: "wc1", Cache: new(true), Mode: "commit"}, survey)
		if made.Cache == nil || made.Cache.Claim != test.want {
			t.Errorf("%s: %+v", test.name, made.Cache)
		}
	}
}
