package managed

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
		row.Operation = &Operation{Name: answer.Operation, Write: answer.Write, Stale: answer.Stale}
	}
	switch kind := answer.Write.Kind; {
	case kind == CreateCluster && refused:
		p.fail(plane, FailedCreate, answer.Message)
	case kind == CreateCluster:
		p.accept(p.now)
		if answer.Stale {
			// What a call changed did not go out with it; what the provider has is struck off at the next look.
			row.addChanges(changeOrder)
		}
		if known {
			pool.Part.Accepted = true
		}
	case kind == UpdateCluster && refused && answer.Stale:
		p.soon = true
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
