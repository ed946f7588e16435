package script

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"
)

// Stage is how far Karpenter is with a NodeClaim that is deleted.
type Stage int

// The stages, in their order.
const (
	Draining Stage = iota
	Drained
	InstanceTerminating
	Gone
)

const (
	terminationFinalizer = "karpenter.sh/termination"
	poolOfClaim          = "karpenter.sh/nodepool"
)

var (
	nodeClaims = resource("karpenter.sh", "v1", "nodeclaims")
	pods       = resource("", "v1", "pods")
)

// Refusal is why a NodeClaim does not launch.
type Refusal struct {
	// Reason is InsufficientCapacityError or NodeClassNotReady.
	Reason, Message string
	// Forgotten deletes the NodeClaim, as Karpenter does after a lack of capacity; the Event stays.
	Forgotten bool
}

// Karpenter plays Karpenter: a NodeClaim that Claim makes launches, which makes its Node, or is refused; one that is
// deleted is drained and terminated.
type Karpenter struct {
	*player
	refusals map[string]Refusal
	limit    Stage
}

// NewKarpenter starts a Karpenter that launches everything, and ends at once what is deleted.
func NewKarpenter(t testing.TB, config *rest.Config) *Karpenter {
	t.Helper()
	karpenter := &Karpenter{newPlayer(t, config), map[string]Refusal{}, Gone}
	karpenter.watch(nodeClaims, karpenter.look, nil)
	karpenter.start()
	return karpenter
}

// Refuse makes the NodeClaims of a pool, given by its release, be refused from now on.
func (k *Karpenter) Refuse(release string, refusal Refusal) {
	k.locked(func() { k.refusals[release] = refusal })
}

// Allow makes the NodeClaims of a pool launch again, those too that were refused and are still there.
func (k *Karpenter) Allow(release string) {
	k.locked(func() { delete(k.refusals, release); k.lookAgain() })
}

// HoldAt holds NodeClaims that are deleted at a stage. Gone lets all of them go.
func (k *Karpenter) HoldAt(stage Stage) {
	k.locked(func() { k.limit = stage; k.lookAgain() })
}

func (k *Karpenter) lookAgain() {
	for _, claim := range k.known(nodeClaims) {
		k.check(k.look(claim))
	}
}

// Claim makes a NodeClaim for a pool, as Karpenter does for a Pod that waits, and returns its name, which the Node has too.
func (k *Karpenter) Claim(release, instanceType, zone string) string {
	k.t.Helper()
	name := release + "-" + rand.String(5)
	in := func(key, value string) map[string]any {
		return map[string]any{"key": key, "operator": "In", "values": []any{value}}
	}
	err := k.create(object("karpenter.sh/v1", "NodeClaim", "", name, map[string]any{
		"metadata": map[string]any{
			"labels": map[string]any{poolOfClaim: release, poolLabel: release}, "finalizers": []any{terminationFinalizer},
		},
		"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": release},
			"requirements": []any{
				in("node.kubernetes.io/instance-type", instanceType), in("topology.kubernetes.io/zone", zone),
			},
		},
	}))
	if err != nil {
		k.t.Fatal(err)
	}
	return name
}

func (k *Karpenter) look(claim *unstructured.Unstructured) error {
	refusal, refused := k.refusals[claim.GetLabels()[poolOfClaim]]
	switch {
	case claim.GetDeletionTimestamp() != nil:
		return k.terminate(claim)
	case is(claim, "Ready"):
		return nil
	case refused:
		return k.refuse(claim, refusal)
	}
	return k.launch(claim)
}

func (k *Karpenter) refuse(claim *unstructured.Unstructured, refusal Refusal) error {
	list, changed := conditions(claim, condition{"Launched", "False", refusal.Reason, refusal.Message})
	if !changed {
		return nil
	}
	now := time.Now().UTC().Format(time.RFC3339)
	err := k.create(object("v1", "Event", metav1.NamespaceDefault, claim.GetName()+"."+rand.String(10), map[string]any{
		"type": "Warning", "reason": refusal.Reason, "source": map[string]any{"component": "karpenter"},
		"message":        fmt.Sprintf("NodeClaim %s event: %s", claim.GetName(), refusal.Message),
		"firstTimestamp": now, "lastTimestamp": now, "count": int64(1),
		"involvedObject": map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": claim.GetName(), "uid": string(claim.GetUID()),
		},
	}))
	if err != nil {
		return err
	}
	if refusal.Forgotten {
		return k.remove(claim)
	}
	return k.status(claim, map[string]any{"conditions": list})
}

