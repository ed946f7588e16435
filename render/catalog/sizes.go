package catalog

import (
	"slices"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// What a node keeps for itself, in hundredths of a vCPU and of a GiB. The hypervisor takes its share of the memory
// first. Estimates: they may warn, never refuse.
const (
	kubeletVCPU      = 60
	daemonsetsVCPU   = 40
	hypervisorMemory = 5 // hundredths of each GiB
	kubeletMemory    = 180
	daemonsetsMemory = 150
)

// PoolSizes are the sizes of a pool as answers show them, smallest first, whatever the order they were asked in. No
// sizes: the chart's own. A size that the family does not have is left out. Prices are those of the region; without one
// the size's PriceNote says why.
func PoolSizes(accelerator string, sizes []string, region clustermanager.Reading[string]) []clustermanager.InstanceSize {
	if len(sizes) == 0 {
		sizes = loaded().GPUNodePool.DefaultSizes
	}
	family := find(accelerator)
	var listed []clustermanager.InstanceSize
	for _, size := range family.Sizes {
		if slices.Contains(sizes, size.Name) {
			listed = append(listed, instanceSize(family, size, region))
		}
	}
	return listed
}

func instanceSize(family Accelerator, size Size, region clustermanager.Reading[string]) clustermanager.InstanceSize {
	listed := clustermanager.InstanceSize{
		InstanceType:        family.Family + "." + size.Name,
		Size:                size.Name,
		VCPU:                size.VCPU,
		MemoryGiB:           size.MemoryGiB,
		GPUs:                size.GPUs,
		GPUMemoryGiB:        family.GPUMemoryGiB,
		ComputeCapability:   family.ComputeCapability,
		InstanceStoreGB:     size.StoreDisks * size.StoreDiskGB,
		InstanceStoreDisks:  size.StoreDisks,
		InstanceStoreDiskGB: size.StoreDiskGB,
		UsableVCPU:          tenths(size.VCPU*100 - kubeletVCPU - daemonsetsVCPU),
		UsableMemoryGiB:     tenths(size.MemoryGiB*(100-hypervisorMemory) - kubeletMemory - daemonsetsMemory),
	}
	price(&listed, region)
	return listed
}

// tenths rounds hundredths to one decimal, halves up. Whole numbers, because 11.85 has no exact binary fraction.
func tenths(hundredths int) float64 {
	return float64((hundredths+5)/10) / 10
}
