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
	// GPUOperator and Serving are what runs on the cluster; Serving is empty where it was not asked for.
	GPUOperator, Serving clustermanager.Component
	clustermanager.ServingResult
}

// decision is a node pool on its way through the guards, which fill in what they establish.
type decision struct {
	*base
	request clustermanager.CreateNodePoolRequest
	chart   catalog.PoolChart

	source catalog.Source
	values clusterValues
	pins   clustermanager.ReleasePins
	pools  []gpuPool
	// zones are the zones that the nodes are pinned to, zonesNote says why.
	zones     []string
	zonesNote string
	// prefetch are the images that the nodes pull ahead, prefetchNote says why there are none.
	prefetch     []string
	prefetchNote string

	operator operator
	// slice is nil where serving is not asked for.
	slice *slice
}

// NodePool composes the pool that the request asks for, with what it needs to serve models: the GPU operator, the serving
// slice, and the registration with model-manager, each where nobody else provides it. An error is a
// *clustermanager.Refusal; where several rules are broken the first of the order below is told.
func NodePool(request clustermanager.CreateNodePoolRequest, survey clustermanager.Survey) (Pool, error) {
	if err := CheckNodePool(request); err != nil {
		return Pool{}, err
	}
	request = request.WithDefaults()
	request.Sizes, request.Zones = distinct(request.Sizes), distinct(request.Zones)
	d := decision{base: &base{survey: survey, mode: request.Mode}, request: request, chart: catalog.GPUNodePool(), zones: request.Zones}
	if *request.Serving {
		d.slice = &slice{base: d.base, cacheArgument: request.Cache}
	}
	if err := establishAll(
		d.chooseChart, d.checkServing, d.checkPrerequisites, d.readValues, d.checkDeleting, d.checkTarget, d.readPins, d.readPools, d.readSlice,
		d.checkSkew, d.checkFlatcar, d.checkZones, d.placeCache, d.checkPrewarm, d.checkChartKeys, d.checkReleaseName, d.checkMachinePool,
		d.decideOperator, d.decideSlice, d.decidePrefetch,
	); err != nil {
		return Pool{}, err
	}
	steps, err := d.guardOwnership(d.allSteps())
	if err != nil {
		return Pool{}, err
	}
	return d.answer(steps), nil
}

func (d *decision) chooseChart() (err error) {
	d.source, err = d.chart.Source(d.request.ChartVersion)
	return err
}

// readPools takes the cluster's pools, with this one as it will be.
func (d *decision) readPools() (err error) {
	d.pools, err = d.base.readPools(&gpuPool{
		release: clustermanager.ReleaseName(d.survey.Cluster, d.request.Name), owned: true,
		accelerator: d.request.Accelerator, sizes: d.request.Sizes,
	})
	return err
}

// readSlice is all that is read of serving, before anything about the pool itself is refused.
func (d *decision) readSlice() error {
	if d.slice == nil {
		return nil
	}
	d.slice.pools, d.slice.baseDomain = d.pools, d.values.baseDomain
	return d.slice.read()
}

func (d *decision) decideOperator() (err error) {
	d.operator, err = d.base.decideOperator(d.pins.MachineImage(), d.pools)
	return err
}

func (d *decision) decideSlice() error {
	if d.slice == nil {
		return nil
	}
	return d.slice.decide()
}

// allSteps are in the order in which they are answered: what makes room for the slice, the pool, the slice with its
// registration, the operator, and last the registration that an earlier one left.
func (d *decision) allSteps() []clustermanager.Step {
	if d.slice == nil {
		return slices.Concat(d.steps(), d.operator.steps)
	}
	return slices.Concat(d.slice.healing(), d.steps(), d.slice.steps(), d.operator.steps, d.slice.leftovers())
}

func (d *decision) answer(steps []clustermanager.Step) Pool {
	sizes := catalog.PoolSizes(d.request.Accelerator, d.request.Sizes, d.region())
	for _, size := range sizes {
		if size.PriceNote != "" && !slices.Contains(d.warnings, size.PriceNote) {
			d.warnings = append(d.warnings, size.PriceNote)
		}
	}
	pool := Pool{
		ChartVersion:        d.source.Version(),
		KubernetesVersion:   d.pins.Kubernetes,
		ControlPlaneVersion: d.survey.ControlPlaneVersion.Or(""),
		MachineImage:        d.pins.MachineImage(),
		Sizes:               sizes,
		Zones:               d.zones,
		ZonesNote:           d.zonesNote,
		GPUOperator:         d.survey.GPUOperator,
	}
	if d.slice != nil {
		pool.Serving = d.survey.Serving.Component
		pool.ServingResult = d.slice.result()
		pool.PresetFit = d.slice.fit(sizes, d.request.Accelerator)
	}
	pool.OperatorRow = d.operator.row
	pool.PrefetchImages, pool.PrefetchNote = d.prefetch, d.prefetchNote
	pool.Plan = clustermanager.Plan{Steps: steps, Warnings: d.warnings}
	return pool
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
