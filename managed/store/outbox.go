package store

import (
	"context"
	"strconv"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// publish writes events to the outbox, numbered under the lock of the last number: who sees an event has seen all before
// it. It comes last in a transaction, since others wait.
func (t transaction) publish(events ...managed.Event) error {
	if len(events) == 0 {
		return nil
	}
	var last int64
	if err := t.QueryRowContext(t.ctx, "UPDATE outbox_last SET id = id + $1 RETURNING id", len(events)).Scan(&last); err != nil {
		return err
	}
	for i, event := range events {
		id := last - int64(len(events)-1-i)
		body, err := event.CloudEvent(strconv.FormatInt(id, 10))
		if err != nil {
			return err
		}
		if _, err := t.exec("INSERT INTO outbox (id, cluster, tenant, body) VALUES ($1, $2, $3, $4)",
			id, event.Cluster, event.Tenant, string(body)); err != nil {
			return err
		}
	}
	return nil
}

// Waiting are events that are due for delivery, oldest first: of each cluster the first alone, so that its others wait
// for that one.
func (s *Store) Waiting(ctx context.Context, now time.Time, limit int) ([]managed.Delivery, error) {
	return s.deliveries(ctx, "events: reading those that wait", `SELECT id, cluster, body, failures FROM outbox WHERE id IN (
		SELECT min(id) FROM outbox WHERE delivered_at IS NULL GROUP BY cluster) AND due_at <= $1 ORDER BY id LIMIT $2`, now.UnixMicro(), limit)
}

// Delivered records that an event was taken.
func (s *Store) Delivered(ctx context.Context, id int64, now time.Time) error {
	return s.transact(ctx, "event "+strconv.FormatInt(id, 10)+": recording its delivery", func(tx transaction) error {
		_, err := tx.exec("UPDATE outbox SET delivered_at = $2 WHERE id = $1", id, now.UnixMicro())
		return err
	})
}

// Postpone records that an event was not taken, and is due again at a time.
func (s *Store) Postpone(ctx context.Context, id int64, until time.Time) error {
	return s.transact(ctx, "event "+strconv.FormatInt(id, 10)+": postponing", func(tx transaction) error {
		_, err := tx.exec("UPDATE outbox SET failures = failures + 1, due_at = $2 WHERE id = $1", id, until.UnixMicro())
		return err
	})
}

// Events are a tenant's events after an id, in their order, each in CloudEvents' structured mode; of one cluster unless
// that is empty. The last one's id reads on.
func (s *Store) Events(ctx context.Context, tenant, cluster string, after int64, limit int) ([]managed.Delivery, error) {
	return s.deliveries(ctx, "tenant "+tenant+": reading its events", `SELECT id, cluster, body, failures FROM outbox
		WHERE tenant = $1 AND ($2 = '' OR cluster = $2) AND id > $3 ORDER BY id LIMIT $4`, tenant, cluster, after, limit)
}

func (s *Store) deliveries(ctx context.Context, doing, query string, arguments ...any) ([]managed.Delivery, error) {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	var all []managed.Delivery
	err := s.each(ctx, func(scan func(...any) error) error {
		var one managed.Delivery
		err := scan(&one.ID, &one.Cluster, &one.Body, &one.Failures)
		all = append(all, one)
		return err
	}, query, arguments...)
	return all, s.fault(doing, err)
}
