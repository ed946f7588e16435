package compose

import (
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// prewarmed is a pool of an own cluster with a placeholder.
func prewarmed(facts clustermanager.PrewarmFacts, changes ...func(*clustermanager.NodePoolFacts)) clustermanager.NodePoolFacts {
	pool := poolOf(0, withRelease(func(release *clustermanager.PoolReleaseFacts) { release.Prewarm = true }))
	pool.Prewarm = clustermanager.Known(facts)
	for _, change := range changes {
		change(&pool)
	}
	return pool
}

func TestPrewarmStep(t *testing.T) {
	t.Parallel()
	job := func(conditions ...clustermanager.Condition) *clustermanager.PrewarmJob {
		return &clustermanager.PrewarmJob{Name: "wc1-gpu-prewarm", Created: clock("06:00:00"), Conditions: conditions, DeadlineSeconds: 900}
	}
	completed := job(condition("Complete", "True"))
	completed.Completed = clockAt("09:06:00")
	failedJob := job(condition("Failed", "True", "BackoffLimitExceeded"))
	pod := func(phase string, changes ...func(*clustermanager.PrewarmPod)) *clustermanager.PrewarmPod {
		made := &clustermanager.PrewarmPod{Name: "prewarm-x", Phase: phase}
		for _, change := range changes {
			change(made)
		}
		return made
	}
	rejected := pod("Failed", func(pod *clustermanager.PrewarmPod) {
		pod.Reason, pod.Message = "UnexpectedAdmissionError", "no GPU"
	})
	disrupted := pod("Failed", func(pod *clustermanager.PrewarmPod) {
		pod.Reason, pod.Conditions = "Preempting", []clustermanager.Condition{condition("DisruptionTarget", "True")}
	})
	ended := pod("Failed", func(pod *clustermanager.PrewarmPod) {
		pod.Ended = &clustermanager.EndedContainer{Name: "hold", Reason: "StartError", ExitCode: 128}
	})
	scheduled := func(status, message string) func(*clustermanager.PrewarmPod) {
		return func(pod *clustermanager.PrewarmPod) {
			pod.Conditions = []clustermanager.Condition{condition("PodScheduled", status, "Unschedulable", message)}
		}
	}
	on := func(node string) func(*clustermanager.PrewarmPod) {
		return func(pod *clustermanager.PrewarmPod) { pod.NodeName = node }
	}
	noGPU := emptyNode("ip-1", "")
	noGPU.GPUs = 0
	refused := func(facts *clustermanager.NodePoolFacts) {
		facts.Events = clustermanager.Known([]clustermanager.LaunchEvent{{
			Claim: "wc1-gpu-aaaaa", Time: clock("06:01:00"), Reason: "LaunchFailed",
			Message: "InsufficientInstanceCapacity: We currently do not have sufficient g6.xlarge capacity in the Availability Zone you requested (a)",
		}})
	}
	leaving := pod("Failed", func(pod *clustermanager.PrewarmPod) {
		pod.Reason, pod.DeletedAt = "Terminated", clockAt("09:04:00")
	})
	// first joined before ip-1, which is before it by its name.
	first := emptyNode("ip-2", "")
	first.Created, first.GPUs = clock("09:15:00"), 0
	for _, test := range []struct {
		name string
		pool clustermanager.NodePoolFacts
		want string
	}{
		{"no Job, no release", prewarmed(clustermanager.PrewarmFacts{}, withRelease(func(release *clustermanager.PoolReleaseFacts) { release.Conditions = nil })),
			"pending: the chart makes the placeholder when the pool release is installed: see the step release"},
		{"no Job", prewarmed(clustermanager.PrewarmFacts{}), "done: there is no placeholder Job: its time to live took it, or prewarm was set on a pool that stood already"},
		{"complete", prewarmed(clustermanager.PrewarmFacts{Job: completed}), "done since 06:00:00 finished 09:06:00: the placeholder's hold ended without a workload"},
		{"failed, served", prewarmed(clustermanager.PrewarmFacts{Job: failedJob}, withNodes(busyNode("ip-1", ""))), "done since 06:00:00 finished 09:05:00: node ip-1 serves model-serving/qwen (1 GPU); the placeholder Job ended since 2026-08-01T09:05:00Z"},
		{"failed, rejected, no GPU yet", prewarmed(clustermanager.PrewarmFacts{Job: failedJob, Pod: rejected}, withNodes(noGPU)), "inProgress since 09:21:00: node ip-1 waits for its GPU: pod prewarm-x was rejected (UnexpectedAdmissionError: no GPU)"},
		{"failed, rejected, with GPU", prewarmed(clustermanager.PrewarmFacts{Job: failedJob, Pod: rejected}, withNodes(emptyNode("ip-1", ""))), "done since 06:00:00 finished 09:21:00: node ip-1 is up and nothing holds it: pod prewarm-x was rejected (UnexpectedAdmissionError: no GPU)"},
		{"failed, rejected, no node", prewarmed(clustermanager.PrewarmFacts{Job: failedJob, Pod: rejected}), "failed since 09:05:00: no node came: pod prewarm-x was rejected (UnexpectedAdmissionError: no GPU)"},
		{"failed, container ended", prewarmed(clustermanager.PrewarmFacts{Job: failedJob, Pod: ended}), "failed since 09:05:00: container hold of pod prewarm-x ended: StartError, exit code 128"},
		{"failed, no reason", prewarmed(clustermanager.PrewarmFacts{Job: failedJob, Pod: pod("Failed")}), "failed since 09:05:00: pod prewarm-x failed without a reason"},
		{"deadline", prewarmed(clustermanager.PrewarmFacts{Job: job(condition("Failed", "True", "DeadlineExceeded"))}), "failed since 09:05:00: no node came within the Job's deadline of 900 seconds"},
		{"deadline, refused", prewarmed(clustermanager.PrewarmFacts{Job: job(condition("Failed", "True", "DeadlineExceeded"))}, refused), "failed since 09:05:00: no node came within the Job's deadline of 900 seconds: Karpenter could not launch it — InsufficientInstanceCapacity for g6.xlarge in a"},
		{"failed, preempted", prewarmed(clustermanager.PrewarmFacts{Job: failedJob, Pod: disrupted}), "done since 06:00:00 finished 09:05:00: the first workload preempted the placeholder"},
		{"failed, pod gone", prewarmed(clustermanager.PrewarmFacts{Job: failedJob}), "done since 06:00:00 finished 09:05:00: the first workload preempted the placeholder"},
		{"failed, its pod on the way out", prewarmed(clustermanager.PrewarmFacts{Job: failedJob, Pod: leaving}, withNodes(noGPU)), "done since 06:00:00 finished 09:05:00: the first workload preempted the placeholder"},
		{"no pod", prewarmed(clustermanager.PrewarmFacts{Job: job()}), "inProgress since 06:00:00: the Job has no pod yet"},
		{"pod deleted", prewarmed(clustermanager.PrewarmFacts{Job: job(), Pod: pod("Running", func(pod *clustermanager.PrewarmPod) { pod.DeletedAt = clockAt("07:00:00") })}), "inProgress since 07:00:00: the placeholder is being preempted"},
		{"running", prewarmed(clustermanager.PrewarmFacts{Job: job(), Pod: pod("Running", on("ip-1"), func(pod *clustermanager.PrewarmPod) { pod.Started = clockAt("06:04:41") })}), "inProgress since 06:04:41: holding node ip-1"},
		{"served", prewarmed(clustermanager.PrewarmFacts{Job: job(), Pod: pod("Pending")}, withNodes(busyNode("ip-1", ""))), "done since 06:00:00 finished 09:21:00: node ip-1 serves model-serving/qwen (1 GPU); the placeholder waits behind at negative priority"},
		{"served by a node that joined later", prewarmed(clustermanager.PrewarmFacts{Job: job(), Pod: pod("Pending")}, withNodes(busyNode("ip-1", ""), first)), "done since 06:00:00 finished 09:21:00: node ip-1 serves model-serving/qwen (1 GPU); the placeholder waits behind at negative priority"},
		{"pod rejected", prewarmed(clustermanager.PrewarmFacts{Job: job(), Pod: rejected}, withNodes(noGPU)), "inProgress since 09:21:00: node ip-1 waits for its GPU: pod prewarm-x was rejected (UnexpectedAdmissionError: no GPU)"},
		{"pod failed", prewarmed(clustermanager.PrewarmFacts{Job: job(), Pod: ended}), "failed since 06:00:00: container hold of pod prewarm-x ended: StartError, exit code 128"},
		{"starting", prewarmed(clustermanager.PrewarmFacts{Job: job(), Pod: pod("Pending", on("ip-1"), scheduled("True", ""))}), "inProgress since 06:00:00: the placeholder starts on node ip-1"},
		{"waiting for the GPU", prewarmed(clustermanager.PrewarmFacts{Job: job(), Pod: pod("Pending", scheduled("False", "0/3 nodes"))}, withNodes(noGPU)), "inProgress since 06:00:00: the placeholder waits for the GPU of node ip-1 (0/3 nodes)"},
		{"waiting for the GPU of the first node", prewarmed(clustermanager.PrewarmFacts{Job: job(), Pod: pod("Pending")}, withNodes(emptyNode("ip-1", ""), first)), "inProgress since 06:00:00: the placeholder waits for the GPU of node ip-2"},
		{"waiting for the scheduler", prewarmed(clustermanager.PrewarmFacts{Job: job(), Pod: pod("Pending", scheduled("False", "0/3 nodes"))}, withNodes(emptyNode("ip-1", ""))), "inProgress since 06:00:00: the placeholder waits for the scheduler to place it on node ip-1 (0/3 nodes)"},
		{"refused", prewarmed(clustermanager.PrewarmFacts{Job: job(), Pod: pod("Pending", scheduled("False", "0/3 nodes"))}, refused), "inProgress since 06:00:00: the placeholder waits for the pool's first node, which Karpenter could not launch — InsufficientInstanceCapacity for g6.xlarge in a (the nodes step carries Karpenter's message)"},
		{"waiting", prewarmed(clustermanager.PrewarmFacts{Job: job(), Pod: pod("Pending", scheduled("False", "0/3 nodes"))}), "inProgress since 06:00:00: the placeholder waits for the pool's first node (0/3 nodes)"},
		{"unread", prewarmed(clustermanager.PrewarmFacts{}, func(facts *clustermanager.NodePoolFacts) {
			facts.Prewarm = clustermanager.Unknown[clustermanager.PrewarmFacts]("no way in")
		}), ": no way in"},
	} {
		pool := lifecycleOf(test.pool)
		step := pool.Steps[len(pool.Steps)-1]
		if got := stepText(step); got != test.want || step.Name != clustermanager.StepPrewarm {
			t.Errorf("%s:\n%s, want\n%s", test.name, got, test.want)
		}
		if pool.Phase == clustermanager.PhaseFailed {
			t.Errorf("%s: the placeholder decides the phase", test.name)
		}
	}
	terminating := readyClaim("wc1-gpu-aaaaa", "ip-1", "")
	terminating.DeletedAt = clockAt("09:40:00")
	pool := lifecycleOf(prewarmed(clustermanager.PrewarmFacts{Job: job(), Pod: pod("Pending")}, withClaims(terminating), withNodes(busyNode("ip-1", ""))))
	if got, want := stepText(pool.Steps[3]), "inProgress since 06:00:00: the placeholder waits for the pool's first node"; got != want {
		t.Errorf("a node on its way out serves: %s", got)
	}
}
