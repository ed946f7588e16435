package managed

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestC42PendingUntilTheProviderTakesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, okInput())
	w.state(StatePending)
	w.pass()
	w.state(StateProvisioning)
	equal(t, "writes", []Write{{Kind: CreateCluster, Pool: w.row.NodePools[0].ID}}, w.writes())
	equal(t, "events", []string{"created"}, w.events())
}

func TestR09ALife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, okInput())
	var states []State
	for range 6 {
		states = append(states, w.row.State)
		w.now = w.row.NextLook
		w.pass()
	}
	states = slices.Compact(states)
	equal(t, "states", []State{StatePending, StateProvisioning, StateReady}, states)
	equal(t, "events", []string{"created", "ready"}, w.events())
	if w.row.Endpoint == "" || w.row.KubernetesVersion != w.offered || w.row.NodeVersion != w.offered {
		t.Errorf("shown: %q, %q, %q", w.row.Endpoint, w.row.KubernetesVersion, w.row.NodeVersion)
	}
}

func TestR02PoolsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	in := okInput()
	in.NodePools = wantedPools("a", "b", "c")
	w := newWorld(t, in)
	w.until(20 * time.Minute)
	ids := []string{w.row.NodePools[0].ID, w.row.NodePools[1].ID, w.row.NodePools[2].ID}
	equal(t, "writes", []Write{{Kind: CreateCluster, Pool: ids[0]}, {Kind: CreatePool, Pool: ids[1]}, {Kind: CreatePool, Pool: ids[2]}}, w.writes())
	equal(t, "events", []string{"created", "ready"}, w.events())
	w.state(StateReady)
}

func TestR02AnEmptyStandardClusterIsOpenedByAThrowawayPool(t *testing.T) {
	t.Parallel()
	in := okInput()
	in.NodePools[0].NodeCount = 0
	w := newWorld(t, in)
	w.until(20 * time.Minute)
	w.state(StateReady)
	equal(t, "writes", []Write{
		{Kind: CreateCluster}, {Kind: CreatePool, Pool: w.row.NodePools[0].ID}, {Kind: DeleteThrowaway, Name: "bc-first"},
	}, w.writes())
	if len(w.cloud.NodePools) != 1 || w.cloud.NodePools[0].Name != "a" {
		t.Errorf("pools at the provider: %v", w.cloud.NodePools)
	}
}

func TestR03Cadence(t *testing.T) {
	t.Parallel()
	within := func(t *testing.T, w *world, most time.Duration) {
		t.Helper()
		if wait := w.row.NextLook.Sub(w.now); wait > most || wait < most*9/10 {
			t.Errorf("%s: next look in %s, want nine tenths to all of %s", w.row.State, wait, most)
		}
	}
	w := newWorld(t, okInput())
	w.pass()
	within(t, w, LookConverging)
	w = ready(t, okInput())
	w.now = w.row.NextLook
	w.pass()
	within(t, w, LookSettled)
	w.cloud.Status, w.cloud.Message = StatusDegraded, "no capacity"
	w.now = w.row.NextLook
	w.pass()
	w.state(StateError)
	within(t, w, LookSettled)

	waits := map[time.Duration]bool{}
	for i := range 100 {
		waits[Jittered(ClusterID("acme", "alice", strings.Repeat("k", i)), start, LookSettled)] = true
	}
	if len(waits) < 95 {
		t.Errorf("100 records have %d waits", len(waits))
	}
}

func TestR04ReadyOnce(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	first := w.row.ReadyAt
	w.cloud.Status, w.cloud.Message = StatusDegraded, "no capacity"
	w.until(30 * time.Minute)
	w.cloud.Status = StatusRunning
	w.until(40 * time.Minute)
	w.state(StateReady)
	equal(t, "events of a mere error", []string{"error"}, w.events())
	w.update(UpdateInput{ReleaseChannel: new(ChannelRapid)})
	w.until(50 * time.Minute)
	equal(t, "events of a change", []string{"updated"}, w.events())
	equal(t, "readyAt", first, w.row.ReadyAt)
}

