package clustermanager

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Labels and annotations that more than one room reads or writes.
const (
	LabelManagedBy    = "app.kubernetes.io/managed-by"
	LabelChart        = "app.kubernetes.io/name"
	LabelCluster      = "giantswarm.io/cluster"
	LabelNodePool     = "giantswarm.io/node-pool"
	LabelOrganization = "giantswarm.io/organization"
	LabelRelease      = "release.giantswarm.io/version"

	// LabelHelmReleaseName names the HelmRelease that rendered an object.
	LabelHelmReleaseName = "helm.toolkit.fluxcd.io/name"

	LabelKustomizationName      = "kustomize.toolkit.fluxcd.io/name"
	LabelKustomizationNamespace = "kustomize.toolkit.fluxcd.io/namespace"

	// AnnotationSubstitute with the value "disabled" keeps Flux's post-build substitution off an object.
	AnnotationSubstitute = "kustomize.toolkit.fluxcd.io/substitute"

	// AnnotationRetired marks a serving namespace whose slice is gone while something is left in it. Its value is
	// <RFC3339>: <reason>.
	AnnotationRetired = "cluster-manager.giantswarm.io/retired"
	// AnnotationGatewayAPIComposedBy on the Gateway CRD names the slice that brought the Gateway API:
	// <namespace>/<release>.
	AnnotationGatewayAPIComposedBy = "cluster-manager.giantswarm.io/gateway-api-composed-by"
	// AnnotationRequestedAt asks Flux to reconcile an object now. Its value is a time, RFC3339 with nanoseconds.
	AnnotationRequestedAt = "reconcile.fluxcd.io/requestedAt"

	// LabelHelmReleaseNamespace is the namespace of the HelmRelease that LabelHelmReleaseName names.
	LabelHelmReleaseNamespace = "helm.toolkit.fluxcd.io/namespace"

	// ManagedBy is the value of LabelManagedBy on everything that this product composes, and its field manager.
	ManagedBy = "cluster-manager"
)

// NamespacedName names an object of a kind that the context tells.
type NamespacedName struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is namespace/name, or the name alone.
func (n NamespacedName) String() string {
	if n.Namespace == "" {
		return n.Name
	}
	return n.Namespace + "/" + n.Name
}

// ObjectReference names one Kubernetes object.
type ObjectReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// ReferenceTo returns the reference to an object.
func ReferenceTo(object *unstructured.Unstructured) ObjectReference {
	return ObjectReference{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(),
		Namespace: object.GetNamespace(), Name: object.GetName(),
	}
}

// String is Kind namespace/name, as errors name an object.
func (r ObjectReference) String() string {
	return r.Kind + " " + NamespacedName{r.Namespace, r.Name}.String()
}

// Group is the API group, "" for the core group.
func (r ObjectReference) Group() string {
	group, err := schema.ParseGroupVersion(r.APIVersion)
	if err != nil {
		return ""
	}
	return group.Group
}

// Identity is the reference without the version: two versions of one object are the same object, to the API server and
// to Flux's inventory.
func (r ObjectReference) Identity() ObjectReference {
	r.APIVersion = r.Group()
	return r
}

// InventoryID is the object's id in a Kustomization's status.inventory: <namespace>_<name>_<group>_<kind>.
func (r ObjectReference) InventoryID() string {
	return strings.Join([]string{r.Namespace, r.Name, r.Group(), r.Kind}, "_")
}
