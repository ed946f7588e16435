package reconcile

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/service"
)

// Times of this package; those of records are managed's.
const (
	// lease is how long a claim holds: longer than a pass, whose call to the provider ends [managed.CallDeadline] after it
	// began, and the saves beside it.
	lease = 3 * managed.CallDeadline
	// tick is how often what is due is asked for: the longest that a call waits for its pass.
	tick = time.Second
)

// Store is what the reconciler asks of one.
type Store interface {
	// Claim takes records that are due, for a lease; Again reads one that was changed meanwhile; Save writes it, and gives
	// it back when done. Settled are an account's records that are claimed by nobody and have no next look.
	Claim(ctx context.Context, owner string, now time.Time, lease time.Duration, limit int) ([]managed.Claim, error)
	Again(ctx context.Context, claim managed.Claim) (managed.Claim, error)
	Save(ctx context.Context, claim managed.Claim, row managed.Cluster, events []managed.Event, done bool) (managed.Claim, error)
	Settled(ctx context.Context, account string) ([]managed.Claim, error)
	// Forget removes records that were deleted before a time; with delivered none whose events wait.
	Forget(ctx context.Context, before time.Time, delivered bool, limit int) (int, error)

	// Waiting are events that are due for delivery, of each cluster the first.
	Waiting(ctx context.Context, now time.Time, limit int) ([]managed.Delivery, error)
	Delivered(ctx context.Context, id int64, now time.Time) error
	Postpone(ctx context.Context, id int64, until time.Time) error

	// Meter records the hours that are full, of up to so many clusters.
	Meter(ctx context.Context, now time.Time, limit int) (int, error)

	// ClaimJob takes a job that one process at a time does, FinishJob gives it back.
	ClaimJob(ctx context.Context, name, owner string, now time.Time, lease time.Duration) (bool, error)
	FinishJob(ctx context.Context, name, owner string, due time.Time) error
}

// Provider is what passes ask of a kind of provider.
type Provider interface {
	Capabilities() managed.Capabilities
	// Look shows the cluster of a record, and the operation that the record names.
	Look(ctx context.Context, account managed.Account, row managed.Cluster) managed.Observed
	// List shows all clusters of an account by one call.
	List(ctx context.Context, account managed.Account) (managed.Listing, error)
	// Send sends a write of a record and says what the provider made of it. It ends with the context.
	Send(ctx context.Context, account managed.Account, row managed.Cluster, write managed.Write) managed.Answer
}

// Settings are those of the reconciler.
type Settings struct {
	// Passes is how many run at once; 0: 16.
	Passes int
	// DeletedRetention is after what time deleted records go; 0: never.
	DeletedRetention time.Duration
	// Webhook takes the events; without a URL they are kept and read.
	Webhook Webhook
}

// Rooms are what the reconciler works with.
type Rooms struct {
	Store     Store
	Catalogue service.Catalogue
	// Providers are the kinds of providers by the name that accounts have.
	Providers map[string]Provider
	Clock     func() time.Time
	Log       *slog.Logger
}

// Reconciler does all that no call waits for.
type Reconciler struct {
	settings Settings
	rooms    Rooms
	relay    *relay
	// owner is of this process alone; claims counts its claims, so that no two have the same owner.
	owner  string
	claims atomic.Int64
	// slots are as many as passes may run.
	slots   chan struct{}
	running sync.WaitGroup
	// asks is the time when a job is asked for next, by its name.
	asks sync.Map
}

// New makes a reconciler; a webhook that cannot be used is an error.
func New(settings Settings, rooms Rooms) (*Reconciler, error) {
	if settings.Passes == 0 {
		settings.Passes = 16
	}
	if settings.DeletedRetention < 0 || settings.Passes < 0 {
		return nil, fmt.Errorf("reconciler: retention %s, %d passes at once: neither can be below 0", settings.DeletedRetention, settings.Passes)
	}
	r := &Reconciler{
		settings: settings, rooms: rooms, owner: rand.Text(), slots: make(chan struct{}, settings.Passes),
	}
	if settings.Webhook.URL == "" {
		return r, nil
	}
	relay, err := newRelay(settings.Webhook, rooms)
	r.relay = relay
	return r, err
}

// Run works until the context ends, and then lets the passes that run come to their end. It takes up what is due within a
// second.
func (r *Reconciler) Run(ctx context.Context) {
	var loop sync.WaitGroup
	for _, do := range []func(context.Context){r.startPasses, r.Jobs, r.Deliver} {
		loop.Go(func() {
			ticker := time.NewTicker(tick)
			defer ticker.Stop()
			for ctx.Err() == nil {
				do(ctx)
				select {
				case <-ctx.Done():
				case <-ticker.C:
				}
			}
		})
	}
	loop.Wait()
	r.running.Wait()
}

// Pass makes the passes that are due now, and waits for their end.
func (r *Reconciler) Pass(ctx context.Context) {
	for r.start(ctx) > 0 {
		r.running.Wait()
	}
}

// startPasses starts passes as long as there are free slots and records that are due.
func (r *Reconciler) startPasses(ctx context.Context) {
	for ctx.Err() == nil && r.start(ctx) > 0 {
	}
}

// start claims as many records as there are free slots, and begins their passes. It says how many.
func (r *Reconciler) start(ctx context.Context) int {
	free := cap(r.slots) - len(r.slots)
	if free == 0 {
		return 0
	}
	claims, err := r.rooms.Store.Claim(ctx, r.claimant(), r.rooms.Clock(), lease, free)
	if err != nil {
		r.failed(ctx, "records that are due cannot be claimed", err)
		return 0
	}
	for _, claim := range claims {
		r.slots <- struct{}{}
		r.running.Go(func() {
			defer func() { <-r.slots }()
			// A pass has deadlines of its own: one that is broken off would wait for the end of its lease.
			r.pass(context.WithoutCancel(ctx), claim)
		})
	}
	return len(claims)
}

// claimant is an owner that was never used before.
func (r *Reconciler) claimant() string { return fmt.Sprintf("%s-%d", r.owner, r.claims.Add(1)) }

// failed logs what went wrong, unless the process is going away.
func (r *Reconciler) failed(ctx context.Context, what string, err error, more ...any) {
	if ctx.Err() == nil {
		r.rooms.Log.ErrorContext(ctx, what, append(more, "cause", err)...)
	}
}
