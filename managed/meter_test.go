package managed

import (
	"testing"
	"time"
)

func TestM01Hours(t *testing.T) {
	t.Parallel()
	row := Cluster{ID: "kcl_x", TenantID: "acme", AcceptedAt: start, Placement: Placement{Metered: true}}
	quantities := func(rows []Hour) []float64 {
		all := []float64{}
		for i, hour := range rows {
			if hour.Number != i || hour.Usage != UsageHours || hour.Tenant != "acme" {
				t.Errorf("row %d: %+v", i, hour)
			}
			all = append(all, hour.Quantity)
		}
		return all
	}
	equal(t, "before the first hour", []float64{}, quantities(row.Hours(0, start.Add(59*time.Minute))))
	equal(t, "running", []float64{1, 1, 1}, quantities(row.Hours(0, start.Add(210*time.Minute))))
	row.DeletedAt = start.Add(210 * time.Minute)
	equal(t, "deleted", []float64{1, 1, 1, 0.5}, quantities(row.Hours(0, start.Add(24*time.Hour))))
	equal(t, "from a number on", 2, len(row.Hours(2, start.Add(24*time.Hour))))
	row.DeletedAt = start.Add(2 * time.Hour)
	equal(t, "deleted on the hour", []float64{1, 1}, quantities(row.Hours(0, start.Add(24*time.Hour))))
	row.Metered = false
	equal(t, "billing none", []float64{}, quantities(row.Hours(0, start.Add(24*time.Hour))))
}

func TestM01PoolsThatAreMetered(t *testing.T) {
	t.Parallel()
	for pool, want := range map[string]bool{poolP: true, poolPF: true, poolPN: false} {
		in := okInput()
		in.PoolID = pool
		equal(t, pool, want, newWorld(t, in).row.Metered)
	}
}

func TestM02FromTheFirstAcceptance(t *testing.T) {
	t.Parallel()
	in := okInput()
	in.NodePools = wantedPools("a", "b", "c")
	w := newWorld(t, in)
	w.failLater = func(Write) string { return "stockout" }
	w.until(90 * time.Minute)
	w.state(StateError)
	equal(t, "hours in error", 1, len(w.row.Hours(0, w.now)))
	w.failLater = nil
	w.until(3 * time.Hour)
	w.state(StateReady)
	hours := w.row.Hours(0, w.now)
	equal(t, "hours", 3, len(hours))
	equal(t, "from", start, hours[0].From)
}
