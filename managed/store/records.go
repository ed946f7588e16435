package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// Cluster finds a record by its id, a deleted one too; [managed.ErrUnknown] when there is none.
func (s *Store) Cluster(ctx context.Context, id string) (managed.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	var row managed.Cluster
	err := record(s.read.QueryRowContext(ctx, "SELECT record FROM clusters WHERE id = $1", id).Scan, &row)
	return row, s.fault("cluster "+id+": reading", err)
}

// record scans a row whose last column is a record.
func record(scan func(...any) error, row *managed.Cluster, before ...any) error {
	var data []byte
	switch err := scan(append(before, &data)...); {
	case errors.Is(err, sql.ErrNoRows):
		return managed.ErrUnknown
	case err != nil:
		return err
	}
	return json.Unmarshal(data, row)
}

// Clusters are a tenant's records, oldest first, those of one time by id. They are read as they are taken.
func (s *Store) Clusters(ctx context.Context, filter managed.Filter) iter.Seq2[managed.Cluster, error] {
	return func(yield func(managed.Cluster, error) bool) {
		ctx, cancel := context.WithTimeout(ctx, callDeadline)
		defer cancel()
		stop := errors.New("enough")
		err := s.each(ctx, func(scan func(...any) error) error {
			var row managed.Cluster
			if err := record(scan, &row); err != nil {
				return err
			}
			if !yield(row, nil) {
				return stop
			}
			return nil
		}, `SELECT record FROM clusters WHERE tenant = $1
			AND ($2 = '' OR pool = $2) AND ($3 = '' OR project = $3) AND ($4 = 1 OR state <> $5) ORDER BY created_at, id`,
			filter.Tenant, filter.Pool, filter.Project, number(filter.Deleted), managed.StateDeleted)
		if err != nil && !errors.Is(err, stop) {
			yield(managed.Cluster{}, s.fault("tenant "+filter.Tenant+": listing its clusters", err))
		}
	}
}

// number is a truth as both databases compare it.
func number(truth bool) int {
	if truth {
		return 1
	}
	return 0
}

// Insert writes a record with its event, unless its id is recorded ([managed.ErrRecorded]), another cluster of the tenant
// that is not deleted has its name ([managed.NameTaken]), or the tenant has the limit of such clusters
// ([managed.TooMany]), in that order.
func (s *Store) Insert(ctx context.Context, cluster managed.Cluster, limit int, event managed.Event) error {
	return s.transact(ctx, "cluster "+cluster.ID+": inserting", func(tx transaction) error {
		// Inserts of one tenant wait for each other here, so that what is counted stays so.
		if _, err := tx.exec("INSERT INTO tenants (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET id = excluded.id", cluster.TenantID); err != nil {
			return err
		}
		if err := tx.free(cluster, limit); err != nil {
			return err
		}
		data, err := encoded(cluster)
		if err != nil {
			return err
		}
		if _, err := tx.exec(`INSERT INTO clusters (id, tenant, pool, project, account, name, state, created_at, record, next_look_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			cluster.ID, cluster.TenantID, cluster.PoolID, cluster.ProjectID, cluster.AccountID, cluster.Name, cluster.State,
			cluster.CreatedAt.UnixMicro(), data, micros(cluster.NextLook)); err != nil {
			return err
		}
		return tx.publish(event)
	})
}

// free says whether there is room for a new cluster.
func (t transaction) free(cluster managed.Cluster, limit int) error {
	var recorded, named, all int
	err := t.QueryRowContext(t.ctx, `SELECT (SELECT count(*) FROM clusters WHERE id = $1),
		(SELECT count(*) FROM clusters WHERE tenant = $2 AND name = $3 AND state <> 'deleted'),
		(SELECT count(*) FROM clusters WHERE tenant = $2 AND state <> 'deleted')`,
		cluster.ID, cluster.TenantID, cluster.Name).Scan(&recorded, &named, &all)
	switch {
	case err != nil:
		return err
	case recorded > 0:
		return managed.ErrRecorded
	case named > 0:
		return managed.NameTaken(cluster.Name)
	case all >= limit:
		return managed.TooMany(cluster.TenantID, limit)
	}
	return nil
}

// Change reads a record, hands it to the function, and writes what that returns; nothing with its error. The record
// cannot change in between, and a pass that has it claimed reads it again before it saves. [managed.ErrUnknown] when
// there is none.
func (s *Store) Change(
	ctx context.Context, id string, change func(managed.Cluster) (managed.Cluster, []managed.Event, error),
) (managed.Cluster, error) {
	var changed managed.Cluster
	err := s.transact(ctx, "cluster "+id+": changing", func(tx transaction) error {
		var row managed.Cluster
		if err := record(tx.QueryRowContext(tx.ctx, "SELECT record FROM clusters WHERE id = $1"+s.dialect.locked, id).Scan, &row); err != nil {
			return err
		}
		var events []managed.Event
		var err error
		if changed, events, err = change(row); err != nil {
			return own{err}
		}
		if _, err := tx.update(changed, " WHERE id = $1"); err != nil {
			return err
		}
		return tx.publish(events...)
	})
	if err != nil {
		return managed.Cluster{}, err
	}
	return changed, nil
}

// update writes a record if what also must hold does, whose arguments begin at $7, and says whether it did. The meter is
// due an hour after the first acceptance, and at the end.
func (t transaction) update(row managed.Cluster, also string, arguments ...any) (bool, error) {
	data, err := encoded(row)
	if err != nil {
		return false, err
	}
	var metered time.Time
	if row.Metered && !row.AcceptedAt.IsZero() {
		metered = row.AcceptedAt.Add(time.Hour)
	}
	count, err := t.exec(`UPDATE clusters SET record = $2, state = $3, next_look_at = $4, deleted_at = $5, counter = counter + 1,
		meter_at = CASE WHEN CAST($6 AS bigint) IS NULL THEN NULL WHEN CAST($5 AS bigint) IS NOT NULL THEN $5
			ELSE COALESCE(meter_at, $6) END`+also,
		append([]any{row.ID, data, row.State, micros(row.NextLook), micros(row.DeletedAt), micros(metered)}, arguments...)...)
	return count > 0, err
}

// Publish writes an event that comes with no change of a record.
func (s *Store) Publish(ctx context.Context, event managed.Event) error {
	return s.transact(ctx, fmt.Sprintf("event %s of %s: writing", event.Type, event.Subject), func(tx transaction) error {
		return tx.publish(event)
	})
}

// Audit writes an audit record.
func (s *Store) Audit(ctx context.Context, audit managed.Audit) error {
	return s.transact(ctx, "audit of request "+audit.RequestID+": writing", func(tx transaction) error {
		data, err := encoded(audit.Decisions)
		if err != nil {
			return err
		}
		_, err = tx.exec(`INSERT INTO audits (request, at, principal, method, tenant, resource, code, record)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			plain(audit.RequestID), audit.At.UnixMicro(), plain(audit.Principal), audit.Method, plain(audit.Tenant), plain(audit.Resource), audit.Code, data)
		return err
	})
}
