package compose

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// demand is what a preset asks of a node.
type demand struct {
	vcpu, memoryGiB float64
	gpus            int
	// gpuMemoryGiB is in total across the GPUs.
	gpuMemoryGiB float64
}

// verdict is the smallest size that hosts a preset; without one the reason, and whether the accelerator could host it.
type verdict struct {
	size, reason string
	hostable     bool
}

func demandOf(preset clustermanager.Preset) (demand, error) {
	d := demand{gpus: preset.GPUs, gpuMemoryGiB: preset.WeightsGiB + preset.OverheadGiB}
	var err error
	if preset.CPU != "" {
		if d.vcpu, err = vcpus(preset.CPU); err != nil {
			return d, fmt.Errorf("its CPU request %w", err)
		}
	}
	if preset.Memory != "" {
		if d.memoryGiB, err = gibibytes(preset.Memory); err != nil {
			return d, fmt.Errorf("its memory request %w", err)
		}
	}
	return d, nil
}

// hostedBy says whether a node of the size has what is asked for.
func (d demand) hostedBy(size clustermanager.InstanceSize) bool {
	return d.vcpu <= size.UsableVCPU && d.memoryGiB <= size.UsableMemoryGiB && d.gpus <= size.GPUs && d.gpuMemoryGiB <= d.gpuMemoryOf(size)
}

func (d demand) gpuMemoryOf(size clustermanager.InstanceSize) float64 {
	return float64(size.GPUMemoryGiB * max(d.gpus, 1))
}

// smallest is the first of the sizes that hosts it; they come smallest first.
func (d demand) smallest(sizes []clustermanager.InstanceSize) *clustermanager.InstanceSize {
	if i := slices.IndexFunc(sizes, d.hostedBy); i >= 0 {
		return &sizes[i]
	}
	return nil
}

// fitOn judges a preset against a pool's sizes and, where none hosts it, against the accelerator's whole family. Both
// are smallest first.
func (d demand) fitOn(sizes, family []clustermanager.InstanceSize) verdict {
	if len(sizes) == 0 {
		return verdict{reason: "the pool has no sizes"}
	}
	if hosting := d.smallest(sizes); hosting != nil {
		return verdict{size: hosting.Size, hostable: true}
	}
	largest, wider := sizes[len(sizes)-1], d.smallest(family)
	name, _, _ := strings.Cut(largest.InstanceType, ".")
	switch {
	case d.gpuMemoryGiB > d.gpuMemoryOf(largest):
		return verdict{reason: fmt.Sprintf("it needs %s GiB of GPU memory on %d GPUs, and %s has %d GiB on each", decimal(d.gpuMemoryGiB), max(d.gpus, 1), name, largest.GPUMemoryGiB)}
	case d.gpus > largest.GPUs:
		reason := fmt.Sprintf("it needs %d GPUs, and the pool's largest size %s has %d; ", d.gpus, largest.Size, largest.GPUs)
		if wider == nil {
			return verdict{reason: reason + "no size of " + name + " carries as many"}
		}
		return verdict{hostable: true, reason: reason + fmt.Sprintf("%s hosts it (%d GPUs, %d vCPU, %d GiB)", wider.Size, wider.GPUs, wider.VCPU, wider.MemoryGiB)}
	}
	reason := fmt.Sprintf("it needs %s vCPU and %s GiB, and the pool's largest size %s leaves %s vCPU and %s GiB; ",
		decimal(d.vcpu), decimal(d.memoryGiB), largest.Size, decimal(largest.UsableVCPU), decimal(largest.UsableMemoryGiB))
	if wider == nil {
		return verdict{reason: reason + "no size of " + name + " leaves enough"}
	}
	return verdict{hostable: true, reason: reason + fmt.Sprintf("%s hosts it (%d vCPU, %d GiB)", wider.Size, wider.VCPU, wider.MemoryGiB)}
}

// decimal prints a number to one decimal, without a trailing .0.
func decimal(value float64) string {
	return strconv.FormatFloat(math.Round(value*10)/10, 'f', -1, 64)
}

// Origins of presets.
const (
	presetsPublished = "published"
	presetsOfChart   = "chart"
)

// fit says which size of the pool hosts each preset, and warns of one that the accelerator hosts and the pool does not:
// its predictor would wait while no size is launched for it.
func (s *slice) fit(sizes []clustermanager.InstanceSize, accelerator string) *clustermanager.PresetFit {
	presets, fit := s.presets()
	family := catalog.PoolSizes(accelerator, catalog.SizeNames(accelerator), clustermanager.Unknown[string]("not asked for"))
	for _, preset := range presets {
		d, err := demandOf(preset)
		judged := verdict{}
		if err == nil {
			judged = d.fitOn(sizes, family)
		} else {
			judged.reason = err.Error()
		}
		if judged.size == "" && judged.hostable {
			s.warn("preset %s: no size of the pool hosts it: %s", preset.Name, judged.reason)
		}
		fit.Presets = append(fit.Presets, clustermanager.PresetSize{
			Preset: preset.Name, DisplayName: preset.DisplayName, Model: preset.Model, CPU: orUnset(preset.CPU), Memory: orUnset(preset.Memory),
			GPUs: d.gpus, GPUMemoryGiB: d.gpuMemoryGiB, Size: judged.size, Reason: judged.reason,
		})
	}
	return fit
}

// presets are those that the target publishes, else those that the slice's chart ships, sorted by name.
func (s *slice) presets() ([]clustermanager.Preset, *clustermanager.PresetFit) {
	published, known := s.survey.Serving.Presets.Get()
	switch {
	case !known:
		return nil, &clustermanager.PresetFit{Note: "the serving presets of the cluster could not be read: " + s.survey.Serving.Presets.Reason()}
	case len(published) > 0:
		return published, &clustermanager.PresetFit{Origin: presetsPublished, Source: "cluster " + s.survey.Cluster.Name}
	case !s.composed:
		return nil, &clustermanager.PresetFit{Note: "the cluster publishes no serving presets"}
	}
	chart, err := s.connectivity()
	if err != nil {
		return nil, &clustermanager.PresetFit{Note: "the cluster publishes no serving presets, and those of the slice's chart could not be read: " + err.Error()}
	}
	return chart.Presets, &clustermanager.PresetFit{Origin: presetsOfChart, Source: "chart agent-platform-connectivity " + chart.Version}
}

func orUnset(quantity string) string {
	if quantity == "" {
		return "unset"
	}
	return quantity
}
