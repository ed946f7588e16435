package reconcile

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

func TestR09R02ALife(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := s.insert("one", pools("a", "b", "c"))
	equal(t, "sent by the call itself", []string{}, s.writes())
	s.Pass(t.Context())
	s.state(row, managed.StateProvisioning)
	s.run(5*time.Minute, 5*time.Second)
	ready := s.state(row, managed.StateReady)
	equal(t, "writes", []string{"one create cluster a", "one create node pool b", "one create node pool c"}, s.writes())
	equal(t, "events", []string{"created", "ready"}, s.events(row))
	equal(t, "endpoint", "203.0.113.10", ready.Endpoint)

	s.delete(row)
	equal(t, "sent by the call itself", []string{}, s.writes())
	s.run(5*time.Minute, 5*time.Second)
	gone := s.state(row, managed.StateDeleted)
	equal(t, "writes", []string{"one delete cluster"}, s.writes())
	equal(t, "events", []string{"created", "ready", "deleting", "deleted"}, s.events(row))
	equal(t, "D03 next look", time.Time{}, gone.NextLook)
	s.insert("one", func(in *managed.CreateInput) { in.IdempotencyKey = "the name is free" })
}

func TestU04OnePutAField(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := s.ready("one")
	s.writes()
	s.update(row, managed.UpdateInput{
		Version: new("1.34"), ReleaseChannel: new(managed.ChannelRapid), AuthorizedNetworks: new([]string{"10.0.0.0/8"}),
	})
	s.Pass(t.Context())
	s.state(row, managed.StateUpdating)
	s.run(5*time.Minute, 5*time.Second)
	s.state(row, managed.StateReady)
	equal(t, "writes", []string{"one update cluster authorizedNetworks", "one update cluster releaseChannel", "one update cluster version"}, s.writes())
	equal(t, "events", []string{"created", "ready", "updated"}, s.events(row))
}

func TestU02ADescriptionSendsNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := s.ready("one")
	s.writes()
	s.update(row, managed.UpdateInput{Description: new("new")})
	s.run(11*time.Minute, 10*time.Second)
	equal(t, "description", "new", s.state(row, managed.StateReady).Description)
	equal(t, "writes", []string{}, s.writes())
	equal(t, "events", []string{"created", "ready"}, s.events(row))
}

func TestD04TheWaitOfARefusedDeleteGrows(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := s.ready("one")
	s.cloud.refuse = func(_ managed.Cluster, write managed.Write) string {
		if write.Kind == managed.DeleteCluster {
			return "it has dependents"
		}
		return ""
	}
	s.delete(row)
	var tries []time.Time
	s.cloud.asked = nil
	until := s.now().Add(35 * time.Hour)
	for s.now().Before(until) {
		before := len(s.cloud.asked)
		s.Pass(t.Context())
		if len(s.cloud.asked) > before {
			tries = append(tries, s.now())
		}
		// Nothing but this record is due.
		next := s.read(row).NextLook
		s.advance(max(next.Sub(s.now()), tick))
	}
	var waits []int
	for _, gap := range gaps(tries) {
		waits = append(waits, int(math.Round(gap.Minutes())))
	}
	equal(t, "waits", []int{5, 10, 20, 40, 80, 160, 320, 360, 360, 360}, waits[:10])
	failed := s.state(row, managed.StateError)
	equal(t, "message", "it has dependents", failed.Message)
	equal(t, "events", []string{"created", "ready", "deleting", "error"}, s.events(row))

	// D05: a call tries at once, and its next wait is the next of the row.
	s.delete(row)
	before := len(s.cloud.asked)
	s.Pass(t.Context())
	equal(t, "tries at once", before+1, len(s.cloud.asked))
	s.cloud.refuse = nil
	s.delete(row)
	s.run(2*time.Minute, 5*time.Second)
	s.state(row, managed.StateDeleted)
}

func TestR06NoAnswerIsNoError(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := s.insert("one")
	settled := s.ready("two")
	s.state(row, managed.StateReady)
	s.cloud.down = true
	s.update(row, managed.UpdateInput{ReleaseChannel: new(managed.ChannelRapid)})
	s.writes()
	s.cloud.looks, s.cloud.lists = map[string][]time.Time{}, map[string][]time.Time{}
	s.run(10*time.Minute, time.Second)
	s.state(row, managed.StateUpdating)
	s.state(settled, managed.StateReady)
	for _, gap := range gaps(s.cloud.looks["one"]) {
		if gap < 27*time.Second || gap > 31*time.Second {
			t.Errorf("looked again after %s", gap)
		}
	}
	if lists := gaps(s.cloud.lists["PA"]); len(lists) < 9 || slices.Max(lists) > 31*time.Second {
		t.Errorf("an account that does not answer is asked after %v", lists)
	}
	equal(t, "looks at the settled one", 0, len(s.cloud.looks["two"]))
	s.cloud.down = false
	s.run(5*time.Minute, 5*time.Second)
	s.state(row, managed.StateReady)
	equal(t, "events", []string{"created", "ready", "updated"}, s.events(row))
	equal(t, "events of the other", []string{"created", "ready"}, s.events(settled))
}