func TestR05TheProviderUpgrades(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	w.cloud.Version, w.cloud.Status = "1.34.1-gke.7", StatusReconciling
	w.until(30 * time.Minute)
	w.state(StateReady)
	equal(t, "events", []string{"updated"}, w.events())
	equal(t, "writes", []Write{}, w.writes())
	equal(t, "version", "1.34.1-gke.7", w.row.KubernetesVersion)
}

func TestR06NoAnswerIsNoError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, okInput())
	w.blind = true
	w.pass()
	w.state(StatePending)
	w.blind, w.later = false, func(Write) bool { return true }
	w.now = w.row.NextLook
	w.pass()
	w.state(StatePending)
	if wait := w.row.NextLook.Sub(w.now); wait > LookConverging {
		t.Errorf("next look in %s", wait)
	}
	w.later = nil
	w.until(10 * time.Minute)
	w.state(StateReady)

	w.writes()
	w.blind = true
	w.update(UpdateInput{ReleaseChannel: new(ChannelRapid)})
	w.pass()
	w.state(StateUpdating)
	equal(t, "writes", []Write{}, w.writes())
}

func TestR07ALostAnswerIsAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, okInput())
	w.crash = true
	w.pass()
	w.state(StatePending)
	w.crash = false
	created := w.now
	w.until(10 * time.Minute)
	w.state(StateReady)
	if len(w.sent) != 1 {
		t.Errorf("writes: %v, want the one create", w.sent)
	}
	equal(t, "accepted", created, w.row.AcceptedAt)
}

func TestR07AnUpdateBesideALostAnswerIsSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, okInput())
	w.crash = true
	w.pass()
	w.crash = false
	w.update(UpdateInput{ReleaseChannel: new(ChannelStable)})
	w.until(10 * time.Minute)
	w.state(StateReady)
	equal(t, "writes", []Write{{Kind: CreateCluster, Pool: w.row.NodePools[0].ID}, {Kind: UpdateCluster, Change: ChangeChannel}}, w.writes())
	equal(t, "events", []string{"created", "ready", "updated"}, w.events())
}

func TestR07AnotherOnesClusterIsNotTaken(t *testing.T) {
	t.Parallel()
	for _, label := range []string{"", "kcl_another"} {
		w := newWorld(t, okInput())
		w.cloud = &ProviderCluster{Label: label, Status: StatusRunning}
		w.until(20 * time.Minute)
		w.state(StateError)
		equal(t, "writes", []Write{}, w.writes())
		equal(t, "events", []string{"created", "error"}, w.events())
		if !w.row.AcceptedAt.IsZero() {
			t.Error("its hours count")
		}
		w.delete()
		w.until(30 * time.Minute)
		w.state(StateDeleted)
		if w.cloud == nil {
			t.Error("another one's cluster was deleted")
		}
	}
}

func TestR10OneOfThreePoolsRefused(t *testing.T) {
	t.Parallel()
	in := okInput()
	in.NodePools = wantedPools("a", "b", "c")
	w := newWorld(t, in)
	bad := w.row.NodePools[1].ID
	w.refuse = func(write Write) string {
		if write.Pool == bad {
			return "no such machine type"
		}
		return ""
	}
	w.until(4 * time.Minute)
	w.state(StateError)
	equal(t, "message", "node pool b: no such machine type", w.row.Message)
	var states []State
	for _, pool := range w.row.NodePools {
		states = append(states, pool.State)
	}
	equal(t, "pools", []State{StateReady, StateError, StateReady}, states)
	w.until(16 * time.Minute)
	equal(t, "events", []string{"created", "error"}, w.events())
	w.refuse = nil
	w.until(30 * time.Minute)
	w.state(StateReady)
	equal(t, "events", []string{"ready"}, w.events())
}

