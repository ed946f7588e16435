package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// claimCounts are a pool's NodeClaims by what becomes of them. One that Karpenter could not launch is none of them.
type claimCounts struct {
	launching, ready, terminating []clustermanager.NodeClaim
	// bare are the ready Nodes that no claim stands behind, unready the Nodes that are not.
	bare, unready []clustermanager.PoolNode
	// moved is the latest creation, deletion or readiness of a claim.
	moved *time.Time
}

func countClaims(pool clustermanager.NodePoolFacts, failures []clustermanager.LaunchFailure) claimCounts {
	var counts claimCounts
	nodes := pool.Nodes.Or(nil)
	paired := map[string]bool{}
	for _, claim := range pool.Claims.Or(nil) {
		if node := nodeOf(claim, nodes); node != nil {
			paired[node.Name] = true
		}
		ready := clustermanager.ConditionOf(claim.Conditions, "Ready")
		switch {
		case claim.Refusal() != nil, slices.ContainsFunc(failures, func(failure clustermanager.LaunchFailure) bool { return failure.Claim == claim.Name }):
			continue
		case claim.DeletedAt != nil:
			counts.terminating = append(counts.terminating, claim)
		case ready != nil && ready.Status == "True":
			counts.ready = append(counts.ready, claim)
		default:
			counts.launching = append(counts.launching, claim)
		}
		counts.move(&claim.Created)
		counts.move(claim.DeletedAt)
		if ready != nil && ready.Status == "True" {
			counts.move(ready.Since)
		}
	}
	for _, node := range nodes {
		switch {
		case !node.Ready:
			counts.unready = append(counts.unready, node)
		case !paired[node.Name]:
			counts.bare = append(counts.bare, node)
		}
	}
	return counts
}

func (c *claimCounts) move(moment *time.Time) {
	if moment != nil && (c.moved == nil || moment.After(*c.moved)) {
		c.moved = new(*moment)
	}
}

func (c claimCounts) String() string {
	return fmt.Sprintf("%d NodeClaim(s) launching, %d ready, %d terminating", len(c.launching), len(c.ready), len(c.terminating))
}

// readyNames are the nodes that are ready, and readyIDs the ids of their instances, both sorted.
func (c claimCounts) readyNames() []string {
	var names []string
	for _, claim := range c.ready {
		names = append(names, cmp.Or(claim.NodeName, claim.Name))
	}
	for _, node := range c.bare {
		names = append(names, node.Name)
	}
	slices.Sort(names)
	return names
}

