package managed

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// start is when every test begins.
var start = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

var alice = Principal{ID: "https://id.example.com|alice"}

// okInput is the minimal valid create of the scene, decoded.
func okInput() CreateInput {
	return CreateInput{
		TenantID: "acme", PoolID: poolP, Name: "one", Mode: ModeStandard, Location: "europe-west1-b",
		ReleaseChannel: ChannelRegular, IdempotencyKey: "key-1",
		NodePools: []NodePoolInput{{Name: "a", MachineType: "e2-standard-4", NodeCount: 1}},
	}
}

func wantedPools(names ...string) []NodePoolInput {
	var pools []NodePoolInput
	for _, name := range names {
		pools = append(pools, NodePoolInput{Name: name, MachineType: "e2-standard-4", NodeCount: 1})
	}
	return pools
}

// world is one record with a provider and a clock: passes are made when they are due.
type world struct {
	t   *testing.T
	now time.Time
	row Cluster
	// saved are the events, in order; sent the writes that reached the provider.
	saved []Event
	sent  []sentWrite

	// cloud is what the provider has; nil: nothing. busyUntil is the end of the running operation.
	cloud    *ProviderCluster
	running  *runningOperation
	finished map[string]OperationStatus
	offered  string
	// refuse, failLater and later say what becomes of a write: its refusal, its operation's failure, no answer.
	refuse    func(Write) string
	failLater func(Write) string
	later     func(Write) bool
	// blind says that the provider cannot be asked; crash that the answer to a write is lost.
	blind, crash bool
	// between is a call that comes in while a write is at the provider; it runs once.
	between func()
	made    int
}

type sentWrite struct {
	Write
	At   time.Duration
	Body Cluster
}

type runningOperation struct {
	name  string
	write Write
	until time.Time
	row   Cluster
}

// operationTime is how long the provider works on a write.
const operationTime = 45 * time.Second

func newWorld(t *testing.T, in CreateInput) *world {
	t.Helper()
	pool, placement, err := scene().Place(in, onlyGCP)
	if err != nil {
		t.Fatal(err)
	}
	row, event, err := NewCluster(in, alice, pool, placement, start)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, now: start, row: row, saved: []Event{event}, finished: map[string]OperationStatus{}, offered: "1.33.5-gke.100"}
}

// pass is one pass of a reconciler over the row.
func (w *world) pass() {
	w.settleCloud()
	observed := Unreachable("the provider does not answer")
	if !w.blind {
		observed = Seen(w.show(), w.operation())
	}
	result := Step(w.row, observed, w.now)
	w.save(result)
	if result.Write == nil {
		return
	}
	answer, lost := w.do(*result.Write)
	if call := w.between; call != nil {
		w.between, answer.Stale = nil, true
		call()
	}
	if lost {
		return
	}
	w.save(Step(w.row, Observed{Answer: &answer}, w.now))
}

func (w *world) save(result Result) {
	w.row = result.Row
	w.saved = append(w.saved, result.Events...)
}

// until makes passes as they are due, up to a time after the start.
func (w *world) until(after time.Duration) {
	end := start.Add(after)
	for !w.row.NextLook.IsZero() && !w.row.NextLook.After(end) {
		if w.row.NextLook.After(w.now) {
			w.now = w.row.NextLook
		}
		w.pass()
	}
	w.now = end
}

// show is a copy of what the provider has.
func (w *world) show() *ProviderCluster {
	if w.cloud == nil {
		return nil
	}
	shown := *w.cloud
	shown.NodePools = slices.Clone(w.cloud.NodePools)
	return &shown
}

func (w *world) operation() *OperationStatus {
	if w.row.Operation == nil {
		return nil
	}
	name := w.row.Operation.Name
	if w.running != nil && w.running.name == name {
		return &OperationStatus{Name: name, Running: true}
	}
	return new(w.finished[name])
}

// do is the provider taking a write.
func (w *world) do(write Write) (answer Answer, lost bool) {
	answer = Answer{Write: write}
	w.sent = append(w.sent, sentWrite{write, w.now.Sub(start), w.row})
	switch {
	case write.Kind == CreateCluster && (w.cloud != nil || !w.row.ReadyAt.IsZero()):
		w.t.Errorf("a second cluster is made: there is one, or was one that was ready")
	case w.running != nil:
		w.t.Errorf("%v is sent while the provider works on %v", write, w.running.write)
	}
	switch {
	case w.later != nil && w.later(write):
		answer.Verdict = Later
		return answer, w.crash
	case w.running != nil, write.Kind == CreateCluster && w.cloud != nil, write.Kind != CreateCluster && w.cloud == nil:
		answer.Verdict = Later
		return answer, w.crash
	case w.refuse != nil && w.refuse(write) != "":
		answer.Verdict, answer.Message = Refused, w.refuse(write)
		return answer, w.crash
	}
	w.begin(write)
	answer.Verdict, answer.Operation = Accepted, w.running.name
	return answer, w.crash
}

