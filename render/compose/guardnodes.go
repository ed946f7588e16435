package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// nodeState is a node of a pool, or a NodeClaim without one, and whether it may go.
type nodeState struct {
	// name is the Node's, else the claim's.
	name string
	// claim is the NodeClaim's name; "": none is known.
	claim string
	// busy says what holds the node; "": nothing does.
	busy string
	// idle says that the node holds nothing, since when.
	idle  bool
	since time.Time
}

// nodeOf is the Node that a claim became, by its status's name, else by the instance; nil: there is none.
func nodeOf(claim clustermanager.NodeClaim, nodes []clustermanager.PoolNode) *clustermanager.PoolNode {
	for index := range nodes {
		if claim.NodeName != "" && nodes[index].Name == claim.NodeName {
			return &nodes[index]
		}
	}
	for index := range nodes {
		if claim.ProviderID != "" && nodes[index].ProviderID == claim.ProviderID {
			return &nodes[index]
		}
	}
	return nil
}

// nodeStates are the pool's nodes, sorted by name. A node that is on its way out neither holds anything nor is idle.
func nodeStates(pool clustermanager.NodePoolFacts) []nodeState {
	nodes := pool.Nodes.Or(nil)
	paired := map[string]bool{}
	var states []nodeState
	for _, claim := range pool.Claims.Or(nil) {
		state, node := nodeState{name: cmp.Or(claim.NodeName, claim.Name), claim: claim.Name}, nodeOf(claim, nodes)
		if node != nil {
			state.name, paired[node.Name] = node.Name, true
		}
		switch {
		case claim.DeletedAt != nil:
		case node != nil:
			state.judge(*node)
			state.idle, state.since = state.busy == "", idleSince(claim, *node)
		case pool.Nodes.Err() != nil:
			state.busy = "may hold anything: its Node could not be read: " + pool.Nodes.Reason()
		default:
			state.name, state.busy = claim.Name, "is a NodeClaim still launching"
		}
		states = append(states, state)
	}
	for _, node := range nodes {
		if paired[node.Name] {
			continue
		}
		state := nodeState{name: node.Name}
		state.judge(node)
		if state.busy == "" {
			state.busy = "has no NodeClaim by which it could be removed"
			if err := pool.Claims.Err(); err != nil {
				state.busy = "has a NodeClaim that could not be read: " + err.Error()
			}
		}
		states = append(states, state)
	}
	slices.SortFunc(states, func(a, b nodeState) int { return cmp.Compare(a.name, b.name) })
	return states
}

// judge notes what holds the node.
func (s *nodeState) judge(node clustermanager.PoolNode) {
	if err := node.Pods.Err(); err != nil {
		s.busy = "may hold anything: its pods could not be read: " + err.Error()
		return
	}
	holders := Holders(node)
	if len(holders) > 0 {
		s.busy = "runs " + strings.Join(holders, ", ")
	}
}

// Holders names the pods that are known to hold a node.
func Holders(node clustermanager.PoolNode) []string {
	var holders []string
	for _, pod := range node.Pods.Or(nil) {
		if holder := holderOf(pod, node.Name); holder != "" {
			holders = append(holders, holder)
		}
	}
	return holders
}

// holderOf names a pod that holds its node, with what makes it hold; "": it does not. A pod of another node, one that
// has finished, one of a DaemonSet and one that anything may preempt hold nothing.
func holderOf(pod clustermanager.NodePod, node string) string {
	name := clustermanager.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}.String()
	switch {
	case pod.NodeName != node, pod.Phase == "Succeeded", pod.Phase == "Failed", pod.DaemonSet, pod.Priority < 0:
		return ""
	case pod.GPUs == 1:
		return name + " (1 GPU)"
	case pod.GPUs > 1:
		return fmt.Sprintf("%s (%d GPUs)", name, pod.GPUs)
	case pod.Predictor:
		return name + " (KServe predictor)"
	}
	return ""
}

// idleSince is when the last pod came or went, else when the claim became ready, else when the node was made.
func idleSince(claim clustermanager.NodeClaim, node clustermanager.PoolNode) time.Time {
	if claim.LastPodEvent != nil {
		return *claim.LastPodEvent
	}
	if ready := clustermanager.ConditionOf(claim.Conditions, "Ready"); ready != nil && ready.Since != nil {
		return *ready.Since
	}
	return node.Created
}
