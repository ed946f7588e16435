package compose

import (
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// CheckNodePool refuses what needs no read: name, accelerator, sizes, maxGpus, chartVersion, then the mode, then
// arguments that contradict each other. The first fault wins. What was not given counts as its default.
func CheckNodePool(request clustermanager.CreateNodePoolRequest) error {
	request = request.WithDefaults()
	for _, check := range []func(clustermanager.CreateNodePoolRequest) error{
		checkName, checkAccelerator, checkSizes, clustermanager.CreateNodePoolRequest.Validate, checkChartVersion, checkMode, checkServing,
	} {
		if err := check(request); err != nil {
			return err
		}
	}
	return nil
}

// checkName applies the rules of Validate that come before the accelerator: those of cluster and name.
func checkName(request clustermanager.CreateNodePoolRequest) error {
	request.MaxGPUs = new(1)
	if err := request.Validate(); err != nil {
		return err
	}
	if slices.Contains(catalog.ReservedNames(), request.Name) {
		return clustermanager.Refuse("pool name %q is reserved: release %s-%s belongs to another part of the cluster; choose another name, such as gpu-l4",
			request.Name, request.Cluster, request.Name)
	}
	return nil
}

func checkAccelerator(request clustermanager.CreateNodePoolRequest) error {
	if names := catalog.AcceleratorNames(); !slices.Contains(names, request.Accelerator) {
		return clustermanager.Refuse("accelerator %q is not offered: use one of %s", request.Accelerator, strings.Join(names, ", "))
	}
	return nil
}

func checkSizes(request clustermanager.CreateNodePoolRequest) error {
	family := catalog.SizeNames(request.Accelerator)
	for _, size := range request.Sizes {
		if !slices.Contains(family, size) {
			return clustermanager.Refuse("size %q does not exist for %s: use any of %s", size, request.Accelerator, strings.Join(family, ", "))
		}
	}
	return nil
}

// checkChartVersion wants an exact version: it becomes an OCI tag, which holds no build metadata.
func checkChartVersion(request clustermanager.CreateNodePoolRequest) error {
	if request.ChartVersion == "" {
		return nil
	}
	if !catalog.ExactVersion(request.ChartVersion) {
		return clustermanager.Refuse("chartVersion %q is no exact version: name one of chart %s, such as %s, or leave it out to follow the newest",
			request.ChartVersion, clustermanager.ChartGPUNodePool, catalog.GPUNodePool().Floor)
	}
	return nil
}

func checkMode(request clustermanager.CreateNodePoolRequest) error {
	return checkModeName(request.Mode)
}

func checkModeName(mode clustermanager.Mode) error {
	switch mode {
	case clustermanager.ModeApply, clustermanager.ModeCommit:
		return nil
	}
	return clustermanager.Refuse("mode %q does not exist: use %s, which opens a pull request",
		mode, clustermanager.ModeCommit)
}

func checkServing(request clustermanager.CreateNodePoolRequest) error {
	if !*request.Serving && request.Cache != nil && *request.Cache {
		return clustermanager.Refuse("cache true needs model serving, and serving is false: leave out one of the two")
	}
	return nil
}
