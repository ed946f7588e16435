package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Options are the circumstances of the writes.
type Options struct {
	Budget clustermanager.Budget
	// Tool is the tool that was called, Caller the caller's e-mail; both stand in the Events.
	Tool   string
	Caller string
	// Time is the time of the call, as marks and Events name it.
	Time  time.Time
	Clock Clock
}

// Clock is what the budget runs on. The zero Clock is the machine's.
type Clock struct {
	Now  func() time.Time
	Wait func(ctx context.Context, duration time.Duration) error
}

const (
	// reserve is what a write needs of the budget at least: with less left it is not started.
	reserve = time.Second
	// verifyTimeout is how long a look at an object may take after its write had no answer before the budget ended.
	verifyTimeout = 500 * time.Millisecond

	// What remains is polled pollsOfRest times, within the bounds.
	pollsOfRest = 20
	minPoll     = 10 * time.Millisecond
	maxPoll     = 2 * time.Second
)

// errTime says that the budget has no room for a write.
var errTime = errors.New("the time of the call ran out")

// run carries a plan out.
type run struct {
	*servers
	options Options
	// until is when the writes end: the budget, or the deadline of the request when that is earlier.
	until time.Time
	// stopped is why nothing more is written; nil: nothing stopped it.
	stopped error
}

// Apply carries a plan out within the budget. The result tells of each object whether it was done; whatever stops the
// writes is in it. The error is a *clustermanager.Refusal: the API server forbids a step that has a way out, and nothing
// was written.
func Apply(ctx context.Context, planned *Planned, options Options) (Result, error) {
	if options.Clock.Now == nil {
		options.Clock = Clock{Now: time.Now, Wait: wait}
	}
	r := &run{servers: planned.servers, options: options, until: options.Budget.Deadline()}
	if deadline, bounded := ctx.Deadline(); bounded && deadline.Before(r.until) {
		r.until = deadline
	}
	ctx, cancel := context.WithTimeout(ctx, r.left())
	defer cancel()
	for _, releases := range waves(inOrder(planned.items)) {
		if r.stopped == nil {
			r.stopped = r.together(ctx, releases)
		}
	}
	var refusal *wayOut
	if errors.As(r.stopped, &refusal) && planned.written() == 0 {
		return Result{}, clustermanager.Refuse("%s", refusal.Error())
	}
	r.announce(ctx, planned)
	result := planned.result(false)
	result.Partial = r.stopped != nil
	if result.Partial {
		result.NextStep = planned.nextStep(r.stopped)
	}
	return result, nil
}

