package managed

import (
	"hash/fnv"
	"strconv"
	"time"
)

// How often a record is looked at, and how long a refused delete waits.
const (
	// LookConverging is for what is on its way, LookSettled for what is ready or failed; both are the longest time.
	LookConverging = 30 * time.Second
	LookSettled    = 5 * time.Minute
	// The wait of a refused delete starts at the one and doubles up to the other.
	deleteWaitFirst = 5 * time.Minute
	deleteWaitMost  = 6 * time.Hour
)

// CallDeadline is when a call to the provider has ended for certain. A row's lease lasts longer; after an attempt to
// create, only a look made this much later tells that there is nothing.
const CallDeadline = 30 * time.Second

// DeleteWait is the wait after the n-th refusal of a delete, from 1 on: 5, 10, 20 minutes and so on, at most 6 hours.
func DeleteWait(refusals int) time.Duration {
	wait := deleteWaitFirst
	for range refusals - 1 {
		if wait *= 2; wait >= deleteWaitMost {
			return deleteWaitMost
		}
	}
	return wait
}

// Jittered takes up to a tenth off an interval, by the record and the time, so that the looks at many do not bunch.
func Jittered(id string, now time.Time, interval time.Duration) time.Duration {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(id + " " + strconv.FormatInt(now.UnixNano(), 10)))
	return interval - time.Duration(hash.Sum64()%uint64(interval/10))
}
