package reconcile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// mortal is a process that is killed at its n-th call to the world: before the call has an effect, or after it, so that its
// answer is lost. Nothing that it does later reaches the world.
type mortal struct {
	mu      sync.Mutex
	calls   int
	at      int
	effect  bool
	dead    bool
	deadErr error
	last    string
}

func (m *mortal) died() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// live makes a call of a process, unless it is dead.
func live[T any](m *mortal, name string, do func() (T, error)) (T, error) {
	m.mu.Lock()
	m.calls++
	dies := m.calls == m.at
	if dies {
		m.dead, m.last = true, name
	}
	reaches := !m.dead || dies && m.effect
	m.mu.Unlock()
	var none T
	if !reaches {
		return none, m.deadErr
	}
	got, err := do()
	if dies {
		return none, m.deadErr
	}
	return got, err
}

func act(m *mortal, name string, do func() error) error {
	_, err := live(m, name, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// mortalStore and mortalProvider are what a mortal process has.
type mortalStore struct {
	*mortal
	Store
}

func (s mortalStore) Claim(ctx context.Context, owner string, now time.Time, lease time.Duration, limit int) ([]managed.Claim, error) {
	return live(s.mortal, "Claim", func() ([]managed.Claim, error) { return s.Store.Claim(ctx, owner, now, lease, limit) })
}

func (s mortalStore) Again(ctx context.Context, claim managed.Claim) (managed.Claim, error) {
	return live(s.mortal, "Again", func() (managed.Claim, error) { return s.Store.Again(ctx, claim) })
}

func (s mortalStore) Save(ctx context.Context, claim managed.Claim, row managed.Cluster, events []managed.Event, done bool) (managed.Claim, error) {
	return live(s.mortal, "Save", func() (managed.Claim, error) { return s.Store.Save(ctx, claim, row, events, done) })
}

func (s mortalStore) Settled(ctx context.Context, account string) ([]managed.Claim, error) {
	return live(s.mortal, "Settled", func() ([]managed.Claim, error) { return s.Store.Settled(ctx, account) })
}

func (s mortalStore) Waiting(ctx context.Context, now time.Time, limit int) ([]managed.Delivery, error) {
	return live(s.mortal, "Waiting", func() ([]managed.Delivery, error) { return s.Store.Waiting(ctx, now, limit) })
}

func (s mortalStore) Delivered(ctx context.Context, id int64, now time.Time) error {
	return act(s.mortal, "Delivered", func() error { return s.Store.Delivered(ctx, id, now) })
}

func (s mortalStore) Postpone(ctx context.Context, id int64, until time.Time) error {
	return act(s.mortal, "Postpone", func() error { return s.Store.Postpone(ctx, id, until) })
}

func (s mortalStore) Meter(ctx context.Context, now time.Time, limit int) (int, error) {
	return live(s.mortal, "Meter", func() (int, error) { return s.Store.Meter(ctx, now, limit) })
}

func (s mortalStore) ClaimJob(ctx context.Context, name, owner string, now time.Time, lease time.Duration) (bool, error) {
	return live(s.mortal, "ClaimJob "+name, func() (bool, error) { return s.Store.ClaimJob(ctx, name, owner, now, lease) })
}

func (s mortalStore) FinishJob(ctx context.Context, name, owner string, due time.Time) error {
	return act(s.mortal, "FinishJob "+name, func() error { return s.Store.FinishJob(ctx, name, owner, due) })
}

type mortalProvider struct {
	*mortal
	Provider
}

func (p mortalProvider) Look(ctx context.Context, account managed.Account, row managed.Cluster) managed.Observed {
	seen, err := live(p.mortal, "Look", func() (managed.Observed, error) { return p.Provider.Look(ctx, account, row), nil })
	if err != nil {
		return managed.Unreachable(err.Error())
	}
	return seen
}

func (p mortalProvider) List(ctx context.Context, account managed.Account) (managed.Listing, error) {
	return live(p.mortal, "List", func() (managed.Listing, error) { return p.Provider.List(ctx, account) })
}

func (p mortalProvider) Send(ctx context.Context, account managed.Account, row managed.Cluster, write managed.Write) managed.Answer {
	answer, err := live(p.mortal, "Send "+string(write.Kind), func() (managed.Answer, error) { return p.Provider.Send(ctx, account, row, write), nil })
	if err != nil {
		return managed.Answer{Write: write, Verdict: managed.Later}
	}
	return answer
}

// transport is a webhook without a network.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) { return t(request) }

// life runs a cluster's whole life by a process that is killed at its n-th call, and goes on with a second one.
type life struct {
	*scene
	first   *mortal
	hook    *hook
	current *Reconciler
	row     managed.Cluster
	killed  time.Time
}

func newLife(t *testing.T, at int, effect bool) *life {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("made-for-tests\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &life{hook: newHook(t), first: &mortal{at: at, effect: effect, deadErr: errors.New("killed")}}
	l.scene = newScene(t, func(set *Settings) {
		set.Webhook = Webhook{URL: "http://hook.example.com/events", SecretFile: secret, Transport: l.hook}
	})
	below := l.hook
	l.settings.Webhook.Transport = transport(func(request *http.Request) (*http.Response, error) {
		return live(l.first, "POST", func() (*http.Response, error) { return below.RoundTrip(request) })
	})
	l.current = l.reconciler(mortalStore{l.first, l.store}, mortalProvider{l.first, l.cloud})
	l.settings.Webhook.Transport = below
	return l
}

// until lets time go by until the cluster is in a state.
func (l *life) until(want managed.State) {
	l.t.Helper()
	for range 60 {
		l.current.Pass(l.t.Context())
		l.current.Jobs(l.t.Context())
		l.current.Deliver(l.t.Context())
		if l.first.died() && l.killed.IsZero() {
			l.killed = l.now()
			l.current = l.reconciler(l.store, l.cloud)
		}
		l.advance(31 * time.Second)
		if l.read(l.row).State == want && len(l.waiting()) == 0 {
			return
		}
	}
	l.state(l.row, want)
	l.t.Fatalf("events wait: %v", l.waiting())
}

func (l *life) waiting() []managed.Delivery {
	l.t.Helper()
	waiting, err := l.store.Waiting(l.t.Context(), l.now().Add(time.Hour), 10)
	l.must(err)
	return waiting
}

func (l *life) run() {
	l.row = l.insert("one", pools("a", "b"))
	l.until(managed.StateReady)
	l.update(l.row, managed.UpdateInput{ReleaseChannel: new(managed.ChannelRapid)})
	l.until(managed.StateReady)
	l.advance(5 * time.Minute)
	l.until(managed.StateReady)
	l.advance(time.Hour)
	l.until(managed.StateReady)
	l.delete(l.row)
	l.until(managed.StateDeleted)
	// Long enough that what a killed process had claimed is taken over.
	for range 6 {
		l.until(managed.StateDeleted)
	}
}

// check is what is true of every life.
func (l *life) check(what string) {
	l.t.Helper()
	t := l.t
	equal(t, what+": writes", []string{"one create cluster a", "one create node pool b", "one update cluster releaseChannel", "one delete cluster"}, l.writes())
	told := []string{"created", "ready", "updated", "deleting", "deleted"}
	equal(t, what+": events", told, l.events(l.row))
	// What was delivered twice is told twice in a row, with the same id.
	equal(t, what+": delivered", told, slices.Compact(l.hook.told()))
	total := 0.0
	for _, hour := range l.hours() {
		total += hour.Quantity
	}
	gone := l.read(l.row)
	if want := gone.DeletedAt.Sub(gone.AcceptedAt).Hours(); total < want-1e-6 || total > want+1e-6 || want < 1 {
		t.Errorf("%s: %f hours, want %f", what, total, want)
	}
	if l.cloud.clusters[l.row.Spot()] != nil {
		t.Errorf("%s: it is still at the provider", what)
	}
}

func TestR07KilledAtAnyCall(t *testing.T) {
	t.Parallel()
	whole := newLife(t, 0, false)
	whole.run()
	whole.check("whole")
	calls := whole.first.calls
	if calls < 80 {
		t.Fatalf("%d calls", calls)
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	for _, effect := range []bool{false, true} {
		t.Run(fmt.Sprintf("effect=%t", effect), func(t *testing.T) {
			t.Parallel()
			for at := 1; at <= calls && !t.Failed(); at++ {
				l := newLife(t, at, effect)
				l.run()
				l.check(fmt.Sprintf("killed at call %d, %s", at, l.first.last))
				mu.Lock()
				seen[l.first.last] = true
				mu.Unlock()
			}
		})
	}
	t.Cleanup(func() {
		for _, call := range []string{"Claim", "Look", "Save", "Send create cluster", "Send create node pool", "Send update cluster", "Send delete cluster", "List", "Settled", "POST", "Delivered", "Meter"} {
			if !seen[call] {
				t.Errorf("no process was killed at %s", call)
			}
		}
	})
}
