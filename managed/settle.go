package managed

import "time"

// settle derives the states from the parts, and from those the events and the next look.
func (p *pass) settle(before *Cluster) []Event {
	row := p.row
	p.poolStates()
	p.clusterState()
	events := p.happened()
	for i := range row.NodePools {
		if changedAnswer(before.poolAnswer(&before.NodePools[i]), row.poolAnswer(&row.NodePools[i])) {
			row.NodePools[i].UpdatedAt = p.now
		}
	}
	if changedAnswer(before.Answer(), row.Answer()) {
		row.UpdatedAt = p.now
	}
	p.nextLook()
	var published []Event
	for _, kind := range events {
		published = append(published, clusterEvent(kind, row, p.now))
	}
	return published
}

func (p *pass) poolStates() {
	for i := range p.row.NodePools {
		pool := &p.row.NodePools[i]
		switch part := &pool.Part; {
		case pool.State == StateDeleted:
			continue
		case p.row.Deleting:
			pool.State = StateDeleting
		case part.Failure != "":
			pool.State = StateError
		case part.Running:
			pool.State = StateReady
			if pool.ReadyAt.IsZero() {
				pool.ReadyAt = p.now
			}
		case part.Accepted:
			pool.State = StateProvisioning
		default:
			pool.State = StatePending
		}
		pool.Message = ""
		if pool.State == StateError {
			pool.Message = pool.Part.Failure
		}
	}
}

// clusterState is the state that follows from the parts.
func (p *pass) clusterState() {
	row := p.row
	failure := row.failure()
	row.Message = failure
	switch first := row.ReadyAt.IsZero(); {
	case row.State == StateDeleted:
		row.Message = ""
	case failure != "":
		row.State = StateError
	case row.Deleting:
		row.State = StateDeleting
	// What was recorded before a cluster was ready is sent after it, except to one that had failed.
	case row.working() && (len(row.Changes) == 0 || first && !row.Retouched):
		row.State = StateReady
	case !first || row.Retouched:
		row.State = StateUpdating
	case row.AcceptedAt.IsZero():
		row.State = StatePending
	default:
		row.State = StateProvisioning
	}
}

// failure is the message of the first part in error; empty without one.
func (c *Cluster) failure() string {
	if c.ControlPlane.Failure != "" || c.Deleting {
		return c.ControlPlane.Failure
	}
	for i := range c.NodePools {
		if pool := &c.NodePools[i]; pool.State == StateError {
			return "node pool " + pool.Name + ": " + pool.Message
		}
	}
	return ""
}

// working says that every part is in working order and no operation of ours that changes one is under way.
func (c *Cluster) working() bool {
	if !c.ControlPlane.Running || c.Operation != nil && c.Operation.Write.Kind != DeleteThrowaway {
		return false
	}
	for i := range c.NodePools {
		if pool := &c.NodePools[i]; pool.State != StateReady && pool.State != StateDeleted {
			return false
		}
	}
	return true
}

// happened is what there is to tell of the state, and remembers that it was told.
func (p *pass) happened() []EventType {
	row := p.row
	switch {
	case row.State == StateDeleted:
		return []EventType{EventDeleted}
	case row.State == StateError && row.Message != row.SaidError:
		row.SaidError = row.Message
		return []EventType{EventError}
	case row.State != StateReady:
		return nil
	}
	first, tell := row.ReadyAt.IsZero(), row.Changed
	row.SaidError, row.Retouched = "", false
	if len(row.Changes) == 0 {
		row.Changed = false
	}
	switch {
	case first:
		row.ReadyAt = p.now
		return []EventType{EventReady}
	case tell:
		return []EventType{EventUpdated}
	}
	return nil
}

// nextLook is a short wait while anything is on its way, else a long one; a failed part is due at its own time.
func (p *pass) nextLook() {
	row := p.row
	if row.State == StateDeleted {
		row.NextLook = time.Time{}
		return
	}
	interval := LookSettled
	if p.soon || p.write != nil || row.converging() {
		interval = LookConverging
	}
	row.NextLook = p.now.Add(Jittered(row.ID, p.now, interval))
	if !p.at.IsZero() {
		row.NextLook = p.at
	}
	for i := range row.NodePools {
		p.sooner(row.NodePools[i].Part.RetryAt)
	}
	p.sooner(row.ControlPlane.RetryAt)
}

func (p *pass) sooner(at time.Time) {
	if at.After(p.now) && at.Before(p.row.NextLook) {
		p.row.NextLook = at
	}
}

// converging says that something is on its way that has not failed.
func (c *Cluster) converging() bool {
	if c.Operation != nil || c.State != StateReady && c.State != StateError {
		return true
	}
	if len(c.Changes) > 0 && c.ControlPlane.Failure == "" && (!c.ReadyAt.IsZero() || c.Retouched) {
		return true
	}
	for i := range c.NodePools {
		pool := &c.NodePools[i]
		if !c.Deleting && c.ControlPlane.Accepted && (pool.State == StatePending || pool.State == StateProvisioning) {
			return true
		}
	}
	return false
}
