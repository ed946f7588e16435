package store

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

func TestE01WaitingEventsAreTheFirstOfEachCluster(t *testing.T) {
	both(t, func(t *testing.T, s *scene) {
		one, two := s.insert("one"), s.insert("two")
		for _, row := range []managed.Cluster{one, two} {
			_, err := s.Change(t.Context(), row.ID, func(row managed.Cluster) (managed.Cluster, []managed.Event, error) {
				changed, event, _ := row.Delete(s.now)
				return changed, []managed.Event{event}, nil
			})
			s.must(err)
		}
		waiting := func() []string {
			t.Helper()
			all, err := s.Waiting(t.Context(), s.now, 10)
			s.must(err)
			names := []string{}
			for _, one := range all {
				var event struct{ ID, Type, Subject string }
				s.must(json.Unmarshal(one.Body, &event))
				if event.ID != strconv.FormatInt(one.ID, 10) || event.Subject != one.Cluster {
					t.Errorf("event %s of %s is number %d of %s", event.ID, event.Subject, one.ID, one.Cluster)
				}
				names = append(names, fmt.Sprint(event.ID, event.Type[len("kubernetes.cluster"):], one.Failures))
			}
			return names
		}
		equal(t, "the first of each", []string{"1.created0", "2.created0"}, waiting())
		s.must(s.Delivered(t.Context(), 1, s.now))
		equal(t, "the next of the one", []string{"2.created0", "3.deleting0"}, waiting())
		s.must(s.Postpone(t.Context(), 2, s.now.Add(time.Second)))
		equal(t, "a refused one keeps its cluster's back", []string{"3.deleting0"}, waiting())
		s.must(s.Delivered(t.Context(), 3, s.now))
		s.now = s.now.Add(time.Second)
		equal(t, "until it is due", []string{"2.created1"}, waiting())
		s.must(s.Delivered(t.Context(), 2, s.now))
		s.must(s.Delivered(t.Context(), 4, s.now))
		equal(t, "all delivered", []string{}, waiting())

		read := func(tenant, cluster string, after int64, limit int) []int64 {
			t.Helper()
			all, err := s.Events(t.Context(), tenant, cluster, after, limit)
			s.must(err)
			ids := []int64{}
			for _, one := range all {
				ids = append(ids, one.ID)
			}
			return ids
		}
		equal(t, "all", []int64{1, 2, 3, 4}, read("acme", "", 0, 10))
		equal(t, "on from one", []int64{3, 4}, read("acme", "", 2, 10))
		equal(t, "few", []int64{1, 2}, read("acme", "", 0, 2))
		equal(t, "of a cluster", []int64{2, 4}, read("acme", two.ID, 0, 10))
		equal(t, "of another tenant", []int64{}, read("other", "", 0, 10))
	})
}

// A cursor that read up to an event must never be overtaken by one with a lower number.
func TestEventsAreSeenInTheirOrder(t *testing.T) {
	both(t, func(t *testing.T, s *scene) {
		row := s.insert("one")
		const writers, each = 8, 10
		var wait sync.WaitGroup
		for range writers {
			wait.Go(func() {
				for range each {
					if err := s.Publish(t.Context(), row.Issued("a", "b", managed.RoleView, time.Hour, s.now, s.now)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		seen, last := 0, int64(0)
		for seen < 1+writers*each && !t.Failed() {
			all, err := s.Events(t.Context(), "acme", "", last, 1000)
			s.must(err)
			for _, one := range all {
				if one.ID != last+1 {
					t.Errorf("event %d after %d", one.ID, last)
				}
				seen, last = seen+1, one.ID
			}
		}
		wait.Wait()
	})
}
