package compose

import (
	"fmt"
	"slices"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// NodePools tells of each pool of a cluster where its lifecycle stands. What could not be read is absent, with a note.
func NodePools(survey clustermanager.NodePoolsSurvey) clustermanager.NodePools {
	answer := clustermanager.NodePools{
		Cluster: survey.Cluster.Name, Namespace: survey.Cluster.Namespace,
		ControlPlaneVersion: survey.ControlPlaneVersion.Or(""),
		Backend:             clustermanager.BackendStateOf(survey.Backends, survey.Cluster, survey.Settings),
		NodePools:           []clustermanager.NodePoolStatus{}, Notes: slices.Clone(survey.Unread),
	}
	if err := survey.ControlPlaneVersion.Err(); err != nil {
		answer.Notes = append(answer.Notes, "the control plane's version is not known: "+err.Error())
	}
	for _, pool := range survey.Pools {
		answer.NodePools = append(answer.NodePools, newLifecycle(survey, pool).status())
	}
	return answer
}

// lifecycle is a pool while its steps are told.
type lifecycle struct {
	survey clustermanager.NodePoolsSurvey
	pool   clustermanager.NodePoolFacts
	// release and machinePool are nil when there is none, or when it could not be read.
	release     *clustermanager.PoolReleaseFacts
	machinePool *clustermanager.MachinePoolFacts
	departure   departure
	failures    []clustermanager.LaunchFailure
	states      []nodeState
	counts      claimCounts
}

func newLifecycle(survey clustermanager.NodePoolsSurvey, pool clustermanager.NodePoolFacts) *lifecycle {
	failures := pool.LaunchFailures()
	return &lifecycle{
		survey: survey, pool: pool, release: pool.Release.Or(nil), machinePool: pool.MachinePool.Or(nil),
		departure: departureOf(survey, pool), failures: failures,
		states: nodeStates(pool), counts: countClaims(pool, failures),
	}
}

func (l *lifecycle) status() clustermanager.NodePoolStatus {
	status := clustermanager.NodePoolStatus{
		Name: l.pool.Name, Namespace: l.survey.Cluster.Namespace,
		ControlPlaneVersion: l.survey.ControlPlaneVersion.Or(""), OwnerRelease: l.pool.Owner,
		InstanceTypes: append([]string{}, l.pool.Machines.Or(clustermanager.MachineFacts{}).InstanceTypes...),
		Deleting:      l.departure.removing, Pending: l.departure.pending, Notes: l.departure.notes,
	}
	if l.pool.MachinePool.Err() == nil {
		machinePool := clustermanager.MachinePoolFacts{}
		if l.machinePool != nil {
			machinePool = *l.machinePool
			if err := l.pool.Machines.Err(); err != nil {
				status.Notes = append(status.Notes, "the instance types and provider ids are not known: "+err.Error())
			}
		}
		status.Version = machinePool.Version
		status.Replicas, status.ReadyReplicas = &machinePool.Replicas, &machinePool.ReadyReplicas
	}
	if l.release != nil {
		status.Accelerator = l.release.Accelerator
		if l.release.Fault != "" {
			status.Notes = append(status.Notes, "accelerator, sizes, zones and prewarm are not known: "+l.release.Fault)
		}
		status.Sizes = l.sizes()
		status.Notes = append(status.Notes, l.podsUnread()...)
	}
	status.Steps = l.steps()
	status.Phase = l.phase(status.Steps)
	return status
}

// podsUnread says of which nodes it is not known whether they are idle.
func (l *lifecycle) podsUnread() []string {
	var notes []string
	for _, node := range l.pool.Nodes.Or(nil) {
		if err := node.Pods.Err(); err != nil {
			notes = append(notes, fmt.Sprintf("whether node %s is idle is not known: its pods could not be read: %s", node.Name, err))
		}
	}
	return notes
}

// sizes are the pool's instance sizes with their prices; nil where the product's table does not hold them all.
func (l *lifecycle) sizes() []clustermanager.InstanceSize {
	if l.release == nil || l.release.Fault != "" {
		return nil
	}
	sizes := catalog.PoolSizes(l.release.Accelerator, l.release.Sizes, regionOf(l.survey.Network))
	if asked := len(distinct(l.release.Sizes)); asked > 0 && len(sizes) != asked {
		return nil
	}
	return sizes
}

// steps are those of the pool, in their order.
func (l *lifecycle) steps() []clustermanager.LifecycleStep {
	var steps []clustermanager.LifecycleStep
	if err := l.pool.Release.Err(); err != nil {
		steps = append(steps, clustermanager.LifecycleStep{Name: clustermanager.StepRelease, Message: err.Error()})
	}
	if l.release != nil {
		steps = append(steps, l.releaseStep())
	}
	machinePool := l.machinePoolStep()
	steps = append(steps, machinePool, l.nodesStep(machinePool))
	if l.release != nil && l.release.Prewarm {
		steps = append(steps, l.prewarmStep())
	}
	for index := range steps {
		steps[index].Since, steps[index].FinishedAt = told(steps[index].Since), told(steps[index].FinishedAt)
	}
	return steps
}

// told is a moment that is known; nil: the object does not say it.
func told(moment *time.Time) *time.Time {
	if moment == nil || moment.IsZero() {
		return nil
	}
	return moment
}

func (l *lifecycle) releaseStep() clustermanager.LifecycleStep {
	step := clustermanager.LifecycleStep{
		Name: clustermanager.StepRelease, State: clustermanager.StepInProgress, Since: &l.release.Created,
		Message: fmt.Sprintf("HelmRelease %s/%s: helm-controller has not reported on it yet", l.release.Namespace, l.release.Name),
	}
	ready := clustermanager.ConditionOf(l.release.Conditions, "Ready")
	if ready == nil {
		return step
	}
	if ready.Since != nil {
		step.Since = ready.Since
	}
	switch ready.Status {
	case "True":
		step.State, step.Message, step.FinishedAt = clustermanager.StepDone, "", step.Since
	case "False":
		step.State, step.Message = clustermanager.StepFailed, because(ready.Reason, ready.Message)
	default:
		step.Message = clustermanager.OneLine(ready.Message, 0)
	}
	return step
}

func (l *lifecycle) machinePoolStep() clustermanager.LifecycleStep {
	step := clustermanager.LifecycleStep{Name: clustermanager.StepMachinePool, State: clustermanager.StepPending}
	if err := l.pool.MachinePool.Err(); err != nil {
		return clustermanager.LifecycleStep{Name: step.Name, Message: err.Error()}
	}
	if l.machinePool == nil {
		return step
	}
	ready := clustermanager.ConditionOf(l.machinePool.Conditions, "Ready")
	step.Since = l.machinePoolSince()
	switch {
	case ready == nil && l.machinePool.InfrastructureReady, ready != nil && ready.Status == "True":
		step.State, step.FinishedAt = clustermanager.StepDone, step.Since
	case ready != nil && because(ready.Reason, ready.Message) != "":
		step.State, step.Message = clustermanager.StepInProgress, because(ready.Reason, ready.Message)
	default:
		step.State, step.Message = clustermanager.StepInProgress, "the MachinePool is not ready"
	}
	return step
}

// machinePoolSince is when the MachinePool's condition Ready last changed, else when it was created.
func (l *lifecycle) machinePoolSince() *time.Time {
	if ready := clustermanager.ConditionOf(l.machinePool.Conditions, "Ready"); ready != nil && ready.Since != nil {
		return ready.Since
	}
	return &l.machinePool.Created
}

// phase is told from the steps but the prewarm one; "" where a step that decides it could not be read.
func (l *lifecycle) phase(steps []clustermanager.LifecycleStep) clustermanager.Phase {
	if l.departure.removing {
		return clustermanager.PhaseRemoving
	}
	deciding := slices.DeleteFunc(slices.Clone(steps), func(step clustermanager.LifecycleStep) bool { return step.Name == clustermanager.StepPrewarm })
	failed := func(step clustermanager.LifecycleStep) bool { return step.State == clustermanager.StepFailed }
	if slices.ContainsFunc(deciding, failed) {
		return clustermanager.PhaseFailed
	}
	for _, step := range deciding {
		switch {
		case step.State == "":
			return ""
		case step.State == clustermanager.StepDone:
		case step.Name == clustermanager.StepNodes && step.State == clustermanager.StepInProgress:
			return clustermanager.PhaseScaling
		default:
			return clustermanager.PhaseCreating
		}
	}
	return clustermanager.PhaseReady
}

// because is <reason>: <message>, or the one that there is.
func because(reason, message string) string {
	message = clustermanager.OneLine(message, 0)
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

// stamp is a time as messages tell it.
func stamp(moment time.Time) string { return moment.UTC().Format(time.RFC3339) }

// regionOf is the cluster's region, for prices.
func regionOf(reading clustermanager.Reading[clustermanager.Network]) clustermanager.Reading[string] {
	return (&base{survey: clustermanager.Survey{Network: reading}}).region()
}
