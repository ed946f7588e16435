package compose

import (
	"strings"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// clock is a time of the tests' day.
func clock(text string) time.Time {
	moment, err := time.Parse("15:04:05", text)
	if err != nil {
		panic(err)
	}
	return moment.AddDate(2026, 7, 0)
}

func clockAt(text string) *time.Time { return new(clock(text)) }

func condition(of, status string, more ...string) clustermanager.Condition {
	made := clustermanager.Condition{Type: of, Status: status, Since: clockAt("09:05:00")}
	for index, part := range more {
		switch index {
		case 0:
			made.Reason = part
		case 1:
			made.Message = part
		case 2:
			made.Since = clockAt(part)
		}
	}
	return made
}

// poolOf is an installed pool of ours with a ready MachinePool of so many replicas and an empty cluster.
func poolOf(replicas int, changes ...func(*clustermanager.NodePoolFacts)) clustermanager.NodePoolFacts {
	facts := clustermanager.NodePoolFacts{
		Name: "wc1-gpu",
		Release: clustermanager.Known(&clustermanager.PoolReleaseFacts{
			PoolRelease: clustermanager.PoolRelease{Name: "wc1-gpu", Pool: "gpu", Owned: true, Accelerator: "nvidia-l4"},
			Namespace:   "org-acme", Created: clock("09:00:00"), Conditions: []clustermanager.Condition{condition("Ready", "True")},
		}),
		Source: clustermanager.Known(&clustermanager.LiveObject{Labels: ownMark}), Secret: clustermanager.Known[*clustermanager.LiveObject](nil),
		MachinePool: clustermanager.Known(&clustermanager.MachinePoolFacts{
			Replicas: replicas, ReadyReplicas: replicas, Created: clock("09:01:00"), Conditions: []clustermanager.Condition{condition("Ready", "True", "", "", "09:10:00")},
		}),
		Machines: clustermanager.Known(clustermanager.MachineFacts{ProviderIDs: []string{"aws:///a/i-1", "aws:///b/i-2"}}),
		Claims:   clustermanager.Known([]clustermanager.NodeClaim{}), Nodes: clustermanager.Known([]clustermanager.PoolNode{}),
		Events: clustermanager.Known([]clustermanager.LaunchEvent{}),
	}
	for _, change := range changes {
		change(&facts)
	}
	return facts
}

func withClaims(claims ...clustermanager.NodeClaim) func(*clustermanager.NodePoolFacts) {
	return func(facts *clustermanager.NodePoolFacts) { facts.Claims = clustermanager.Known(claims) }
}

func withNodes(nodes ...clustermanager.PoolNode) func(*clustermanager.NodePoolFacts) {
	return func(facts *clustermanager.NodePoolFacts) { facts.Nodes = clustermanager.Known(nodes) }
}

func withRelease(change func(*clustermanager.PoolReleaseFacts)) func(*clustermanager.NodePoolFacts) {
	return func(facts *clustermanager.NodePoolFacts) {
		release := *facts.Release.Or(nil)
		change(&release)
		facts.Release = clustermanager.Known(&release)
	}
}

func withMachinePool(change func(*clustermanager.MachinePoolFacts)) func(*clustermanager.NodePoolFacts) {
	return func(facts *clustermanager.NodePoolFacts) {
		machinePool := *facts.MachinePool.Or(nil)
		change(&machinePool)
		facts.MachinePool = clustermanager.Known(&machinePool)
	}
}

func removed(facts *clustermanager.NodePoolFacts) {
	withRelease(func(release *clustermanager.PoolReleaseFacts) { release.DeletedAt = clockAt("09:50:00") })(facts)
}

func byHand(facts *clustermanager.NodePoolFacts) {
	facts.Release = clustermanager.Known[*clustermanager.PoolReleaseFacts](nil)
}

func unreadable(facts *clustermanager.NodePoolFacts) {
	facts.Claims = clustermanager.Unknown[[]clustermanager.NodeClaim]("no way in")
	facts.Nodes = clustermanager.Unknown[[]clustermanager.PoolNode]("no way in")
}

func readyClaim(name, node, id string) clustermanager.NodeClaim {
	return clustermanager.NodeClaim{
		Name: name, Created: clock("09:20:00"), NodeName: node, ProviderID: id,
		Conditions: []clustermanager.Condition{condition("Ready", "True", "", "", "09:22:00")},
	}
}

func emptyNode(name, id string) clustermanager.PoolNode {
	return clustermanager.PoolNode{Name: name, Created: clock("09:21:00"), ProviderID: id, Ready: true, GPUs: 1, Pods: clustermanager.Known([]clustermanager.NodePod{})}
}

// stepText is a step as the tables tell it: state, since when, message.
func stepText(step clustermanager.LifecycleStep) string {
	text := string(step.State)
	if step.Since != nil {
		text += " since " + step.Since.Format("15:04:05")
	}
	if step.FinishedAt != nil {
		text += " finished " + step.FinishedAt.Format("15:04:05")
	}
	return strings.TrimSuffix(text+": "+step.Message, ": ")
}

func lifecycleOf(pool clustermanager.NodePoolFacts) clustermanager.NodePoolStatus {
	survey := clustermanager.NodePoolsSurvey{
		Settings: clustermanager.DefaultSettings(),
		Cluster:  clustermanager.Cluster{Namespace: "org-acme", Name: "wc1"},
		Network:  clustermanager.Known(clustermanager.Network{Region: "eu-central-1", Zones: []string{"a", "b", "c"}}),
		Backends: clustermanager.Known([]clustermanager.Backend{}),
		Parts:    clustermanager.ClusterParts{Operator: clustermanager.Known[*clustermanager.LiveObject](nil)},
		Pools:    []clustermanager.NodePoolFacts{pool},
	}
	return NodePools(survey).NodePools[0]
}

func TestReleaseAndMachinePoolSteps(t *testing.T) {
	t.Parallel()
	ready := func(conditions ...clustermanager.Condition) func(*clustermanager.NodePoolFacts) {
		return withRelease(func(release *clustermanager.PoolReleaseFacts) { release.Conditions = conditions })
	}
	machines := func(infrastructure bool, conditions ...clustermanager.Condition) func(*clustermanager.NodePoolFacts) {
		return withMachinePool(func(machinePool *clustermanager.MachinePoolFacts) {
			machinePool.InfrastructureReady, machinePool.Conditions = infrastructure, conditions
		})
	}
	absent := func(facts *clustermanager.NodePoolFacts) {
		facts.MachinePool = clustermanager.Known[*clustermanager.MachinePoolFacts](nil)
	}
	for _, test := range []struct {
		name   string
		change func(*clustermanager.NodePoolFacts)
		step   int
		want   string
		phase  clustermanager.Phase
	}{
		{"release ready", ready(condition("Ready", "True")), 0, "done since 09:05:00 finished 09:05:00", "ready"},
		{"release failed", ready(condition("Ready", "False", "InstallFailed", "timed  out\nwaiting")), 0, "failed since 09:05:00: InstallFailed: timed out waiting", "failed"},
		{"release reconciles", ready(condition("Ready", "Unknown", "Progressing", "running install")), 0, "inProgress since 09:05:00: running install", "creating"},
		{"release unreported", ready(), 0, "inProgress since 09:00:00: HelmRelease org-acme/wc1-gpu: helm-controller has not reported on it yet", "creating"},
		{"no transition time", ready(clustermanager.Condition{Type: "Ready", Status: "True"}), 0, "done since 09:00:00 finished 09:00:00", "ready"},
		{"MachinePool absent", absent, 1, "pending", "creating"},
		{"MachinePool ready", machines(false, condition("Ready", "True")), 1, "done since 09:05:00 finished 09:05:00", "ready"},
		{"infrastructure ready, no condition", machines(true), 1, "done since 09:01:00 finished 09:01:00", "ready"},
		{"MachinePool not ready", machines(true, condition("Ready", "False", "Waiting", "for nodes")), 1, "inProgress since 09:05:00: Waiting: for nodes", "creating"},
		{"nothing said", machines(false), 1, "inProgress since 09:01:00: the MachinePool is not ready", "creating"},
	} {
		pool := lifecycleOf(poolOf(0, test.change))
		if got := stepText(pool.Steps[test.step]); got != test.want || pool.Phase != test.phase {
			t.Errorf("%s: %s (%s), want %s (%s)", test.name, got, pool.Phase, test.want, test.phase)
		}
	}
}

func TestNodesStep(t *testing.T) {
	t.Parallel()
	launching := clustermanager.NodeClaim{Name: "wc1-gpu-aaaaa", Created: clock("09:30:00")}
	terminating := func(conditions ...clustermanager.Condition) clustermanager.NodeClaim {
		claim := readyClaim("wc1-gpu-bbbbb", "ip-1", "aws:///a/i-1")
		claim.DeletedAt, claim.Conditions = clockAt("09:40:00"), conditions
		return claim
	}
	nameless := terminating(condition("InstanceTerminating", "Unknown"))
	nameless.Name, nameless.NodeName = "wc1-gpu-ddddd", ""
	earlier := readyClaim("wc1-gpu-ddddd", "ip-2", "aws:///b/i-2")
	earlier.LastPodEvent = clockAt("09:20:30")
	idle := []func(*clustermanager.NodePoolFacts){withClaims(readyClaim("wc1-gpu-bbbbb", "ip-1", "aws:///a/i-1"), earlier), withNodes(emptyNode("ip-1", "aws:///a/i-1"), emptyNode("ip-2", "aws:///b/i-2"))}
	const bothIdle = "done since 09:22:00 finished 09:22:00: 2 node(s) ready (aws:///a/i-1, aws:///b/i-2), 2 idle since 2026-08-01T09:20:30Z (ip-1, ip-2)"
	foreign := withRelease(func(release *clustermanager.PoolReleaseFacts) { release.Owned = false })
	reconciles := withRelease(func(release *clustermanager.PoolReleaseFacts) {
		release.Conditions = []clustermanager.Condition{condition("Ready", "Unknown")}
	})
	halfReady := withMachinePool(func(machinePool *clustermanager.MachinePoolFacts) {
		machinePool.ReadyReplicas, machinePool.Conditions = 1, nil
	})
	const gone = "0 nodes on the cluster: the MachinePool still lists 2 gone (aws:///a/i-1, aws:///b/i-2), its list follows within minutes"
	noIDs := func(facts *clustermanager.NodePoolFacts) {
		facts.Machines = clustermanager.Unknown[clustermanager.MachineFacts]("no way in")
	}
	for _, test := range []struct {
		name    string
		pool    clustermanager.NodePoolFacts
		want    string
		phase   clustermanager.Phase
		element int
	}{
		{"2, launching", poolOf(0, withClaims(launching)), "inProgress since 09:30:00: 1 NodeClaim(s) launching, 0 ready, 0 terminating", "scaling", 2},
		{"2, the latest of all", poolOf(1, withClaims(readyClaim("wc1-gpu-ccccc", "ip-3", ""), launching, terminating())), "inProgress since 09:40:00: 1 NodeClaim(s) launching, 1 ready, 1 terminating — ip-1 terminating since 2026-08-01T09:40:00Z (Karpenter drains the node and terminates its instance; the NodeClaim goes once the instance is terminated, minutes later)", "scaling", 2},
		{"2, draining", poolOf(1, withClaims(terminating(condition("Drained", "Unknown", "", "3 pods  left")))), "inProgress since 09:40:00: 0 NodeClaim(s) launching, 0 ready, 1 terminating — ip-1 terminating since 2026-08-01T09:40:00Z (draining: 3 pods left)", "scaling", 2},
		{"2, drained", poolOf(1, withClaims(terminating(condition("Drained", "True")))), "inProgress since 09:40:00: 0 NodeClaim(s) launching, 0 ready, 1 terminating — ip-1 terminating since 2026-08-01T09:40:00Z (drained since 2026-08-01T09:05:00Z, its volumes detach)", "scaling", 2},
		{"2, several go, one without a Node", poolOf(1, withClaims(terminating(condition("Drained", "False")), nameless)), "inProgress since 09:40:00: 0 NodeClaim(s) launching, 0 ready, 2 terminating — ip-1 terminating since 2026-08-01T09:40:00Z (draining); wc1-gpu-ddddd terminating since 2026-08-01T09:40:00Z (Karpenter drains the node and terminates its instance; the NodeClaim goes once the instance is terminated, minutes later)", "scaling", 2},
		{"2, while the release is the first step that is not done", poolOf(0, reconciles, withClaims(launching)), "inProgress since 09:30:00: 1 NodeClaim(s) launching, 0 ready, 0 terminating", "creating", 2},
		{"3, nodes of a pool that goes", poolOf(1, removed, withClaims(readyClaim("wc1-gpu-bbbbb", "ip-1", "aws:///a/i-1"))), "inProgress: 1 node(s) still ready (ip-1): they go with the release", "removing", 2},
		{"4, a list that lags", poolOf(2, removed), "done: " + gone, "removing", 2},
		{"4, its ids unknown", poolOf(2, removed, noIDs), "done: 0 nodes on the cluster: the MachinePool still lists 2 gone (their ids are not known), its list follows within minutes", "removing", 2},
		{"5, nothing left", poolOf(0, removed), "done: 0 nodes on the cluster", "removing", 2},
		{"4, a Node that is not ready", poolOf(2, removed, withNodes(clustermanager.PoolNode{Name: "ip-1"})), "inProgress: 1 node(s) still there, not ready (ip-1): they go with the release", "removing", 2},
		{"4, claims unread", poolOf(2, removed, func(facts *clustermanager.NodePoolFacts) {
			facts.Claims = clustermanager.Unknown[[]clustermanager.NodeClaim]("no way in")
		}), ": whether nodes are left is not known; the pool's NodeClaims could not be read: no way in", "removing", 2},
		{"5, Nodes unread", poolOf(0, removed, func(facts *clustermanager.NodePoolFacts) {
			facts.Nodes = clustermanager.Unknown[[]clustermanager.PoolNode]("no way in")
		}), ": whether nodes are left is not known; the pool's Nodes could not be read: no way in", "removing", 2},
		{"1, an event's claim is counted once", poolOf(0, withClaims(launching), withEvent("wc1-gpu-aaaaa", "09:31:00")),
			"inProgress since 09:31:00: 1 NodeClaim could not launch, the last (wc1-gpu-aaaaa) at 2026-08-01T09:31:00Z — NodeClassNotReady; Karpenter: \"not yet\"; it retries while a pod waits", "scaling", 2},
		{"6, a list that lags behind", poolOf(2), "done: " + gone, "ready", 2},
		{"7, ready", poolOf(1, withClaims(readyClaim("wc1-gpu-bbbbb", "ip-1", "aws:///a/i-1")), withNodes(busyNode("ip-1", "aws:///a/i-1"))),
			"done since 09:22:00 finished 09:22:00: 1 node(s) ready (aws:///a/i-1); the MachinePool still lists 1 gone (aws:///b/i-2), its list follows within minutes", "ready", 2},
		{"7, a Node without a claim", poolOf(1, withNodes(busyNode("ip-9", "aws:///b/i-2"))), "done: 1 node(s) ready (aws:///b/i-2); the MachinePool still lists 1 gone (aws:///a/i-1), its list follows within minutes", "ready", 2},
		{"7, idle nodes since the earliest", poolOf(2, idle...), bothIdle + ": delete_node_pool removes an idle node with the pool", "ready", 2},
		{"7, idle nodes of a foreign release", poolOf(2, append(idle, foreign)...), bothIdle, "ready", 2},
		{"7, a pool made by hand with claims", poolOf(3, byHand, halfReady, withClaims(readyClaim("wc1-gpu-bbbbb", "ip-1", "aws:///a/i-1"))),
			"done since 09:22:00 finished 09:22:00: 1 node(s) ready (aws:///a/i-1); the MachinePool still lists 1 gone (aws:///b/i-2), its list follows within minutes", "creating", 1},
		{"8, before a MachinePool that waits", poolOf(2, byHand, halfReady), "inProgress since 09:01:00: 1 of 2 node(s) ready", "creating", 1},
		{"8, a pool made by hand", poolOf(3, byHand, withMachinePool(func(machinePool *clustermanager.MachinePoolFacts) { machinePool.ReadyReplicas = 2 })), "inProgress since 09:10:00: 2 of 3 node(s) ready", "scaling", 1},
		{"8, a cluster that cannot be read", poolOf(2, unreadable, withMachinePool(func(machinePool *clustermanager.MachinePoolFacts) { machinePool.ReadyReplicas = 1 })), "inProgress since 09:10:00: 1 of 2 node(s) ready; the cluster's nodes could not be read: no way in", "scaling", 2},
		{"9, a MachinePool that waits", poolOf(0, withMachinePool(func(machinePool *clustermanager.MachinePoolFacts) { machinePool.Conditions = nil })), "pending", "creating", 2},
		{"10, none", poolOf(0, byHand), "done since 09:10:00 finished 09:10:00: no node: the pool is scaled to zero until a pod asks for one", "ready", 1},
		{"10, a pool made by hand on a cluster that cannot be read", poolOf(0, byHand, unreadable), "done since 09:10:00 finished 09:10:00: no node: the pool is scaled to zero until a pod asks for one; the cluster's nodes could not be read: no way in", "ready", 1},
		{"10, a cluster that cannot be read", poolOf(0, unreadable), ": the MachinePool lists no node; whether the cluster has one is not known; the cluster's nodes could not be read: no way in", "", 2},
		{"11, its own count", poolOf(2, byHand), "done since 09:10:00 finished 09:10:00: 2 node(s) ready (aws:///a/i-1, aws:///b/i-2)", "ready", 1},
		{"11, a pool made by hand with Nodes", poolOf(2, byHand, withNodes(emptyNode("ip-1", "aws:///a/i-1"))), "done since 09:10:00 finished 09:10:00: 2 node(s) ready (aws:///a/i-1, aws:///b/i-2)", "ready", 1},
		{"11, its ids unknown", poolOf(2, byHand, noIDs), "done since 09:10:00 finished 09:10:00: 2 node(s) ready", "ready", 1},
		{"11, a pool that goes from a cluster that cannot be read", poolOf(2, removed, unreadable), "done since 09:10:00 finished 09:10:00: 2 node(s) ready (aws:///a/i-1, aws:///b/i-2); the cluster's nodes could not be read: no way in", "removing", 2},
		{"half of the cluster read", poolOf(2, func(facts *clustermanager.NodePoolFacts) {
			facts.Nodes = clustermanager.Unknown[[]clustermanager.PoolNode]("no way in")
		}), "done since 09:10:00 finished 09:10:00: 2 node(s) ready (aws:///a/i-1, aws:///b/i-2); the pool's Nodes could not be read: no way in", "ready", 2},
	} {
		pool := lifecycleOf(test.pool)
		if got := stepText(pool.Steps[test.element]); got != test.want || pool.Phase != test.phase {
			t.Errorf("%s:\n%s (%s), want\n%s (%s)", test.name, got, pool.Phase, test.want, test.phase)
		}
	}
}

func withEvent(claim, at string) func(*clustermanager.NodePoolFacts) {
	return func(facts *clustermanager.NodePoolFacts) {
		facts.Events = clustermanager.Known([]clustermanager.LaunchEvent{{Claim: claim, Time: clock(at), Reason: "NodeClassNotReady", Message: "not yet"}})
	}
}

func TestPodsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	hidden := emptyNode("ip-1", "aws:///a/i-1")
	hidden.Pods = clustermanager.Unknown[[]clustermanager.NodePod]("forbidden")
	pool := lifecycleOf(poolOf(1, withClaims(readyClaim("wc1-gpu-aaaaa", "ip-1", "aws:///a/i-1")), withNodes(hidden)))
	want := "whether node ip-1 is idle is not known: its pods could not be read: forbidden"
	if len(pool.Notes) != 1 || pool.Notes[0] != want || strings.Contains(pool.Steps[2].Message, "idle") {
		t.Errorf("%v, %s", pool.Notes, pool.Steps[2].Message)
	}
}

