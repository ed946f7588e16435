package survey

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	awsCluster  = "AWSCluster"
	subnetRole  = "giantswarm.io/role"
	roleOfNodes = "nodes"
)

// controlPlaneVersion is the version that the control plane runs, else the one that it should run.
func (r *Reader) controlPlaneVersion(ctx context.Context, cluster clustermanager.Cluster) (string, error) {
	object, err := r.referenced(ctx, cluster, "controlPlaneRef")
	if err != nil {
		return "", err
	}
	for _, field := range []string{"status", "spec"} {
		if version := textAt(object.Object, field, "version"); version != "" {
			return withoutV(version), nil
		}
	}
	return "", fmt.Errorf("%s: reading its version: it names none", clustermanager.ReferenceTo(object))
}

// network is the region and the zones of the node subnets, which an AWSCluster alone tells.
func (r *Reader) network(ctx context.Context, cluster clustermanager.Cluster) (clustermanager.Network, error) {
	object, err := r.get(ctx, clusterNoun, cluster.Namespace, cluster.Name)
	if err != nil {
		return clustermanager.Network{}, err
	}
	if kind := textAt(object.Object, "spec", "infrastructureRef", "kind"); kind != awsCluster && kind != "" {
		return clustermanager.Network{}, fmt.Errorf("Cluster %s/%s: reading its subnets: its infrastructure is of kind %s, and they are read of kind %s alone",
			cluster.Namespace, cluster.Name, kind, awsCluster)
	}
	infrastructure, err := r.referenced(ctx, cluster, "infrastructureRef")
	if err != nil {
		return clustermanager.Network{}, err
	}
	found := clustermanager.Network{Region: textAt(infrastructure.Object, "spec", "region"), Zones: []string{}}
	for _, subnet := range mapsAt(infrastructure.Object, "spec", "network", "subnets") {
		zone := textAt(subnet, "availabilityZone")
		if zone != "" && textAt(mapAt(subnet, "tags"), subnetRole) == roleOfNodes {
			found.Zones = append(found.Zones, zone)
		}
	}
	slices.Sort(found.Zones)
	found.Zones = slices.Compact(found.Zones)
	return found, nil
}

// referenced reads the object that a field of the Cluster's spec names.
func (r *Reader) referenced(ctx context.Context, cluster clustermanager.Cluster, field string) (*unstructured.Unstructured, error) {
	object, err := r.get(ctx, clusterNoun, cluster.Namespace, cluster.Name)
	if err != nil {
		return nil, err
	}
	reference := mapAt(object.Object, "spec", field)
	of := nounOf(clustermanager.ObjectReference{APIVersion: textAt(reference, "apiVersion"), Kind: textAt(reference, "kind")})
	name := textAt(reference, "name")
	if of.resource.Version == "" || of.kind == "" || name == "" {
		return nil, fmt.Errorf("Cluster %s/%s: reading spec.%s: it names no object", cluster.Namespace, cluster.Name, field)
	}
	in := textAt(reference, "namespace")
	if in == "" {
		in = cluster.Namespace
	}
	return r.get(ctx, of, in, name)
}
