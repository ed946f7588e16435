package managed

import (
	"slices"
	"time"
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
			if row.NodeVersion == "" || CompareVersions(shown.Version, row.NodeVersion) < 0 {
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
	case operation.Lost:
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
