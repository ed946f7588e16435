// Package storetest is what tests of stores share: the contract that each store of the calls keeps ([Contract]), and a
// PostgreSQL of their own. It is imported by tests alone.
//
// It promises that the contract is asked of each store in the same way, and that a server listens on loopback only, runs
// as an unprivileged user and is gone in the end. It leaves out what only the reconciler asks of a store.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// Store is what the calls ask of one.
type Store interface {
	Cluster(ctx context.Context, id string) (managed.Cluster, error)
	Clusters(ctx context.Context, filter managed.Filter) iter.Seq2[managed.Cluster, error]
	Insert(ctx context.Context, cluster managed.Cluster, limit int, event managed.Event) error
	Change(ctx context.Context, id string, change func(managed.Cluster) (managed.Cluster, []managed.Event, error)) (managed.Cluster, error)
	Publish(ctx context.Context, event managed.Event) error
	Audit(ctx context.Context, audit managed.Audit) error
}

// Opened is an empty store, and what it has of events: their types and subjects, in order.
type Opened struct {
	Store
	Events func() []string
}

// Start is when the records of these tests begin.
var Start = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// NewCluster is a new record with its event: of the tenant acme in a metered pool, with one node pool.
func NewCluster(tb testing.TB, name string, changes ...func(*managed.CreateInput)) (managed.Cluster, managed.Event) {
	tb.Helper()
	in := managed.CreateInput{
		TenantID: "acme", PoolID: "pool_" + strings.Repeat("p", 26), Name: name, Mode: managed.ModeStandard, Location: "europe-west1-b",
		ReleaseChannel: managed.ChannelRegular, IdempotencyKey: "key-" + name,
		NodePools: []managed.NodePoolInput{{Name: "a", MachineType: "e2-standard-4", NodeCount: 1}},
	}
	for _, change := range changes {
		change(&in)
	}
	pool := managed.Pool{ID: in.PoolID, Account: "PA", Kind: managed.PoolProvider, Billing: managed.BillingMetered}
	row, event, err := managed.NewCluster(in, managed.Principal{ID: "https://id.example.com|alice"}, pool, managed.Placement{Region: "europe-west1"}, Start)
	if err != nil {
		tb.Fatal(err)
	}
	return row, event
}

// Contract holds a store against what the calls take for granted.
func Contract(t *testing.T, open func(t *testing.T) Opened) {
	t.Helper()
	for name, test := range map[string]func(*suite){
		"a record is as it was inserted":         (*suite).roundTrip,
		"an insert is refused in order":          (*suite).refusals,
		"inserts at once keep name and limit":    (*suite).insertsAtOnce,
		"a list is ordered and narrowed":         (*suite).lists,
		"a change is whole or nothing":           (*suite).changes,
		"changes at once are one after another":  (*suite).changesAtOnce,
		"events and audit records of their own":  (*suite).publishes,
		"a call that was broken off has no harm": (*suite).brokenOff,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&suite{T: t, Opened: open(t)})
		})
	}
}

type suite struct {
	*testing.T
	Opened
}

