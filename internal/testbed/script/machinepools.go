package script

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// machinePools are read in the version that this project reads.
var (
	machinePools    = resource("cluster.x-k8s.io", "v1beta1", "machinepools")
	awsMachinePools = resource("infrastructure.cluster.x-k8s.io", "v1beta2", "awsmachinepools")
)

// MachinePools plays Cluster API's counting: a MachinePool and its AWSMachinePool on the installation list the provider
// ids of the pool's Nodes on the target, which is the cluster's own API server, and their number. The counts follow at
// once; the real ones lag by minutes.
func MachinePools(t testing.TB, installation, target *rest.Config) {
	t.Helper()
	player, watcher := newPlayer(t, installation), newPlayer(t, target)
	count := func(pool *unstructured.Unstructured) error { return player.count(pool, watcher.known(nodes)) }
	recount := func(*unstructured.Unstructured) error {
		player.locked(func() {
			for _, pool := range slices.Concat(player.known(machinePools), player.known(awsMachinePools)) {
				player.check(count(pool))
			}
		})
		return nil
	}
	player.watch(machinePools, count, nil)
	player.watch(awsMachinePools, count, nil)
	watcher.watch(nodes, recount, recount)
	player.start()
	watcher.start()
}

func (p *player) count(pool *unstructured.Unstructured, all []*unstructured.Unstructured) error {
	ids := []string{}
	for _, node := range all {
		if id, _, _ := unstructured.NestedString(node.Object, "spec", "providerID"); node.GetLabels()[poolLabel] == pool.GetName() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	former, _, _ := unstructured.NestedStringSlice(pool.Object, "spec", "providerIDList")
	spec := map[string]any{"providerIDList": ids}
	status := map[string]any{"ready": true, "replicas": len(ids)}
	if pool.GetKind() == "MachinePool" {
		spec["replicas"] = len(ids)
		list, _ := conditions(pool, condition{"Ready", "True", "Ready", "all machines are ready"})
		status = map[string]any{
			"replicas": len(ids), "readyReplicas": len(ids), "availableReplicas": len(ids), "phase": "Running",
			"infrastructureReady": true, "bootstrapReady": true, "conditions": list,
		}
	}
	_, counted, _ := unstructured.NestedFieldNoCopy(pool.Object, "status", "replicas")
	replicas, _, _ := unstructured.NestedInt64(pool.Object, "spec", "replicas")
	if same := pool.GetKind() != "MachinePool" || replicas == int64(len(ids)); same && counted && slices.Equal(former, ids) {
		return nil
	}
	if err := p.patch(pool, map[string]any{"spec": spec}); err != nil {
		return err
	}
	return p.status(pool, status)
}
