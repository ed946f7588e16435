package clustermanager

import "time"

// Budget is the time that a call may take.
type Budget struct {
	Start time.Time
	Limit time.Duration
}

// Deadline is when the budget ends.
func (b Budget) Deadline() time.Time { return b.Start.Add(b.Limit) }

// Left is what remains at the time given, at least zero.
func (b Budget) Left(now time.Time) time.Duration { return max(0, b.Deadline().Sub(now)) }