func wait(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// carryOut does a step. An error stops the plan.
func (r *run) carryOut(ctx context.Context, of *item) error {
	if of.step.Verb == clustermanager.Await {
		return r.await(ctx, of)
	}
	if err := r.refresh(ctx, of); err != nil {
		return r.tolerated(of, err)
	}
	faults := make([]error, len(of.objects))
	var writes errgroup.Group
	writes.SetLimit(requestsInFlight)
	for index, one := range of.objects {
		writes.Go(func() error {
			faults[index] = r.settle(ctx, one)
			return nil
		})
	}
	_ = writes.Wait()
	for index, fault := range faults {
		if fault == nil {
			continue
		}
		if apierrors.IsForbidden(fault) && of.step.WayOut != "" {
			return &wayOut{of.objects[index].reference, of.step.WayOut, fault}
		}
		if err := r.tolerated(of, fault, of.objects[index]); err != nil {
			return err
		}
	}
	return nil
}

// wayOut is a write that the API server forbids, with what to do.
type wayOut struct {
	reference clustermanager.ObjectReference
	way       string
	cause     error
}

func (w *wayOut) Error() string {
	return fmt.Sprintf("%s: you may not delete or change it: %s", w.reference, w.way)
}

func (w *wayOut) Unwrap() error { return w.cause }

// tolerated is the fault of a step, nil for one that an optional step leaves its objects with. The end of the budget is
// no such fault.
func (r *run) tolerated(of *item, fault error, objects ...*object) error {
	if !of.step.Optional || errors.Is(fault, errTime) {
		return fault
	}
	if len(objects) == 0 {
		of.objects = []*object{{step: of.step, reference: of.step.Reference()}}
		objects = of.objects
	}
	for _, one := range objects {
		one.action, one.left = "", fault.Error()
	}
	return nil
}

// refresh reads again what a step decides at its own time: a selection, and what an object is held by. Members that are
// gone meanwhile stay in the plan as done.
func (r *run) refresh(ctx context.Context, of *item) error {
	if of.step.Select == nil && len(of.step.Holders) == 0 {
		return nil
	}
	for {
		if r.isOver(ctx) {
			return r.overWith(of)
		}
		found := &item{step: of.step}
		err := r.read(ctx, found)
		switch {
		case err == nil:
			of.objects = merged(of.objects, found.objects)
			return nil
		case len(of.step.Finalizers) == 0 || !isTransient(err):
			return err
		}
		if err := r.pause(ctx); err != nil {
			return err
		}
	}
}

// overWith is the end of the budget, when the step has something to do.
func (r *run) overWith(of *item) error {
	if slices.ContainsFunc(of.objects, (*object).writes) {
		return errTime
	}
	return nil
}

// merged are the objects found now, and those planned before that are gone and so done, by name.
func merged(before, now []*object) []*object {
	all := slices.Clone(now)
	for _, one := range before {
		there := slices.ContainsFunc(now, func(found *object) bool {
			return found.reference.Name == one.reference.Name && found.reference.Namespace == one.reference.Namespace
		})
		if !there && one.writes() {
			one.live, one.done = nil, true
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b *object) int { return compareNames(a.reference, b.reference) })
	return all
}

// settle brings one object to what was decided: what another write got in the way of, and what had no answer, is read
// and decided again, once.
func (r *run) settle(ctx context.Context, o *object) error {
	var fault error
	for attempt := 1; o.writes() && !o.done; attempt++ {
		if r.isOver(ctx) {
			return errors.Join(errTime, fault)
		}
		fault = r.write(ctx, o)
		switch {
		case fault == nil:
			o.done = true
			return nil
		case len(o.step.Finalizers) > 0 && isTransient(fault):
			if err := r.pause(ctx); err != nil {
				return errors.Join(errTime, fault)
			}
		case attempt > 1 || isAnswered(fault) && !(isMissing(fault) && o.live != nil):
			return fault
		}
		if err := r.decideAgain(ctx, o); err != nil {
			return fmt.Errorf("%w; then %w", fault, err)
		}
	}
	return nil
}

// decideAgain reads the object anew. One that stands as it was meant to is done, as what was decided first.
func (r *run) decideAgain(ctx context.Context, o *object) error {
	if ctx.Err() != nil {
		// Whether a write that had no answer was done has to be told, also when the time is over.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), verifyTimeout)
		defer cancel()
	}
	before := *o
	live, err := r.get(ctx, o.step.At, o.reference)
	if err != nil {
		return fmt.Errorf("whether it was done is not known: %w", err)
	}
	o.live = live
	if err := r.decide(ctx, o); err != nil {
		o.action, o.changes = before.action, before.changes
		return err
	}
	if !o.writes() {
		o.action, o.changes, o.done = before.action, before.changes, true
	}
	return nil
}

// left is the time for writes.
func (r *run) left() time.Duration { return r.until.Sub(r.options.Clock.Now()) }

// isOver says whether a write is not started any more.
func (r *run) isOver(ctx context.Context) bool { return ctx.Err() != nil || r.left() < reserve }

// pause waits between two looks at the same thing.
func (r *run) pause(ctx context.Context) error {
	return r.options.Clock.Wait(ctx, min(max(r.left()/pollsOfRest, minPoll), maxPoll))
}

// isTransient says whether a removal that failed so may succeed in a moment: a webhook whose server has just gone makes the
// API server answer forbidden or an internal error.
func isTransient(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || !isAnswered(err)
}

// isAnswered says whether the API server said that it did not do it, and that nothing else got in the way. Everything
// else is looked at again: another's write, an answer that never came, a fault behind the API server.
func isAnswered(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500
}
