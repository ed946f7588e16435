package managed

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// walker drives one record at random: calls, faults of the provider, lost answers and a clock, in any order. After each
// step it holds the record and its events against what must always be true.
type walker struct {
	*world
	random *rand.Rand
	// hours are the metering rows by number; readies counts the ready events.
	hours   map[int]Hour
	readies int
	checked int
}

func newWalker(t *testing.T, seed uint64) *walker {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	in := okInput()
	in.IdempotencyKey = fmt.Sprintf("key-%d", seed)
	in.NodePools = wantedPools("a", "b", "c")[:1+random.IntN(3)]
	for i := range in.NodePools {
		in.NodePools[i].NodeCount = random.IntN(2)
	}
	if random.IntN(4) == 0 {
		in.Mode, in.Location, in.NodePools = ModeAutopilot, "europe-west1", nil
	}
	return &walker{world: newWorld(t, in), random: random, hours: map[int]Hour{}}
}

func (w *walker) chance(percent int) bool { return w.random.IntN(100) < percent }

// weather sets the provider's faults for the next step.
func (w *walker) weather(calm bool) {
	w.blind, w.crash = !calm && w.chance(10), !calm && w.chance(10)
	w.later = func(Write) bool { return !calm && w.chance(10) }
	w.refuse = func(Write) string {
		if !calm && w.chance(15) {
			return fmt.Sprintf("refused for reason %d", w.random.IntN(2))
		}
		return ""
	}
	w.failLater = func(Write) string {
		if !calm && w.chance(15) {
			return fmt.Sprintf("failed for reason %d", w.random.IntN(2))
		}
		return ""
	}
}

// step is a call, a change at the provider, or a pass.
func (w *walker) step() {
	if w.chance(5) {
		w.reread()
	}
	switch choice := w.random.IntN(20); {
	case choice == 0 && w.row.State != StateDeleted && !w.row.Deleting:
		channels := Channels()
		w.update(UpdateInput{ReleaseChannel: new(channels[w.random.IntN(4)]), Version: new([]string{"1.33", "1.34"}[w.random.IntN(2)])})
	case choice == 1 && w.row.State != StateDeleted && !w.row.Deleting:
		w.update(UpdateInput{Description: new("x")})
	case choice == 2 && w.chance(5):
		w.delete()
	case choice == 3 && w.cloud != nil && w.running == nil:
		w.cloud.Status, w.cloud.Message = []ProviderStatus{StatusRunning, StatusDegraded, StatusReconciling}[w.random.IntN(3)], "bad weather"
	case choice == 4 && w.cloud != nil && w.running == nil && w.chance(10):
		w.cloud = nil
	case choice == 5:
		w.now = w.now.Add(time.Duration(w.random.IntN(600)) * time.Second)
	case !w.row.NextLook.IsZero():
		w.due()
		if w.chance(10) {
			w.between = w.callBetween
		}
		w.pass()
		w.between = nil
	}
}

// callBetween is a call that comes in while a write is at the provider.
func (w *walker) callBetween() {
	switch {
	case w.row.Deleting:
	case w.chance(10):
		w.delete()
	default:
		w.update(UpdateInput{ReleaseChannel: new(Channels()[w.random.IntN(4)])})
	}
}

// due waits until the next pass.
func (w *walker) due() {
	if w.row.NextLook.After(w.now) {
		w.now = w.row.NextLook
	}
}

// reread writes the record as a store does, and reads it again: a record is all that a step remembers.
func (w *walker) reread() {
	var row Cluster
	if err := json.Unmarshal(encode(w.t, w.row), &row); err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(w.row, row, cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatalf("a record that was read again (-want +got):\n%s", diff)
	}
	w.row = row
}

// check is what is always true.
func (w *walker) check(seed uint64) {
	t := w.t
	t.Helper()
	for _, event := range w.saved[w.checked:] {
		data, is := event.Data.(ClusterAnswer)
		if !is {
			t.Fatalf("seed %d: event %s has %T", seed, event.Type, event.Data)
		}
		want := map[EventType]State{
			EventCreated: StatePending, EventReady: StateReady, EventUpdated: StateReady, EventError: StateError,
			EventDeleting: StateDeleting, EventDeleted: StateDeleted,
		}[event.Type]
		if data.State != want {
			t.Errorf("seed %d: event %s tells of state %s", seed, event.Type, data.State)
		}
		if event.Type == EventReady {
			w.readies++
		}
	}
	w.checked = len(w.saved)
	if w.readies > 1 {
		t.Errorf("seed %d: ready %d times", seed, w.readies)
	}
	if (w.readies == 1) == w.row.ReadyAt.IsZero() {
		t.Errorf("seed %d: %d ready events, readyAt %s", seed, w.readies, w.row.ReadyAt)
	}
	if (w.row.Message != "") != (w.row.State == StateError) {
		t.Errorf("seed %d: %s with message %q", seed, w.row.State, w.row.Message)
	}
	if (w.row.State == StateDeleted) != w.row.NextLook.IsZero() {
		t.Errorf("seed %d: %s, next look %s", seed, w.row.State, w.row.NextLook)
	}
	w.meter(seed)
}

