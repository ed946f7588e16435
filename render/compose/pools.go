package compose

import (
	"cmp"
	"slices"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// gpuPool is a GPU pool of the cluster as operator and serving see it.
type gpuPool struct {
	release     string
	accelerator string
	sizes       []string
	// owned says that its release is ours.
	owned bool
}

// readPools are the cluster's pools without those that are being deleted, sorted by release. The one being written, if
// any, stands as it will be.
func (b *base) readPools(written *gpuPool) ([]gpuPool, error) {
	releases, err := need(b, b.survey.Pools, "its GPU pools")
	if err != nil {
		return nil, err
	}
	var pools []gpuPool
	for _, release := range releases {
		if release.Deleting || written != nil && release.Name == written.release {
			continue
		}
		pools = append(pools, gpuPool{release.Name, release.Accelerator, release.Sizes, release.Owned})
	}
	if written != nil {
		pools = append(pools, *written)
	}
	slices.SortFunc(pools, func(a, b gpuPool) int { return cmp.Compare(a.release, b.release) })
	return pools, nil
}

// releaseNames are the pools' releases, each once.
func releaseNames(pools []gpuPool) []string {
	var names []string
	for _, pool := range pools {
		names = append(names, pool.release)
	}
	return slices.Compact(names)
}

// instances are the pool's sizes in the pool's own order; a size or an accelerator that the catalog does not have is
// left out.
func (p gpuPool) instances() []clustermanager.InstanceSize {
	sizes := p.sizes
	if len(sizes) == 0 {
		sizes = catalog.GPUNodePool().DefaultSizes
	}
	var listed []clustermanager.InstanceSize
	for _, size := range sizes {
		listed = append(listed, catalog.PoolSizes(p.accelerator, []string{size}, clustermanager.Unknown[string]("not asked for"))...)
	}
	return listed
}
