package compose

import (
	"cmp"
	"fmt"
	"net/url"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// What the platform's charts do where its values name nothing else.
const (
	defaultDexNamespace       = "giantswarm"
	defaultDexPort            = 5556
	defaultSubstrateNamespace = "ate-system"
)

// jwksSource is where the models Gateway fetches the keys that tokens are checked with.
type jwksSource struct {
	host string
	port int
	// namespace is that of a Dex service in the cluster; "": the issuer's public host.
	namespace string
}

// url of the key set. Only port 443 means TLS.
func (j jwksSource) url() string {
	if j.port == 443 {
		return "https://" + j.host + "/keys"
	}
	return fmt.Sprintf("http://%s:%d/keys", j.host, j.port)
}

// readDomain takes domain and key set. A workload cluster cannot reach a service of the installation, so it asks the
// issuer's public host.
func (s *slice) readDomain() error {
	if s.survey.Cluster.Own {
		s.domain = s.platform.Domain
		namespace := cmp.Or(s.platform.DexNamespace, defaultDexNamespace)
		s.jwks = jwksSource{host: "dex." + namespace + ".svc.cluster.local", port: cmp.Or(s.platform.DexPort, defaultDexPort), namespace: namespace}
		if s.platform.Namespace == "" && s.chart.Has(catalog.KeyIngressNamespaces) {
			return clustermanager.Refuse("HelmRelease %s: the namespace of its workloads is not known, and the slice has to let them in: set gitops.targetNamespace there, or call again once it is installed", s.platform.Release)
		}
		return nil
	}
	if s.baseDomain == "" {
		return clustermanager.Refuse("%s: its values name no base domain (global.connectivity.baseDomain), and the models of a workload cluster answer below it: add it to the cluster's values", s.cluster())
	}
	s.domain = s.survey.Cluster.Name + "." + s.baseDomain
	issuer, err := url.Parse(text(s.platform.Identity, "issuerUrl"))
	if err != nil || issuer.Hostname() == "" {
		return clustermanager.Refuse("HelmRelease %s: its values name no host in global.identity.issuerUrl, and the slice of a workload cluster fetches keys there: set it there", s.platform.Release)
	}
	s.jwks = jwksSource{host: issuer.Hostname(), port: 443}
	return nil
}

// wildcard is the Secret of the platform's certificate, which covers the models host of the own cluster alone.
func (s *slice) wildcard() string {
	if !s.survey.Cluster.Own {
		return ""
	}
	return s.platform.TLSSecret
}

// pinnedPool is the release of the one pool that predictors are pinned to.
func (s *slice) pinnedPool() string {
	if names := releaseNames(s.pools); len(names) == 1 {
		return names[0]
	}
	return ""
}

// values of the slice's release. What the chart does by itself is not written.
func (s *slice) values() map[string]any {
	values := map[string]any{"components": s.components()}
	for _, write := range []func(map[string]any){s.setPlatform, s.setTarget, s.setGateway, s.setServing, s.setCache, s.setRuntime} {
		write(values)
	}
	return s.withKept(values)
}

func (s *slice) components() map[string]any {
	components := map[string]any{}
	for _, component := range s.chart.Components {
		enabled := map[string]bool{
			catalog.EnabledAlways: true, catalog.EnabledOnWorkload: !s.survey.Cluster.Own, catalog.EnabledForGatewayAPI: s.gatewayAPI.Composed,
		}[component.Enabled]
		if enabled || component.Enabled != catalog.EnabledForGatewayAPI {
			components[component.Name] = map[string]any{"enabled": enabled}
		}
	}
	return components
}

func (s *slice) setPlatform(values map[string]any) {
	set(values, s.domain, "global", "domain")
	for _, key := range identityKeys {
		if value := text(s.platform.Identity, key); value != "" {
			set(values, value, "global", "identity", key)
		}
	}
}

// identityKeys are what a slice takes of the platform's identity: where tokens come from, for whom, and the name of the
// Secret. Whatever else stands there, a secret in plain text perhaps, stays there.
var identityKeys = []string{"issuerUrl", "clientId", "existingSecret"}

func (s *slice) setTarget(values map[string]any) {
	set(values, clustermanager.KubeconfigSecretName(s.survey.Cluster), "gitops", "target", "kubeConfig", "secretRef", "name")
	if s.chart.Has(catalog.KeyTargetName) {
		set(values, s.survey.Cluster.Name, "gitops", "target", "name")
	}
	if s.chart.Has(catalog.KeyTargetNamespace) {
		set(values, s.namespace(), "gitops", "targetNamespace")
	}
}

// namespace is where the slice's components run on the target. On the own cluster it is the organization's, because in
// the other one the platform has a release of the same name.
func (s *slice) namespace() string {
	if s.survey.Cluster.Own || !s.chart.Has(catalog.GateOwnNamespace) {
		return s.survey.Cluster.Namespace
	}
	return catalog.SliceNamespace()
}

func (s *slice) setGateway(values map[string]any) {
	set(values, true, "modelServing", "modelsGateway", "enabled")
	switch issuer := s.survey.Settings.ModelsCertificateIssuer; {
	case s.wildcard() != "":
		set(values, s.wildcard(), "gatewayApi", "gateway", "tls", "secretName")
	case issuer != "":
		set(values, issuer, "modelServing", "modelsGateway", "tls", "issuerRef", "name")
	}
	if s.jwks.namespace == "" {
		return
	}
	// The chart refuses a key set inside the cluster without the egress to it.
	set(values, map[string]any{"host": s.jwks.host, "port": int64(s.jwks.port)}, "modelServing", "modelsGateway", "jwtAuthentication", "jwks")
	set(values, map[string]any{"enabled": true, "namespace": s.jwks.namespace, "port": int64(s.jwks.port)}, "gateway", "jwksEgress")
}

func (s *slice) setServing(values map[string]any) {
	set(values, "nvidia", "modelServing", "serving", "runtimeClassName")
	if pool := s.pinnedPool(); pool != "" {
		for _, block := range []string{"gpuPool", "serving"} {
			set(values, map[string]any{clustermanager.LabelMachinePool: pool}, "modelServing", block, "nodeSelector")
		}
	}
	if s.survey.Cluster.Own && s.chart.Has(catalog.KeyIngressNamespaces) {
		namespaces := distinct([]string{s.platform.Namespace, cmp.Or(s.platform.SubstrateNamespace, defaultSubstrateNamespace)})
		set(values, anyList(namespaces), "modelServing", "networkPolicy", "additionalIngressNamespaces")
	}
}

func (s *slice) setCache(values map[string]any) {
	switch {
	case !s.cacheOn:
		set(values, false, "modelServing", "cache", "enabled")
	case s.cache.claim != clustermanager.ChartCacheClaim && s.cache.claim != "":
		set(values, s.cache.claim, "modelServing", "cache", "pvc", "name")
	}
}

// copied is a deep copy of a JSON value with numbers in the types that objects are made of.
func copied(value any) any {
	switch value := value.(type) {
	case map[string]any:
		fields := make(map[string]any, len(value))
		for key, entry := range value {
			fields[key] = copied(entry)
		}
		return fields
	case []any:
		entries := make([]any, 0, len(value))
		for _, entry := range value {
			entries = append(entries, copied(entry))
		}
		return entries
	case int:
		return int64(value)
	}
	return value
}
