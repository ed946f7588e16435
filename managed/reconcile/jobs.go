package reconcile

import (
	"context"
	"errors"
	"reflect"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/clustermanager/cluster-manager/managed"
)

const (
	// askAgain is when a job that another process has, or that failed, is asked for again.
	askAgain = 10 * time.Second
	// meterEvery is how often full hours are recorded, forgetEvery how often old records go; batch is of how many at once.
	meterEvery  = time.Minute
	forgetEvery = time.Hour
	batch       = 200
	// jobsAtOnce is how many accounts that do not answer hold up no other job.
	jobsAtOnce = 16
)

// job is what one process at a time does.
type job struct {
	name string
	// do works, and says when the job is due again.
	do func(ctx context.Context) (time.Time, error)
}

// jobs are those that there are now: an account may come and go.
func (r *Reconciler) jobs() []job {
	all := []job{{"meter", r.meter}}
	if r.settings.DeletedRetention > 0 {
		all = append(all, job{"forget", r.forget})
	}
	for _, account := range r.rooms.Catalogue.Current().Accounts {
		if _, _, known := r.speaker(account.ID); known {
			all = append(all, job{"refresh:" + account.ID, func(ctx context.Context) (time.Time, error) { return r.refresh(ctx, account.ID) }})
		}
	}
	return all
}

// Jobs does the jobs that are due now, a few at once, and waits for their end.
func (r *Reconciler) Jobs(ctx context.Context) {
	now := r.rooms.Clock()
	var group errgroup.Group
	group.SetLimit(jobsAtOnce)
	for _, one := range r.jobs() {
		if at, asked := r.asks.Load(one.name); ctx.Err() != nil || asked && now.Before(at.(time.Time)) {
			continue
		}
		group.Go(func() error {
			r.asks.Store(one.name, r.work(ctx, one, now))
			return nil
		})
	}
	_ = group.Wait()
}

// work does a job, unless it is not due or another process has it, and says when it is to be asked for again.
func (r *Reconciler) work(ctx context.Context, one job, now time.Time) time.Time {
	owner := r.claimant()
	taken, err := r.rooms.Store.ClaimJob(ctx, one.name, owner, now, lease)
	if err != nil {
		r.failed(ctx, "a job cannot be claimed", err, "job", one.name)
	}
	if !taken {
		return now.Add(askAgain)
	}
	due, err := one.do(ctx)
	if err != nil {
		r.failed(ctx, "a job could not be done, and is tried again", err, "job", one.name)
		due = r.rooms.Clock().Add(managed.Jittered(one.name, now, managed.LookConverging))
	}
	if err := r.rooms.Store.FinishJob(ctx, one.name, owner, due); err != nil {
		r.failed(ctx, "a job could not be given back", err, "job", one.name)
	}
	return due
}

func (r *Reconciler) meter(ctx context.Context) (time.Time, error) {
	now := r.rooms.Clock()
	count, err := r.rooms.Store.Meter(ctx, now, batch)
	for err == nil && count == batch {
		count, err = r.rooms.Store.Meter(ctx, now, batch)
	}
	return now.Add(meterEvery), err
}

func (r *Reconciler) forget(ctx context.Context) (time.Time, error) {
	now := r.rooms.Clock()
	before := now.Add(-r.settings.DeletedRetention)
	count, err := r.rooms.Store.Forget(ctx, before, r.relay != nil, batch)
	for err == nil && count == batch {
		count, err = r.rooms.Store.Forget(ctx, before, r.relay != nil, batch)
	}
	return now.Add(forgetEvery), err
}

// refresh looks at the settled clusters of an account by one call. The records are read before it, so that what a pass or
// a call does meanwhile counts more. What shows nothing new is not saved.
func (r *Reconciler) refresh(ctx context.Context, id string) (time.Time, error) {
	now := r.rooms.Clock()
	due := now.Add(managed.Jittered(id, now, managed.LookSettled))
	account, provider, known := r.speaker(id)
	claims, err := r.rooms.Store.Settled(ctx, id)
	if err != nil || !known || len(claims) == 0 {
		return due, err
	}
	asking, cancel := context.WithTimeout(ctx, managed.CallDeadline)
	defer cancel()
	listing, err := provider.List(asking, account)
	if err != nil {
		return due, err
	}
	for _, claim := range claims {
		if err := r.compare(ctx, claim, listing, now); err != nil {
			return due, err
		}
	}
	return due, nil
}

// compare moves a settled record by a listing. One that it says nothing about is left as it is, one that needs a write is
// due by itself.
func (r *Reconciler) compare(ctx context.Context, claim managed.Claim, listing managed.Listing, now time.Time) error {
	look := listing.Look(&claim.Row)
	if _, known := look.Get(); !known {
		return nil
	}
	result := managed.Step(claim.Row, managed.Observed{Look: look}, now)
	row := settled(result.Row, now)
	if result.Write != nil {
		row, result.Events = claim.Row, nil
		row.NextLook = now
	}
	if reflect.DeepEqual(row, claim.Row) {
		return nil
	}
	_, err := r.rooms.Store.Save(ctx, claim, row, result.Events, true)
	if errors.Is(err, managed.ErrChanged) || errors.Is(err, managed.ErrLost) {
		return nil
	}
	return err
}
