package store

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// metered is a record with how many hours of it are recorded.
type metered struct {
	row   managed.Cluster
	hours int
}

// Meter records the hours that are full by now, of up to so many clusters, and says of how many. An hour is recorded
// once, however often that runs.
func (s *Store) Meter(ctx context.Context, now time.Time, limit int) (int, error) {
	var due []metered
	err := s.transact(ctx, "clusters that are metered: recording their hours", func(tx transaction) error {
		due = nil
		if err := tx.each(func(scan func(...any) error) error {
			var one metered
			err := record(scan, &one.row, &one.hours)
			due = append(due, one)
			return err
		}, "SELECT hours, record FROM clusters WHERE meter_at <= $1 ORDER BY meter_at LIMIT $2"+s.dialect.skipping, now.UnixMicro(), limit); err != nil {
			return err
		}
		for _, one := range due {
			if err := tx.meter(one, now); err != nil {
				return err
			}
		}
		return nil
	})
	return len(due), err
}

// meter records the hours of one cluster, and when the next one is due; of a deleted cluster there is none.
func (t transaction) meter(one metered, now time.Time) error {
	hours := one.row.Hours(one.hours, now)
	for _, hour := range hours {
		data, err := encoded(hour)
		if err != nil {
			return err
		}
		if _, err := t.exec("INSERT INTO hours (cluster, starts_at, ends_at, tenant, record) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
			hour.Cluster, hour.From.UnixMicro(), hour.To.UnixMicro(), hour.Tenant, data); err != nil {
			return err
		}
	}
	recorded := one.hours + len(hours)
	var next time.Time
	if one.row.DeletedAt.IsZero() {
		next = one.row.AcceptedAt.Add(time.Duration(recorded+1) * time.Hour)
	}
	_, err := t.exec("UPDATE clusters SET hours = $2, meter_at = $3 WHERE id = $1", one.row.ID, recorded, micros(next))
	return err
}

// Hours are metering rows, by their begin and cluster.
func (r *Reader) Hours(ctx context.Context, filter managed.HoursFilter) iter.Seq2[managed.Hour, error] {
	return func(yield func(managed.Hour, error) bool) {
		stop := errors.New("enough")
		err := r.each(ctx, func(scan func(...any) error) error {
			var data []byte
			if err := scan(&data); err != nil {
				return err
			}
			var hour managed.Hour
			if err := json.Unmarshal(data, &hour); err != nil {
				return err
			}
			if !yield(hour, nil) {
				return stop
			}
			return nil
		}, "SELECT record FROM hours WHERE starts_at >= $1 AND ($2 = '' OR tenant = $2) ORDER BY starts_at, cluster", filter.Since.UnixMicro(), filter.Tenant)
		if err != nil && !errors.Is(err, stop) {
			yield(managed.Hour{}, r.fault("metering rows: reading", err))
		}
	}
}
