package compose

import (
	"cmp"
	"fmt"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// slice is the decision about a cluster's serving slice and its registration with model-manager. Every tool that writes
// a slice makes it in the same way.
type slice struct {
	*base
	// pools are the cluster's GPU pools, baseDomain the installation's; cacheArgument is what the call asks for.
	pools         []gpuPool
	baseDomain    string
	cacheArgument *bool

	// composed says that the slice is this product's to write; what follows is known only then.
	composed   bool
	platform   clustermanager.Platform
	existing   *clustermanager.Slice
	chart      catalog.SliceChart
	gatewayAPI clustermanager.GatewayAPIResult
	domain     string
	jwks       jwksSource
	// runtime is nil where the chart's own images serve.
	runtime     *runtimeImages
	certificate *clustermanager.CertificateIssuer

	// cacheOn is the effective setting, cache where the model cache is.
	cacheOn bool
	cache   cachePlace
	backend []clustermanager.Step
	shared  []clustermanager.Step
	// discovery is what the document has of it already, where the slice is not composed; nil: nothing.
	discovery map[string]any
	// kept are the values of another slice that the release carries; nil: it carries none.
	kept map[string]any
}

// read takes what the slice is composed from. Who serves cannot always be told; that is for decide to refuse.
func (s *slice) read() error {
	s.priceClaims()
	s.composed = s.survey.Serving.Component.ComposedHere()
	if !s.composed {
		return nil
	}
	return establishAll(s.readExisting, s.keepOthers, s.readPlatform, s.readGatewayAPI, s.chooseChart, s.checkOtherSlices, s.readDomain, s.chooseRuntime)
}

// decide refuses what stands against the slice and its registration.
func (s *slice) decide() error {
	return establishAll(s.checkComponent, s.checkIssuer, s.checkForeignCache, s.decideBackend, s.checkNamespace)
}

func (s *slice) readExisting() (err error) {
	s.existing, err = need(s.base, s.survey.Serving.Slice, "its serving slice")
	if err == nil && s.existing != nil && s.existing.Removing {
		s.warn("HelmRelease %s: it is being removed, or stands without its source: what the installation does not take up now comes with a call once it is gone", s.existing.Release)
	}
	return err
}

func (s *slice) readPlatform() error {
	platform, err := need(s.base, s.survey.Serving.Platform, "the installation's platform release, which a slice takes after,")
	if err != nil {
		return err
	}
	s.platform = platform
	if platform.Domain == "" {
		return clustermanager.Refuse("HelmRelease %s: its values name no global.domain, and a slice needs the platform's: set it there", platform.Release)
	}
	return nil
}

// readGatewayAPI decides whether the slice brings the Gateway API. Once brought it stays, else the release would take
// the definitions away from what uses them.
func (s *slice) readGatewayAPI() error {
	bundle := catalog.GatewayAPI()
	composed := clustermanager.GatewayAPIResult{Composed: true, Version: bundle.Version}
	if s.existing != nil && isOn(s.existing.Values.Reveal(), catalog.ComponentGatewayAPI) {
		composed.Note = fmt.Sprintf("the slice brings the Gateway API %s (%s channel) already and keeps it", bundle.Version, bundle.Channel)
		s.gatewayAPI = composed
		return nil
	}
	found, err := need(s.base, s.survey.Serving.GatewayAPI, "whether it serves the Gateway API")
	switch {
	case err != nil:
		return err
	case !found.Installed:
		composed.Note = fmt.Sprintf("the cluster serves no Gateway API: the slice brings %s (%s channel)", bundle.Version, bundle.Channel)
		s.gatewayAPI = composed
	default:
		s.gatewayAPI = clustermanager.GatewayAPIResult{Version: found.Version, Note: "the cluster serves the Gateway API " +
			strings.TrimSpace(cmp.Or(found.Version, "of an unknown version")+" "+channel(found.Channel)) + ": the slice brings none"}
	}
	return nil
}

func channel(name string) string {
	if name == "" {
		return ""
	}
	return "(" + name + " channel)"
}

func (s *slice) chooseChart() (err error) {
	pin := s.survey.Settings.SliceChartVersion
	s.chart, err = catalog.SliceVersion(s.platform.ChartVersion, pin, s.gatewayAPI.Composed)
	switch {
	case err != nil && pin == "":
		return clustermanager.Refuse("HelmRelease %s: %v", s.platform.Release, err)
	case err != nil:
		return err
	}
	if s.chart.Has(catalog.GateFloatingConnectivity) {
		s.warn("chart %s %s: its connectivity chart follows the newest 4.x, which may refuse the components kserve-crd and kserve-resources; a platform of a newer version has no such range", clustermanager.ChartAgentPlatform, s.chart.Version)
	}
	s.noteUpgrade()
	return nil
}

// noteUpgrade tells of a slice that moves to a chart whose children are others.
func (s *slice) noteUpgrade() {
	if s.existing == nil || s.existing.Deployed == "" {
		return
	}
	before := catalog.SliceAt(s.existing.Deployed)
	switch {
	case before.Has(catalog.GateChildPrefix) != s.chart.Has(catalog.GateChildPrefix):
		s.warn("HelmRelease %s: moving from chart %s to %s renames every child of the slice: they are uninstalled and installed anew, on a workload cluster in another namespace; serving configurations left in the old one are healed by the next call", s.existing.Release, s.existing.Deployed, s.chart.Version)
	case before.HasComponent("kserve-crd") != s.chart.HasComponent("kserve-crd"):
		s.warn("HelmRelease %s: moving from chart %s to %s uninstalls the classic KServe components", s.existing.Release, s.existing.Deployed, s.chart.Version)
	}
}

// checkOtherSlices keeps two slices whose children have the same names out of one namespace.
func (s *slice) checkOtherSlices() error {
	if s.chart.Has(catalog.GateChildPrefix) {
		return nil
	}
	others, err := need(s.base, s.survey.Serving.OtherSlices, "the slices of other clusters in namespace "+s.survey.Cluster.Namespace)
	if err != nil {
		return err
	}
	if len(others) == 0 {
		return nil
	}
	return clustermanager.Refuse("%s: at chart %s %s the slice's releases in namespace %s have the names that those of cluster %s (HelmRelease %s) have: upgrade the platform to a version whose slices stand beside each other, or remove serving from that cluster first",
		s.cluster(), clustermanager.ChartAgentPlatform, s.chart.Version, s.survey.Cluster.Namespace, others[0].Cluster, others[0].Release)
}

// checkComponent refuses to compose beside a serving layer that cannot be told. One that somebody else provides is left
// alone.
func (s *slice) checkComponent() error {
	found := s.survey.Serving.Component
	if found.Status == clustermanager.ComponentPresent || found.Status == clustermanager.ComponentAbsent {
		return nil
	}
	return clustermanager.Refuse("%s: whether models are served on it already could not be found out: %s; see to that, then call again", s.cluster(), cmp.Or(found.Reason, "not read"))
}

// checkIssuer wants an issuer that can issue, where the slice has a certificate of its own.
func (s *slice) checkIssuer() error {
	if !s.composed || s.wildcard() != "" || s.survey.Settings.ModelsCertificateIssuer == "" {
		return nil
	}
	issuer, err := need(s.base, s.survey.Serving.Issuer, "ClusterIssuer "+s.survey.Settings.ModelsCertificateIssuer+", which issues the certificate of "+s.modelsHost()+",")
	if err == nil {
		s.certificate = &issuer
	}
	return err
}

// checkForeignCache: the cache of a serving layer that is somebody else's is set there.
func (s *slice) checkForeignCache() error {
	if s.composed || s.cacheArgument == nil {
		return nil
	}
	return clustermanager.Refuse("%s: cache %t is refused, since serving there is %s's and not cluster-manager's (%s): set the cache in that layer, and leave cache out here",
		s.cluster(), *s.cacheArgument, s.survey.Serving.Component.Provider, s.evidence())
}

// evidence is what was found of serving, in one line.
func (s *slice) evidence() string {
	return cmp.Or(strings.Join(s.survey.Serving.Component.Evidence, "; "), "no evidence named")
}

// checkNamespace waits for a serving namespace that is going: what is installed into it would go with it.
func (s *slice) checkNamespace() error {
	if !s.composed {
		return nil
	}
	namespace, known := s.survey.Serving.Namespace.Get()
	switch {
	case !known:
		s.warn("Namespace %s on cluster %s: whether it is being deleted or is marked retired was not checked: %s", s.survey.Settings.ServingNamespace, s.survey.Cluster.Name, s.survey.Serving.Namespace.Reason())
	case namespace != nil && namespace.Deleting:
		return clustermanager.Refuse("Namespace %s on cluster %s: it is being deleted, and what is served in it would go with it: call again once it is gone", namespace.Name, s.survey.Cluster.Name)
	}
	return nil
}

// steps are the slice's release and the registration.
func (s *slice) steps() []clustermanager.Step {
	if !s.composed {
		return s.backend
	}
	return append(s.sliceRelease(s.chart.Source(), s.values()), s.backend...)
}

// sliceRelease is the release of a cluster's slice with its source.
func (b *base) sliceRelease(source catalog.Source, values map[string]any) []clustermanager.Step {
	objects := clustermanager.SliceObjects(b.survey.Cluster)
	spec := helmReleaseSpec(objects.Source.Name, objects.Release.Name)
	replaceCRDs(spec)
	if account := b.survey.Settings.TenantServiceAccount; account != "" {
		spec["serviceAccountName"] = account
	}
	spec["values"] = values
	return b.releaseSteps(objects, clustermanager.ChartAgentPlatform, source, spec)
}

// result is what an answer tells of the slice, its registration and the model cache.
func (s *slice) result() clustermanager.ServingResult {
	result := clustermanager.ServingResult{
		Backend:    s.backendResult(),
		CacheClaim: s.cache.read, CacheClaims: s.survey.Serving.CacheClaims.Or(nil),
	}
	if !s.composed {
		return result
	}
	result.Cache = s.cacheSetting()
	result.Slice = &clustermanager.SliceResult{
		Name: clustermanager.ReleaseName(s.survey.Cluster, clustermanager.ChartAgentPlatform), Namespace: s.survey.Cluster.Namespace,
		ChartVersion: s.chart.Version, Domain: s.domain, ModelsHost: s.modelsHost(), GPUPool: s.pinnedPool(),
		JWKS: s.jwks.url(), Certificate: s.certificate, GatewayAPI: s.gatewayAPI,
	}
	return result
}

// modelsHost is where the models answer.
func (s *slice) modelsHost() string { return "models." + s.domain }

// isOn says whether a release's values switch a component on.
func isOn(values map[string]any, component string) bool {
	enabled, _ := lookup(values, "components", component, "enabled").(bool)
	return enabled
}
