package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// Claim takes records that are due and in nobody's hands, those due the longest first, for a lease. An owner that a
// process never used before tells this claim from all others; who has it saves the record with [Store.Save]. A lease that
// ended is taken over.
func (s *Store) Claim(ctx context.Context, owner string, now time.Time, lease time.Duration, limit int) ([]managed.Claim, error) {
	var claims []managed.Claim
	err := s.transact(ctx, "clusters that are due: claiming", func(tx transaction) error {
		return tx.each(func(scan func(...any) error) error {
			claim := managed.Claim{Owner: owner}
			if err := record(scan, &claim.Row, &claim.Counter, &claim.Attempts); err != nil {
				return err
			}
			claims = append(claims, claim)
			return nil
		}, `UPDATE clusters SET lease_owner = $1, lease_until = $2, attempts = attempts + 1 WHERE id IN (
			SELECT id FROM clusters WHERE next_look_at <= $3 AND lease_until <= $3 ORDER BY next_look_at LIMIT $4`+s.dialect.skipping+`)
			RETURNING counter, attempts, record`, owner, now.Add(lease).UnixMicro(), now.UnixMicro(), limit)
	})
	if err != nil {
		return nil, err
	}
	return claims, nil
}

// Settled are the records of an account that only its refresh looks at: they are ready, and have no next look. They are
// claimed by nobody, so that saving one fails as soon as anybody else has to do with it.
func (s *Store) Settled(ctx context.Context, account string) ([]managed.Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	var claims []managed.Claim
	err := s.each(ctx, func(scan func(...any) error) error {
		var claim managed.Claim
		err := record(scan, &claim.Row, &claim.Counter)
		claims = append(claims, claim)
		return err
	}, `SELECT counter, record FROM clusters
		WHERE account = $1 AND next_look_at IS NULL AND state = 'ready' AND lease_owner = '' ORDER BY id`, account)
	return claims, s.fault("account "+account+": reading its settled clusters", err)
}

// Save writes what a pass made of a claimed record, with its events, and answers the claim as it is now; done gives it
// back. [managed.ErrChanged] when the record was changed since it was read ([Store.Again] reads it), [managed.ErrLost]
// when it is another's: nothing is written then.
func (s *Store) Save(ctx context.Context, claim managed.Claim, row managed.Cluster, events []managed.Event, done bool) (managed.Claim, error) {
	err := s.transact(ctx, "cluster "+claim.Row.ID+": saving", func(tx transaction) error {
		also := " WHERE id = $1 AND counter = $7 AND lease_owner = $8"
		if done {
			also = ", lease_owner = '', lease_until = 0, attempts = 0" + also
		}
		saved, err := tx.update(row, also, claim.Counter, claim.Owner)
		switch {
		case err != nil:
			return err
		case !saved:
			return tx.why(claim)
		}
		return tx.publish(events...)
	})
	claim.Row = row
	claim.Counter++
	return claim, err
}

// why tells what keeps a claimed record from being saved.
func (t transaction) why(claim managed.Claim) error {
	var owner string
	switch err := t.QueryRowContext(t.ctx, "SELECT lease_owner FROM clusters WHERE id = $1", claim.Row.ID).Scan(&owner); {
	case errors.Is(err, sql.ErrNoRows):
		return managed.ErrLost
	case err != nil:
		return err
	case owner != claim.Owner:
		return managed.ErrLost
	}
	return managed.ErrChanged
}

// Again reads a claimed record that was changed; [managed.ErrLost] when it is another's.
func (s *Store) Again(ctx context.Context, claim managed.Claim) (managed.Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	id := claim.Row.ID
	claim.Row = managed.Cluster{}
	err := record(s.read.QueryRowContext(ctx, "SELECT counter, record FROM clusters WHERE id = $1 AND lease_owner = $2",
		id, claim.Owner).Scan, &claim.Row, &claim.Counter)
	if errors.Is(err, managed.ErrUnknown) {
		err = managed.ErrLost
	}
	return claim, s.fault("cluster "+id+": reading it again", err)
}

// Forget removes records that were deleted before a time, with their events, and says how many; not those whose hours
// are not all recorded, and with delivered not those of whose events one waits for its delivery.
func (s *Store) Forget(ctx context.Context, before time.Time, delivered bool, limit int) (int, error) {
	count := 0
	err := s.transact(ctx, "clusters deleted long ago: removing", func(tx transaction) error {
		var ids []string
		if err := tx.each(func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		}, `SELECT id FROM clusters WHERE deleted_at < $1 AND meter_at IS NULL AND ($2 = 0 OR NOT EXISTS (
			SELECT 1 FROM outbox WHERE outbox.cluster = clusters.id AND delivered_at IS NULL)) ORDER BY deleted_at LIMIT $3`+s.dialect.skipping,
			before.UnixMicro(), number(delivered), limit); err != nil {
			return err
		}
		for _, id := range ids {
			if _, err := tx.exec("DELETE FROM outbox WHERE cluster = $1", id); err != nil {
				return err
			}
			if _, err := tx.exec("DELETE FROM clusters WHERE id = $1", id); err != nil {
				return err
			}
		}
		count = len(ids)
		return nil
	})
	return count, err
}