func TestR10OneOfThreePoolsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.cloud.refuse = func(row managed.Cluster, write managed.Write) string {
		if write.Kind == managed.CreatePool && write.Pool == row.NodePools[1].ID {
			return "no quota"
		}
		return ""
	}
	row := s.insert("one", pools("a", "b", "c"))
	s.run(20*time.Minute, 5*time.Second)
	failed := s.state(row, managed.StateError)
	equal(t, "message", "node pool b: no quota", failed.Message)
	equal(t, "pools", []managed.State{managed.StateReady, managed.StateError, managed.StateReady},
		[]managed.State{failed.NodePools[0].State, failed.NodePools[1].State, failed.NodePools[2].State})
	equal(t, "events", []string{"created", "error"}, s.events(row))
	s.cloud.refuse = nil
	s.run(6*time.Minute, 5*time.Second)
	s.state(row, managed.StateReady)
	equal(t, "events", []string{"created", "error", "ready"}, s.events(row))
}

func TestE02AnErrorIsToldOncePerMessage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := s.ready("one")
	why := "X"
	s.cloud.refuse = func(managed.Cluster, managed.Write) string { return why }
	s.update(row, managed.UpdateInput{ReleaseChannel: new(managed.ChannelRapid)})
	s.run(16*time.Minute, 5*time.Second)
	equal(t, "three times X", []string{"created", "ready", "error"}, s.events(row))
	why = "Y"
	s.run(6*time.Minute, 5*time.Second)
	equal(t, "then Y", []string{"created", "ready", "error", "error"}, s.events(row))
	why = ""
	s.run(6*time.Minute, 5*time.Second)
	s.state(row, managed.StateReady)
	why = "X"
	s.update(row, managed.UpdateInput{ReleaseChannel: new(managed.ChannelStable)})
	s.run(6*time.Minute, 5*time.Second)
	equal(t, "X again", []string{"created", "ready", "error", "error", "updated", "error"}, s.events(row))
}

func TestD06NeverAcceptedIsDeletedWithoutAProviderDelete(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	pending := s.insert("pending")
	s.delete(pending)
	s.Pass(t.Context())
	s.state(pending, managed.StateDeleted)

	refused := s.insert("refused")
	s.cloud.refuse = func(managed.Cluster, managed.Write) string { return "no" }
	s.Pass(t.Context())
	s.state(refused, managed.StateError)
	s.delete(refused)
	s.Pass(t.Context())
	s.state(refused, managed.StateDeleting)
	s.advance(managed.CallDeadline)
	s.Pass(t.Context())
	s.state(refused, managed.StateDeleted)
	equal(t, "writes", []string{}, s.writes())
	s.run(time.Hour, time.Minute)
	equal(t, "hours", 0, len(s.hours()))
}

func TestAnAccountThatIsGone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := s.ready("one")
	fresh := s.insert("two")
	s.catalogue.Accounts = nil
	s.update(row, managed.UpdateInput{ReleaseChannel: new(managed.ChannelRapid)})
	s.writes()
	s.run(6*time.Minute, 10*time.Second)
	s.state(row, managed.StateUpdating)
	s.state(fresh, managed.StatePending)
	equal(t, "writes", []string{}, s.writes())
}

func TestAPassThatIsTooLateSendsNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := s.insert("one")
	slow := &slowProvider{cloud: s.cloud, look: func() { s.advance(26 * time.Second) }}
	s.reconciler(s.store, slow).Pass(t.Context())
	equal(t, "asked", 0, len(s.cloud.asked))
	s.state(row, managed.StatePending)
	slow.look = func() {}
	s.run(2*time.Minute, 10*time.Second)
	s.state(row, managed.StateReady)
}

// hours are all metering rows.
func (s *scene) hours() []managed.Hour {
	s.t.Helper()
	var all []managed.Hour
	for hour, err := range s.store.Hours(s.t.Context(), managed.HoursFilter{}) {
		s.must(err)
		all = append(all, hour)
	}
	return all
}

func TestM01M02Hours(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := s.insert("one", pools("a", "b", "c"))
	s.cloud.refuse = func(_ managed.Cluster, write managed.Write) string {
		if write.Kind == managed.CreatePool {
			return "no quota"
		}
		return ""
	}
	s.run(3*time.Hour+25*time.Minute, 20*time.Second)
	s.state(row, managed.StateError)
	s.delete(row)
	s.run(40*time.Minute, 20*time.Second)
	gone := s.state(row, managed.StateDeleted)
	total := 0.0
	for number, hour := range s.hours() {
		total += hour.Quantity
		equal(t, "number, usage, tenant", []any{number, "kubernetes.cluster.hours", "acme"}, []any{hour.Number, hour.Usage, hour.Tenant})
	}
	equal(t, "rows", 4, len(s.hours()))
	if want := gone.DeletedAt.Sub(gone.AcceptedAt).Hours(); math.Abs(total-want) > 1e-6 || want < 3.4 || want > 3.5 {
		t.Errorf("%f hours, want %f, between 3.4 and 3.5", total, want)
	}
}

func TestDeletedRecordsGo(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(set *Settings) { set.DeletedRetention = 24 * time.Hour })
	row, stays := s.ready("one"), s.ready("two")
	s.delete(row)
	s.run(23*time.Hour, 5*time.Minute)
	s.state(row, managed.StateDeleted)
	s.run(3*time.Hour, 5*time.Minute)
	if _, err := s.store.Cluster(t.Context(), row.ID); err == nil {
		t.Error("it is still there")
	}
	s.state(stays, managed.StateReady)
	if got := len(s.hours()); got < 26 {
		t.Errorf("%d hours are left", got)
	}
}

func TestR01TheProviderIsAskedForTheRightCluster(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := s.ready("one")
	spot := managed.Spot{Location: "europe-west1-b", Name: "bc-k-" + row.ID[4:28]}
	if s.cloud.clusters[spot] == nil || s.cloud.clusters[spot].Label != row.ID {
		t.Errorf("at the provider: %v", fmt.Sprint(s.cloud.clusters))
	}
}
