package limits

import (
	"fmt"
	"testing"
	"time"
)

// clock is a virtual one.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func admit(t *testing.T, table *Table, key string) func() {
	t.Helper()
	done, exceeded := table.Admit(key)
	if exceeded != nil {
		t.Fatalf("%s: turned away: %v", key, exceeded)
	}
	return done
}

func refused(t *testing.T, table *Table, key string, want Exceeded) {
	t.Helper()
	_, exceeded := table.Admit(key)
	if exceeded == nil || *exceeded != want {
		t.Fatalf("%s: got %v, want %v", key, exceeded, &want)
	}
}

func TestCallsASecond(t *testing.T) {
	t.Parallel()
	clock := newClock()
	table := New(10, 0, clock.now)
	for range 10 {
		admit(t, table, "a")()
	}
	over := Exceeded{Kind: Rate, Most: 10, RetryAfter: 100 * time.Millisecond}
	refused(t, table, "a", over)
	// Who is turned away does not wait longer for having asked.
	refused(t, table, "a", over)
	admit(t, table, "b")()
	clock.Time = clock.Add(over.RetryAfter)
	admit(t, table, "a")()
	refused(t, table, "a", over)
	clock.Time = clock.Add(time.Hour)
	for range 10 {
		admit(t, table, "a")()
	}
	refused(t, table, "a", over)
}

func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	table := New(0, 2, newClock().now)
	first, second := admit(t, table, "a"), admit(t, table, "a")
	over := Exceeded{Kind: Concurrency, Most: 2, RetryAfter: time.Second}
	refused(t, table, "a", over)
	admit(t, table, "b")
	first()
	// An end that is told twice counts once.
	first()
	third := admit(t, table, "a")
	refused(t, table, "a", over)
	second()
	third()
	admit(t, table, "a")
}

// A call that is turned away for the others that run is not counted as one of the second.
func TestABusyCallerKeepsItsRate(t *testing.T) {
	t.Parallel()
	table := New(2, 1, newClock().now)
	done := admit(t, table, "a")
	for range 5 {
		refused(t, table, "a", Exceeded{Kind: Concurrency, Most: 1, RetryAfter: time.Second})
	}
	done()
	admit(t, table, "a")()
	refused(t, table, "a", Exceeded{Kind: Rate, Most: 2, RetryAfter: 500 * time.Millisecond})
}

func TestNoLimits(t *testing.T) {
	t.Parallel()
	table := New(0, 0, newClock().now)
	for range 1000 {
		admit(t, table, "a")
	}
}

func TestTheTableIsBounded(t *testing.T) {
	t.Parallel()
	table := New(1, 1, newClock().now)
	running := admit(t, table, "running")
	for number := range 2 * MostKeys {
		admit(t, table, fmt.Sprint(number))()
	}
	if len(table.callers) > MostKeys || table.recent.Len() != len(table.callers) {
		t.Errorf("%d callers, %d in order, most %d", len(table.callers), table.recent.Len(), MostKeys)
	}
	// The latest are remembered, and whoever has a call running.
	refused(t, table, fmt.Sprint(2*MostKeys-1), Exceeded{Kind: Rate, Most: 1, RetryAfter: time.Second})
	refused(t, table, "running", Exceeded{Kind: Concurrency, Most: 1, RetryAfter: time.Second})
	running()
	if _, there := table.callers["0"]; there {
		t.Error("the one that called longest ago is still there")
	}
}
