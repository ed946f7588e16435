package survey

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// status reads one cluster. Nothing waits for the detection: what is answered only where serving is present is read at
// the same time, since each round trip that follows another is what a reader of a fleet waits for. Infrastructure
// returns once the infrastructure objects of all clusters were listed.
func (r *Reader) status(ctx context.Context, cluster clustermanager.Cluster, infrastructure func()) clustermanager.ClusterStatus {
	made := clustermanager.ClusterStatus{Cluster: cluster}
	var operator operatorFacts
	var serving servingFacts
	var operands clustermanager.Reading[[]clustermanager.Operand]
	var presets list
	var gateway clustermanager.Reading[*clustermanager.ModelsGateway]
	var claims clustermanager.Reading[[]clustermanager.CacheClaim]
	var backend clustermanager.BackendState
	together(
		func() { operator = r.operatorFacts(ctx, cluster) },
		func() { serving = r.servingFacts(ctx, cluster) },
		func() { operands = r.operands(ctx, cluster) },
		func() { presets = r.onTarget(ctx, cluster, configMapNoun, selectPresets) },
		func() { gateway = clustermanager.Read(r.readModelsGateway(ctx, cluster)) },
		func() { claims = clustermanager.Read(r.cacheClaims(ctx, cluster)) },
		func() {
			backend = clustermanager.BackendStateOf(clustermanager.Read(r.backends(ctx, cluster)), cluster, r.options.Settings)
		},
		func() { made.PoolReleases = clustermanager.Read(r.poolStates(ctx, cluster)) },
		func() { infrastructure(); made.Network = clustermanager.Read(r.network(ctx, cluster)) },
		func() { made.CommitTarget = clustermanager.Read(r.commitTarget(ctx, cluster)) },
		func() { made.Admins = clustermanager.Read(r.admins(ctx, cluster)) },
	)
	made.GPUOperator, made.OperatorReadiness = operator.component(), operator.readiness()
	made.OperatorReadiness.Operands = operands
	made.Serving, made.ServingReadiness = serving.component(), serving.readiness()
	made.ServingReadiness.Backend = backend
	made.ServingReadiness.Presets = known(presets, func(objects []unstructured.Unstructured) *int { return new(len(objects)) })
	made.ServingReadiness.ModelsGateway = gateway
	made.ServingReadiness.CacheClaims = known(claims, func(claims []clustermanager.CacheClaim) []clustermanager.CacheClaim {
		return mountedClaims(claims, serving.cache())
	})
	if made.Serving.Status != clustermanager.ComponentPresent {
		made.ServingReadiness.Configs, made.ServingReadiness.Presets = clustermanager.Known[*int](nil), clustermanager.Known[*int](nil)
		made.ServingReadiness.ModelsGateway = clustermanager.Known[*clustermanager.ModelsGateway](nil)
		made.ServingReadiness.Webhook = clustermanager.Known[*clustermanager.Webhook](nil)
	}
	return made
}

// selectPresets chooses the ConfigMaps that publish serving presets.
const selectPresets = labelPreset + "=" + isTrueLabel

// readModelsGateway is the Gateway for the models host of the cluster's slice; nil: there is none.
func (r *Reader) readModelsGateway(ctx context.Context, cluster clustermanager.Cluster) (*clustermanager.ModelsGateway, error) {
	var gateways list
	var slice servingFacts
	together(
		func() { gateways = r.modelsGateways(ctx, cluster) },
		func() {
			slice = servingFacts{cluster: cluster, slice: clustermanager.Read(r.sliceRelease(ctx, cluster))}
		},
	)
	domain, err := slice.domain()
	if err := cmp.Or(gateways.Err(), slice.slice.Err(), err); err != nil {
		return nil, err
	}
	return r.modelsGateway(ctx, cluster, gateways.Or(nil), domain), nil
}

