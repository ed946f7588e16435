package reconcile

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/internal/bench"
	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/store"
	"github.com/clustermanager/cluster-manager/managed/store/storetest"
)

// fleet is so many clusters on a number of accounts.
const fleetAccounts = 20

func fleetSize() int {
	if testing.Short() {
		return 500
	}
	return 10_000
}

// BenchmarkManaged is B10: passes over many clusters with a virtual clock, and reads at 50 in flight.
func BenchmarkManaged(b *testing.B) {
	for _, converging := range []int{3, 100} {
		b.Run(fmt.Sprintf("part=passes/converging=%d%%", converging), func(b *testing.B) {
			bench.Interleave(b, bench.Way{Name: "ours", Run: func(b *testing.B) { passes(b, converging) }})
		})
	}
	for name, location := range map[string]func(testing.TB) string{
		"sqlite":   func(tb testing.TB) string { return filepath.Join(tb.TempDir(), "managed.db") },
		"postgres": func(tb testing.TB) string { return storetest.NewServer(tb, true).Database(tb) },
	} {
		b.Run("part=reads/database="+name, func(b *testing.B) {
			opened, err := store.Open(b.Context(), location(b))
			if err != nil {
				b.Fatal(err)
			}
			defer opened.Close()
			ids := fill(b, opened, 1000, start)
			bench.Interleave(b, bench.Way{Name: "ours", Run: func(b *testing.B) { reads(b, opened, ids) }})
		})
	}
}

// fill inserts clusters of tenants of ten.
func fill(b *testing.B, to *store.Store, count int, now time.Time) []string {
	b.Helper()
	var ids []string
	for i := range count {
		row, event := storetest.NewCluster(b, fmt.Sprint("c", i), func(in *managed.CreateInput) { in.TenantID = fmt.Sprint("tenant", i/10) })
		row.AccountID, row.NextLook = fmt.Sprint("A", i%fleetAccounts), now
		if err := to.Insert(b.Context(), row, 10, event); err != nil {
			b.Fatal(err)
		}
		ids = append(ids, row.ID)
	}
	return ids
}

// fleet is the catalogue and the provider of many clusters: those whose index is below a bound never get ready.
type fleet struct {
	stuck map[string]bool
	mu    sync.Mutex
	now   time.Time
	shown map[managed.Spot]*managed.ProviderCluster
	// looked is when a cluster was last looked at, late the longest time between looks beyond what it may be.
	looked  map[string]time.Time
	late    time.Duration
	created map[string]int
	lists   int
}

func (f *fleet) Current() *managed.Catalogue {
	catalogue := &managed.Catalogue{}
	for i := range fleetAccounts {
		catalogue.Accounts = append(catalogue.Accounts, managed.Account{ID: fmt.Sprint("A", i), Provider: "gcp"})
	}
	return catalogue
}

func (f *fleet) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (*fleet) Capabilities() managed.Capabilities {
	return managed.Capabilities{ManagedKubernetes: true}
}

// seen notes a look, or a list of an account, and how late it is.
func (f *fleet) seen(what string, most time.Duration) {
	if last, before := f.looked[what]; before {
		f.late = max(f.late, f.now.Sub(last)-most)
	}
	f.looked[what] = f.now
}

func (f *fleet) Look(_ context.Context, _ managed.Account, row managed.Cluster) managed.Observed {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen(row.ID, managed.LookConverging)
	shown := f.shown[row.Spot()]
	if shown != nil && !f.stuck[row.ID] {
		shown.Status, shown.NodePools[0].Status = managed.StatusRunning, managed.StatusRunning
	}
	var operation *managed.OperationStatus
	if row.Operation != nil {
		operation = &managed.OperationStatus{Name: row.Operation.Name, Running: f.stuck[row.ID]}
	}
	return managed.Seen(shown, operation)
}

func (f *fleet) List(_ context.Context, account managed.Account) (managed.Listing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	f.seen(account.ID, managed.LookSettled)
	return managed.Listing{Clusters: f.shown}, nil
}

func (f *fleet) Send(_ context.Context, _ managed.Account, row managed.Cluster, write managed.Write) managed.Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.created[row.ID+string(write.Kind)]++
	f.shown[row.Spot()] = &managed.ProviderCluster{
		Label: row.ID, Status: managed.StatusProvisioning, Channel: row.Channel, Version: "1.33.5-gke.1",
		NodePools: []managed.ProviderPool{{Name: "a", ClusterLabel: row.ID, PoolLabel: row.NodePools[0].ID, Status: managed.StatusProvisioning, Version: "1.33.5-gke.1"}},
	}
	return managed.Answer{Write: write, Verdict: managed.Accepted, Operation: "operation-" + row.ID}
}

// passes measures ten minutes of the clock, after all clusters are ready or stuck.
func passes(b *testing.B, converging int) {
	folder, err := os.MkdirTemp("/dev/shm", "bench-") //nolint:usetesting // in memory, not on the disk
	if err != nil {
		folder = b.TempDir()
	}
	defer os.RemoveAll(folder)
	opened, err := store.Open(b.Context(), filepath.Join(folder, "managed.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer opened.Close()
	f := &fleet{
		stuck: map[string]bool{}, now: start, shown: map[managed.Spot]*managed.ProviderCluster{},
		looked: map[string]time.Time{}, created: map[string]int{},
	}
	ids := fill(b, opened, fleetSize(), start)
	for i, id := range ids {
		f.stuck[id] = i*100 < len(ids)*converging
	}
	r, err := New(Settings{}, Rooms{Store: opened, Catalogue: f, Providers: map[string]Provider{"gcp": f}, Clock: f.clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	simulate := func(by time.Duration) {
		for end := f.now.Add(by); f.now.Before(end); f.now = f.now.Add(tick) {
			r.Pass(b.Context())
			r.Jobs(b.Context())
		}
	}
	simulate(6 * time.Minute)
	f.late, f.lists = 0, 0
	before, measured := cpu(b), time.Duration(0)
	for b.Loop() {
		simulate(10 * time.Minute)
		measured += 10 * time.Minute
	}
	b.ReportMetric(100*float64(cpu(b)-before)/float64(measured), "core-percent")
	b.ReportMetric(f.late.Seconds(), "late-s")
	b.ReportMetric(float64(f.lists)/measured.Minutes(), "lists/min")
	twice := 0
	for _, count := range f.created {
		twice += count - 1
	}
	b.ReportMetric(float64(twice), "calls-twice")
	if len(f.created) != len(ids) {
		b.Errorf("%d of %d clusters were created", len(f.created), len(ids))
	}
}

func cpu(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// reads measures how long a read takes while 50 are in flight.
func reads(b *testing.B, of *store.Store, ids []string) {
	const flight, each = 50, 100
	var all []time.Duration
	for b.Loop() {
		took := make([][]time.Duration, flight)
		var wait sync.WaitGroup
		for i := range flight {
			wait.Go(func() {
				for range each {
					began := time.Now()
					if _, err := of.Cluster(b.Context(), ids[rand.IntN(len(ids))]); err != nil {
						b.Error(err)
					}
					took[i] = append(took[i], time.Since(began))
				}
			})
		}
		wait.Wait()
		all = append(all, slices.Concat(took...)...)
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2]), "p50-ns")
	b.ReportMetric(float64(all[len(all)*99/100]), "p99-ns")
}
