package survey

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Kinds that model serving is read from.
var (
	claimNoun              = noun{"PersistentVolumeClaim", core("persistentvolumeclaims")}
	clusterIssuerNoun      = noun{"ClusterIssuer", schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "clusterissuers"}}
	clusterRoleBindingNoun = noun{"ClusterRoleBinding", schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}}
	daemonSetNoun          = noun{"DaemonSet", apps("daemonsets")}
	definitionNoun         = noun{"CustomResourceDefinition", schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}}
	deploymentNoun         = noun{"Deployment", apps("deployments")}
	inferenceServiceNoun   = noun{"InferenceService", kserve("v1beta1", "inferenceservices")}
	llmServiceNoun         = noun{"LLMInferenceService", kserve("v1alpha1", "llminferenceservices")}
	nodeNoun               = noun{"Node", core("nodes")}
	ociRepositoryNoun      = noun{"OCIRepository", clustermanager.SourceAPI.WithResource("ocirepositories")}
	storageClassNoun       = noun{"StorageClass", schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}}
	volumeNoun             = noun{"PersistentVolume", core("persistentvolumes")}
)

// llmConfigs and llmServices are the resources of KServe whose version is that of their definition.
const (
	llmConfigs  = "llminferenceserviceconfigs"
	llmServices = "llminferenceservices"
	kserveGroup = "serving.kserve.io"
)

// Labels that other products set, or that model-manager reads.
const (
	labelHelmReleaseNamespace = "helm.toolkit.fluxcd.io/namespace"
	labelPreset               = "agent-platform.giantswarm.io/serving-preset"
	labelPrepull              = "agent-platform.giantswarm.io/model-serving-prepull"
	labelControlPlane         = "control-plane"
	llmController             = "llmisvc-controller-manager"
	isTrueLabel               = "true"
)

// Annotations that are read.
const (
	annotationBundleVersion    = "gateway.networking.k8s.io/bundle-version"
	annotationBundleChannel    = "gateway.networking.k8s.io/channel"
	annotationComposedBy       = "cluster-manager.giantswarm.io/gateway-api-composed-by"
	annotationModel            = "model-manager.giantswarm.io/model"
	annotationVolumeType       = "agent-platform.giantswarm.io/volume-type"
	annotationVolumeIOPS       = "agent-platform.giantswarm.io/volume-iops"
	annotationVolumeThroughput = "agent-platform.giantswarm.io/volume-throughput"
)

func core(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

func apps(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}
}

func kserve(version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: kserveGroup, Version: version, Resource: resource}
}

// owned says whether an object carries our mark.
func owned(object *unstructured.Unstructured) bool {
	return object.GetLabels()[clustermanager.LabelManagedBy] == clustermanager.ManagedBy
}

// deleting says whether an object is being deleted.
func deleting(object *unstructured.Unstructured) bool { return object.GetDeletionTimestamp() != nil }

// nameOf is an object's namespace and name.
func nameOf(object *unstructured.Unstructured) clustermanager.NamespacedName {
	return clustermanager.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// renderedBy is the HelmRelease that an object's Flux labels name; none: its name is "".
func renderedBy(labels map[string]string) clustermanager.NamespacedName {
	return clustermanager.NamespacedName{Namespace: labels[labelHelmReleaseNamespace], Name: labels[clustermanager.LabelHelmReleaseName]}
}

// deployedVersion is the chart version that a HelmRelease deployed last; "" before its first install.
func deployedVersion(release *unstructured.Unstructured) string {
	return lastDeployed(release, "chartVersion")
}

// lastDeployed is a field of what a HelmRelease deployed last; "" before its first install.
func lastDeployed(release *unstructured.Unstructured, field string) string {
	history := mapsAt(release.Object, "status", "history")
	if len(history) == 0 {
		return ""
	}
	return textAt(history[0], field)
}