// poolStates are the states of the cluster's pool releases.
func (r *Reader) poolStates(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.PoolReleaseState, error) {
	releases, err := r.list(ctx, helmReleaseNoun, cluster.Namespace, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{
		clustermanager.LabelChart: clustermanager.ChartGPUNodePool, clustermanager.LabelCluster: cluster.Name,
	}).String()})
	if err != nil {
		return nil, err
	}
	states := []clustermanager.PoolReleaseState{}
	for _, release := range sortedByName(releases) {
		states = append(states, clustermanager.PoolReleaseState{
			Name: release.GetName(), Namespace: release.GetNamespace(), Ready: conditionOf(&release, conditionReady).truth(),
			ChartVersion: cmp.Or(textAt(release.Object, "status", "lastAttemptedRevision"), textAt(release.Object, "spec", "chart", "spec", "version")),
			Deleting:     deleting(&release),
		})
	}
	return states, nil
}

// commitTarget is where in git the cluster stands; nil: no Kustomization owns it. A write asks for more than this tells.
func (r *Reader) commitTarget(ctx context.Context, cluster clustermanager.Cluster) (*clustermanager.CommitTarget, error) {
	labelled, err := r.labelled(ctx, cluster)
	if err != nil {
		return nil, err
	}
	owner := kustomizationOf(labelled)
	if owner.Name == "" || owner.Namespace == "" {
		return nil, nil
	}
	object, err := r.onTheWay(ctx, kustomizationNoun, owner.Namespace, owner.Name)
	if err != nil {
		return nil, err
	}
	target, err := readKustomization(object)
	if err != nil {
		return nil, err
	}
	source, err := r.source(ctx, object)
	if err != nil {
		return nil, err
	}
	repository, err := r.repositoryOf(source)
	if err != nil {
		return nil, err
	}
	return &clustermanager.CommitTarget{
		Repository: repository.Owner + "/" + repository.Name, Branch: repository.Branch,
		Path: cmp.Or(target.Path, "."), Kustomization: owner.String(), Prune: new(target.Prune),
	}, nil
}

// admins are whom the values bind that create_cluster composed; nil: the cluster has none of them.
func (r *Reader) admins(ctx context.Context, cluster clustermanager.Cluster) (*clustermanager.Admins, error) {
	object, err := r.composedValues(ctx, cluster)
	if err != nil || object == nil {
		return nil, err
	}
	return adminsIn(object)
}

// adminsIn are whom the values of a cluster's ConfigMap bind as cluster-admin.
func adminsIn(object *unstructured.Unstructured) (*clustermanager.Admins, error) {
	values, err := layer{key: clustermanager.ValuesKey}.valuesIn(object)
	if err != nil {
		return nil, err
	}
	if fault := boundValues.faultOf(values); fault != "" {
		return nil, fmt.Errorf("%s: reading values: %s", clustermanager.ReferenceTo(object), fault)
	}
	bindings, _, _ := unstructured.NestedFieldNoCopy(values, "global", "apps", "rbacBootstrap", "values", "bindings")
	return new(clustermanager.AdminsOf(bindings)), nil
}

// boundValues are the values that tell whom a cluster binds.
var boundValues = shape{text: {
	"global apps rbacBootstrap values bindings * role",
	"global apps rbacBootstrap values bindings * users *", "global apps rbacBootstrap values bindings * groups *",
}}

// composedValues is the ConfigMap of the cluster's values, where it is this product's; nil: there is none.
func (r *Reader) composedValues(ctx context.Context, cluster clustermanager.Cluster) (*unstructured.Unstructured, error) {
	name := clustermanager.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + "-values"}
	all, err := r.ownedConfigMaps(ctx)
	if err == nil {
		return all[name], nil
	}
	if !apierrors.IsForbidden(err) {
		return nil, err
	}
	object, err := r.get(ctx, configMapNoun, name.Namespace, name.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !owned(object):
		return nil, nil
	}
	return object, nil
}

// ownedConfigMaps are the ConfigMaps of this product over all namespaces.
func (r *Reader) ownedConfigMaps(ctx context.Context) (map[clustermanager.NamespacedName]*unstructured.Unstructured, error) {
	return once(r, "owned ConfigMaps", func() (map[clustermanager.NamespacedName]*unstructured.Unstructured, error) {
		objects, err := r.list(ctx, configMapNoun, "", metav1.ListOptions{
			LabelSelector: labels.SelectorFromSet(labels.Set{clustermanager.LabelManagedBy: clustermanager.ManagedBy}).String(),
		})
		found := map[clustermanager.NamespacedName]*unstructured.Unstructured{}
		for index := range objects {
			found[nameOf(&objects[index])] = &objects[index]
		}
		return found, err
	})
}
