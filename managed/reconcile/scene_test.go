package reconcile

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/store"
	"github.com/clustermanager/cluster-manager/managed/store/storetest"
)

var start = storetest.Start

func TestMain(m *testing.M) {
	if os.Getenv(otherProcess) != "" {
		os.Exit(runOtherProcess())
	}
	os.Exit(storetest.Main(m))
}

// scene is a reconciler over a real store, with a provider and a clock of its own.
type scene struct {
	*Reconciler
	t     *testing.T
	store *store.Store
	cloud *cloud
	log   lockedBuffer

	mu    sync.Mutex
	clock time.Time
	// webhook is the reconciler's when it is made.
	settings  Settings
	catalogue managed.Catalogue
}

// lockedBuffer is a log that several passes write.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func (s *scene) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

func (s *scene) advance(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = s.clock.Add(by)
}

func (s *scene) Current() *managed.Catalogue { return &s.catalogue }

func newScene(t *testing.T, changes ...func(*Settings)) *scene {
	t.Helper()
	return newSceneAt(t, filepath.Join(inMemory(t), "managed.db"), changes...)
}

// inMemory is a folder that needs no disk, where there is such: these tests write much.
func inMemory(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "reconcile-") //nolint:usetesting // in memory, not on the disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

func newSceneAt(t *testing.T, location string, changes ...func(*Settings)) *scene {
	t.Helper()
	s := &scene{t: t, clock: start, catalogue: managed.Catalogue{Accounts: []managed.Account{
		{ID: "PA", Provider: "gcp", Project: "platform"}, {ID: "HZ", Provider: "metal"},
	}}}
	for _, change := range changes {
		change(&s.settings)
	}
	opened, err := store.Open(t.Context(), location)
	s.must(err)
	t.Cleanup(func() { _ = opened.Close() })
	s.store, s.cloud = opened, newCloud(s.now)
	s.Reconciler = s.reconciler(s.store, s.cloud)
	return s
}

// reconciler is another process, with the same clock.
func (s *scene) reconciler(store Store, provider Provider) *Reconciler {
	s.t.Helper()
	r, err := New(s.settings, Rooms{
		Store: store, Catalogue: s, Providers: map[string]Provider{"gcp": provider}, Clock: s.now,
		Log: slog.New(slog.NewJSONHandler(&s.log, nil)),
	})
	s.must(err)
	return r
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) insert(name string, changes ...func(*managed.CreateInput)) managed.Cluster {
	s.t.Helper()
	row, event := storetest.NewCluster(s.t, name, changes...)
	now := s.now()
	row.CreatedAt, row.UpdatedAt, row.NextLook = now, now, now
	s.must(s.store.Insert(s.t.Context(), row, 100_000, event))
	return row
}

// pools are node pools of these names.
func pools(names ...string) func(*managed.CreateInput) {
	return func(in *managed.CreateInput) {
		in.NodePools = nil
		for _, name := range names {
			in.NodePools = append(in.NodePools, managed.NodePoolInput{Name: name, MachineType: "e2-standard-4", NodeCount: 1})
		}
	}
}

// run lets time go by, all that is due being done each so often.
func (s *scene) run(by, step time.Duration) {
	s.t.Helper()
	for gone := time.Duration(0); gone < by; gone += step {
		s.Pass(s.t.Context())
		s.Jobs(s.t.Context())
		s.advance(step)
	}
}

// ready makes a cluster that is ready.
func (s *scene) ready(name string, changes ...func(*managed.CreateInput)) managed.Cluster {
	s.t.Helper()
	row := s.insert(name, changes...)
	s.run(2*time.Minute, 5*time.Second)
	return s.state(row, managed.StateReady)
}

func (s *scene) read(row managed.Cluster) managed.Cluster {
	s.t.Helper()
	got, err := s.store.Cluster(s.t.Context(), row.ID)
	s.must(err)
	return got
}

// state is the record, which must be in a state.
func (s *scene) state(row managed.Cluster, want managed.State) managed.Cluster {
	s.t.Helper()
	got := s.read(row)
	if got.State != want {
		s.t.Fatalf("%s is %s (%s), want %s; log: %s", got.Name, got.State, got.Message, want, s.log.String())
	}
	return got
}

func (s *scene) update(row managed.Cluster, in managed.UpdateInput) {
	s.t.Helper()
	_, err := s.store.Change(s.t.Context(), row.ID, func(row managed.Cluster) (managed.Cluster, []managed.Event, error) {
		changed, err := row.Update(in, s.now())
		return changed, nil, err
	})
	s.must(err)
}

func (s *scene) delete(row managed.Cluster) {
	s.t.Helper()
	_, err := s.store.Change(s.t.Context(), row.ID, func(row managed.Cluster) (managed.Cluster, []managed.Event, error) {
		changed, event, unchanged := row.Delete(s.now())
		if unchanged {
			return row, nil, nil
		}
		return changed, []managed.Event{event}, nil
	})
	s.must(err)
}

// events are the last parts of the types of a cluster's events.
func (s *scene) events(row managed.Cluster) []string {
	s.t.Helper()
	all, err := s.store.Events(s.t.Context(), row.TenantID, row.ID, 0, 1000)
	s.must(err)
	names := []string{}
	for _, one := range all {
		var event struct{ Type string }
		s.must(json.Unmarshal(one.Body, &event))
		names = append(names, strings.TrimPrefix(event.Type, "kubernetes.cluster."))
	}
	return names
}

// writes are those that the provider took so far, and forgets them.
func (s *scene) writes() []string {
	s.cloud.mu.Lock()
	defer s.cloud.mu.Unlock()
	writes := slices.Clone(s.cloud.accepted)
	s.cloud.accepted = nil
	return append([]string{}, writes...)
}

// gaps are the times between looks or lists.
func gaps(times []time.Time) []time.Duration {
	var all []time.Duration
	for i := 1; i < len(times); i++ {
		all = append(all, times[i].Sub(times[i-1]))
	}
	return all
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
