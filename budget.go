package clustermanager

import "time"

// Budget is the time that a call may take.
type Budget struct {
	Start time.Time
	Limit time.Duration
}

// Deadline is when the budget ends.
func (b Budget) Deadline() time.Time { return b.Start.Add(b.Limit) }
