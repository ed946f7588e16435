package managed

import (
	"testing"
	"time"
)

func TestU01EqualValuesSendNothing(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	version := w.row.Version
	w.update(UpdateInput{ReleaseChannel: new(ChannelRegular), AuthorizedNetworks: &[]string{}})
	w.state(StateReady)
	w.until(40 * time.Minute)
	w.state(StateReady)
	equal(t, "revision", version+1, w.row.Version)
	equal(t, "writes", []Write{}, w.writes())
	equal(t, "events", []string{}, w.events())
}

func TestU02DescriptionAlone(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	w.update(UpdateInput{Description: new("for the tests")})
	w.state(StateReady)
	w.until(40 * time.Minute)
	equal(t, "revision", 2, w.row.Version)
	equal(t, "writes", []Write{}, w.writes())
	equal(t, "events", []string{}, w.events())
	equal(t, "description", "for the tests", w.row.Answer().Description)
}

func TestU03OneField(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	w.update(UpdateInput{ReleaseChannel: new(ChannelStable)})
	w.state(StateUpdating)
	w.until(40 * time.Minute)
	w.state(StateReady)
	equal(t, "writes", []Write{{Kind: UpdateCluster, Change: ChangeChannel}}, w.writes())
	equal(t, "events", []string{"updated"}, w.events())
}

func TestU04ThreeFieldsInOrder(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	w.update(UpdateInput{Version: new("1.34"), ReleaseChannel: new(ChannelRapid), AuthorizedNetworks: &[]string{"10.0.0.0/8"}})
	w.until(40 * time.Minute)
	w.state(StateReady)
	equal(t, "writes", []Write{
		{Kind: UpdateCluster, Change: ChangeNetworks}, {Kind: UpdateCluster, Change: ChangeChannel}, {Kind: UpdateCluster, Change: ChangeVersion},
	}, w.writes())
	equal(t, "events", []string{"updated"}, w.events())
}

func TestU05NetworksCanBeCleared(t *testing.T) {
	t.Parallel()
	in := okInput()
	in.AuthorizedNetworks = []string{"10.0.0.0/8"}
	w := ready(t, in)
	w.update(UpdateInput{AuthorizedNetworks: &[]string{}})
	w.until(40 * time.Minute)
	equal(t, "writes", []Write{{Kind: UpdateCluster, Change: ChangeNetworks}}, w.writes())
	equal(t, "networks", []string{}, w.row.Answer().AuthorizedNetworks)
}

func TestU06OnItsWayOut(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	w.refuse = func(Write) string { return "it is protected" }
	w.delete()
	refused := func(want State) {
		t.Helper()
		w.state(want)
		before := w.row
		_, err := w.row.Update(UpdateInput{Description: new("x")}, w.now)
		if CodeOf(err) != InvalidState || details(err).State != want {
			t.Errorf("%v", err)
		}
		equal(t, "row", before, w.row)
	}
	refused(StateDeleting)
	w.pass()
	refused(StateError)
	w.refuse = nil
	w.until(40 * time.Minute)
	refused(StateDeleted) // U11
}

func TestU07ARefusedVersion(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	w.refuse = func(Write) string { return "Master version is unsupported." }
	w.update(UpdateInput{Version: new("1.20")})
	w.pass()
	w.state(StateError)
	equal(t, "message", "Master version is unsupported.", w.row.Message)
	w.until(26 * time.Minute)
	if tries := len(w.writes()); tries != 2 {
		t.Errorf("%d tries in six minutes, want the first and one after five", tries)
	}
	w.refuse = nil
	w.update(UpdateInput{Version: new("1.34")})
	w.state(StateUpdating)
	w.until(40 * time.Minute)
	w.state(StateReady)
	equal(t, "events", []string{"error", "updated"}, w.events())
}

func TestU08AFailedCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, okInput())
	w.refuse = func(Write) string { return "no" }
	w.pass()
	w.state(StateError)
	w.events()
	w.writes()
	w.update(UpdateInput{ReleaseChannel: new(ChannelRegular)})
	w.state(StateError)
	equal(t, "due", w.now, w.row.NextLook)
	w.pass()
	equal(t, "tries of the recorded value", 1, len(w.writes()))
	equal(t, "events of the recorded value", []string{}, w.events())

	w.update(UpdateInput{ReleaseChannel: new(ChannelRapid)})
	w.state(StateUpdating)
	w.refuse = nil
	w.pass()
	w.state(StateUpdating)
	w.until(20 * time.Minute)
	w.state(StateReady)
	equal(t, "writes", []Write{{Kind: CreateCluster, Pool: w.row.NodePools[0].ID}}, w.writes())
	equal(t, "events", []string{"ready"}, w.events())
	equal(t, "channel", ChannelRapid, w.cloud.Channel)
}

