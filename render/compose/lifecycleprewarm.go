package compose

import (
	"fmt"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// placeholder is a pool's prewarm Job while its step is told.
type placeholder struct {
	*lifecycle
	job *clustermanager.PrewarmJob
	pod *clustermanager.PrewarmPod
	// served is the first registered node of the pool that holds something, joined the first registered one.
	served, joined *clustermanager.PoolNode
	failed         *clustermanager.Condition
}

// prewarmStep tells of the placeholder that launches a pool's first node.
func (l *lifecycle) prewarmStep() clustermanager.LifecycleStep {
	facts, known := l.pool.Prewarm.Get()
	if !known {
		return clustermanager.LifecycleStep{Name: clustermanager.StepPrewarm, Message: l.pool.Prewarm.Reason()}
	}
	p := &placeholder{lifecycle: l, job: facts.Job, pod: facts.Pod}
	p.findNodes()
	if facts.Job != nil {
		p.failed = conditionTrue(facts.Job.Conditions, "Failed")
	}
	step := p.tell()
	step.Name = clustermanager.StepPrewarm
	return step
}

func (p *placeholder) findNodes() {
	leaving := map[string]bool{}
	nodes := p.pool.Nodes.Or(nil)
	for _, claim := range p.pool.Claims.Or(nil) {
		if node := nodeOf(claim, nodes); node != nil && claim.DeletedAt != nil {
			leaving[node.Name] = true
		}
	}
	first := func(found, node *clustermanager.PoolNode) *clustermanager.PoolNode {
		if found == nil || node.Created.Before(found.Created) {
			return node
		}
		return found
	}
	for index := range nodes {
		node := &nodes[index]
		if leaving[node.Name] {
			continue
		}
		p.joined = first(p.joined, node)
		if len(Holders(*node)) > 0 {
			p.served = first(p.served, node)
		}
	}
}

// tell is the step by where the Job stands, then by where its pod does.
func (p *placeholder) tell() clustermanager.LifecycleStep {
	switch {
	case p.job == nil && p.releaseStep().State != clustermanager.StepDone:
		return clustermanager.LifecycleStep{State: clustermanager.StepPending, Message: "the chart makes the placeholder when the pool release is installed: see the step release"}
	case p.job == nil:
		return clustermanager.LifecycleStep{State: clustermanager.StepDone, Message: "there is no placeholder Job: its time to live took it, or prewarm was set on a pool that stood already"}
	}
	if complete := conditionTrue(p.job.Conditions, "Complete"); complete != nil {
		return done(p.job.Created, later(complete.Since, p.job.Completed), "the placeholder's hold ended without a workload")
	}
	if p.failed != nil {
		return p.jobFailed()
	}
	return p.podStands()
}

// jobFailed tells of a Job that ended without its hold having run out.
func (p *placeholder) jobFailed() clustermanager.LifecycleStep {
	ended := later(p.failed.Since, nil)
	switch {
	case p.served != nil:
		return done(p.job.Created, ended, fmt.Sprintf("node %s serves %s; the placeholder Job ended%s", p.served.Name, strings.Join(Holders(*p.served), ", "), since(ended)))
	case p.rejected():
		return p.podRejected(ended)
	case p.pod != nil && p.pod.Phase == "Failed" && !p.disrupted() && (p.pod.Ended != nil || p.pod.Reason == ""):
		return p.containerFailed(ended)
	case p.failed.Reason == "DeadlineExceeded":
		text := fmt.Sprintf("no node came within the Job's deadline of %d seconds", p.job.DeadlineSeconds)
		if len(p.failures) > 0 {
			text += ": Karpenter could not launch it — " + p.lastRefusal().line()
		}
		return failed(p.job.Created, ended, text)
	}
	return done(p.job.Created, ended, "the first workload preempted the placeholder")
}

// podStands tells of a Job that is still at it.
func (p *placeholder) podStands() clustermanager.LifecycleStep {
	created := &p.job.Created
	if p.pod == nil {
		return inProgress(created, "the Job has no pod yet")
	}
	switch pod := p.pod; {
	case pod.DeletedAt != nil:
		return inProgress(pod.DeletedAt, "the placeholder is being preempted")
	case pod.Phase == "Running":
		return inProgress(pod.Started, "holding node "+pod.NodeName)
	case p.served != nil:
		finished := later(created, &p.served.Created)
		return done(p.job.Created, finished, fmt.Sprintf("node %s serves %s; the placeholder waits behind at negative priority", p.served.Name, strings.Join(Holders(*p.served), ", ")))
	case p.rejected():
		return p.podRejected(nil)
	case pod.Phase == "Failed" && !p.disrupted():
		return p.containerFailed(nil)
	}
	return p.podPending()
}

// podPending tells of a placeholder that waits for its node.
func (p *placeholder) podPending() clustermanager.LifecycleStep {
	created, scheduled := &p.job.Created, clustermanager.ConditionOf(p.pod.Conditions, "PodScheduled")
	scheduler := ""
	if scheduled != nil && scheduled.Message != "" {
		scheduler = " (" + clustermanager.OneLine(scheduled.Message, 0) + ")"
	}
	switch {
	case p.pod.NodeName != "" && (scheduled == nil || scheduled.Status != "False"):
		return inProgress(created, "the placeholder starts on node "+p.pod.NodeName)
	case p.joined != nil && p.joined.GPUs > 0:
		return inProgress(created, "the placeholder waits for the scheduler to place it on node "+p.joined.Name+scheduler)
	case p.joined != nil:
		return inProgress(created, "the placeholder waits for the GPU of node "+p.joined.Name+scheduler)
	case len(p.failures) > 0:
		return inProgress(created, "the placeholder waits for the pool's first node, which Karpenter could not launch — "+p.lastRefusal().line()+" (the nodes step carries Karpenter's message)")
	}
	return inProgress(created, "the placeholder waits for the pool's first node"+scheduler)
}

// rejected says that the kubelet turned the pod away, as it does while the node's GPU is not advertised yet.
func (p *placeholder) rejected() bool {
	return p.pod != nil && p.pod.Phase == "Failed" && p.pod.Reason != "" && p.pod.DeletedAt == nil && !p.disrupted()
}

func (p *placeholder) disrupted() bool {
	return conditionTrue(p.pod.Conditions, "DisruptionTarget") != nil
}

func (p *placeholder) podRejected(ended *time.Time) clustermanager.LifecycleStep {
	what := fmt.Sprintf("pod %s was rejected (%s)", p.pod.Name, because(p.pod.Reason, p.pod.Message))
	switch {
	case p.joined != nil && p.joined.GPUs == 0:
		return inProgress(&p.joined.Created, "node "+p.joined.Name+" waits for its GPU: "+what)
	case p.joined != nil:
		return done(p.job.Created, later(&p.joined.Created, ended), "node "+p.joined.Name+" is up and nothing holds it: "+what)
	}
	return failed(p.job.Created, ended, "no node came: "+what)
}

func (p *placeholder) containerFailed(ended *time.Time) clustermanager.LifecycleStep {
	if p.pod.Ended == nil {
		return failed(p.job.Created, ended, fmt.Sprintf("pod %s failed without a reason", p.pod.Name))
	}
	return failed(p.job.Created, ended, fmt.Sprintf("container %s of pod %s ended: %s, exit code %d", p.pod.Ended.Name, p.pod.Name, p.pod.Ended.Reason, p.pod.Ended.ExitCode))
}

func conditionTrue(conditions []clustermanager.Condition, of string) *clustermanager.Condition {
	if found := clustermanager.ConditionOf(conditions, of); found != nil && found.Status == "True" {
		return found
	}
	return nil
}

func inProgress(began *time.Time, message string) clustermanager.LifecycleStep {
	return clustermanager.LifecycleStep{State: clustermanager.StepInProgress, Since: began, Message: message}
}

func done(began time.Time, finished *time.Time, message string) clustermanager.LifecycleStep {
	return clustermanager.LifecycleStep{State: clustermanager.StepDone, Since: &began, FinishedAt: finished, Message: message}
}

func failed(began time.Time, ended *time.Time, message string) clustermanager.LifecycleStep {
	if ended == nil {
		ended = &began
	}
	return clustermanager.LifecycleStep{State: clustermanager.StepFailed, Since: ended, Message: message}
}

// later is the later of two times; nil: neither is there.
func later(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.After(*a) {
		return b
	}
	return a
}