// meter ticks from a number that may have been recorded already, as a tick that was repeated.
func (w *walker) meter(seed uint64) {
	from := max(0, len(w.hours)-w.random.IntN(3))
	for _, hour := range w.row.Hours(from, w.now) {
		before, twice := w.hours[hour.Number]
		if twice && before != hour {
			w.t.Errorf("seed %d: hour %d is %+v and was %+v", seed, hour.Number, hour, before)
		}
		w.hours[hour.Number] = hour
	}
}

// audit is what is true of a whole walk.
func (w *walker) audit(seed uint64) {
	w.t.Helper()
	if w.row.State != StateDeleted {
		w.t.Fatalf("seed %d: a deleted cluster is %s (%s) in calm weather", seed, w.row.State, w.row.Message)
	}
	if w.cloud != nil {
		w.t.Errorf("seed %d: it is still at the provider", seed)
	}
	var total float64
	for number := range len(w.hours) {
		total += w.hours[number].Quantity
	}
	var want float64
	if !w.row.AcceptedAt.IsZero() {
		want = w.row.DeletedAt.Sub(w.row.AcceptedAt).Hours()
	}
	if difference := total - want; difference > 1e-6 || difference < -1e-6 {
		w.t.Errorf("seed %d: %f hours, want %f", seed, total, want)
	}
	for i, event := range w.saved {
		if (event.Type == EventDeleted) != (i == len(w.saved)-1) {
			w.t.Errorf("seed %d: event %d of %d is %s", seed, i, len(w.saved), event.Type)
		}
	}
}

func TestWalker(t *testing.T) {
	t.Parallel()
	states := map[State]int{}
	for seed := range uint64(300) {
		w := newWalker(t, seed)
		for range 150 {
			w.weather(false)
			w.step()
			w.check(seed)
			states[w.row.State]++
		}
		w.delete()
		for range 200 {
			if w.row.State == StateDeleted {
				break
			}
			w.weather(true)
			if w.cloud != nil && w.running == nil {
				w.cloud.Status = StatusRunning
			}
			w.due()
			w.pass()
			w.check(seed)
		}
		w.meter(seed)
		w.audit(seed)
		if t.Failed() {
			return
		}
	}
	for _, state := range States() {
		if states[state] == 0 {
			t.Errorf("no walk came to %s", state)
		}
	}
	t.Logf("states: %v", states)
}

// TestCalmWeatherMakesEveryClusterReady walks in bad weather without a delete, then waits.
func TestCalmWeatherMakesEveryClusterReady(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		w := newWalker(t, seed)
		for range 60 {
			w.weather(false)
			w.due()
			if w.chance(10) {
				w.between = func() { w.update(UpdateInput{ReleaseChannel: new(Channels()[w.random.IntN(4)])}) }
			}
			w.pass()
			w.between = nil
			w.check(seed)
		}
		for range 60 {
			w.weather(true)
			w.due()
			w.pass()
			w.check(seed)
		}
		if w.row.State != StateReady {
			t.Fatalf("seed %d: %s (%s)", seed, w.row.State, w.row.Message)
		}
		equal(t, fmt.Sprintf("seed %d: channel at the provider", seed), w.row.Channel, w.cloud.Channel)
	}
}

func BenchmarkStep(b *testing.B) {
	pool, placement, err := scene().Place(okInput(), onlyGCP)
	if err != nil {
		b.Fatal(err)
	}
	row, _, err := NewCluster(okInput(), alice, pool, placement, start)
	if err != nil {
		b.Fatal(err)
	}
	shown := &ProviderCluster{Label: row.ID, Status: StatusRunning, Channel: ChannelRegular}
	for b.Loop() {
		row = Step(row, Seen(shown, nil), start).Row
	}
}
