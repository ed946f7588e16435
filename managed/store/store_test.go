package store

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/store/storetest"
)

var start = storetest.Start

func TestMain(m *testing.M) {
	if path := os.Getenv(secondProcess); path != "" {
		os.Exit(openInSecondProcess(path))
	}
	os.Exit(storetest.Main(m))
}

// locations are an empty database of each kind.
var locations = map[string]func(tb testing.TB) string{
	"sqlite":   func(tb testing.TB) string { return filepath.Join(tb.TempDir(), "managed.db") },
	"postgres": storetest.Postgres,
}

// both runs a test on each kind of database.
func both(t *testing.T, test func(t *testing.T, s *scene)) {
	t.Helper()
	t.Parallel()
	for name, location := range locations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newScene(t, location(t)))
		})
	}
}

// scene is a store with a clock.
type scene struct {
	*Store
	t        *testing.T
	location string
	now      time.Time
}

func newScene(t *testing.T, location string) *scene {
	t.Helper()
	s := &scene{t: t, location: location, now: start}
	s.Store = s.open()
	return s
}

func (s *scene) open() *Store {
	s.t.Helper()
	store, err := Open(s.t.Context(), s.location)
	s.must(err)
	s.t.Cleanup(func() { _ = store.Close() })
	return store
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
	s.must(s.Insert(s.t.Context(), row, 1000, event))
	return row
}

// change changes a record without an event.
func (s *scene) change(id string, change func(row *managed.Cluster)) {
	s.t.Helper()
	_, err := s.Change(s.t.Context(), id, func(row managed.Cluster) (managed.Cluster, []managed.Event, error) {
		change(&row)
		return row, nil, nil
	})
	s.must(err)
}

// events are types and subjects of a tenant's events, in order.
func (s *scene) events(tenant string) []string {
	s.t.Helper()
	names := []string{}
	all, err := s.Events(s.t.Context(), tenant, "", 0, 1000)
	s.must(err)
	for _, one := range all {
		var event struct{ Type, Subject string }
		s.must(json.Unmarshal(one.Body, &event))
		names = append(names, event.Type+" "+event.Subject)
	}
	return names
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	for name, location := range locations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Contract(t, func(t *testing.T) storetest.Opened {
				s := newScene(t, location(t))
				return storetest.Opened{Store: s.Store, Events: func() []string {
					var all []string
					for _, tenant := range []string{"acme", "other", "third"} {
						all = append(all, s.events(tenant)...)
					}
					return all
				}}
			})
		})
	}
}
