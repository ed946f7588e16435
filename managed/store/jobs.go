package store

import (
	"context"
	"time"
)

// ClaimJob takes a job that one process at a time does, for a lease, when it is due and in nobody's hands; a job is due
// when it is first asked for.
func (s *Store) ClaimJob(ctx context.Context, name, owner string, now time.Time, lease time.Duration) (bool, error) {
	var taken int64
	err := s.transact(ctx, "job "+name+": claiming", func(tx transaction) error {
		var err error
		taken, err = tx.exec(`INSERT INTO jobs (name, due_at, lease_owner, lease_until) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET lease_owner = excluded.lease_owner, lease_until = excluded.lease_until
			WHERE jobs.due_at <= $2 AND jobs.lease_until <= $2`, name, now.UnixMicro(), owner, now.Add(lease).UnixMicro())
		return err
	})
	return taken > 0, err
}

// FinishJob gives a job back, which is due again at a time. One that another took over stays as it is.
func (s *Store) FinishJob(ctx context.Context, name, owner string, due time.Time) error {
	return s.transact(ctx, "job "+name+": finishing", func(tx transaction) error {
		_, err := tx.exec("UPDATE jobs SET due_at = $3, lease_owner = '', lease_until = 0 WHERE name = $1 AND lease_owner = $2",
			name, owner, due.UnixMicro())
		return err
	})
}