func TestU10BeforeReady(t *testing.T) {
	t.Parallel()
	t.Run("pending", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, okInput())
		w.update(UpdateInput{ReleaseChannel: new(ChannelRapid)})
		w.state(StatePending)
		w.until(20 * time.Minute)
		equal(t, "channel in the create", ChannelRapid, w.sent[0].Body.Channel)
		equal(t, "writes", 1, len(w.writes()))
		equal(t, "events", []string{"created", "ready"}, w.events())
	})
	t.Run("provisioning", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, okInput())
		w.pass()
		w.update(UpdateInput{ReleaseChannel: new(ChannelRapid)})
		w.state(StateProvisioning)
		w.until(20 * time.Minute)
		w.state(StateReady)
		equal(t, "writes", 2, len(w.writes()))
		equal(t, "events", []string{"created", "ready", "updated"}, w.events())
	})
	t.Run("updating", func(t *testing.T) {
		t.Parallel()
		w := ready(t, okInput())
		w.update(UpdateInput{ReleaseChannel: new(ChannelRapid)})
		w.pass()
		w.update(UpdateInput{ReleaseChannel: new(ChannelStable), AuthorizedNetworks: &[]string{"10.0.0.0/8"}})
		w.state(StateUpdating)
		w.until(40 * time.Minute)
		w.state(StateReady)
		equal(t, "channel", ChannelStable, w.cloud.Channel)
		equal(t, "events", []string{"updated"}, w.events())
	})
}

func TestD01D02D03Delete(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	w.delete()
	w.state(StateDeleting)
	equal(t, "pool", StateDeleting, w.row.NodePools[0].State)
	w.pass()
	before := w.row
	w.delete()
	equal(t, "the second delete changes nothing", before, w.row)
	w.until(40 * time.Minute)
	w.state(StateDeleted)
	equal(t, "writes", []Write{{Kind: DeleteCluster}}, w.writes())
	equal(t, "events", []string{"deleting", "deleted"}, w.events())
	equal(t, "pools of the answer", 1, len(w.row.Answer().NodePools))
	equal(t, "pool", StateDeleted, w.row.NodePools[0].State)
	before = w.row
	w.delete() // D08
	equal(t, "a delete of a deleted one changes nothing", before, w.row)
}

func TestD04GrowingWaits(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	w.refuse = func(Write) string { return "it is protected" }
	w.delete()
	w.pass()
	w.state(StateError)
	w.until(35 * time.Hour)
	var waits []int
	for i := 1; i < len(w.sent) && i <= 9; i++ {
		waits = append(waits, int((w.sent[i].At - w.sent[i-1].At).Minutes()))
	}
	equal(t, "waits in minutes", []int{5, 10, 20, 40, 80, 160, 320, 360, 360}, waits)
	equal(t, "events", []string{"deleting", "error"}, w.events())
}

func TestD05D08DeleteAgain(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	w.refuse = func(Write) string { return "it is protected" }
	w.delete()
	w.until(30 * time.Minute)
	w.state(StateError)
	w.events()
	w.writes()
	w.delete()
	w.state(StateDeleting)
	equal(t, "due", w.now, w.row.NextLook)
	w.pass()
	equal(t, "writes", []Write{{Kind: DeleteCluster}}, w.writes())
	equal(t, "events", []string{"deleting", "error"}, w.events())
	// It had been refused at 0 and 5 minutes: the counter is kept.
	equal(t, "the next wait", 20*time.Minute, w.row.ControlPlane.RetryAt.Sub(w.now))
}

func TestD06NeverAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, okInput())
	w.delete()
	w.pass()
	w.state(StateDeleted)
	equal(t, "writes", []Write{}, w.writes())
	equal(t, "hours", 0, len(w.row.Hours(0, start.Add(time.Hour*5))))

	w = newWorld(t, okInput())
	w.later = func(Write) bool { return true }
	w.pass()
	w.delete()
	w.pass()
	w.state(StateDeleting)
	equal(t, "next look", start.Add(CallDeadline), w.row.NextLook)
	w.until(time.Minute)
	w.state(StateDeleted)
	equal(t, "writes", 1, len(w.writes()))
}

