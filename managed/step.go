package managed

import (
	"reflect"
	"slices"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Result is what a step made of a record.
type Result struct {
	// Row is saved together with the events, before the write goes out.
	Row Cluster
	// Write goes to the provider, and its answer to the next step; nil: nothing is to be sent.
	Write  *Write
	Events []Event
}

// Step moves a record by what was observed. A pass is a look's step and, when that has a write, a second step with the
// provider's answer. Row.NextLook is when the next pass is due. The time is that from before the look, so that a
// cluster that was not there is known not to have been there then.
//
// What the provider was not asked, or could not say, changes no state. A refusal makes the part that it is of an error;
// it is tried again after five minutes, a refused delete after [DeleteWait]. A cluster that was ready and is gone is an
// error and is never made again; one that was never ready is.
func Step(row Cluster, observed Observed, now time.Time) Result {
	p := &pass{row: new(row.clone()), now: now}
	switch seen, known := observed.Look.Get(); {
	case row.State == StateDeleted:
		p.row.NextLook = time.Time{}
		return Result{Row: *p.row}
	case observed.Answer != nil:
		p.answered(*observed.Answer)
	case !known:
		p.soon = true
	case row.Deleting:
		p.remove(seen, observed.Operation)
	case seen == nil:
		p.absent(observed.Operation)
	default:
		p.present(seen, observed.Operation)
	}
	events := p.settle(&row)
	return Result{Row: *p.row, Write: p.write, Events: events}
}

// pass is a step under way.
type pass struct {
	row *Cluster
	now time.Time
	// soon says that the next look is a short wait away, whatever the state.
	soon bool
	// at is the exact time of the next look; zero: by the state.
	at    time.Time
	write *Write
}

// fail marks a part. Of a cluster that is on its way out only the refused delete counts.
func (p *pass) fail(part *Part, point FailurePoint, message string) {
	if p.row.Deleting && point != FailedDelete {
		return
	}
	if message == "" {
		message = "the provider gave no reason"
	}
	part.Failure, part.Failed = message, point
	part.RetryAt = p.now.Add(jittered(p.row.ID, p.now, LookSettled))
}

// Messages of what the provider itself has no words for.
const (
	messageTaken    = "the name is taken at the provider by one that is not ours: remove it there"
	messageVanished = "it is no longer at the provider: delete it here, then create it again"
	messageRemoved  = "the provider removed it before it was ready: it is created again"
)

// absent is a look that found nothing.
func (p *pass) absent(operation *OperationStatus) {
	row := p.row
	plane := &row.ControlPlane
	if sent := row.Operation; sent != nil && operation != nil && operation.Running {
		return
	}
	p.end(operation)
	plane.Running = false
	switch {
	case !row.ReadyAt.IsZero():
		p.fail(plane, FailedStatus, messageVanished)
		for i := range row.NodePools {
			p.fail(&row.NodePools[i].Part, FailedStatus, messageVanished)
		}
	case plane.Accepted:
		p.forget()
	case plane.due(p.now):
		plane.Attempt = p.now
		p.write = &Write{Kind: CreateCluster, Pool: row.FirstPool()}
		p.attempt(row.FirstPool())
	}
}

// forget takes back that the provider has the cluster: it made it, and removed it before it was ready.
func (p *pass) forget() {
	p.row.Changes, p.row.Operation = nil, nil
	for i := range p.row.NodePools {
		p.row.NodePools[i].Part = Part{Attempt: p.row.NodePools[i].Part.Attempt}
	}
	p.lose(&p.row.ControlPlane)
}

// lose is the end of a part that was accepted and is gone before it worked. Its failure keeps its words.
func (p *pass) lose(part *Part) {
	message := part.Failure
	if message == "" {
		message = messageRemoved
	}
	*part = Part{Attempt: part.Attempt}
	p.fail(part, FailedCreate, message)
}

func (p *pass) attempt(pool string) {
	if of, found := p.row.pool(pool); found {
		of.Part.Attempt = p.now
	}
}

// adopt says whether what stands at the provider is ours. An earlier create whose answer was lost is known by its label.
func (p *pass) adopt(seen *ProviderCluster) bool {
	row := p.row
	switch {
	case row.ControlPlane.Accepted:
		return true
	case seen.Label != row.ID:
		return false
	}
	accepted := p.now
	if !seen.CreatedAt.IsZero() {
		accepted = seen.CreatedAt
	}
	p.accept(accepted)
	row.addChanges(changeOrder)
	return true
}

func (p *pass) accept(at time.Time) {
	p.row.ControlPlane.mend()
	p.row.ControlPlane.Accepted = true
	if p.row.AcceptedAt.IsZero() {
		p.row.AcceptedAt = at
	}
}

// present is a look that found a cluster under our name.
func (p *pass) present(seen *ProviderCluster, operation *OperationStatus) {
	if !p.adopt(seen) {
		p.fail(&p.row.ControlPlane, FailedCreate, messageTaken)
		return
	}
	p.show(seen)
	busy := seen.Status.busy()
	if p.row.Operation != nil {
		if operation == nil || operation.Running {
			busy = true
		} else {
			p.end(operation)
		}
	}
	p.plane(seen, busy)
	for i := range p.row.NodePools {
		p.pool(&p.row.NodePools[i], seen, busy)
	}
	if !busy {
		p.next(seen)
	}
}

// show takes over what the provider shows and is not ours to set.
func (p *pass) show(seen *ProviderCluster) {
	row := p.row
	if !row.ReadyAt.IsZero() && row.KubernetesVersion != "" && row.KubernetesVersion != seen.Version {
		row.Changed = true
	}
	row.KubernetesVersion, row.NodeVersion = seen.Version, seen.NodeVersion
	row.Endpoint, row.Authority = seen.Endpoint, seen.Authority
	if row.Mode == ModeAutopilot {
		return
	}
	row.NodeVersion = ""
	for i := range row.NodePools {
		if shown, found := seen.pool(row.NodePools[i].Name); found && shown.Version != "" {
			row.NodePools[i].NodeVersion = shown.Version
			if row.NodeVersion == "" || compareVersions(shown.Version, row.NodeVersion) < 0 {
				row.NodeVersion = shown.Version
			}
		}
	}
}

// plane follows the control plane.
func (p *pass) plane(seen *ProviderCluster, busy bool) {
	row, plane := p.row, &p.row.ControlPlane
	follow(p, plane, seen.Status, seen.Message)
	if busy {
		return
	}
	row.Changes = slices.DeleteFunc(row.Changes, func(change Change) bool { return seen.has(row, change) })
	if plane.Failed == FailedChange && len(row.Changes) == 0 {
		plane.mend()
	}
}

// follow takes over a status. A refusal that was said keeps its words beside the status that came of it.
func follow(p *pass, part *Part, status ProviderStatus, message string) {
	switch {
	case status.working():
		part.Running = true
		if part.Failed == FailedStatus || part.Failed == FailedCreate {
			part.mend()
		}
	case status.broken():
		part.Running = status == StatusDegraded || status == StatusRunningWithError
		if part.Failure == "" || part.Failed == FailedStatus {
			p.fail(part, FailedStatus, message)
		}
	case status == StatusProvisioning:
		part.Running = false
	}
}

// pool follows a node pool. While an operation runs, a pool that is not there yet is on its way.
func (p *pass) pool(pool *NodePool, seen *ProviderCluster, busy bool) {
	part := &pool.Part
	shown, found := seen.pool(pool.Name)
	switch {
	case pool.State == StateDeleted:
	case found && !part.Accepted && shown.PoolLabel != pool.ID:
		p.fail(part, FailedCreate, messageTaken)
	case found:
		if !part.Accepted {
			part.mend()
			part.Accepted = true
		}
		follow(p, part, shown.Status, shown.Message)
	case busy || !part.Accepted:
		part.Running = false
	case !pool.ReadyAt.IsZero():
		part.Running = false
		p.fail(part, FailedStatus, messageVanished)
	default:
		p.lose(part)
	}
}

// end is the end of the operation that the record names.
func (p *pass) end(operation *OperationStatus) {
	sent := p.row.Operation
	if sent == nil || operation == nil || operation.Running {
		return
	}
	p.row.Operation = nil
	pool, _ := p.row.pool(sent.Write.Pool)
	switch write := sent.Write; {
	case write.Kind == UpdateCluster && !sent.Stale && operation.Failure == "":
		p.row.Changes = slices.DeleteFunc(p.row.Changes, func(change Change) bool { return change == write.Change })
	case operation.Failure == "":
	case write.Kind == UpdateCluster && !sent.Stale:
		p.fail(&p.row.ControlPlane, FailedChange, operation.Failure)
	case write.Kind == CreateCluster:
		p.fail(&p.row.ControlPlane, FailedCreate, operation.Failure)
	case write.Kind == CreatePool && pool != nil:
		p.fail(&pool.Part, FailedCreate, operation.Failure)
	case write.Kind == DeleteCluster:
		p.refuseDelete(operation.Failure)
	}
}

// next chooses the one write of the pass: fields of the control plane, then pools that are not there, then the
// throwaway pool.
func (p *pass) next(seen *ProviderCluster) {
	row := p.row
	free := !row.ReadyAt.IsZero() || row.Retouched
	if free && len(row.Changes) > 0 && row.ControlPlane.due(p.now) {
		p.write = &Write{Kind: UpdateCluster, Change: row.Changes[0]}
		return
	}
	there := true
	for i := range row.NodePools {
		pool := &row.NodePools[i]
		_, found := seen.pool(pool.Name)
		there = there && found
		if !found && !pool.Part.Accepted && pool.Part.due(p.now) {
			pool.Part.Attempt = p.now
			p.write = &Write{Kind: CreatePool, Pool: pool.ID}
			return
		}
	}
	if pool, found := seen.throwaway(row); found && there {
		p.write = &Write{Kind: DeleteThrowaway, Name: pool.Name}
	}
}

// answered is what the provider said to a write.
func (p *pass) answered(answer Answer) {
	row := p.row
	if answer.Verdict == Later {
		p.soon = true
		return
	}
	plane := &row.ControlPlane
	pool, known := row.pool(answer.Write.Pool)
	refused := answer.Verdict == Refused
	if !refused && answer.Operation != "" {
		row.Operation = &Operation{Name: answer.Operation, Write: answer.Write}
	}
	switch kind := answer.Write.Kind; {
	case kind == CreateCluster && refused:
		p.fail(plane, FailedCreate, answer.Message)
	case kind == CreateCluster:
		p.accept(p.now)
		if known {
			pool.Part.Accepted = true
		}
	case kind == UpdateCluster && refused:
		p.fail(plane, FailedChange, answer.Message)
	case kind == UpdateCluster:
		plane.mend()
	case kind == DeleteCluster && refused:
		p.refuseDelete(answer.Message)
	case kind == DeleteCluster:
		plane.mend()
	case kind == CreatePool && known && refused:
		p.fail(&pool.Part, FailedCreate, answer.Message)
	case kind == CreatePool && known:
		pool.Part.mend()
		pool.Part.Accepted = true
	}
}

// remove is a look at a cluster that the tenant deleted.
func (p *pass) remove(seen *ProviderCluster, operation *OperationStatus) {
	row := p.row
	plane := &row.ControlPlane
	p.end(operation)
	if seen == nil || !p.adopt(seen) {
		if safe := plane.Attempt.Add(CallDeadline); !plane.Attempt.IsZero() && p.now.Before(safe) {
			p.at = safe
			return
		}
		p.gone()
		return
	}
	if !seen.Status.busy() && row.Operation == nil && plane.due(p.now) {
		p.write = &Write{Kind: DeleteCluster}
	}
}

func (p *pass) gone() {
	row := p.row
	row.State, row.DeletedAt, row.Message = StateDeleted, p.now, ""
	row.ControlPlane, row.Changes, row.Operation, row.Refusals = Part{}, nil, nil, 0
	for i := range row.NodePools {
		pool := &row.NodePools[i]
		if pool.State != StateDeleted {
			pool.State, pool.DeletedAt, pool.Message, pool.Part = StateDeleted, p.now, "", Part{}
		}
	}
}

func (p *pass) refuseDelete(message string) {
	p.row.Refusals++
	p.fail(&p.row.ControlPlane, FailedDelete, message)
	p.row.ControlPlane.RetryAt = p.now.Add(DeleteWait(p.row.Refusals))
}

// Unreachable is what was observed when the provider could not be asked.
func Unreachable(reason string) Observed {
	return Observed{Look: clustermanager.Unknown[*ProviderCluster](reason)}
}

// Seen is what a look showed; nil: the provider has no cluster of our name.
func Seen(cluster *ProviderCluster, operation *OperationStatus) Observed {
	return Observed{Look: clustermanager.Known(cluster), Operation: operation}
}

// changedAnswer says whether what is answered of a record differs.
func changedAnswer(before, after any) bool { return !reflect.DeepEqual(before, after) }
