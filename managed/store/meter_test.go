package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// hours are the clusters of metering rows, as they come.
func (s *scene) hours(filter managed.HoursFilter) []string {
	s.t.Helper()
	ids := []string{}
	for hour, err := range s.Hours(s.t.Context(), filter) {
		s.must(err)
		ids = append(ids, hour.Cluster)
	}
	return ids
}

func TestM01HoursAreRecordedOnce(t *testing.T) {
	both(t, func(t *testing.T, s *scene) {
		row := s.insert("one")
		other := s.insert("two", func(in *managed.CreateInput) { in.TenantID = "other" })
		free := s.insert("free")
		never := s.insert("never")
		for _, id := range []string{row.ID, other.ID, free.ID} {
			s.change(id, func(row *managed.Cluster) {
				row.AcceptedAt = start
				row.Metered = row.ID != free.ID
			})
		}
		tick := func(at time.Time, want int) {
			t.Helper()
			count, err := s.Meter(t.Context(), at, 10)
			s.must(err)
			equal(t, at.Format("15:04"), want, count)
		}
		tick(start.Add(59*time.Minute), 0)
		tick(start.Add(time.Hour), 2)
		tick(start.Add(time.Hour), 0)
		// A late tick records what is missing, and a call in between changes nothing of it.
		s.change(row.ID, func(row *managed.Cluster) { row.Description = "changed" })
		tick(start.Add(3*time.Hour+time.Minute), 2)
		for _, id := range []string{row.ID, never.ID} {
			s.change(id, func(row *managed.Cluster) {
				row.State, row.DeletedAt, row.NextLook = managed.StateDeleted, start.Add(210*time.Minute), time.Time{}
			})
		}
		tick(start.Add(4*time.Hour), 2)
		tick(start.Add(4*time.Hour), 0)
		var got []string
		total := 0.0
		for hour, err := range s.Hours(t.Context(), managed.HoursFilter{Tenant: "acme"}) {
			s.must(err)
			data, err := json.Marshal(hour)
			s.must(err)
			got = append(got, string(data))
			total += hour.Quantity
		}
		equal(t, "hours", 3.5, total)
		equal(t, "rows", 4, len(got))
		equal(t, "the last row", `{"usage":"kubernetes.cluster.hours","tenantId":"acme","clusterId":"`+row.ID+
			`","number":3,"from":"2026-03-01T13:00:00Z","to":"2026-03-01T13:30:00Z","quantity":0.5}`, got[3])
		equal(t, "of all tenants since the third hour", 4, len(s.hours(managed.HoursFilter{Since: start.Add(2 * time.Hour)})))
		equal(t, "of the other", 2, len(s.hours(managed.HoursFilter{Since: start.Add(2 * time.Hour), Tenant: "other"})))
	})
}

func TestJobs(t *testing.T) {
	both(t, func(t *testing.T, s *scene) {
		claim := func(owner string, want bool) {
			t.Helper()
			taken, err := s.ClaimJob(t.Context(), "relay", owner, s.now, lease)
			s.must(err)
			equal(t, owner, want, taken)
		}
		claim("first of all", true)
		claim("while it is held", false)
		s.must(s.FinishJob(t.Context(), "relay", "another", s.now))
		claim("finished by another", false)
		s.must(s.FinishJob(t.Context(), "relay", "first of all", s.now.Add(time.Second)))
		claim("not due", false)
		s.now = s.now.Add(time.Second)
		claim("due", true)
		s.now = s.now.Add(lease)
		claim("taken over", true)
		s.must(s.FinishJob(t.Context(), "relay", "due", s.now))
		claim("held by who took it over", false)
		taken, err := s.ClaimJob(t.Context(), "another", "x", s.now, lease)
		s.must(err)
		equal(t, "another job", true, taken)
	})
}
