package compose

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// chartsAt are the charts of a slice at a version, with the fast images.
func chartsAt(version string) clustermanager.SliceCharts {
	const fast = "gsoci.azurecr.io/giantswarm/llm-d-fast/"
	config := map[string]any{"main": fast + "llm-d-cuda:v0.8.0"}
	return clustermanager.SliceCharts{
		Version: version,
		Values: clustermanager.Known(map[string]any{
			"kserve-runtime-configs": map[string]any{"kserve": map[string]any{"llmisvcConfigs": map[string]any{
				"imageRegistry": fast, "images": map[string]any{"kserve-config-llm-template": config, "kserve-config-llm-decode-template": config},
			}}},
			"modelServing": map[string]any{"prepull": map[string]any{"images": []any{"gsoci.azurecr.io/giantswarm/storage-initializer:v0.21.0", fast + "llm-d-cuda:v0.8.0"}}},
		}),
		Connectivity: clustermanager.Known(clustermanager.ConnectivityChart{
			Version: version,
			Values: map[string]any{"modelServing": map[string]any{
				"prepull": map[string]any{"enabled": true, "images": []any{"storage:1", "runtime:2"}},
				"cache": map[string]any{"pvc": map[string]any{"size": "100Gi"}, "storageClass": map[string]any{
					"create": true, "parameters": map[string]any{"type": "gp3", "iops": "3000", "throughput": "500"},
				}},
			}},
			Presets: []clustermanager.Preset{{Name: "small", CPU: "2", Memory: "10Gi", GPUs: 1, WeightsGiB: 5, OverheadGiB: 15}},
		}),
	}
}