func (s *suite) insert(name string, changes ...func(*managed.CreateInput)) managed.Cluster {
	s.Helper()
	row, event := NewCluster(s, name, changes...)
	s.must(s.Insert(s.Context(), row, 100, event))
	return row
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) equal(what string, want, got any) {
	s.Helper()
	if !reflect.DeepEqual(want, got) {
		s.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

func (s *suite) is(what string, want, got error) {
	s.Helper()
	if !errors.Is(got, want) {
		s.Errorf("%s: %v, want %v", what, got, want)
	}
}

// deleted moves a record to its end.
func (s *suite) deleted(id string) {
	s.Helper()
	_, err := s.Change(s.Context(), id, func(row managed.Cluster) (managed.Cluster, []managed.Event, error) {
		row.State, row.DeletedAt, row.NextLook = managed.StateDeleted, Start.Add(time.Hour), time.Time{}
		return row, nil, nil
	})
	s.must(err)
}

func (s *suite) names(filter managed.Filter) []string {
	s.Helper()
	names := []string{}
	for row, err := range s.Clusters(s.Context(), filter) {
		s.must(err)
		names = append(names, row.Name)
	}
	return names
}

func (s *suite) roundTrip() {
	_, err := s.Cluster(s.Context(), "kcl_none")
	s.is("unknown", managed.ErrUnknown, err)
	row := s.insert("one", func(in *managed.CreateInput) {
		in.Description, in.Version = "\x00 \u2028 \U0001f680 \"quoted\" \\u0000 ünïcödé", "1.33"
		in.AuthorizedNetworks = []string{"10.0.0.0/8"}
		in.NodePools[0].Autoscaling = &managed.Autoscaling{MinNodes: 0, MaxNodes: 3}
		in.NodePools[0].Labels = map[string]string{"a\x00": "b"}
	})
	got, err := s.Cluster(s.Context(), row.ID)
	s.must(err)
	s.equal("record", row, got)
	s.equal("events", []string{"kubernetes.cluster.created " + row.ID}, s.Events())
}

func (s *suite) refusals() {
	one := s.insert("one")
	row, event := NewCluster(s, "one", func(in *managed.CreateInput) { in.IdempotencyKey = "key-one" })
	s.is("recorded, before its own name", managed.ErrRecorded, s.Insert(s.Context(), row, 1, event))
	row, event = NewCluster(s, "one", func(in *managed.CreateInput) { in.IdempotencyKey = "another" })
	s.equal("name, before the limit", managed.Conflict, managed.CodeOf(s.Insert(s.Context(), row, 1, event)))
	row, event = NewCluster(s, "two")
	s.equal("limit", managed.QuotaExceeded, managed.CodeOf(s.Insert(s.Context(), row, 1, event)))
	s.equal("events", 1, len(s.Events()))
	s.insert("one", func(in *managed.CreateInput) { in.TenantID = "other" })
	s.deleted(one.ID)
	row, event = NewCluster(s, "one", func(in *managed.CreateInput) { in.IdempotencyKey = "another" })
	s.must(s.Insert(s.Context(), row, 1, event))
	row, event = NewCluster(s, "one")
	s.is("a deleted record is recorded", managed.ErrRecorded, s.Insert(s.Context(), row, 9, event))
	s.equal("names", []string{"one"}, s.names(managed.Filter{Tenant: "acme"}))
}

// atOnce runs a function so many times at once and answers the codes of what it said.
func (s *suite) atOnce(count int, do func(i int) error) map[managed.Code]int {
	codes := make([]managed.Code, count)
	var wait sync.WaitGroup
	for i := range count {
		wait.Go(func() { codes[i] = managed.CodeOf(do(i)) })
	}
	wait.Wait()
	counts := map[managed.Code]int{}
	for _, code := range codes {
		counts[code]++
	}
	return counts
}

func (s *suite) insertsAtOnce() {
	for i := range 3 {
		s.insert(fmt.Sprint("c", i))
	}
	got := s.atOnce(8, func(i int) error {
		row, event := NewCluster(s, fmt.Sprint("n", i))
		return s.Insert(s.Context(), row, 5, event)
	})
	s.equal("at the limit", map[managed.Code]int{"": 2, managed.QuotaExceeded: 6}, got)
	got = s.atOnce(8, func(i int) error {
		row, event := NewCluster(s, "same", func(in *managed.CreateInput) { in.IdempotencyKey = fmt.Sprint(i) })
		return s.Insert(s.Context(), row, 100, event)
	})
	s.equal("of one name", map[managed.Code]int{"": 1, managed.Conflict: 7}, got)
	s.equal("events", 6, len(s.Events()))
}

func (s *suite) lists() {
	project, pool := "prj_"+strings.Repeat("0", 26), "pool_"+strings.Repeat("n", 26)
	for i, change := range []func(*managed.CreateInput){
		func(in *managed.CreateInput) { in.PoolID = pool },
		func(in *managed.CreateInput) { in.ProjectID = project },
		func(in *managed.CreateInput) { in.PoolID, in.ProjectID = pool, project },
		func(in *managed.CreateInput) { in.TenantID = "other" },
	} {
		row, event := NewCluster(s, fmt.Sprint("c", i), change)
		row.CreatedAt = Start.Add(-time.Duration(i) * time.Minute)
		s.must(s.Insert(s.Context(), row, 100, event))
	}
	s.equal("oldest first", []string{"c2", "c1", "c0"}, s.names(managed.Filter{Tenant: "acme"}))
	s.equal("of a pool", []string{"c2", "c0"}, s.names(managed.Filter{Tenant: "acme", Pool: pool}))
	s.equal("of a project", []string{"c2", "c1"}, s.names(managed.Filter{Tenant: "acme", Project: project}))
	s.equal("of both", []string{"c2"}, s.names(managed.Filter{Tenant: "acme", Project: project, Pool: pool}))
	s.equal("of nobody", []string{}, s.names(managed.Filter{Tenant: "nobody"}))
	for row, err := range s.Clusters(s.Context(), managed.Filter{Tenant: "acme"}) {
		s.must(err)
		s.equal("the first alone", "c2", row.Name)
		break
	}
	for row, err := range s.Clusters(s.Context(), managed.Filter{Tenant: "acme", Pool: pool, Project: project}) {
		s.must(err)
		s.deleted(row.ID)
		break
	}
	s.equal("without the deleted", []string{"c1", "c0"}, s.names(managed.Filter{Tenant: "acme"}))
	s.equal("with the deleted", []string{"c2", "c1", "c0"}, s.names(managed.Filter{Tenant: "acme", Deleted: true}))

	ids := []string{s.insert("x", other).ID, s.insert("y", other).ID, s.insert("z", other).ID}
	slices.Sort(ids)
	var got []string
	for row, err := range s.Clusters(s.Context(), managed.Filter{Tenant: "third"}) {
		s.must(err)
		got = append(got, row.ID)
	}
	s.equal("of one time by id", ids, got)
}

func other(in *managed.CreateInput) { in.TenantID = "third" }

func (s *suite) changes() {
	row := s.insert("one")
	_, err := s.Change(s.Context(), "kcl_none", func(row managed.Cluster) (managed.Cluster, []managed.Event, error) { return row, nil, nil })
	s.is("unknown", managed.ErrUnknown, err)
	refused := managed.Fault(managed.InvalidState, "refused")
	_, err = s.Change(s.Context(), row.ID, func(row managed.Cluster) (managed.Cluster, []managed.Event, error) {
		row.Description = "changed"
		_, event, _ := row.Delete(Start)
		return row, []managed.Event{event}, refused
	})
	s.is("the function's error", refused, err)
	got, err := s.Cluster(s.Context(), row.ID)
	s.must(err)
	s.equal("record after an error", row, got)
	s.equal("events after an error", 1, len(s.Events()))
	changed, err := s.Change(s.Context(), row.ID, func(read managed.Cluster) (managed.Cluster, []managed.Event, error) {
		s.equal("record that is handed in", row, read)
		changed, event, _ := read.Delete(Start.Add(time.Minute))
		return changed, []managed.Event{event}, nil
	})
	s.must(err)
	got, err = s.Cluster(s.Context(), row.ID)
	s.must(err)
	s.equal("record after a change", changed, got)
	s.equal("state", managed.StateDeleting, got.State)
	s.equal("events", []string{"kubernetes.cluster.created " + row.ID, "kubernetes.cluster.deleting " + row.ID}, s.Events())
}

func (s *suite) changesAtOnce() {
	row := s.insert("one")
	got := s.atOnce(20, func(int) error {
		_, err := s.Change(s.Context(), row.ID, func(row managed.Cluster) (managed.Cluster, []managed.Event, error) {
			row.Version++
			return row, nil, nil
		})
		return err
	})
	s.equal("outcomes", map[managed.Code]int{"": 20}, got)
	after, err := s.Cluster(s.Context(), row.ID)
	s.must(err)
	s.equal("version", row.Version+20, after.Version)
}

func (s *suite) publishes() {
	row := s.insert("one")
	s.must(s.Publish(s.Context(), row.Issued("https://id.example.com|vera", "bc-u-0-view", managed.RoleView, time.Hour, Start.Add(time.Hour), Start)))
	s.must(s.Audit(s.Context(), managed.Audit{
		At: Start, RequestID: "request-1", Principal: "https://id.example.com|\x00\xff", Method: "kubernetesClusters.get", Tenant: "acme",
		Decisions: []managed.Decided{{Action: managed.ActionRead, Allowed: true}},
	}))
	s.equal("events", []string{"kubernetes.cluster.created " + row.ID, "kubernetes.cluster.credentials-issued " + row.ID}, s.Events())
}

func (s *suite) brokenOff() {
	row := s.insert("one")
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if _, err := s.Cluster(ctx, row.ID); err != nil && !errors.Is(err, managed.ErrUnreachable) && !errors.Is(err, context.Canceled) {
		s.Errorf("a read that was broken off: %v", err)
	}
	s.equal("names", []string{"one"}, s.names(managed.Filter{Tenant: "acme"}))
}
