package offline

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// resource is a resource that an API server serves.
type resource struct {
	group, plural, singular, kind, listKind string

	namespaced bool
	// versions are those it is served at, the preferred one first.
	versions []string
	// defined says that a CRD of the snapshot defines it, so that its objects add no version.
	defined bool
}

func (r *resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.group, Resource: r.plural}
}

func (r *resource) addVersion(name string) {
	if slices.Contains(r.versions, name) {
		return
	}
	r.versions = append(r.versions, name)
	slices.SortFunc(r.versions, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
}

// origin says when a kind of the table is served.
type origin int

const (
	// builtIn kinds are every API server's own.
	builtIn origin = iota
	// flux kinds come together: all are served where one of them has an object or a definition.
	flux
	// added kinds are served where the snapshot holds an object or a definition of them.
	added
)

// row is a kind of the table.
type row struct {
	group, version, kind string

	cluster bool
	origin  origin
}

// table holds the kinds that the product reads or writes and those that every API server has. The resource name of
// each is what plural makes of its kind.
var table = []row{
	{"", "v1", "ConfigMap", false, builtIn},
	{"", "v1", "Endpoints", false, builtIn},
	{"", "v1", "Event", false, builtIn},
	{"", "v1", "LimitRange", false, builtIn},
	{"", "v1", "Namespace", true, builtIn},
	{"", "v1", "Node", true, builtIn},
	{"", "v1", "PersistentVolume", true, builtIn},
	{"", "v1", "PersistentVolumeClaim", false, builtIn},
	{"", "v1", "Pod", false, builtIn},
	{"", "v1", "ResourceQuota", false, builtIn},
	{"", "v1", "Secret", false, builtIn},
	{"", "v1", "Service", false, builtIn},
	{"", "v1", "ServiceAccount", false, builtIn},
	{"admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", true, builtIn},
	{"admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", true, builtIn},
	{"apiextensions.k8s.io", "v1", "CustomResourceDefinition", true, builtIn},
	{"apps", "v1", "DaemonSet", false, builtIn},
	{"apps", "v1", "Deployment", false, builtIn},
	{"apps", "v1", "ReplicaSet", false, builtIn},
	{"apps", "v1", "StatefulSet", false, builtIn},
	{"autoscaling", "v2", "HorizontalPodAutoscaler", false, builtIn},
	{"batch", "v1", "CronJob", false, builtIn},
	{"batch", "v1", "Job", false, builtIn},
	{"coordination.k8s.io", "v1", "Lease", false, builtIn},
	{"discovery.k8s.io", "v1", "EndpointSlice", false, builtIn},
	{"networking.k8s.io", "v1", "Ingress", false, builtIn},
	{"networking.k8s.io", "v1", "IngressClass", true, builtIn},
	{"networking.k8s.io", "v1", "NetworkPolicy", false, builtIn},
	{"policy", "v1", "PodDisruptionBudget", false, builtIn},
	{"rbac.authorization.k8s.io", "v1", "ClusterRole", true, builtIn},
	{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", true, builtIn},
	{"rbac.authorization.k8s.io", "v1", "Role", false, builtIn},
	{"rbac.authorization.k8s.io", "v1", "RoleBinding", false, builtIn},
	{"scheduling.k8s.io", "v1", "PriorityClass", true, builtIn},
	{"storage.k8s.io", "v1", "CSIDriver", true, builtIn},
	{"storage.k8s.io", "v1", "CSINode", true, builtIn},
	{"storage.k8s.io", "v1", "StorageClass", true, builtIn},
	{"storage.k8s.io", "v1", "VolumeAttachment", true, builtIn},

	{"helm.toolkit.fluxcd.io", "v2", "HelmRelease", false, flux},
	{"kustomize.toolkit.fluxcd.io", "v1", "Kustomization", false, flux},
	{"source.toolkit.fluxcd.io", "v1", "Bucket", false, flux},
	{"source.toolkit.fluxcd.io", "v1", "GitRepository", false, flux},
	{"source.toolkit.fluxcd.io", "v1", "HelmChart", false, flux},
	{"source.toolkit.fluxcd.io", "v1", "HelmRepository", false, flux},
	{"source.toolkit.fluxcd.io", "v1", "OCIRepository", false, flux},

	{"acme.cert-manager.io", "v1", "Challenge", false, added},
	{"application.giantswarm.io", "v1alpha1", "App", false, added},
	{"cert-manager.io", "v1", "Certificate", false, added},
	{"cert-manager.io", "v1", "ClusterIssuer", true, added},
	{"cert-manager.io", "v1", "Issuer", false, added},
	{"cluster.x-k8s.io", "v1beta1", "Cluster", false, added},
	{"cluster.x-k8s.io", "v1beta1", "MachinePool", false, added},
	{"controlplane.cluster.x-k8s.io", "v1beta1", "KubeadmControlPlane", false, added},
	{"gateway.networking.k8s.io", "v1", "Gateway", false, added},
	{"gateway.networking.k8s.io", "v1", "GatewayClass", true, added},
	{"gateway.networking.k8s.io", "v1", "HTTPRoute", false, added},
	{"infrastructure.cluster.x-k8s.io", "v1beta2", "AWSCluster", false, added},
	{"karpenter.sh", "v1", "NodeClaim", true, added},
	{"karpenter.sh", "v1", "NodePool", true, added},
	{"nvidia.com", "v1", "ClusterPolicy", true, added},
	{"release.giantswarm.io", "v1alpha1", "Release", true, added},
	{"security.giantswarm.io", "v1alpha1", "Organization", true, added},
	{"serving.kserve.io", "v1alpha1", "LLMInferenceService", false, added},
	{"serving.kserve.io", "v1alpha1", "LLMInferenceServiceConfig", false, added},
	{"serving.kserve.io", "v1beta1", "InferenceService", false, added},
}

func (r row) resource() *resource {
	return &resource{
		group: r.group, plural: plural(r.kind), singular: strings.ToLower(r.kind), kind: r.kind, listKind: r.kind + "List",
		namespaced: !r.cluster,
	}
}

// rowOf finds a kind in the table.
func rowOf(kind schema.GroupKind) (row, bool) {
	index := slices.IndexFunc(table, func(r row) bool { return r.group == kind.Group && r.kind == kind.Kind })
	if index < 0 {
		return row{}, false
	}
	return table[index], true
}

// resourceOfObject is the resource of a kind that no CRD defines: the table's, else a guess.
func resourceOfObject(object *unstructured.Unstructured) *resource {
	kind := object.GroupVersionKind().GroupKind()
	if known, is := rowOf(kind); is {
		return known.resource()
	}
	return row{group: kind.Group, kind: kind.Kind, cluster: object.GetNamespace() == ""}.resource()
}

// resourceOfDefinition is the resource that a CRD defines, nil when the CRD serves none.
func resourceOfDefinition(definition *unstructured.Unstructured) *resource {
	at := func(path ...string) string {
		value, _, _ := unstructured.NestedString(definition.Object, append([]string{"spec"}, path...)...)
		return value
	}
	defined := &resource{
		group: at("group"), plural: at("names", "plural"), singular: at("names", "singular"),
		kind: at("names", "kind"), listKind: at("names", "listKind"),
		namespaced: at("scope") != "Cluster", defined: true,
	}
	if defined.singular == "" {
		defined.singular = strings.ToLower(defined.kind)
	}
	if defined.listKind == "" {
		defined.listKind = defined.kind + "List"
	}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, entry := range versions {
		if fields, is := entry.(map[string]any); is && fields["served"] == true {
			name, _ := fields["name"].(string)
			defined.addVersion(name)
		}
	}
	if defined.plural == "" || defined.kind == "" || len(defined.versions) == 0 {
		return nil
	}
	return defined
}

// plural guesses a kind's resource name, by the rules of English that the API's authors keep.
func plural(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case name == "endpoints":
		return name
	case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "x"), strings.HasSuffix(name, "ch"), strings.HasSuffix(name, "sh"):
		return name + "es"
	case strings.HasSuffix(name, "y") && !strings.ContainsAny(name[max(0, len(name)-2):len(name)-1], "aeiou"):
		return name[:len(name)-1] + "ies"
	}
	return name + "s"
}
