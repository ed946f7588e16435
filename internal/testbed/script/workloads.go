package script

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// Workloads plays what makes Deployments and DaemonSets ready: all replicas of a Deployment are, and a DaemonSet's Pods on
// every Node that its node selector allows. There are no Pods.
func Workloads(t testing.TB, config *rest.Config) {
	t.Helper()
	player := newPlayer(t, config)
	daemonSet := func(set *unstructured.Unstructured) error { return player.readyDaemonSet(set) }
	recount := func(*unstructured.Unstructured) error {
		for _, set := range player.known(daemonSets) {
			if err := daemonSet(set); err != nil {
				return err
			}
		}
		return nil
	}
	player.watch(deployments, player.readyDeployment, nil)
	player.watch(daemonSets, daemonSet, nil)
	player.watch(nodes, recount, recount)
	player.start()
}

func (p *player) readyDeployment(deployment *unstructured.Unstructured) error {
	replicas, found, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	if !found {
		replicas = 1
	}
	observed, _, _ := unstructured.NestedInt64(deployment.Object, "status", "observedGeneration")
	list, changed := conditions(deployment,
		condition{"Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."},
		condition{"Progressing", "True", "NewReplicaSetAvailable", "ReplicaSet has successfully progressed."})
	if !changed && observed == deployment.GetGeneration() {
		return nil
	}
	return p.status(deployment, map[string]any{
		"observedGeneration": deployment.GetGeneration(), "conditions": list,
		"replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
	})
}

func (p *player) readyDaemonSet(set *unstructured.Unstructured) error {
	selector, _, _ := unstructured.NestedStringMap(set.Object, "spec", "template", "spec", "nodeSelector")
	count := int64(0)
	for _, node := range p.known(nodes) {
		if labels.SelectorFromSet(selector).Matches(labels.Set(node.GetLabels())) {
			count++
		}
	}
	observed, _, _ := unstructured.NestedInt64(set.Object, "status", "observedGeneration")
	ready, _, _ := unstructured.NestedInt64(set.Object, "status", "numberReady")
	if observed == set.GetGeneration() && ready == count {
		return nil
	}
	return p.status(set, map[string]any{
		"observedGeneration": set.GetGeneration(), "numberMisscheduled": 0,
		"desiredNumberScheduled": count, "currentNumberScheduled": count, "updatedNumberScheduled": count,
		"numberReady": count, "numberAvailable": count,
	})
}