func (w *world) begin(write Write) {
	w.made++
	w.running = &runningOperation{name: "operation-" + strconv.Itoa(w.made), write: write, until: w.now.Add(operationTime), row: w.row.clone()}
	switch write.Kind {
	case CreateCluster:
		w.cloud = &ProviderCluster{Label: w.row.ID, Status: StatusProvisioning, CreatedAt: w.now}
		if w.row.Mode == ModeStandard {
			w.addPool(write.Pool)
		}
	case DeleteCluster:
		w.cloud.Status = StatusStopping
	case CreatePool:
		w.cloud.Status = StatusReconciling
		w.addPool(write.Pool)
	default:
		w.cloud.Status = StatusReconciling
	}
}

func (w *world) addPool(id string) {
	pool := ProviderPool{Name: ThrowawayPoolName(nil), ClusterLabel: w.row.ID, PoolLabel: id, Status: StatusProvisioning}
	if of, found := w.row.pool(id); found {
		pool.Name = of.Name
	}
	w.cloud.NodePools = append(w.cloud.NodePools, pool)
}

// settleCloud ends the operation whose time is over.
func (w *world) settleCloud() {
	operation := w.running
	if operation == nil || w.now.Before(operation.until) {
		return
	}
	w.running = nil
	status := OperationStatus{Name: operation.name}
	if w.failLater != nil {
		status.Failure = w.failLater(operation.write)
	}
	w.finished[operation.name] = status
	failed := status.Failure != ""
	switch operation.write.Kind {
	case CreateCluster:
		if failed {
			w.cloud = nil
			return
		}
		w.cloud.Channel, w.cloud.Version = operation.row.Channel, w.offered
		w.cloud.AuthorizedNetworks = operation.row.AuthorizedNetworks
		w.cloud.Endpoint, w.cloud.Authority = "203.0.113.10", "made for the test"
	case UpdateCluster:
		if !failed {
			w.set(operation.write.Change, &operation.row)
		}
	case DeleteCluster:
		if !failed {
			w.cloud = nil
			return
		}
	case CreatePool:
		if failed {
			w.cloud.NodePools = w.cloud.NodePools[:len(w.cloud.NodePools)-1]
		}
	case DeleteThrowaway:
		w.cloud.NodePools = slices.DeleteFunc(w.cloud.NodePools, func(pool ProviderPool) bool { return pool.Name == operation.write.Name })
	}
	w.cloud.Status = StatusRunning
	for i := range w.cloud.NodePools {
		if w.cloud.NodePools[i].Status == StatusProvisioning {
			w.cloud.NodePools[i].Status, w.cloud.NodePools[i].Version = StatusRunning, w.cloud.Version
		}
	}
}

func (w *world) set(change Change, row *Cluster) {
	switch change {
	case ChangeNetworks:
		w.cloud.AuthorizedNetworks = row.AuthorizedNetworks
	case ChangeChannel:
		w.cloud.Channel = row.Channel
	case ChangeVersion:
		w.cloud.Version = row.Pin + ".1-gke.100"
	}
}

func (w *world) update(in UpdateInput) {
	w.t.Helper()
	row, err := w.row.Update(in, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.row = row
}

func (w *world) delete() {
	row, event, unchanged := w.row.Delete(w.now)
	if !unchanged {
		w.saved = append(w.saved, event)
	}
	w.row = row
}

// events are the last parts of the types of all events so far, and forgets them.
func (w *world) events() []string {
	names := []string{}
	for _, event := range w.saved {
		names = append(names, string(event.Type[len("kubernetes.cluster."):]))
	}
	w.saved = nil
	return names
}

// writes are the writes so far, and forgets them.
func (w *world) writes() []Write {
	writes := []Write{}
	for _, sent := range w.sent {
		writes = append(writes, sent.Write)
	}
	w.sent = nil
	return writes
}

func (w *world) state(want State) {
	w.t.Helper()
	if w.row.State != want {
		w.t.Errorf("state %s (%s), want %s", w.row.State, w.row.Message, want)
	}
}

// ready brings a fresh world to ready and forgets how.
func ready(t *testing.T, in CreateInput) *world {
	t.Helper()
	w := newWorld(t, in)
	w.until(20 * time.Minute)
	w.state(StateReady)
	w.events()
	w.writes()
	return w
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// details are those of a call's refusal.
func details(err error) Details {
	var fault *Error
	if errors.As(err, &fault) {
		return fault.Details
	}
	return Details{}
}
