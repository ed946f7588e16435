package snapshot

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// where says which API servers a kind is read of.
type where int

const (
	// ofInstallation kinds are read of the installation alone.
	ofInstallation where = 1 << iota
	// ofTarget kinds are read of what serves models: a workload cluster, or the installation for its own cluster.
	ofTarget
	everywhere = ofInstallation | ofTarget
)

// kind is a row of the table: which objects of a kind are read.
type kind struct {
	group, version, resource string

	on where
	// namespaces are the ones that are read; nil: all.
	namespaces func(clustermanager.Settings) []string
	// selectors are label selectors, of which an object matches one; none: all objects.
	selectors []string
}

func (k kind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.group, Resource: k.resource}
}

func servingNamespace(settings clustermanager.Settings) []string {
	return []string{settings.ServingNamespace}
}

func eventNamespaces(settings clustermanager.Settings) []string {
	return []string{"default", settings.ServingNamespace}
}

func backendNamespace(settings clustermanager.Settings) []string {
	return []string{settings.ModelManagerNamespace}
}

// kinds are the kinds that some tool lists or gets. Those that an object refers to by kind and name, Secrets, and the
// ConfigMaps of clusters' and Kustomizations' namespaces are read after them.
var kinds = []kind{
	{group: "cluster.x-k8s.io", version: "v1beta1", resource: "clusters", on: ofInstallation},
	{group: "cluster.x-k8s.io", version: "v1beta1", resource: "machinepools", on: ofInstallation},
	{group: "source.toolkit.fluxcd.io", version: "v1", resource: "ocirepositories", on: ofInstallation},
	{group: "source.toolkit.fluxcd.io", version: "v1", resource: "gitrepositories", on: ofInstallation},
	{group: "kustomize.toolkit.fluxcd.io", version: "v1", resource: "kustomizations", on: ofInstallation},
	{group: "release.giantswarm.io", version: "v1alpha1", resource: "releases", on: ofInstallation},
	{group: "security.giantswarm.io", version: "v1alpha1", resource: "organizations", on: ofInstallation},
	{group: "", version: "v1", resource: "configmaps", on: ofInstallation, namespaces: backendNamespace},
	{group: "rbac.authorization.k8s.io", version: "v1", resource: "rolebindings", on: ofInstallation},
	{group: "batch", version: "v1", resource: "jobs", on: ofInstallation, selectors: []string{"app.kubernetes.io/name=gpu-node-pool"}},

	{group: "helm.toolkit.fluxcd.io", version: "v2", resource: "helmreleases", on: everywhere},
	{group: "application.giantswarm.io", version: "v1alpha1", resource: "apps", on: everywhere},
	{group: "", version: "v1", resource: "namespaces", on: everywhere},
	{group: "", version: "v1", resource: "pods", on: everywhere},

	{group: "nvidia.com", version: "v1", resource: "clusterpolicies", on: ofTarget},
	{group: "apps", version: "v1", resource: "daemonsets", on: ofTarget},
	{group: "apps", version: "v1", resource: "deployments", on: ofTarget},
	{group: "", version: "v1", resource: "nodes", on: ofTarget},
	{group: "", version: "v1", resource: "events", on: ofTarget, namespaces: eventNamespaces},
	{group: "", version: "v1", resource: "persistentvolumeclaims", on: ofTarget, namespaces: servingNamespace},
	{group: "", version: "v1", resource: "persistentvolumes", on: ofTarget},
	{group: "", version: "v1", resource: "configmaps", on: ofTarget, selectors: []string{"agent-platform.giantswarm.io/model-serving-config=true", "agent-platform.giantswarm.io/serving-preset=true"}},
	{group: "storage.k8s.io", version: "v1", resource: "storageclasses", on: ofTarget},
	{group: "karpenter.sh", version: "v1", resource: "nodeclaims", on: ofTarget},
	{group: "serving.kserve.io", version: "v1beta1", resource: "inferenceservices", on: ofTarget},
	{group: "serving.kserve.io", version: "v1alpha1", resource: "llminferenceservices", on: ofTarget},
	{group: "serving.kserve.io", version: "v1alpha1", resource: "llminferenceserviceconfigs", on: ofTarget},
	{group: "gateway.networking.k8s.io", version: "v1", resource: "gateways", on: ofTarget},
	{group: "cert-manager.io", version: "v1", resource: "certificates", on: ofTarget},
	{group: "cert-manager.io", version: "v1", resource: "clusterissuers", on: ofTarget},
	{group: "acme.cert-manager.io", version: "v1", resource: "challenges", on: ofTarget},
	{group: "admissionregistration.k8s.io", version: "v1", resource: "mutatingwebhookconfigurations", on: ofTarget},
	{group: "admissionregistration.k8s.io", version: "v1", resource: "validatingwebhookconfigurations", on: ofTarget},
	{group: "discovery.k8s.io", version: "v1", resource: "endpointslices", on: ofTarget},
	{group: "rbac.authorization.k8s.io", version: "v1", resource: "clusterrolebindings", on: ofTarget},
}

// definitions are the kinds' definitions, read by name, so that a kind without an object is served on the snapshot too.
var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
