package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

const lease = time.Minute

// claim claims for an owner and answers the names, as they came.
func (s *scene) claim(owner string, limit int) ([]managed.Claim, []string) {
	s.t.Helper()
	claims, err := s.Claim(s.t.Context(), owner, s.now, lease, limit)
	s.must(err)
	names := []string{}
	for _, claim := range claims {
		names = append(names, claim.Row.Name)
	}
	slices.Sort(names)
	return claims, names
}

func (s *scene) save(claim managed.Claim, row managed.Cluster, done bool) (managed.Claim, error) {
	return s.Save(s.t.Context(), claim, row, nil, done)
}

// at is a record that is looked at next at a time.
func at(row managed.Cluster, next time.Time) managed.Cluster {
	row.NextLook = next
	return row
}

func TestClaimsAreOfWhatIsDue(t *testing.T) {
	both(t, func(t *testing.T, s *scene) {
		for i := range 4 {
			row := s.insert(fmt.Sprint("c", i))
			s.change(row.ID, func(row *managed.Cluster) { row.NextLook = start.Add(time.Duration(4-i) * time.Second) })
		}
		_, names := s.claim("a", 10)
		equal(t, "before anything is due", []string{}, names)
		s.now = start.Add(3 * time.Second)
		claims, names := s.claim("a", 2)
		equal(t, "those that are due the longest", []string{"c2", "c3"}, names)
		_, names = s.claim("b", 10)
		equal(t, "what is left", []string{"c1"}, names)

		row := at(claims[0].Row, s.now.Add(30*time.Second))
		_, err := s.save(claims[0], row, true)
		s.must(err)
		s.now = s.now.Add(lease - time.Second)
		again, names := s.claim("c", 10)
		equal(t, "given back, and never claimed", []string{"c0", row.Name}, names)
		for _, claim := range again {
			equal(t, "attempts of "+claim.Row.Name, 1, claim.Attempts)
		}
		s.now = s.now.Add(time.Second)
		again, names = s.claim("d", 10)
		equal(t, "leases that ended", 2, len(names))
		for _, claim := range again {
			equal(t, "attempts of "+claim.Row.Name, 2, claim.Attempts)
		}
	})
}

func TestARecordIsSavedByItsClaimAlone(t *testing.T) {
	both(t, func(t *testing.T, s *scene) {
		one := s.insert("one")
		s.now = one.NextLook
		claims, _ := s.claim("a", 1)
		first, err := s.save(claims[0], at(one, s.now.Add(time.Second)), false)
		s.must(err)
		if _, err = s.save(claims[0], one, false); !errors.Is(err, managed.ErrChanged) {
			t.Errorf("an older claim: %v", err)
		}
		s.change(one.ID, func(row *managed.Cluster) { row.Description = "by a call" })
		if _, err := s.save(first, one, true); !errors.Is(err, managed.ErrChanged) {
			t.Errorf("after a call: %v", err)
		}
		again, err := s.Again(t.Context(), first)
		s.must(err)
		equal(t, "read again", "by a call", again.Row.Description)
		again.Row.KubernetesVersion = "1.33.5"
		saved, err := s.save(again, again.Row, false)
		s.must(err)

		s.now = s.now.Add(lease)
		taken, _ := s.claim("b", 1)
		if _, err := s.save(saved, one, true); !errors.Is(err, managed.ErrLost) {
			t.Errorf("after it was taken over: %v", err)
		}
		if _, err := s.Again(t.Context(), saved); !errors.Is(err, managed.ErrLost) {
			t.Errorf("read after it was taken over: %v", err)
		}
		_, err = s.save(taken[0], taken[0].Row, true)
		s.must(err)
		got, err := s.Cluster(t.Context(), one.ID)
		s.must(err)
		equal(t, "record", []string{"by a call", "1.33.5"}, []string{got.Description, got.KubernetesVersion})
		if _, err := s.save(taken[0], one, true); !errors.Is(err, managed.ErrLost) {
			t.Errorf("after it was given back: %v", err)
		}
		equal(t, "events", []string{"kubernetes.cluster.created " + one.ID}, s.events("acme"))
	})
}

func TestARefusedSaveWritesNoEvent(t *testing.T) {
	both(t, func(t *testing.T, s *scene) {
		one := s.insert("one")
		claims, _ := s.claim("a", 1)
		deleted, event, _ := one.Delete(s.now)
		s.change(one.ID, func(*managed.Cluster) {})
		if _, err := s.Save(t.Context(), claims[0], deleted, []managed.Event{event}, true); !errors.Is(err, managed.ErrChanged) {
			t.Error(err)
		}
		equal(t, "events", []string{"kubernetes.cluster.created " + one.ID}, s.events("acme"))
		again, err := s.Again(t.Context(), claims[0])
		s.must(err)
		_, err = s.Save(t.Context(), again, deleted, []managed.Event{event}, true)
		s.must(err)
		equal(t, "events", []string{"kubernetes.cluster.created " + one.ID, "kubernetes.cluster.deleting " + one.ID}, s.events("acme"))
	})
}