func busyNode(name, id string) clustermanager.PoolNode {
	node := emptyNode(name, id)
	node.Pods = clustermanager.Known([]clustermanager.NodePod{{Namespace: "model-serving", Name: "qwen", NodeName: name, Phase: "Running", GPUs: 1}})
	return node
}

func TestNodeStates(t *testing.T) {
	t.Parallel()
	lastPod := readyClaim("wc1-gpu-aaaaa", "ip-1", "")
	lastPod.LastPodEvent = clockAt("09:55:00")
	unready := clustermanager.NodeClaim{Name: "wc1-gpu-aaaaa", NodeName: "ip-1"}
	going := readyClaim("wc1-gpu-aaaaa", "ip-1", "")
	going.DeletedAt = clockAt("09:40:00")
	hidden := emptyNode("ip-1", "")
	hidden.Pods = clustermanager.Unknown[[]clustermanager.NodePod]("forbidden")
	for _, test := range []struct {
		name string
		pool clustermanager.NodePoolFacts
		want string
	}{
		{"terminating", poolOf(1, withClaims(going), withNodes(busyNode("ip-1", ""))), "ip-1"},
		{"launching", poolOf(1, withClaims(clustermanager.NodeClaim{Name: "wc1-gpu-aaaaa", ProviderID: "aws:///a/i-1"})), "wc1-gpu-aaaaa is a NodeClaim still launching"},
		{"its Node unreadable", poolOf(1, withClaims(unready), func(facts *clustermanager.NodePoolFacts) {
			facts.Nodes = clustermanager.Unknown[[]clustermanager.PoolNode]("forbidden")
		}), "ip-1 may hold anything: its Node could not be read: forbidden"},
		{"pods unreadable", poolOf(1, withClaims(unready), withNodes(hidden)), "ip-1 may hold anything: its pods could not be read: forbidden"},
		{"holders", poolOf(1, withClaims(unready), withNodes(busyNode("ip-1", ""))), "ip-1 runs model-serving/qwen (1 GPU)"},
		{"paired by instance", poolOf(1, withClaims(clustermanager.NodeClaim{Name: "wc1-gpu-aaaaa", ProviderID: "aws:///a/i-1"}), withNodes(busyNode("ip-1", "aws:///a/i-1"))), "ip-1 runs model-serving/qwen (1 GPU)"},
		{"no claim", poolOf(1, withNodes(emptyNode("ip-1", ""))), "ip-1 has no NodeClaim by which it could be removed"},
		{"claims unreadable", poolOf(1, withNodes(emptyNode("ip-1", "")), func(facts *clustermanager.NodePoolFacts) {
			facts.Claims = clustermanager.Unknown[[]clustermanager.NodeClaim]("forbidden")
		}), "ip-1 has a NodeClaim that could not be read: forbidden"},
		{"idle since its last pod", poolOf(1, withClaims(lastPod), withNodes(emptyNode("ip-1", ""))), "ip-1 idle since 09:55:00"},
		{"idle since its claim was ready", poolOf(1, withClaims(readyClaim("wc1-gpu-aaaaa", "ip-1", "")), withNodes(emptyNode("ip-1", ""))), "ip-1 idle since 09:22:00"},
		{"idle since it was made", poolOf(1, withClaims(unready), withNodes(emptyNode("ip-1", ""))), "ip-1 idle since 09:21:00"},
	} {
		var got []string
		for _, state := range nodeStates(test.pool) {
			text := strings.TrimSpace(state.name + " " + state.busy)
			if state.idle {
				text += " idle since " + state.since.Format("15:04:05")
			}
			got = append(got, text)
		}
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// An object that does not say when it was made has no time, not the first day of all.
func TestAMomentThatIsNotSaidIsLeftOut(t *testing.T) {
	pool := poolOf(0, func(facts *clustermanager.NodePoolFacts) {
		release, _ := facts.Release.Get()
		release.Created, release.Conditions = time.Time{}, nil
		machines, _ := facts.MachinePool.Get()
		machines.Created, machines.Conditions = time.Time{}, nil
	})
	survey := clustermanager.NodePoolsSurvey{Pools: []clustermanager.NodePoolFacts{pool}}
	for _, step := range NodePools(survey).NodePools[0].Steps {
		if step.Since != nil || step.FinishedAt != nil {
			t.Errorf("%s: since %v, finished %v", step.Name, step.Since, step.FinishedAt)
		}
	}
}
