package compose

import (
	"slices"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// Pool is a composed node pool: what to do, and what an answer tells about it.
type Pool struct {
	Plan clustermanager.Plan
	// ChartVersion is the exact version asked for, else the floor of the range that the release follows.
	ChartVersion string
	// KubernetesVersion is the nodes', ControlPlaneVersion the control plane's, "" when it could not be read. Both
	// without a leading v.
	KubernetesVersion   string
	ControlPlaneVersion string
	MachineImage        string
	// Sizes are the pool's instance sizes, smallest first, with their prices.
	Sizes []clustermanager.InstanceSize
	// Zones are the zones that the nodes are pinned to; empty: none. ZonesNote says what that means.
	Zones     []string
	ZonesNote string
}

// decision is a node pool on its way through the guards, which fill in what they establish.
type decision struct {
	request clustermanager.CreateNodePoolRequest
	survey  clustermanager.Survey
	chart   catalog.PoolChart

	source   chartSource
	values   clusterValues
	pins     clustermanager.ReleasePins
	warnings []string
}

// NodePool composes the pool that the request asks for, without GPU operator and serving. An error is a
// *clustermanager.Refusal; where several rules are broken the first of the order below is told.
func NodePool(request clustermanager.CreateNodePoolRequest, survey clustermanager.Survey) (Pool, error) {
	if err := CheckNodePool(request); err != nil {
		return Pool{}, err
	}
	d := decision{request: request.WithDefaults(), survey: survey, chart: catalog.GPUNodePool()}
	d.request.Sizes, d.request.Zones = distinct(request.Sizes), distinct(request.Zones)
	for _, establish := range []func() error{
		d.chooseChart, d.checkServing, d.checkPrerequisites, d.readValues, d.checkDeleting, d.readPins, d.checkSkew, d.checkFlatcar,
		d.checkZones, d.checkPrewarm, d.checkChartKeys, d.checkReleaseName, d.checkMachinePool,
	} {
		if err := establish(); err != nil {
			return Pool{}, err
		}
	}
	steps, err := d.guardOwnership(d.steps())
	if err != nil {
		return Pool{}, err
	}
	sizes := catalog.PoolSizes(d.request.Accelerator, d.request.Sizes, d.region())
	d.warn(sizes)
	return Pool{
		Plan:                clustermanager.Plan{Steps: steps, Warnings: d.warnings},
		ChartVersion:        d.source.version(),
		KubernetesVersion:   d.pins.Kubernetes,
		ControlPlaneVersion: survey.ControlPlaneVersion.Or(""),
		MachineImage:        d.pins.MachineImage(),
		Sizes:               sizes,
		Zones:               d.request.Zones,
		ZonesNote:           d.zonesNote(),
	}, nil
}

func (d *decision) chooseChart() (err error) {
	d.source, err = newChartSource(d.chart.URL, d.request.ChartVersion, d.chart.Floor)
	return err
}

// cluster names the cluster as errors do.
func (d *decision) cluster() string {
	return "Cluster " + clustermanager.NamespacedName{Namespace: d.survey.Cluster.Namespace, Name: d.survey.Cluster.Name}.String()
}

// warn adds what a person should know of every pool to what the guards found.
func (d *decision) warn(sizes []clustermanager.InstanceSize) {
	d.warnings = append(d.warnings, "the GPU operator is not composed in this build: the pool's GPUs can be used only once an operator runs on cluster "+
		d.survey.Cluster.Name+", so see that it has one")
	for _, size := range sizes {
		if size.PriceNote != "" && !slices.Contains(d.warnings, size.PriceNote) {
			d.warnings = append(d.warnings, size.PriceNote)
		}
	}
}

// distinct drops what is there twice and keeps the order.
func distinct(list []string) []string {
	var kept []string
	for _, entry := range list {
		if !slices.Contains(kept, entry) {
			kept = append(kept, entry)
		}
	}
	return kept
}