func TestD09WhileProvisioning(t *testing.T) {
	t.Parallel()
	w := newWorld(t, okInput())
	w.pass()
	w.delete()
	w.state(StateDeleting)
	w.until(10 * time.Minute)
	w.state(StateDeleted)
	equal(t, "writes", []Write{{Kind: CreateCluster, Pool: w.row.NodePools[0].ID}, {Kind: DeleteCluster}}, w.writes())
	equal(t, "events", []string{"created", "deleting", "deleted"}, w.events())
}

func TestK05K06StatesOfCredentials(t *testing.T) {
	t.Parallel()
	for _, state := range States() {
		for _, readyAt := range []time.Time{{}, start} {
			row := Cluster{ID: "kcl_x", State: state, ReadyAt: readyAt}
			allowed := state == StateReady || state == StateUpdating && !readyAt.IsZero()
			err := row.Connect()
			if (err == nil) != allowed || err != nil && CodeOf(err) != InvalidState {
				t.Errorf("%s, ready once %t: %v", state, !readyAt.IsZero(), err)
			}
		}
	}
}

func TestU10SentAfterTheFirstReady(t *testing.T) {
	t.Parallel()
	in := okInput()
	in.NodePools = wantedPools("a", "b")
	w := newWorld(t, in)
	w.pass()
	w.update(UpdateInput{ReleaseChannel: new(ChannelRapid)})
	w.until(20 * time.Minute)
	equal(t, "writes", []Write{
		{Kind: CreateCluster, Pool: w.row.NodePools[0].ID}, {Kind: CreatePool, Pool: w.row.NodePools[1].ID},
		{Kind: UpdateCluster, Change: ChangeChannel},
	}, w.writes())
	equal(t, "events", []string{"created", "ready", "updated"}, w.events())
}

// A failed cluster that was never ready takes an update at once, beside a pool that goes on failing.
func TestU08AFailedClusterThatTheProviderHas(t *testing.T) {
	t.Parallel()
	in := okInput()
	in.NodePools = wantedPools("a", "b")
	w := newWorld(t, in)
	w.refuse = func(write Write) string {
		if write.Kind == CreatePool {
			return "no such machine type"
		}
		return ""
	}
	w.until(4 * time.Minute)
	w.state(StateError)
	w.writes()
	w.update(UpdateInput{ReleaseChannel: new(ChannelRapid)})
	w.state(StateUpdating)
	equal(t, "credentials", InvalidState, CodeOf(w.row.Connect())) // K05
	w.until(10 * time.Minute)
	w.state(StateError)
	equal(t, "the first write", Write{Kind: UpdateCluster, Change: ChangeChannel}, w.writes()[0])
	equal(t, "channel", ChannelRapid, w.cloud.Channel)
	w.refuse = nil
	w.until(30 * time.Minute)
	w.state(StateReady)
	equal(t, "events", []string{"created", "error", "error", "ready"}, w.events())
}

func TestU08AnUpdatedFailedClusterIsReadyWithItsUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, okInput())
	w.pass()
	w.now = w.now.Add(time.Minute)
	w.settleCloud()
	w.cloud.Status, w.cloud.Message = StatusDegraded, "no capacity"
	w.pass()
	w.state(StateError)
	w.update(UpdateInput{ReleaseChannel: new(ChannelRapid)})
	w.state(StateUpdating)
	w.cloud.Status = StatusRunning
	w.until(20 * time.Minute)
	equal(t, "channel", ChannelRapid, w.cloud.Channel)
	equal(t, "events", []string{"created", "error", "ready"}, w.events())
}

func TestD09AFailedCreateOfADeletedClusterIsNoError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, okInput())
	w.pass()
	w.delete()
	w.now = w.now.Add(time.Minute)
	w.settleCloud()
	w.cloud.Status = StatusError
	w.finished[w.row.Operation.Name] = OperationStatus{Name: w.row.Operation.Name, Failure: "stockout"}
	w.pass()
	w.state(StateDeleting)
	w.until(10 * time.Minute)
	w.state(StateDeleted)
	equal(t, "events", []string{"created", "deleting", "deleted"}, w.events())
}
