package managed

import (
	"reflect"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Result is what a step made of a record.
type Result struct {
	// Row is saved together with the events, before the write goes out.
	Row Cluster
	// Write goes to the provider, and its answer to the next step; nil: nothing is to be sent.
	Write  *Write
	Events []Event
}

// Step moves a record by what was observed. A pass is a look's step and, when that has a write, a second step with the
// provider's answer. Row.NextLook is when the next pass is due. The time is that from before the look, so that a
// cluster that was not there is known not to have been there then.
//
// What the provider was not asked, or could not say, changes no state. A refusal makes the part that it is of an error;
// it is tried again after five minutes, a refused delete after [DeleteWait]. A cluster that was ready and is gone is an
// error and is never made again; one that was never ready is.
func Step(row Cluster, observed Observed, now time.Time) Result {
	p := &pass{row: new(row.clone()), now: now}
	switch seen, known := observed.Look.Get(); {
	case row.State == StateDeleted:
		p.row.NextLook = time.Time{}
		return Result{Row: *p.row}
	case observed.Answer != nil:
		p.answered(*observed.Answer)
	case !known:
		p.soon = true
	case row.Deleting:
		p.remove(seen, observed.Operation)
	case seen == nil:
		p.absent(observed.Operation)
	default:
		p.present(seen, observed.Operation)
	}
	events := p.settle(&row)
	return Result{Row: *p.row, Write: p.write, Events: events}
}

// pass is a step under way.
type pass struct {
	row *Cluster
	now time.Time
	// soon says that the next look is a short wait away, whatever the state.
	soon bool
	// at is the exact time of the next look; zero: by the state.
	at    time.Time
	write *Write
}

// fail marks a part. Of a cluster that is on its way out only the refused delete counts.
func (p *pass) fail(part *Part, point FailurePoint, message string) {
	if p.row.Deleting && point != FailedDelete {
		return
	}
	if message == "" {
		message = "the provider gave no reason"
	}
	part.Failure, part.Failed = message, point
	part.RetryAt = p.now.Add(Jittered(p.row.ID, p.now, LookSettled))
}

// Messages of what the provider itself has no words for.
const (
	messageTaken    = "the name is taken at the provider by one that is not ours: remove it there"
	messageVanished = "it is no longer at the provider: delete it here, then create it again"
	messageRemoved  = "the provider removed it before it was ready: it is created again"
)

// Unreachable is what was observed when the provider could not be asked.
func Unreachable(reason string) Observed {
	return Observed{Look: clustermanager.Unknown[*ProviderCluster](reason)}
}

// Seen is what a look showed; nil: the provider has no cluster of our name.
func Seen(cluster *ProviderCluster, operation *OperationStatus) Observed {
	return Observed{Look: clustermanager.Known(cluster), Operation: operation}
}

// changedAnswer says whether what is answered of a record differs.
func changedAnswer(before, after any) bool { return !reflect.DeepEqual(before, after) }