func TestR11MendsAtTheProvider(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	w.cloud.NodePools[0].Status, w.cloud.NodePools[0].Message = StatusRunningWithError, "stockout"
	w.until(30 * time.Minute)
	w.state(StateError)
	w.cloud.NodePools[0].Status = StatusRunning
	w.cloud.NodePools[0].Version, w.cloud.Endpoint = "1.33.9-gke.1", "203.0.113.99"
	w.until(40 * time.Minute)
	w.state(StateReady)
	equal(t, "events", []string{"error"}, w.events())
	equal(t, "writes", []Write{}, w.writes())
	equal(t, "endpoint", "203.0.113.99", w.row.Endpoint)
	equal(t, "node version", "1.33.9-gke.1", w.row.NodeVersion)
}

func TestAReadyClusterThatVanished(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	w.cloud = nil
	w.until(2 * time.Hour)
	w.state(StateError)
	equal(t, "events", []string{"error"}, w.events())
	equal(t, "writes", []Write{}, w.writes())
	if !strings.Contains(w.row.Message, "no longer at the provider") {
		t.Errorf("message %q", w.row.Message)
	}
	w.delete()
	w.pass()
	w.state(StateDeleted)
}

func TestAFailedCreateIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, okInput())
	w.failLater = func(Write) string { return "stockout" }
	w.until(4 * time.Minute)
	w.state(StateError)
	equal(t, "message", "stockout", w.row.Message)
	accepted := w.row.AcceptedAt
	w.until(20 * time.Minute)
	equal(t, "events", []string{"created", "error"}, w.events())
	w.failLater = nil
	w.until(40 * time.Minute)
	w.state(StateReady)
	equal(t, "events", []string{"ready"}, w.events())
	equal(t, "accepted", accepted, w.row.AcceptedAt)
}

func TestE02ErrorsAreSaidOnce(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	say := "X"
	w.refuse = func(Write) string { return say }
	w.update(UpdateInput{Version: new("1.34")})
	w.until(38 * time.Minute)
	if len(w.sent) < 3 {
		t.Fatalf("%d tries", len(w.sent))
	}
	equal(t, "events of X", []string{"error"}, w.events())
	say = "Y"
	w.until(45 * time.Minute)
	equal(t, "events of Y", []string{"error"}, w.events())
	w.refuse = nil
	w.until(55 * time.Minute)
	w.state(StateReady)
	equal(t, "events of ready", []string{"updated"}, w.events())
	w.refuse, say = func(Write) string { return say }, "X"
	w.update(UpdateInput{Version: new("1.35")})
	w.until(65 * time.Minute)
	equal(t, "events of X again", []string{"error"}, w.events())
}

func TestALostOperationIsHeldAgainstTheLook(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		channel Channel
		state   State
		write   *Write
	}{
		"it was done":     {ChannelRapid, StateReady, nil},
		"it was not done": {ChannelRegular, StateUpdating, &Write{Kind: UpdateCluster, Change: ChangeChannel}},
	} {
		w := ready(t, okInput())
		w.update(UpdateInput{ReleaseChannel: new(ChannelRapid)})
		w.pass()
		shown := w.show()
		shown.Status, shown.Channel = StatusRunning, test.channel
		result := Step(w.row, Seen(shown, &OperationStatus{Name: w.row.Operation.Name, Lost: true}), w.now)
		equal(t, name, test.state, result.Row.State)
		equal(t, name, test.write, result.Write)
	}
}

func TestAnOperationThatEndedIsNotHeldAgainstTheLook(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	w.update(UpdateInput{AuthorizedNetworks: &[]string{"10.0.0.0/8"}})
	w.pass()
	shown := w.show()
	shown.Status, shown.AuthorizedNetworks = StatusRunning, []string{"010.000.000.000/8"}
	result := Step(w.row, Seen(shown, &OperationStatus{Name: w.row.Operation.Name}), w.now)
	equal(t, "state", StateReady, result.Row.State)
	equal(t, "write", nil, result.Write)
}