// launch makes the Node of a NodeClaim, with one GPU.
func (k *Karpenter) launch(claim *unstructured.Unstructured) error {
	release, zone := claim.GetLabels()[poolOfClaim], requirement(claim, "topology.kubernetes.io/zone")
	providerID := fmt.Sprintf("aws:///%s/i-%s", zone, rand.String(17))
	node := object("v1", "Node", "", claim.GetName(), map[string]any{
		"metadata": map[string]any{"labels": map[string]any{
			poolOfClaim: release, poolLabel: release, "nvidia.com/gpu.present": "true", "topology.kubernetes.io/zone": zone,
			"node.kubernetes.io/instance-type": requirement(claim, "node.kubernetes.io/instance-type"),
		}},
		"spec": map[string]any{
			"providerID": providerID,
			"taints":     []any{map[string]any{"key": "nvidia.com/gpu", "effect": "NoSchedule", "value": "true"}},
		},
	})
	if err := k.create(node); err != nil {
		return err
	}
	gpus := map[string]any{"nvidia.com/gpu": "1", "cpu": "4", "memory": "16Gi", "pods": "110"}
	ready, _ := conditions(node, condition{"Ready", "True", "KubeletReady", "kubelet is posting ready status"})
	err := k.status(node, map[string]any{
		"capacity": gpus, "allocatable": gpus, "conditions": ready,
		"nodeInfo": map[string]any{"osImage": "Flatcar Container Linux by Kinvolk 4459.2.1 (Oklo)"},
	})
	if err != nil {
		return err
	}
	list, _ := conditions(claim,
		condition{"Launched", "True", "Launched", ""}, condition{"Registered", "True", "Registered", ""},
		condition{"Initialized", "True", "Initialized", ""}, condition{"Ready", "True", "Ready", ""})
	return k.status(claim, map[string]any{"conditions": list, "nodeName": node.GetName(), "providerID": providerID})
}

func requirement(claim *unstructured.Unstructured, key string) string {
	list, _, _ := unstructured.NestedSlice(claim.Object, "spec", "requirements")
	for _, one := range list {
		fields := one.(map[string]any)
		if values, _, _ := unstructured.NestedStringSlice(fields, "values"); fields["key"] == key && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// terminate goes as far as it may, one stage at an event: writing a stage makes the next event.
func (k *Karpenter) terminate(claim *unstructured.Unstructured) error {
	reached := Draining
	switch {
	case is(claim, "InstanceTerminating"):
		reached = InstanceTerminating
	case is(claim, "Drained"):
		reached = Drained
	}
	next := min(reached+1, k.limit)
	if next > Draining {
		if err := k.evict(claim.GetName()); err != nil {
			return err
		}
	}
	if next == Gone {
		if err := k.remove(object("v1", "Node", "", claim.GetName(), nil)); err != nil {
			return err
		}
		return k.finalizers(claim)
	}
	list, changed := conditions(claim, map[Stage][]condition{
		Draining:            {{"Drained", "Unknown", "Draining", "waiting on pods to be evicted"}},
		Drained:             {{"Drained", "True", "Drained", ""}},
		InstanceTerminating: {{"VolumesDetached", "True", "VolumesDetached", ""}, {"InstanceTerminating", "True", "InstanceTerminating", ""}},
	}[next]...)
	if !changed || next < reached {
		return nil
	}
	return k.status(claim, map[string]any{"conditions": list})
}

// evict deletes the Pods of a Node; no kubelet would confirm their end.
func (k *Karpenter) evict(node string) error {
	found, err := k.client.Resource(pods).List(k.ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return err
	}
	for _, pod := range found.Items {
		if err := k.remove(&pod); err != nil {
			return err
		}
	}
	return nil
}
