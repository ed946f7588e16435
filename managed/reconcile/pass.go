package reconcile

import (
	"context"
	"errors"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

const (
	// lookDeadline leaves a write its half of the time that a pass has for the provider.
	lookDeadline = managed.CallDeadline / 2
	// leastToSend is the least time that a write is begun with; with less it goes out in the next pass.
	leastToSend = managed.CallDeadline / 6
	// againMost is how often a record that keeps changing is read again in one step.
	againMost = 10
)

// pass looks at a claimed record and does what there is to do. What it cannot do, a later one does.
func (r *Reconciler) pass(ctx context.Context, claim managed.Claim) {
	began := r.rooms.Clock()
	if claim.Attempts > 1 {
		r.rooms.Log.WarnContext(ctx, "a pass did not come to its end, another one goes on", "cluster", claim.Row.ID, "attempts", claim.Attempts)
	}
	account, provider, known := r.speaker(claim.Row.AccountID)
	observed := managed.Unreachable("its account is not in the catalogue, or its provider is not known")
	if known {
		observed = look(ctx, provider, account, claim.Row)
	}
	claim, write, err := r.step(ctx, claim, observed, began)
	if err == nil && write != nil {
		answer := r.send(ctx, provider, account, claim.Row, *write, began)
		_, _, err = r.step(ctx, claim, managed.Observed{Answer: &answer}, r.rooms.Clock())
	}
	switch {
	case errors.Is(err, managed.ErrLost):
		r.rooms.Log.WarnContext(ctx, "a record was taken over while a pass had it", "cluster", claim.Row.ID)
	case err != nil:
		r.failed(ctx, "a pass could not be recorded", err, "cluster", claim.Row.ID)
	}
}

// speaker is who speaks as an account.
func (r *Reconciler) speaker(id string) (managed.Account, Provider, bool) {
	account, found := r.rooms.Catalogue.Current().Account(id)
	provider, known := r.rooms.Providers[account.Provider]
	return account, provider, found && known && provider.Capabilities().ManagedKubernetes
}

func look(ctx context.Context, provider Provider, account managed.Account, row managed.Cluster) managed.Observed {
	ctx, cancel := context.WithTimeout(ctx, lookDeadline)
	defer cancel()
	return provider.Look(ctx, account, row)
}

// send sends a write, so that its call has ended when the deadline since the begin of the pass has: the record says when
// that was.
func (r *Reconciler) send(
	ctx context.Context, provider Provider, account managed.Account, row managed.Cluster, write managed.Write, began time.Time,
) managed.Answer {
	left := managed.CallDeadline - r.rooms.Clock().Sub(began)
	if left < leastToSend {
		return managed.Answer{Write: write, Verdict: managed.Later}
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	return provider.Send(ctx, account, row, write)
}

// step moves a record by what was observed, and saves it. A record that a call changed meanwhile is read again, and moved
// by the same observation. It answers the claim on what was saved, and the write that is to be sent.
func (r *Reconciler) step(ctx context.Context, claim managed.Claim, observed managed.Observed, now time.Time) (managed.Claim, *managed.Write, error) {
	for again := 0; ; again++ {
		result := managed.Step(claim.Row, observed, now)
		saved, err := r.rooms.Store.Save(ctx, claim, settled(result.Row, now), result.Events, result.Write == nil)
		if !errors.Is(err, managed.ErrChanged) || again == againMost {
			return saved, result.Write, err
		}
		if claim, err = r.rooms.Store.Again(ctx, claim); err != nil {
			return claim, nil, err
		}
		if observed.Answer != nil {
			stale := *observed.Answer
			stale.Stale = true
			observed.Answer = &stale
		}
	}
}

// settled takes the next look from a record that its account's refresh looks at: it is ready, and nothing of it is due
// sooner than what settled is looked at.
func settled(row managed.Cluster, now time.Time) managed.Cluster {
	if row.State == managed.StateReady && row.NextLook.Sub(now) > managed.LookConverging {
		row.NextLook = time.Time{}
	}
	return row
}
