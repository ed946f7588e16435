package store

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/store/storetest"
)

// calls are one of each method, on a record that is there.
func (s *scene) calls(ctx context.Context, row managed.Cluster) map[string]func() error {
	claim := managed.Claim{Row: row}
	one := func(_ any, err error) error { return err }
	return map[string]func() error{
		"Cluster": func() error { return one(s.Cluster(ctx, row.ID)) },
		"Clusters": func() error {
			for _, err := range s.Clusters(ctx, managed.Filter{Tenant: "acme"}) {
				return err
			}
			return nil
		},
		"Insert": func() error {
			other, event := storetest.NewCluster(s.t, "two")
			return s.Insert(ctx, other, 100, event)
		},
		"Change": func() error {
			return one(s.Change(ctx, row.ID, func(row managed.Cluster) (managed.Cluster, []managed.Event, error) {
				row.Description = "changed"
				return row, nil, nil
			}))
		},
		"Publish":  func() error { return s.Publish(ctx, row.Issued("a", "b", managed.RoleView, time.Hour, s.now, s.now)) },
		"Audit":    func() error { return s.Audit(ctx, managed.Audit{At: s.now}) },
		"Claim":    func() error { return one(s.Claim(ctx, "a", s.now, lease, 1)) },
		"Save":     func() error { return one(s.Save(ctx, claim, row, nil, true)) },
		"Again":    func() error { return one(s.Again(ctx, claim)) },
		"Settled":  func() error { return one(s.Settled(ctx, "PA")) },
		"Waiting":  func() error { return one(s.Waiting(ctx, s.now, 1)) },
		"Postpone": func() error { return s.Postpone(ctx, 1, s.now) },
		"Meter":    func() error { return one(s.Meter(ctx, s.now, 1)) },
		"Forget":   func() error { return one(s.Forget(ctx, s.now, false, 1)) },
		"ClaimJob": func() error { return one(s.ClaimJob(ctx, "job", "a", s.now, lease)) },
		"Hours": func() error {
			for _, err := range s.Hours(ctx, managed.HoursFilter{}) {
				return err
			}
			return nil
		},
	}
}

// unreachable wants every call to be told that nothing was reached, and nothing of it to be there afterwards.
func (s *scene) unreachable(ctx context.Context, what string, row managed.Cluster) {
	s.t.Helper()
	for name, call := range s.calls(ctx, row) {
		err := call()
		if !errors.Is(err, managed.ErrUnreachable) || strings.Contains(err.Error(), "made-for-tests") {
			s.t.Errorf("%s while %s: %v", name, what, err)
		}
	}
}

func (s *scene) untouched(what string, row managed.Cluster) {
	s.t.Helper()
	got, err := s.Cluster(s.t.Context(), row.ID)
	s.must(err)
	equal(s.t, what+": record", row, got)
	equal(s.t, what+": events", []string{"kubernetes.cluster.created " + row.ID}, s.events("acme"))
}

func TestAPostgresThatGoesAway(t *testing.T) {
	t.Parallel()
	server := storetest.Shared(t)
	proxy := storetest.NewProxy(t, server.Address)
	direct := server.Database(t)
	at, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	s := newScene(t, server.URL(proxy.Address, strings.TrimPrefix(at.Path, "/")))
	row := s.insert("one")

	proxy.Set(storetest.Refusing)
	s.unreachable(t.Context(), "it refuses connections", row)
	proxy.Set(storetest.Passing)
	s.untouched("after it refused connections", row)

	proxy.Set(storetest.Silent)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	s.unreachable(ctx, "it answers nothing", row)
	proxy.Set(storetest.Passing)
	s.untouched("after it answered nothing", row)

	// A connection that breaks in the middle of a transaction takes all of it with it.
	_, err = s.Change(t.Context(), row.ID, func(row managed.Cluster) (managed.Cluster, []managed.Event, error) {
		proxy.Set(storetest.Passing)
		changed, event, _ := row.Delete(s.now)
		return changed, []managed.Event{event}, nil
	})
	if !errors.Is(err, managed.ErrUnreachable) {
		t.Errorf("a transaction whose connection broke: %v", err)
	}
	s.untouched("after a connection broke", row)
}

func TestAPostgresThatRestarts(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t, true)
	s := newScene(t, server.Database(t))
	row := s.insert("one")
	_, err := s.Change(t.Context(), row.ID, func(row managed.Cluster) (managed.Cluster, []managed.Event, error) {
		server.Stop(syscall.SIGQUIT)
		row.Description = "lost"
		return row, nil, nil
	})
	if !errors.Is(err, managed.ErrUnreachable) {
		t.Errorf("a transaction whose server stopped: %v", err)
	}
	s.unreachable(t.Context(), "it is stopped", row)
	server.Start(t)
	s.untouched("after a restart", row)
	for name, call := range s.calls(t.Context(), row) {
		if err := call(); errors.Is(err, managed.ErrUnreachable) {
			t.Errorf("%s after a restart: %v", name, err)
		}
	}
}

// TestEachMethodAnswers shows that the calls of the tests above fail by the database alone.
func TestEachMethodAnswers(t *testing.T) {
	both(t, func(t *testing.T, s *scene) {
		row := s.insert("one")
		for name, call := range s.calls(t.Context(), row) {
			err := call()
			if want := map[string]error{"Save": managed.ErrChanged, "Again": managed.ErrLost}[name]; want == nil && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
