package catalog

import "slices"

// Accelerator is a GPU that a pool may ask for, with the instance family that carries it.
type Accelerator struct {
	// Name is the accelerator as a request names it, such as nvidia-l4.
	Name string `json:"name"`
	// Family is the EC2 instance family, such as g6.
	Family string `json:"family"`
	// GPUMemoryGiB is the memory of each GPU.
	GPUMemoryGiB int `json:"gpuMemoryGiB"`
	// GiBPerVCPU is the machine memory that comes with each vCPU, in every size of the family.
	GiBPerVCPU int `json:"gibPerVCPU"`
	// ComputeCapability is NVIDIA's figure, such as 8.9.
	ComputeCapability string `json:"computeCapability"`
	// Sizes are the family's sizes, smallest first.
	Sizes []Size `json:"sizes"`
}

// Size is an instance size of a family as the provider lists it.
type Size struct {
	// Name is the size without the family, such as xlarge.
	Name      string `json:"size"`
	VCPU      int    `json:"vcpu"`
	MemoryGiB int    `json:"memoryGiB"`
	GPUs      int    `json:"gpus"`
	// StoreDisks are the NVMe instance-store devices, StoreDiskGB the size of one.
	StoreDisks  int `json:"storeDisks"`
	StoreDiskGB int `json:"storeDiskGB"`
}

// Accelerators are all accelerators, in the order in which they are offered.
func Accelerators() []Accelerator {
	accelerators := slices.Clone(loaded().Accelerators)
	for i := range accelerators {
		accelerators[i].Sizes = slices.Clone(accelerators[i].Sizes)
	}
	return accelerators
}

// AcceleratorNames are the names of all accelerators, in the order in which they are offered.
func AcceleratorNames() []string {
	var names []string
	for _, accelerator := range loaded().Accelerators {
		names = append(names, accelerator.Name)
	}
	return names
}

// SizeNames are the names of the accelerator's sizes, smallest first; nil for an accelerator that is not in the table.
func SizeNames(accelerator string) []string {
	var names []string
	for _, size := range find(accelerator).Sizes {
		names = append(names, size.Name)
	}
	return names
}

// find is the accelerator of the name, the zero one when there is none.
func find(name string) Accelerator {
	for _, accelerator := range loaded().Accelerators {
		if accelerator.Name == name {
			return accelerator
		}
	}
	return Accelerator{}
}

// ComputeCapability is NVIDIA's figure for the accelerator, such as 8.9; "" for one that is not in the table.
func ComputeCapability(accelerator string) string { return find(accelerator).ComputeCapability }
