package managed

import (
	"errors"
	"time"
)

// Errors of a store. They are wrapped, so that the cause can be logged.
var (
	// ErrUnreachable is of a store, a provider or a control plane that could not be asked. Nothing was recorded.
	ErrUnreachable = errors.New("cannot be reached")
	// ErrUnknown is of a store that has no record of the id.
	ErrUnknown = errors.New("no such record")
	// ErrRecorded is of an insert whose id is recorded already.
	ErrRecorded = errors.New("recorded already")
	// ErrChanged is of a claimed record that was changed since it was read; ErrLost of one that is claimed no more.
	ErrChanged = errors.New("changed meanwhile")
	ErrLost    = errors.New("claimed by another")
)

// Filter narrows a list. Pool and Project are not asked for when empty.
type Filter struct {
	Tenant, Pool, Project string
	Deleted               bool
}

// Claim is a record in the hands of one pass. It is saved only while the claim holds and nothing else changed it.
type Claim struct {
	Row Cluster
	// Counter is the record's own, which every save moves on; it is not the answered version.
	Counter int64
	// Owner is who claimed it; empty: nobody did, and it is saved only while that is so.
	Owner string
	// Attempts counts the passes that began since the last one that came to its end, this one included.
	Attempts int
}

// Delivery is an event on its way out.
type Delivery struct {
	// ID is the event's, in the order of all events; Cluster orders it among those of one cluster.
	ID      int64
	Cluster string
	// Body is the event in CloudEvents' structured mode.
	Body []byte
	// Failures counts the tries that failed.
	Failures int
}

// HoursFilter narrows metering rows: those of hours that began at Since or later, of one tenant unless that is empty.
type HoursFilter struct {
	Since  time.Time
	Tenant string
}
