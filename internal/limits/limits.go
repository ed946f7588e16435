// Package limits bounds what one caller may ask of a server: calls a second, and calls at once.
//
// It promises that a call over a limit is turned away at once with the time to wait, never queued, that one caller's calls
// cost another nothing, and that the table of callers is bounded: the one that called longest ago makes room.
//
// It leaves out who a caller is, which is a key to it, and what somebody is told who is turned away.
package limits

import (
	"container/list"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// MostKeys is how many callers are remembered.
const MostKeys = 10_000

// busyRetry is what a caller is told to wait whose calls at once are too many: when one of them ends is not known.
const busyRetry = time.Second

// Exceeded says which limit a call was over.
type Exceeded struct {
	// Kind is the limit, Most its number.
	Kind Kind
	Most int
	// RetryAfter is when the same call may be let in.
	RetryAfter time.Duration
}

// Kind is a limit.
type Kind string

const (
	// Rate counts calls a second.
	Rate Kind = "rate"
	// Concurrency counts calls at once.
	Concurrency Kind = "concurrency"
)

// Error names the limit.
func (e *Exceeded) Error() string {
	return fmt.Sprintf("limit %s: more than %d: again in %s", e.Kind, e.Most, e.RetryAfter)
}

// Table counts the calls of each caller.
type Table struct {
	rate, concurrency int
	now               func() time.Time

	mutex sync.Mutex
	// callers are in recent's order, the latest first.
	callers map[string]*list.Element
	recent  *list.List
}

// counted is what one caller has asked.
type counted struct {
	key     string
	bucket  *rate.Limiter
	running int
}

// New makes a table of callers that may make so many calls a second, as many in one burst, and so many at once. 0 is no
// limit.
func New(perSecond, concurrency int, now func() time.Time) *Table {
	return &Table{rate: perSecond, concurrency: concurrency, now: now, callers: map[string]*list.Element{}, recent: list.New()}
}

// Admit lets one call of a caller in, whose end is told by done, or says by which limit it is turned away.
func (t *Table) Admit(key string) (done func(), exceeded *Exceeded) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	caller := t.caller(key)
	if t.concurrency > 0 && caller.running >= t.concurrency {
		return nil, &Exceeded{Kind: Concurrency, Most: t.concurrency, RetryAfter: busyRetry}
	}
	now := t.now()
	if t.rate > 0 {
		reserved := caller.bucket.ReserveN(now, 1)
		if wait := reserved.DelayFrom(now); wait > 0 {
			reserved.CancelAt(now)
			return nil, &Exceeded{Kind: Rate, Most: t.rate, RetryAfter: wait}
		}
	}
	caller.running++
	return sync.OnceFunc(func() {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		caller.running--
	}), nil
}

// caller finds or makes the entry of a key. One with calls running is never dropped.
func (t *Table) caller(key string) *counted {
	if found := t.callers[key]; found != nil {
		t.recent.MoveToFront(found)
		return found.Value.(*counted)
	}
	for oldest := t.recent.Back(); oldest != nil && t.recent.Len() >= MostKeys; {
		previous := oldest.Prev()
		if entry := oldest.Value.(*counted); entry.running == 0 {
			t.recent.Remove(oldest)
			delete(t.callers, entry.key)
		}
		oldest = previous
	}
	made := &counted{key: key, bucket: rate.NewLimiter(rate.Limit(t.rate), t.rate)}
	t.callers[key] = t.recent.PushFront(made)
	return made
}
