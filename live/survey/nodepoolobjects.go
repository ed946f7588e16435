package survey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// fluxFinalizer is helm-controller's.
const fluxFinalizer = "finalizers.fluxcd.io"

// instanceTypeKey is the key of a requirement that names instance types.
const instanceTypeKey = "node.kubernetes.io/instance-type"

// poolReleaseFacts are what a pool's release says of itself.
func poolReleaseFacts(cluster clustermanager.Cluster, object *unstructured.Unstructured) clustermanager.PoolReleaseFacts {
	pool, err := poolOf(cluster, object)
	facts := clustermanager.PoolReleaseFacts{
		PoolRelease: pool, Namespace: object.GetNamespace(),
		Created: object.GetCreationTimestamp().UTC(), DeletedAt: deletedAt(object), Conditions: conditionsOf(object),
		Prewarm:       isTrueAt(object.Object, "spec", "values", "pool", "prewarm", "enabled"),
		ReleaseUptake: uptakeOf(object),
	}
	if err != nil {
		facts.Fault = err.Error()
	}
	return facts
}

// uptakeOf is how far helm-controller has come with a release; it says -1 before its first look.
func uptakeOf(release *unstructured.Unstructured) clustermanager.ReleaseUptake {
	return clustermanager.ReleaseUptake{
		Finalized:  slices.Contains(release.GetFinalizers(), fluxFinalizer),
		Generation: release.GetGeneration(), ObservedGeneration: max(0, numberAt(release.Object, "status", "observedGeneration")),
	}
}

// machinePoolFacts are what a MachinePool says of itself.
func machinePoolFacts(object *unstructured.Unstructured) clustermanager.MachinePoolFacts {
	return clustermanager.MachinePoolFacts{
		Version:  textAt(object.Object, "spec", "template", "spec", "version"),
		Replicas: int(numberAt(object.Object, "spec", "replicas")), ReadyReplicas: int(numberAt(object.Object, "status", "readyReplicas")),
		Created: object.GetCreationTimestamp().UTC(), DeletedAt: deletedAt(object), Conditions: conditionsOf(object),
		InfrastructureReady: isTrueAt(object.Object, "status", "infrastructureReady"),
	}
}

// readMachines reads the infrastructure object that the pool's MachinePool names.
func (r *Reader) readMachines(ctx context.Context, pool *listedPool) {
	if pool.machinePool == nil {
		pool.facts.Machines = clustermanager.Read(clustermanager.MachineFacts{}, errNoMachinePool)
		return
	}
	pool.facts.Machines = clustermanager.Read(r.machines(ctx, pool.machinePool))
}

func (r *Reader) machines(ctx context.Context, machinePool *unstructured.Unstructured) (clustermanager.MachineFacts, error) {
	reference := mapAt(machinePool.Object, "spec", "template", "spec", "infrastructureRef")
	of := nounOf(clustermanager.ObjectReference{APIVersion: textAt(reference, "apiVersion"), Kind: textAt(reference, "kind")})
	name, namespace := textAt(reference, "name"), textAt(reference, "namespace")
	if of.resource.Version == "" || of.kind == "" || name == "" {
		return clustermanager.MachineFacts{}, fmt.Errorf("%s: reading spec.template.spec.infrastructureRef: it names no object", clustermanager.ReferenceTo(machinePool))
	}
	if namespace == "" {
		namespace = machinePool.GetNamespace()
	}
	object, err := r.get(ctx, of, namespace, name)
	if err != nil {
		return clustermanager.MachineFacts{}, err
	}
	found := clustermanager.MachineFacts{InstanceTypes: []string{}, ProviderIDs: []string{}}
	if instanceType := textAt(object.Object, "spec", "awsLaunchTemplate", "instanceType"); instanceType != "" {
		found.InstanceTypes = append(found.InstanceTypes, instanceType)
	} else {
		required, err := requiredInstanceTypes(object.Object["spec"])
		if err != nil {
			return clustermanager.MachineFacts{}, fmt.Errorf("%s: reading its instance types: %w", clustermanager.ReferenceTo(object), err)
		}
		found.InstanceTypes = append(found.InstanceTypes, required...)
	}
	ids := textsAt(object.Object, "spec", "providerIDList")
	if len(ids) == 0 {
		ids = textsAt(object.Object, "status", "providerIDList")
	}
	found.ProviderIDs = append(found.ProviderIDs, ids...)
	slices.Sort(found.ProviderIDs)
	slices.Sort(found.InstanceTypes)
	found.InstanceTypes = slices.Compact(found.InstanceTypes)
	return found, nil
}

// requirement is what of a requirement is read.
var requirement = shape{text: {"key", "values *"}}

// requiredInstanceTypes are the values of every requirement on the instance type, however deep it stands.
func requiredInstanceTypes(value any) ([]string, error) {
	var below []any
	switch value := value.(type) {
	case map[string]any:
		fault := requirement.faultOf(value)
		switch {
		case value["operator"] != nil && fault != "":
			return nil, errors.New("of a requirement, " + fault)
		case value["key"] == instanceTypeKey:
			return textsAt(value, "values"), nil
		}
		below = slices.Collect(maps.Values(value))
	case []any:
		below = value
	}
	var found []string
	for _, value := range below {
		types, err := requiredInstanceTypes(value)
		if err != nil {
			return nil, err
		}
		found = append(found, types...)
	}
	return found, nil
}

// conditionsOf are the conditions of an object's status, in their order.
func conditionsOf(object *unstructured.Unstructured) []clustermanager.Condition {
	var found []clustermanager.Condition
	for _, condition := range mapsAt(object.Object, "status", "conditions") {
		found = append(found, clustermanager.Condition{
			Type: textAt(condition, "type"), Status: textAt(condition, "status"), Reason: textAt(condition, "reason"),
			Message: textAt(condition, "message"), Since: momentAt(condition, "lastTransitionTime"),
		})
	}
	return found
}

// deletedAt is the deletionTimestamp; nil: the object is not being deleted.
func deletedAt(object *unstructured.Unstructured) *time.Time {
	deleted := object.GetDeletionTimestamp()
	if deleted == nil {
		return nil
	}
	return new(deleted.UTC())
}

// momentAt returns the time at a path of an object; nil when there is none.
func momentAt(object map[string]any, path ...string) *time.Time {
	parsed, err := time.Parse(time.RFC3339Nano, textAt(object, path...))
	if err != nil {
		return nil
	}
	return new(parsed.UTC())
}

// numberAt returns the whole number at a path of an object; 0 when there is none.
func numberAt(object map[string]any, path ...string) int64 {
	value, _, _ := unstructured.NestedInt64(object, path...)
	return value
}

// textsAt returns the strings of the list at a path of an object.
func textsAt(object map[string]any, path ...string) []string {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	elements, _ := value.([]any)
	var found []string
	for _, element := range elements {
		if text, is := element.(string); is {
			found = append(found, text)
		}
	}
	return found
}
