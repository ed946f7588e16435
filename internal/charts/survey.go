package charts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// releasePrefix is the address of a provider's release chart before the provider's name.
const releasePrefix = "oci://gsoci.azurecr.io/charts/giantswarm/release-"

// rbacBootstrapFile is the file of a release chart that holds the fleet's own bindings.
const rbacBootstrapFile = "charts/cluster/files/helmreleases/rbac-bootstrap.yaml"

// SliceRule says which chart a slice is made of: its OCI address without a tag, and its version. A version that no slice is
// composed of is a *clustermanager.Refusal.
type SliceRule func(platformVersion, pin string, gatewayAPI bool) (url, version string, err error)

// Survey reads what a decision needs of the charts in a registry, for package live/survey.
type Survey struct {
	registry *Registry
	slice    SliceRule
}

// NewSurvey makes a Survey over a registry.
func NewSurvey(registry *Registry, slice SliceRule) *Survey {
	return &Survey{registry: registry, slice: slice}
}

// Slice reads the charts of a slice at the version that the rule gives. The error is the rule's; a chart that cannot be
// read is an unknown part of the answer, with the reason, and a pin that is not published a refusal there.
func (s *Survey) Slice(ctx context.Context, platformVersion, pin string, gatewayAPI bool) (clustermanager.SliceCharts, error) {
	url, version, err := s.slice(platformVersion, pin, gatewayAPI)
	if err != nil {
		return clustermanager.SliceCharts{}, err
	}
	values, err := s.values(ctx, url, version)
	if pin != "" {
		err = refused(err, "pin a published one with the setting slice-chart-version, or take the pin out")
	}
	read := clustermanager.SliceCharts{Version: version, Values: clustermanager.Read(values, err)}
	if err != nil {
		read.Connectivity = clustermanager.Read(clustermanager.ConnectivityChart{}, err)
		return read, nil
	}
	read.Connectivity = clustermanager.Read(s.connectivity(ctx, url, version, values))
	return read, nil
}

// Tags are the versions that the chart release-<provider> is published at.
func (s *Survey) Tags(ctx context.Context, provider string) ([]string, error) {
	return s.registry.Tags(ctx, releasePrefix+provider)
}

// Release reads the chart release-<provider> at a version. One that is not published is a *clustermanager.Refusal.
func (s *Survey) Release(ctx context.Context, provider, version string) (clustermanager.ReleaseChart, error) {
	chart, err := s.registry.Chart(ctx, releasePrefix+provider, version)
	if err != nil {
		return clustermanager.ReleaseChart{}, refused(err, "choose a release that list_releases offers")
	}
	values, _, err := chart.Values()
	if err != nil {
		return clustermanager.ReleaseChart{}, err
	}
	if values == nil {
		values = map[string]any{}
	}
	release := clustermanager.ReleaseChart{URL: chart.URL, Version: chart.Version, Values: values, Schema: chart.Schema()}
	if release.Schema != nil && !json.Valid(release.Schema) {
		return clustermanager.ReleaseChart{}, fmt.Errorf("chart %s %s: reading its %s: it is no JSON", chart.URL, chart.Version, schemaFile)
	}
	if bootstrap, there := chart.Files[rbacBootstrapFile]; there {
		release.RBACBootstrap = new(string(bootstrap))
	}
	return release, nil
}

// values reads the values of a chart that must have some.
func (s *Survey) values(ctx context.Context, url, version string) (map[string]any, error) {
	chart, err := s.registry.Chart(ctx, url, version)
	if err != nil {
		return nil, err
	}
	return mustValues(chart)
}

func mustValues(chart *Chart) (map[string]any, error) {
	values, there, err := chart.Values()
	if err == nil && !there {
		err = fmt.Errorf("chart %s %s: it has no %s", chart.URL, chart.Version, valuesFile)
	}
	return values, err
}

// refused turns an unpublished chart into a refusal with its way out; any other error stays what it is.
func refused(err error, wayOut string) error {
	var unpublished *UnpublishedError
	if errors.As(err, &unpublished) {
		return clustermanager.Refuse("%s: %s", unpublished.Error(), wayOut)
	}
	return err
}
