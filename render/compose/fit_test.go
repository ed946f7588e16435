package compose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

func TestFit(t *testing.T) {
	preset := func(cpu, memory string, gpus int, gpuMemory float64) clustermanager.Preset {
		return clustermanager.Preset{Name: "p", CPU: cpu, Memory: memory, GPUs: gpus, WeightsGiB: gpuMemory - 1, OverheadGiB: 1}
	}
	for name, test := range map[string]struct {
		preset      clustermanager.Preset
		accelerator string
		sizes       []string
		want        verdict
	}{
		"fits": {preset("2", "10Gi", 1, 20), "nvidia-l4", []string{"xlarge"}, verdict{"xlarge", "", true}},
		"CPU and memory": {preset("4", "16Gi", 1, 20), "nvidia-l4", []string{"xlarge"},
			verdict{"", "it needs 4 vCPU and 16 GiB, and the pool's largest size xlarge leaves 3 vCPU and 11.9 GiB; 2xlarge hosts it (8 vCPU, 32 GiB)", true}},
		"the next size":     {preset("3500m", "11.5Gi", 1, 20), "nvidia-l4", nil, verdict{"2xlarge", "", true}},
		"GPU memory":        {preset("1", "1Gi", 1, 105), "nvidia-l4", nil, verdict{"", "it needs 105 GiB of GPU memory on 1 GPUs, and g6 has 24 GiB on each", false}},
		"no request":        {preset("", "", 1, 24), "nvidia-l4", []string{"xlarge"}, verdict{"xlarge", "", true}},
		"no GPU counts one": {preset("", "", 0, 25), "nvidia-l4", nil, verdict{"", "it needs 25 GiB of GPU memory on 1 GPUs, and g6 has 24 GiB on each", false}},
		"GPUs":              {preset("", "", 4, 90), "nvidia-l4", nil, verdict{"", "it needs 4 GPUs, and the pool's largest size 4xlarge has 1; 12xlarge hosts it (4 GPUs, 48 vCPU, 192 GiB)", true}},
		"too many GPUs":     {preset("", "", 16, 90), "nvidia-l4", nil, verdict{"", "it needs 16 GPUs, and the pool's largest size 4xlarge has 1; no size of g6 carries as many", false}},
		"too much memory":   {preset("", "2Ti", 1, 20), "nvidia-l4", nil, verdict{"", "it needs 0 vCPU and 2048 GiB, and the pool's largest size 4xlarge leaves 15 vCPU and 57.5 GiB; no size of g6 leaves enough", false}},
		"decimals":          {preset("100", "1Gi", 1, 20), "nvidia-l4", []string{"48xlarge"}, verdict{"48xlarge", "", true}},
		"no sizes":          {preset("", "", 1, 1), "nvidia-l4", []string{"none"}, verdict{"", "the pool has no sizes", false}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := demandOf(test.preset)
			if err != nil {
				t.Fatal(err)
			}
			none := clustermanager.Unknown[string]("not asked for")
			got := d.fitOn(catalog.PoolSizes(test.accelerator, test.sizes, none), catalog.PoolSizes(test.accelerator, catalog.SizeNames(test.accelerator), none))
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(verdict{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPresetFit(t *testing.T) {
	survey := servingOf(t, "wc1")
	survey.Serving.Presets = clustermanager.Known([]clustermanager.Preset{
		{Name: "large", CPU: "30", GPUs: 1, WeightsGiB: 1, OverheadGiB: 1}, {Name: "odd", CPU: "many", GPUs: 1}, {Name: "small", DisplayName: "Small", Model: "org/small", GPUs: 1, WeightsGiB: 1, OverheadGiB: 1},
	})
	made := composed(t, serving("wc1", "gpu-l4"), survey)
	want := &clustermanager.PresetFit{Origin: "published", Source: "cluster wc1", Presets: []clustermanager.PresetSize{
		{Preset: "large", CPU: "30", Memory: "unset", GPUs: 1, GPUMemoryGiB: 2, Reason: "it needs 30 vCPU and 0 GiB, and the pool's largest size 4xlarge leaves 15 vCPU and 57.5 GiB; 8xlarge hosts it (32 vCPU, 128 GiB)"},
		{Preset: "odd", CPU: "many", Memory: "unset", GPUs: 1, Reason: `its CPU request "many" is no quantity`},
		{Preset: "small", DisplayName: "Small", Model: "org/small", CPU: "unset", Memory: "unset", GPUs: 1, GPUMemoryGiB: 2, Size: "xlarge"},
	}}
	if diff := cmp.Diff(want, made.PresetFit); diff != "" {
		t.Error(diff)
	}
	if got := strings.Join(made.Plan.Warnings, "\n"); strings.Count(got, "no size of the pool hosts it") != 1 || !strings.Contains(got, "preset large: ") {
		t.Errorf("%q", got)
	}
	survey.Serving.Presets, survey.Serving.Charts = clustermanager.Known([]clustermanager.Preset{}), clustermanager.Known(chartsAt("4.85.0"))
	if fit := composed(t, serving("wc1", "gpu-l4"), survey).PresetFit; fit.Origin != "chart" || fit.Source != "chart agent-platform-connectivity 4.85.0" || len(fit.Presets) != 1 {
		t.Errorf("%+v", fit)
	}
	survey.Serving.Presets = clustermanager.Unknown[[]clustermanager.Preset]("forbidden")
	if fit := composed(t, serving("wc1", "gpu-l4"), survey).PresetFit; fit.Origin != "" || !strings.Contains(fit.Note, "forbidden") {
		t.Errorf("%+v", fit)
	}
}