func TestSettledRecordsAreSavedUnlessAnybodyHasToDoWithThem(t *testing.T) {
	both(t, func(t *testing.T, s *scene) {
		for _, name := range []string{"ready", "called", "due", "pending"} {
			row := s.insert(name)
			if name != "pending" {
				s.change(row.ID, func(row *managed.Cluster) { row.State, row.NextLook = managed.StateReady, time.Time{} })
			}
		}
		settled, err := s.Settled(t.Context(), "PA")
		s.must(err)
		none, err := s.Settled(t.Context(), "another")
		s.must(err)
		equal(t, "of another account", 0, len(none))
		var names []string
		for _, claim := range settled {
			name := claim.Row.Name
			names = append(names, name)
			switch name {
			case "called":
				s.change(claim.Row.ID, func(row *managed.Cluster) { row.Description = "new" })
			case "due":
				s.change(claim.Row.ID, func(row *managed.Cluster) { row.NextLook = s.now })
				_, claimed := s.claim("a", 10)
				equal(t, "claimed", []string{"due", "pending"}, claimed)
			}
			_, err := s.save(claim, claim.Row, true)
			want := map[string]error{"called": managed.ErrChanged, "due": managed.ErrLost}[name]
			if !errors.Is(err, want) {
				t.Errorf("saving %s: %v, want %v", name, err, want)
			}
		}
		slices.Sort(names)
		equal(t, "settled", []string{"called", "due", "ready"}, names)
	})
}

func TestTwoClaimAtOnce(t *testing.T) {
	both(t, func(t *testing.T, s *scene) {
		for i := range 40 {
			s.insert(fmt.Sprint("c", i))
		}
		stores := []*Store{s.Store, s.Store}
		if s.lock == nil {
			stores[1] = s.open()
		}
		var lock sync.Mutex
		owners := map[string][]string{}
		var wait sync.WaitGroup
		for i, store := range stores {
			for part := range 5 {
				wait.Go(func() {
					owner := fmt.Sprint(i, "-", part)
					claims, err := store.Claim(t.Context(), owner, s.now, lease, 10)
					if err != nil {
						t.Error(err)
					}
					lock.Lock()
					defer lock.Unlock()
					for _, claim := range claims {
						owners[claim.Row.Name] = append(owners[claim.Row.Name], owner)
					}
				})
			}
		}
		wait.Wait()
		if len(owners) != 40 {
			t.Errorf("%d of 40 were claimed", len(owners))
		}
		for name, by := range owners {
			if len(by) != 1 {
				t.Errorf("%s was claimed by %v", name, by)
			}
		}
	})
}

func TestForget(t *testing.T) {
	both(t, func(t *testing.T, s *scene) {
		forget := func(delivered bool) int {
			t.Helper()
			count, err := s.Forget(t.Context(), start.Add(2*time.Hour), delivered, 10)
			s.must(err)
			return count
		}
		gone := func(name string, at time.Time, accepted bool) managed.Cluster {
			row := s.insert(name)
			s.change(row.ID, func(row *managed.Cluster) {
				row.State, row.DeletedAt, row.NextLook = managed.StateDeleted, at, time.Time{}
				if accepted {
					row.AcceptedAt, row.Metered = start, true
				}
			})
			return row
		}
		s.insert("alive")
		gone("old", start.Add(time.Hour), false)
		gone("new", start.Add(2*time.Hour), false)
		unmetered := gone("unmetered", start.Add(time.Hour), true)
		equal(t, "one that is not delivered", 0, forget(true))
		waiting, err := s.Waiting(t.Context(), s.now, 10)
		s.must(err)
		for _, one := range waiting {
			s.must(s.Delivered(t.Context(), one.ID, s.now))
		}
		equal(t, "one that is old enough and metered", 1, forget(true))
		if _, err := s.Meter(t.Context(), start.Add(3*time.Hour), 10); err != nil {
			t.Error(err)
		}
		equal(t, "after its hours were recorded", 1, forget(false))
		var names []string
		for row, err := range s.Clusters(t.Context(), managed.Filter{Tenant: "acme", Deleted: true}) {
			s.must(err)
			names = append(names, row.Name)
		}
		slices.Sort(names)
		equal(t, "records", []string{"alive", "new"}, names)
		equal(t, "events", 2, len(s.events("acme")))
		equal(t, "hours", []string{unmetered.ID}, s.hours(managed.HoursFilter{}))
	})
}