func (c claimCounts) readyIDs() []string {
	var ids []string
	for _, claim := range c.ready {
		ids = append(ids, claim.ProviderID)
	}
	for _, node := range c.bare {
		ids = append(ids, node.ProviderID)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	slices.Sort(ids)
	return ids
}

// nodesRow is a row of the nodes step: the first one that fits tells it.
type nodesRow struct {
	fits func(*lifecycle, clustermanager.LifecycleStep) bool
	tell func(*lifecycle) clustermanager.LifecycleStep
}

// nodesRows get the MachinePool's step beside the pool. The last ones read the MachinePool's own counts; they serve a
// cluster that cannot be read, and pools that something else than Karpenter scales.
var nodesRows = []nodesRow{
	{func(l *lifecycle, _ clustermanager.LifecycleStep) bool { return len(l.failures) > 0 }, (*lifecycle).launchesFail},
	{func(l *lifecycle, _ clustermanager.LifecycleStep) bool {
		return len(l.counts.launching)+len(l.counts.terminating) > 0
	}, (*lifecycle).claimsMove},
	{func(l *lifecycle, _ clustermanager.LifecycleStep) bool {
		return l.leaving() && len(l.counts.readyNames()) > 0
	}, (*lifecycle).nodesLeave},
	{func(l *lifecycle, _ clustermanager.LifecycleStep) bool {
		return l.leaving() && len(l.counts.unready) > 0
	}, (*lifecycle).unreadyLeave},
	{func(l *lifecycle, _ clustermanager.LifecycleStep) bool { return l.leaving() && !l.knownNodes() }, (*lifecycle).leftUnknown},
	{func(l *lifecycle, _ clustermanager.LifecycleStep) bool { return l.leaving() && l.replicas() > 0 }, (*lifecycle).listLags},
	{func(l *lifecycle, _ clustermanager.LifecycleStep) bool { return l.leaving() }, (*lifecycle).nodesGone},
	{func(l *lifecycle, _ clustermanager.LifecycleStep) bool {
		return l.release != nil && l.knownEmpty() && l.replicas() > 0
	}, (*lifecycle).listLags},
	{func(l *lifecycle, _ clustermanager.LifecycleStep) bool {
		return len(l.pool.Claims.Or(nil)) > 0 || l.release != nil && len(l.pool.Nodes.Or(nil)) > 0
	}, (*lifecycle).nodesReady},
	{func(l *lifecycle, _ clustermanager.LifecycleStep) bool {
		return l.machinePool != nil && l.machinePool.Replicas != l.machinePool.ReadyReplicas
	}, (*lifecycle).replicasMove},
	{func(_ *lifecycle, machinePool clustermanager.LifecycleStep) bool {
		return machinePool.State != clustermanager.StepDone
	}, (*lifecycle).nodesWait},
	{func(l *lifecycle, _ clustermanager.LifecycleStep) bool {
		return l.machinePool.Replicas == 0 && l.release != nil && !l.pool.Readable()
	}, (*lifecycle).zeroUnknown},
	{func(l *lifecycle, _ clustermanager.LifecycleStep) bool { return l.machinePool.Replicas == 0 }, (*lifecycle).scaledToZero},
	{func(*lifecycle, clustermanager.LifecycleStep) bool { return true }, (*lifecycle).replicasReady},
}

// nodesStep tells of the pool's nodes. Without a MachinePool there is nothing to tell yet, unless the pool is going.
func (l *lifecycle) nodesStep(machinePool clustermanager.LifecycleStep) clustermanager.LifecycleStep {
	if machinePool.State == "" && !l.pool.Readable() {
		return clustermanager.LifecycleStep{Name: clustermanager.StepNodes, Message: machinePool.Message + "; " + l.unread()}
	}
	if l.machinePool == nil && l.pool.MachinePool.Err() == nil {
		return clustermanager.LifecycleStep{Name: clustermanager.StepNodes, State: clustermanager.StepPending}
	}
	for _, row := range nodesRows {
		if !row.fits(l, machinePool) {
			continue
		}
		step := row.tell(l)
		step.Name = clustermanager.StepNodes
		if unread := l.unread(); unread != "" && step.State != clustermanager.StepPending {
			step.Message += "; " + unread
		}
		return step
	}
	return clustermanager.LifecycleStep{Name: clustermanager.StepNodes}
}

// leaving says that the pool is being removed and its cluster can be read.
func (l *lifecycle) leaving() bool { return l.departure.removing && l.pool.Readable() }

// knownEmpty says that the cluster has neither NodeClaim nor Node of the pool.
func (l *lifecycle) knownEmpty() bool {
	claims, claimsKnown := l.pool.Claims.Get()
	nodes, nodesKnown := l.pool.Nodes.Get()
	return claimsKnown && nodesKnown && len(claims)+len(nodes) == 0
}

func (l *lifecycle) replicas() int {
	if l.machinePool == nil {
		return 0
	}
	return l.machinePool.Replicas
}

// unread says which of the two lists of the cluster could not be read, "" when both were.
func (l *lifecycle) unread() string {
	claims, nodes := l.pool.Claims.Reason(), l.pool.Nodes.Reason()
	switch {
	case claims == "" && nodes == "":
		return ""
	case claims == nodes:
		return "the cluster's nodes could not be read: " + claims
	case claims == "":
		return "the pool's Nodes could not be read: " + nodes
	case nodes == "":
		return "the pool's NodeClaims could not be read: " + claims
	}
	return "the pool's NodeClaims and Nodes could not be read: " + claims + "; " + nodes
}

func (l *lifecycle) claimsMove() clustermanager.LifecycleStep {
	message := l.counts.String()
	var terminating []string
	for _, claim := range l.counts.terminating {
		terminating = append(terminating, fmt.Sprintf("%s terminating since %s (%s)", l.nameOf(claim), stamp(*claim.DeletedAt), terminationStage(claim)))
	}
	if len(terminating) > 0 {
		message += " — " + strings.Join(terminating, "; ")
	}
	return clustermanager.LifecycleStep{State: clustermanager.StepInProgress, Since: l.counts.moved, Message: message}
}

// nameOf is the name of the claim's Node, else the claim's own.
func (l *lifecycle) nameOf(claim clustermanager.NodeClaim) string {
	if node := nodeOf(claim, l.pool.Nodes.Or(nil)); node != nil {
		return node.Name
	}
	return cmp.Or(claim.NodeName, claim.Name)
}

// terminationStage says how far a claim's end is, from the conditions that Karpenter sets on the way.
func terminationStage(claim clustermanager.NodeClaim) string {
	terminating := clustermanager.ConditionOf(claim.Conditions, "InstanceTerminating")
	drained := clustermanager.ConditionOf(claim.Conditions, "Drained")
	switch {
	case terminating != nil && terminating.Status == "True":
		return "its instance shuts down" + since(terminating.Since) + " and is no longer billed; the NodeClaim follows in about five minutes"
	case drained != nil && drained.Status == "True":
		return "drained" + since(drained.Since) + ", its volumes detach"
	case drained != nil && drained.Message != "":
		return "draining: " + clustermanager.OneLine(drained.Message, 0)
	case drained != nil:
		return "draining"
	}
	return "Karpenter drains the node and terminates its instance; the NodeClaim goes once the instance is terminated, minutes later"
}

func since(moment *time.Time) string {
	if moment == nil {
		return ""
	}
	return " since " + stamp(*moment)
}

func (l *lifecycle) nodesLeave() clustermanager.LifecycleStep {
	names := l.counts.readyNames()
	return clustermanager.LifecycleStep{State: clustermanager.StepInProgress, Message: fmt.Sprintf(
		"%d node(s) still ready (%s): they go with the release", len(names), strings.Join(names, ", "))}
}

// unreadyLeave tells of Nodes that stand without being ready.
func (l *lifecycle) unreadyLeave() clustermanager.LifecycleStep {
	var names []string
	for _, node := range l.counts.unready {
		names = append(names, node.Name)
	}
	return clustermanager.LifecycleStep{State: clustermanager.StepInProgress, Message: fmt.Sprintf(
		"%d node(s) still there, not ready (%s): they go with the release", len(names), strings.Join(names, ", "))}
}

// leftUnknown has no state: a list that could not be read may hold what is left.
func (l *lifecycle) leftUnknown() clustermanager.LifecycleStep {
	return clustermanager.LifecycleStep{Message: "whether nodes are left is not known"}
}

func (l *lifecycle) nodesGone() clustermanager.LifecycleStep {
	return clustermanager.LifecycleStep{State: clustermanager.StepDone, Message: "0 nodes on the cluster"}
}

func (l *lifecycle) listLags() clustermanager.LifecycleStep {
	step := l.nodesGone()
	ids := l.pool.Machines.Or(clustermanager.MachineFacts{}).ProviderIDs
	if len(ids) > 0 {
		step.Message += fmt.Sprintf(": the MachinePool still lists %d gone (%s), its list follows within minutes", len(ids), strings.Join(ids, ", "))
	} else {
		step.Message += fmt.Sprintf(": the MachinePool still lists %d gone (their ids are not known), its list follows within minutes", l.replicas())
	}
	return step
}

func (l *lifecycle) nodesReady() clustermanager.LifecycleStep {
	ids := l.counts.readyIDs()
	message := fmt.Sprintf("%d node(s) ready%s", len(l.counts.readyNames()), inBrackets(ids))
	message += l.idle()
	var gone []string
	if l.knownNodes() {
		for _, id := range l.pool.Machines.Or(clustermanager.MachineFacts{}).ProviderIDs {
			if !slices.Contains(l.idsOnCluster(), id) {
				gone = append(gone, id)
			}
		}
	}
	if len(gone) > 0 {
		message += fmt.Sprintf("; the MachinePool still lists %d gone (%s), its list follows within minutes", len(gone), strings.Join(gone, ", "))
	}
	return clustermanager.LifecycleStep{State: clustermanager.StepDone, Since: l.counts.moved, FinishedAt: l.counts.moved, Message: message}
}

// knownNodes says that both lists of the cluster could be read, so that what they lack is gone.
func (l *lifecycle) knownNodes() bool { return l.pool.Claims.Err() == nil && l.pool.Nodes.Err() == nil }

// idsOnCluster are the instances that a NodeClaim or a Node of the pool stands for.
func (l *lifecycle) idsOnCluster() []string {
	var ids []string
	for _, claim := range l.pool.Claims.Or(nil) {
		ids = append(ids, claim.ProviderID)
	}
	for _, node := range l.pool.Nodes.Or(nil) {
		ids = append(ids, node.ProviderID)
	}
	return ids
}

// idle tells of the nodes of a GPU pool that hold nothing; "" when there is none.
func (l *lifecycle) idle() string {
	if l.release == nil {
		return ""
	}
	var names []string
	var earliest *time.Time
	for _, state := range l.states {
		if state.idle {
			names = append(names, state.name)
			if earliest == nil || state.since.Before(*earliest) {
				earliest = &state.since
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := fmt.Sprintf(", %d idle since %s (%s)", len(names), stamp(*earliest), strings.Join(names, ", "))
	if l.release.Owned {
		text += ": delete_node_pool removes an idle node with the pool"
	}
	return text
}

func (l *lifecycle) replicasMove() clustermanager.LifecycleStep {
	return clustermanager.LifecycleStep{State: clustermanager.StepInProgress, Since: l.machinePoolSince(), Message: fmt.Sprintf(
		"%d of %d node(s) ready", l.machinePool.ReadyReplicas, l.machinePool.Replicas)}
}

func (l *lifecycle) nodesWait() clustermanager.LifecycleStep {
	if err := l.pool.MachinePool.Err(); err != nil {
		return clustermanager.LifecycleStep{Message: err.Error()}
	}
	return clustermanager.LifecycleStep{State: clustermanager.StepPending}
}

// zeroUnknown has no state: the MachinePool of a pool that Karpenter scales lists a node minutes after it is there.
func (l *lifecycle) zeroUnknown() clustermanager.LifecycleStep {
	return clustermanager.LifecycleStep{Message: "the MachinePool lists no node; whether the cluster has one is not known"}
}

func (l *lifecycle) scaledToZero() clustermanager.LifecycleStep {
	return clustermanager.LifecycleStep{
		State: clustermanager.StepDone, Since: l.machinePoolSince(), FinishedAt: l.machinePoolSince(),
		Message: "no node: the pool is scaled to zero until a pod asks for one",
	}
}

func (l *lifecycle) replicasReady() clustermanager.LifecycleStep {
	return clustermanager.LifecycleStep{
		State: clustermanager.StepDone, Since: l.machinePoolSince(), FinishedAt: l.machinePoolSince(),
		Message: fmt.Sprintf("%d node(s) ready%s", l.machinePool.ReadyReplicas, inBrackets(l.pool.Machines.Or(clustermanager.MachineFacts{}).ProviderIDs)),
	}
}

// inBrackets is a list in brackets after a space, "" for an empty one.
func inBrackets(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}
