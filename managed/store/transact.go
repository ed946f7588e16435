package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// transaction is one under way.
type transaction struct {
	*sql.Tx
	ctx context.Context
}

// transact runs a function in a transaction that takes writes. What the function answers ends it: an error undoes all.
func (s *Store) transact(ctx context.Context, doing string, do func(transaction) error) error {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.fault(doing, err)
	}
	if err := do(transaction{tx, ctx}); err != nil {
		// The cause tells more than a failed rollback, after which the database undoes by itself.
		_ = tx.Rollback()
		return s.fault(doing, err)
	}
	return s.fault(doing, tx.Commit())
}

// exec runs a statement and says how many rows it wrote.
func (t transaction) exec(statement string, arguments ...any) (int64, error) {
	result, err := t.ExecContext(t.ctx, statement, arguments...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// each hands the rows of a query to a function, which scans them; its error ends it.
func (t transaction) each(take func(scan func(...any) error) error, query string, arguments ...any) error {
	return each(t.ctx, t.QueryContext, take, query, arguments...)
}

// each is the same outside of a transaction.
func (r *Reader) each(ctx context.Context, take func(scan func(...any) error) error, query string, arguments ...any) error {
	return each(ctx, r.read.QueryContext, take, query, arguments...)
}

func each(
	ctx context.Context, ask func(context.Context, string, ...any) (*sql.Rows, error),
	take func(scan func(...any) error) error, query string, arguments ...any,
) error {
	rows, err := ask(ctx, query, arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := take(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// said are errors that are no database's: they pass as they are.
var said = []error{managed.ErrUnknown, managed.ErrRecorded, managed.ErrChanged, managed.ErrLost}

// own marks an error of the caller's function, which passes as it is too.
type own struct{ error }

func (o own) Unwrap() error { return o.error }

// fault wraps what a database said, by what was being done.
func (r *Reader) fault(doing string, err error) error {
	var callers own
	var refusal *managed.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &callers):
		return callers.error
	case errors.As(err, &refusal):
		return refusal
	}
	for _, one := range said {
		if errors.Is(err, one) {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
	if errors.Is(err, sql.ErrTxDone) || errors.Is(err, context.DeadlineExceeded) || r.dialect.unreachable(err) {
		return fmt.Errorf("%s: the database %w: %w", doing, managed.ErrUnreachable, err)
	}
	return fmt.Errorf("%s: the database: %w", doing, err)
}

// micros is a time as a column has it; NULL is none.
func micros(at time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: at.UnixMicro(), Valid: !at.IsZero()}
}

// encoded is a value as a text column has it.
func encoded(value any) (string, error) {
	data, err := json.Marshal(value)
	return string(data), err
}

// plain is a text that every database takes. Only what others wrote can be otherwise.
func plain(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}
