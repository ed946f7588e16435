package survey

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// componentGatewayAPI is the slice's component that brings the definitions of the Gateway API.
const componentGatewayAPI = "gateway-api-crds"

// servingReads are the facts by which others are read. Each is read once, whoever asks for it first; the others wait.
type servingReads struct {
	reader  *Reader
	cluster clustermanager.Cluster

	values     func() effectiveValues
	component  func() clustermanager.Component
	slice      func() clustermanager.Reading[*clustermanager.Slice]
	platform   func() clustermanager.Reading[clustermanager.Platform]
	gatewayAPI func() clustermanager.Reading[clustermanager.GatewayAPI]
}

// servingSurvey reads what model serving on a cluster is decided from, but for the models that it serves.
func (r *Reader) servingSurvey(ctx context.Context, cluster clustermanager.Cluster, values func() effectiveValues) clustermanager.ServingSurvey {
	facts := servingReads{
		reader: r, cluster: cluster, values: values,
		component:  sync.OnceValue(func() clustermanager.Component { return r.servingComponent(ctx, cluster) }),
		slice:      readOnce(func() (*clustermanager.Slice, error) { return r.slice(ctx, cluster) }),
		platform:   readOnce(func() (clustermanager.Platform, error) { return r.platformOfSlice(ctx, cluster) }),
		gatewayAPI: readOnce(func() (clustermanager.GatewayAPI, error) { return r.gatewayAPI(ctx, cluster) }),
	}
	var made clustermanager.ServingSurvey
	var group errgroup.Group
	start := func(read func()) {
		group.Go(func() error { read(); return nil })
	}
	start(func() { made.Endpoint = clustermanager.Read(r.endpoint(ctx, cluster)) })
	start(func() { made.Component = facts.component() })
	start(func() { made.Slice = facts.slice() })
	start(func() { made.OtherSlices = clustermanager.Read(r.otherSlices(ctx, cluster)) })
	start(func() { made.Platform = facts.platform() })
	start(func() { made.GatewayAPI = facts.gatewayAPI() })
	start(func() { made.Backends = clustermanager.Read(r.backends(ctx, cluster)) })
	start(func() { made.Presets = clustermanager.Read(r.presets(ctx, cluster)) })
	start(func() { made.CacheClaims = clustermanager.Read(r.cacheClaims(ctx, cluster)) })
	start(func() { made.Namespace = clustermanager.Read(r.servingNamespace(ctx, cluster)) })
	start(func() { made.Configs = clustermanager.Read(facts.configs(ctx)) })
	start(func() { made.Issuer = facts.issuer(ctx) })
	start(func() { made.Charts = facts.charts(ctx) })
	start(func() { made.PrepullImages = facts.prepullImages(ctx) })
	_ = group.Wait()
	return made
}

// readOnce makes a read that is done once.
func readOnce[T any](read func() (T, error)) func() clustermanager.Reading[T] {
	return sync.OnceValue(func() clustermanager.Reading[T] { return clustermanager.Read(read()) })
}

// issuer is the check of the issuer, where the slice would have a certificate of its own; else it is not read.
func (s *servingReads) issuer(ctx context.Context) (none clustermanager.Reading[clustermanager.CertificateIssuer]) {
	host := s.certificateHost()
	if host == "" || !s.component().ComposedHere() {
		return none
	}
	return clustermanager.Read(s.reader.issuer(ctx, s.cluster, host))
}

// certificateHost is the host that the slice's own certificate would be for; "" where it has none, or where that cannot
// be told yet.
func (s *servingReads) certificateHost() string {
	if s.reader.options.Settings.ModelsCertificateIssuer == "" {
		return ""
	}
	if s.cluster.Own {
		platform, known := s.platform().Get()
		if !known || platform.TLSSecret != "" {
			return ""
		}
		return modelsHostPrefix + platform.Domain
	}
	values, _ := s.values().Get()
	base := textAt(values.Values.Reveal(), "global", "connectivity", "baseDomain")
	if base == "" {
		return ""
	}
	return modelsHostPrefix + s.cluster.Name + "." + base
}

// charts is what the registry holds for the slice, where one is composed and there is a registry; else it is not read.
func (s *servingReads) charts(ctx context.Context) (charts clustermanager.Reading[clustermanager.SliceCharts]) {
	registry := s.reader.options.Charts
	if registry == nil || !s.component().ComposedHere() {
		return charts
	}
	platform, known := s.platform().Get()
	if !known {
		return clustermanager.Read(clustermanager.SliceCharts{}, s.platform().Err())
	}
	bringsGatewayAPI, err := s.bringsGatewayAPI()
	if err != nil {
		return clustermanager.Read(clustermanager.SliceCharts{}, err)
	}
	return clustermanager.Read(registry.Slice(ctx, platform.ChartVersion, s.reader.options.Settings.SliceChartVersion, bringsGatewayAPI))
}

// bringsGatewayAPI says whether the slice brings the Gateway API: it does already, or the cluster has none.
func (s *servingReads) bringsGatewayAPI() (bool, error) {
	slice, known := s.slice().Get()
	if !known {
		return false, s.slice().Err()
	}
	if slice != nil {
		if on, _, _ := unstructured.NestedBool(slice.Values.Reveal(), "components", componentGatewayAPI, "enabled"); on {
			return true, nil
		}
	}
	found, known := s.gatewayAPI().Get()
	return known && !found.Installed, s.gatewayAPI().Err()
}

// prepullImages are the images of somebody else's serving; where there is none, they are not read.
func (s *servingReads) prepullImages(ctx context.Context) (none clustermanager.Reading[[]string]) {
	component := s.component()
	if component.Status != clustermanager.ComponentPresent || component.ComposedHere() {
		return none
	}
	return clustermanager.Read(s.reader.prepullImages(ctx, s.cluster))
}

// configs are the serving configurations of the namespace that the slice has on the cluster. Where an older slice had
// another one and left some there that are being deleted, they are that one's: those stand in the way.
func (s *servingReads) configs(ctx context.Context) (clustermanager.ServingConfigs, error) {
	slice, err := s.reader.sliceRelease(ctx, s.cluster)
	if err != nil {
		return clustermanager.ServingConfigs{}, err
	}
	in, err := namespaceOf(s.cluster, slice)
	if err != nil {
		return clustermanager.ServingConfigs{}, err
	}
	first, err := s.reader.servingConfigs(ctx, s.cluster, in)
	if err != nil || len(first.Terminating) > 0 || s.cluster.Own {
		return first, err
	}
	for _, namespace := range []string{sliceNamespaceOfWorkload, s.cluster.Namespace} {
		found, err := s.reader.servingConfigs(ctx, s.cluster, namespace)
		if err != nil || len(found.Terminating) > 0 {
			return found, err
		}
	}
	return first, nil
}
