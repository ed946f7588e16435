package service

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/store/storetest"
)

// What these tests prove holds with a database because both keep one contract.
func TestTheMemoryKeepsTheContractOfStores(t *testing.T) {
	t.Parallel()
	storetest.Contract(t, func(*testing.T) storetest.Opened {
		m := newMemory()
		return storetest.Opened{Store: m, Events: func() []string {
			all := []string{}
			for _, event := range m.events {
				all = append(all, string(event.Type)+" "+event.Subject)
			}
			return all
		}}
	})
}

// memory is a store for these tests: one lock is every transaction.
type memory struct {
	lock   sync.Mutex
	rows   map[string]managed.Cluster
	events []managed.Event
	audits []managed.Audit
	// down says that it cannot be reached; broken that it is at fault; lost that events cannot be written.
	down, broken, lost bool
	// before runs at the begin of an insert, as another process would.
	before func()
}

func newMemory() *memory { return &memory{rows: map[string]managed.Cluster{}} }

func (m *memory) open() error {
	switch {
	case m.down:
		return fmt.Errorf("dial tcp 192.0.2.1:5432: %w", managed.ErrUnreachable)
	case m.broken:
		return fmt.Errorf("syntax error in statement 7")
	}
	return nil
}

func (m *memory) Cluster(_ context.Context, id string) (managed.Cluster, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if err := m.open(); err != nil {
		return managed.Cluster{}, err
	}
	row, found := m.rows[id]
	if !found {
		return managed.Cluster{}, fmt.Errorf("cluster %s: %w", id, managed.ErrUnknown)
	}
	return row, nil
}

func (m *memory) Clusters(_ context.Context, filter managed.Filter) iter.Seq2[managed.Cluster, error] {
	return func(yield func(managed.Cluster, error) bool) {
		// Who takes a record may ask the store again.
		rows, err := m.list(filter)
		if err != nil {
			yield(managed.Cluster{}, err)
			return
		}
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (m *memory) list(filter managed.Filter) ([]managed.Cluster, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	var rows []managed.Cluster
	for _, row := range m.rows {
		if row.TenantID == filter.Tenant && (filter.Pool == "" || row.PoolID == filter.Pool) &&
			(filter.Project == "" || row.ProjectID == filter.Project) && (filter.Deleted || row.State != managed.StateDeleted) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(some, other managed.Cluster) int {
		return cmp.Or(some.CreatedAt.Compare(other.CreatedAt), cmp.Compare(some.ID, other.ID))
	})
	return rows, m.open()
}

func (m *memory) Insert(_ context.Context, cluster managed.Cluster, limit int, event managed.Event) error {
	if m.before != nil {
		m.before()
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	if err := m.open(); err != nil {
		return err
	}
	if _, there := m.rows[cluster.ID]; there {
		return managed.ErrRecorded
	}
	count := 0
	for _, row := range m.rows {
		if row.TenantID != cluster.TenantID || row.State == managed.StateDeleted {
			continue
		}
		if row.Name == cluster.Name {
			return managed.NameTaken(cluster.Name)
		}
		count++
	}
	if count >= limit {
		return managed.TooMany(cluster.TenantID, limit)
	}
	m.rows[cluster.ID] = cluster
	m.events = append(m.events, event)
	return nil
}

func (m *memory) Change(
	_ context.Context, id string, change func(managed.Cluster) (managed.Cluster, []managed.Event, error),
) (managed.Cluster, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if err := m.open(); err != nil {
		return managed.Cluster{}, err
	}
	recorded, found := m.rows[id]
	if !found {
		return managed.Cluster{}, fmt.Errorf("cluster %s: %w", id, managed.ErrUnknown)
	}
	row, events, err := change(recorded)
	if err != nil {
		return managed.Cluster{}, err
	}
	m.rows[id] = row
	m.events = append(m.events, events...)
	return row, nil
}

func (m *memory) Publish(_ context.Context, event managed.Event) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.lost {
		return managed.ErrUnreachable
	}
	m.events = append(m.events, event)
	return m.open()
}

func (m *memory) Audit(_ context.Context, audit managed.Audit) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.audits = append(m.audits, audit)
	return m.open()
}

// told are the types of all events so far, without their common begin.
func (m *memory) told() []string {
	names := []string{}
	for _, event := range m.events {
		names = append(names, string(event.Type[len("kubernetes.cluster."):]))
	}
	return names
}
