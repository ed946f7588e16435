package main

import (
	"context"

	"github.com/clustermanager/cluster-manager/internal/charts"
	"github.com/clustermanager/cluster-manager/internal/registry"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// sliceRule is the catalog's choice of a slice's chart.
func sliceRule(platformVersion, pin string, gatewayAPI bool) (url, version string, err error) {
	chart, err := catalog.SliceVersion(platformVersion, pin, gatewayAPI)
	return chart.URL, chart.Version, err
}

// startRegistry serves the snapshot's charts and reads them as a live installation's are read; whatever registry a chart
// names, this one is asked, so nothing leaves the machine. Without charts there is no reader.
func (i *installation) startRegistry(ctx context.Context) error {
	folder := i.offline.Charts()
	if folder == "" {
		return nil
	}
	var err error
	if i.registry, err = registry.Serve(ctx, folder); err != nil {
		return err
	}
	reader := charts.New(charts.Options{Address: func(string) string { return i.registry.Address() }})
	i.chartFiles = charts.NewSurvey(reader, sliceRule)
	return nil
}
