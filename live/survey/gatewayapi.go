package survey

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// gatewayDefinition is the definition that stands for the Gateway API.
const gatewayDefinition = "gateways.gateway.networking.k8s.io"

// gatewayAPI is what the cluster's definition of a Gateway says of the Gateway API.
func (r *Reader) gatewayAPI(ctx context.Context, cluster clustermanager.Cluster) (clustermanager.GatewayAPI, error) {
	target, err := r.target(ctx, cluster)
	if err != nil {
		return clustermanager.GatewayAPI{}, err
	}
	definition, err := target.getMetadata(ctx, definitionNoun, "", gatewayDefinition)
	if apierrors.IsNotFound(err) {
		return clustermanager.GatewayAPI{}, nil
	}
	if err != nil {
		return clustermanager.GatewayAPI{}, err
	}
	annotations := definition.GetAnnotations()
	return clustermanager.GatewayAPI{
		Installed: true, Version: annotations[annotationBundleVersion], Channel: annotations[annotationBundleChannel],
		ComposedBy: annotations[annotationComposedBy],
	}, nil
}

// servingNamespace is the namespace that models are served in; nil: the cluster has none.
func (r *Reader) servingNamespace(ctx context.Context, cluster clustermanager.Cluster) (*clustermanager.ServingNamespace, error) {
	target, err := r.target(ctx, cluster)
	if err != nil {
		return nil, err
	}
	namespace, err := target.getMetadata(ctx, namespaceNoun, "", r.options.Settings.ServingNamespace)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &clustermanager.ServingNamespace{
		Name: namespace.GetName(), Deleting: namespace.GetDeletionTimestamp() != nil,
		Retired: namespace.GetAnnotations()[clustermanager.AnnotationRetired], RenderedBy: renderedBy(namespace.GetLabels()),
	}, nil
}