func TestSlimImages(t *testing.T) {
	survey := servingOf(t, "wc1")
	survey.Serving.Charts = clustermanager.Known(chartsAt("4.85.0"))
	made := composed(t, serving("wc1", "gpu-l4"), survey)
	text := listing(only(made.Plan, "wc1-agent-platform"))
	for _, want := range []string{
		`llmisvcConfigs.imageRegistry = "gsoci.azurecr.io/giantswarm/llm-d-slim/"`,
		`images.kserve-config-llm-decode-template.main = "gsoci.azurecr.io/giantswarm/llm-d-slim/llm-d-cuda:v0.8.0"`,
		`images.kserve-config-llm-template.main = "gsoci.azurecr.io/giantswarm/llm-d-slim/llm-d-cuda:v0.8.0"`,
		`prepull.images[0] = "gsoci.azurecr.io/giantswarm/storage-initializer:v0.21.0"`, `prepull.images[1] = "gsoci.azurecr.io/giantswarm/llm-d-slim/llm-d-cuda:v0.8.0"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	images := []string{"gsoci.azurecr.io/giantswarm/storage-initializer:v0.21.0", "gsoci.azurecr.io/giantswarm/llm-d-slim/llm-d-cuda:v0.8.0"}
	if diff := cmp.Diff(images, made.PrefetchImages); diff != "" || made.PrefetchNote != "" {
		t.Error(diff, made.PrefetchNote)
	}
	if !strings.Contains(listing(only(made.Plan, "wc1-gpu-l4")), `spec.values.pool.prefetchImages[1] = "gsoci.azurecr.io/giantswarm/llm-d-slim/llm-d-cuda:v0.8.0"`) {
		t.Error("the pool does not pull ahead")
	}
}

// One accelerator that the slim images do not serve, no pool at all, or no registry: the chart's own.
func TestFastImages(t *testing.T) {
	t4 := serving("wc1", "gpu-l4")
	t4.Accelerator = "nvidia-t4"
	for name, test := range map[string]struct {
		request clustermanager.CreateNodePoolRequest
		change  func(survey)
		want    []string
	}{
		"the pool's": {t4, func(survey) {}, []string{"storage:1", "runtime:2"}},
		"another pool's": {serving("wc1", "gpu-l4"), func(s survey) {
			s.Pools = clustermanager.Known([]clustermanager.PoolRelease{{Name: "wc1-t4", Accelerator: "nvidia-t4", Owned: true}})
		}, []string{"storage:1", "runtime:2"}},
		"no registry": {serving("wc1", "gpu-l4"), func(s survey) { s.Serving.Charts = clustermanager.Reading[clustermanager.SliceCharts]{} }, nil},
	} {
		survey := servingOf(t, "wc1")
		survey.Serving.Charts = clustermanager.Known(chartsAt("4.85.0"))
		test.change(&survey)
		made := composed(t, test.request, survey)
		if text := listing(only(made.Plan, "wc1-agent-platform")); strings.Contains(text, "llm-d-") || strings.Contains(text, "prepull") {
			t.Errorf("%s: %s", name, text)
		}
		if diff := cmp.Diff(test.want, made.PrefetchImages); diff != "" || (made.PrefetchNote == "") != (test.want != nil) {
			t.Errorf("%s: %s, %s", name, diff, made.PrefetchNote)
		}
	}
	survey := servingOf(t, "wc1")
	survey.Serving.Charts = clustermanager.Known(chartsAt("4.85.0"))
	if text := listing(enabled(t, clustermanager.EnableModelServingRequest{Cluster: "wc1", Mode: "commit"}, survey).Plan); strings.Contains(text, "llm-d-") {
		t.Errorf("no pool: %s", text)
	}
}

func TestSlimImagesRefused(t *testing.T) {
	for want, change := range map[string]func(*clustermanager.SliceCharts){
		"version 4.84.0 was read and the slice is at 4.85.0": func(c *clustermanager.SliceCharts) { c.Version = "4.84.0" },
		"forbidden": func(c *clustermanager.SliceCharts) { c.Values = clustermanager.Unknown[map[string]any]("forbidden") },
		`imageRegistry is "x/" and not "gsoci.azurecr.io/giantswarm/llm-d-fast/"`: func(c *clustermanager.SliceCharts) {
			set(c.Values.Or(nil), "x/", registryPath...)
		},
		"images names no image":                  func(c *clustermanager.SliceCharts) { set(c.Values.Or(nil), nil, imagesPath...) },
		"modelServing.prepull.images is no list": func(c *clustermanager.SliceCharts) { set(c.Values.Or(nil), "x", prepullPath...) },
	} {
		survey := servingOf(t, "wc1")
		charts := chartsAt("4.85.0")
		change(&charts)
		survey.Serving.Charts = clustermanager.Known(charts)
		_, err := NodePool(serving("wc1", "gpu-l4"), survey)
		if err == nil || !strings.HasPrefix(err.Error(), "chart agent-platform 4.85.0: the slim serving images, ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestPrefetch(t *testing.T) {
	t4 := serving("wc1", "gpu-l4")
	t4.Accelerator = "nvidia-t4"
	old := t4
	old.ChartVersion = "0.7.9"
	connectivity := func(s survey, value any, path ...string) {
		charts, _ := s.Serving.Charts.Get()
		set(charts.Connectivity.Or(clustermanager.ConnectivityChart{}).Values, value, path...)
	}
	foreign := func(s survey) {
		s.Serving.Component = clustermanager.Component{Status: clustermanager.ComponentPresent, Provider: clustermanager.ProviderChart}
	}
	for name, test := range map[string]struct {
		request clustermanager.CreateNodePoolRequest
		change  func(survey)
		images  string
		note    string
	}{
		"switched off":    {t4, func(s survey) { connectivity(s, false, "modelServing", "prepull", "enabled") }, "", "serving there pulls none ahead"},
		"no such key":     {t4, func(s survey) { connectivity(s, nil, "modelServing", "prepull", "enabled") }, "", "chart agent-platform-connectivity 4.85.0: reading modelServing.prepull.enabled: it is no boolean"},
		"no list":         {t4, func(s survey) { connectivity(s, "x", prepullPath...) }, "", "reading modelServing.prepull.images: it is no list"},
		"an older chart":  {old, func(survey) {}, "", "chart gpu-node-pool takes pool.prefetchImages from 0.8.0 on, and 0.7.9 is asked for"},
		"somebody else's": {t4, func(s survey) { foreign(s); s.Serving.PrepullImages = clustermanager.Known([]string{"theirs:1"}) }, "theirs:1", ""},
		"somebody else's, not known": {t4, func(s survey) {
			foreign(s)
			s.Serving.PrepullImages = clustermanager.Unknown[[]string]("two DaemonSets")
		}, "", "two DaemonSets"},
	} {
		survey := servingOf(t, "wc1")
		survey.Serving.Charts = clustermanager.Known(chartsAt("4.85.0"))
		test.change(&survey)
		made := composed(t, test.request, survey)
		if strings.Join(made.PrefetchImages, " ") != test.images || !strings.Contains(made.PrefetchNote, test.note) || test.note == "" && made.PrefetchNote != "" {
			t.Errorf("%s: %q, %s", name, made.PrefetchImages, made.PrefetchNote)
		}
		if written := strings.Contains(listing(only(made.Plan, "wc1-gpu-l4")), "prefetchImages"); written != (test.images != "") {
			t.Errorf("%s: written %t", name, written)
		}
	}
}

// A claim that does not exist yet is told as the chart makes it; zones that follow from a claim stay out of a chart that
// takes none.
func TestCacheBlock(t *testing.T) {
	survey := servingOf(t, "wc1")
	survey.Serving.Charts = clustermanager.Known(chartsAt("4.85.0"))
	setting := composed(t, cached(serving("wc1", "gpu-l4")), survey).Cache
	if diff := cmp.Diff([]any{true, "model-serving/hf-cache", false, "100Gi", "gp3, 500 MiB/s, 3000 IOPS"}, []any{setting.Enabled, setting.Claim, *setting.Exists, setting.Capacity, setting.Tier}); diff != "" {
		t.Error(diff)
	}
	survey.Serving.CacheClaims = claims(boundClaim("hf-cache", "eu-central-1b"))
	request := cached(serving("wc1", "gpu-l4"))
	if made := composed(t, request, survey); cmp.Diff([]string{"eu-central-1b"}, made.Zones) != "" || !*made.Cache.Exists || made.CacheClaim == nil ||
		!strings.Contains(listing(made.Plan), `spec.values.pool.zones[0] = "eu-central-1b"`) {
		t.Errorf("%v, %+v", made.Zones, made.Cache)
	}
	request.ChartVersion = "0.4.1"
	setPins(&survey, func(p *clustermanager.ReleasePins) { p.Flatcar = "4081.2.1" })
	if made := composed(t, request, survey); made.Zones != nil || strings.Contains(listing(made.Plan), "pool.zones") || !strings.Contains(strings.Join(made.Plan.Warnings, "\n"), "the nodes are not pinned to eu-central-1b, where the model cache is") {
		t.Errorf("%v, %q", made.Zones, made.Plan.Warnings)
	}
	survey.Serving.CacheClaims = clustermanager.Unknown[[]clustermanager.CacheClaim]("forbidden")
	if made := composed(t, request, survey); made.Cache.Exists != nil || !strings.Contains(made.Cache.PriceNote, "forbidden") || !strings.Contains(strings.Join(made.Plan.Warnings, "\n"), "could not be listed") {
		t.Errorf("%+v, %q", made.Cache, made.Plan.Warnings)
	}
}

// What the cache costs is told whether it is on or off.
func TestCacheNotes(t *testing.T) {
	created := time.Date(2026, 8, 1, 9, 0, 0, 0, time.UTC)
	standing := boundClaim("hf-cache", "eu-central-1b")
	standing.Created, standing.Capacity = &created, "100Gi"
	const off = "the model cache is off: each predictor downloads its weights into its pod's own storage"
	const billed = " is billed every month until remove_model_cache removes it"
	unlisted := clustermanager.Unknown[[]clustermanager.CacheClaim]("forbidden")
	for name, test := range map[string]struct {
		on     bool
		ran    bool
		claims clustermanager.Reading[[]clustermanager.CacheClaim]
		want   string
	}{
		"off":            {claims: claims(), want: off},
		"off, claims":    {claims: claims(standing, pendingClaim("hf-cache-x")), want: off + "; these claims stay and are billed every month until remove_model_cache removes them: model-serving/hf-cache (Bound, eu-central-1b), model-serving/hf-cache-x (Pending, no zone)"},
		"off, unlisted":  {claims: unlisted, want: off + "; whether claims of it exist, which would cost on, could not be read: forbidden"},
		"on":             {on: true, claims: claims(standing), want: "claim model-serving/hf-cache" + billed},
		"on, from off":   {on: true, ran: true, claims: claims(standing), want: "claim model-serving/hf-cache" + billed + "; the slice ran without the cache, and every pool of the cluster is switched to it"},
		"on, no claim":   {on: true, claims: claims(), want: "claim model-serving/hf-cache" + billed},
		"stays off, ran": {ran: true, claims: claims(), want: off},
	} {
		survey, request := servingOf(t, "wc1"), serving("wc1", "gpu-l4")
		survey.Serving.CacheClaims = test.claims
		if test.ran {
			runs(&survey, map[string]any{"modelServing": map[string]any{"cache": map[string]any{"enabled": false}}})
		}
		if test.on {
			request = cached(request)
		}
		setting := composed(t, request, survey).Cache
		if diff := cmp.Diff(test.want, setting.Note); diff != "" || setting.Enabled != test.on {
			t.Errorf("%s: %+v %s", name, setting, diff)
		}
		if there := test.on && name != "on, no claim"; there != (setting.Since != nil && setting.Since.Equal(created) && setting.Capacity == "100Gi" && *setting.Exists) {
			t.Errorf("%s: %+v", name, setting)
		}
	}
}
