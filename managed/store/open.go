package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
)

// ErrInUse is of a SQLite file that another process has opened.
var ErrInUse = errors.New("another process uses it")

// callDeadline ends what a database does not answer.
const callDeadline = 10 * time.Second

//go:embed migrations/*.sql
var migrations embed.FS

// Store keeps the records. It is safe for concurrent use.
type Store struct {
	Reader
	// write takes transactions; of a SQLite file it has one connection, so that writers wait in line.
	write *sql.DB
	// lock is the file that keeps other processes out; nil with PostgreSQL.
	lock io.Closer
}

// Reader reads what others ask for while a store is open, in this process or another.
type Reader struct {
	dialect dialect
	read    *sql.DB
}

// dialect is where the two databases differ.
type dialect struct {
	goose goose.Dialect
	// options are goose's of this database.
	options func() ([]goose.ProviderOption, error)
	// locked is what a SELECT ends with to keep its row, skipping what it ends with to take rows that nobody keeps.
	locked, skipping string
	// unreachable says of an error that the database could not be asked.
	unreachable func(error) bool
}

// Open opens the database at a location, a file's path for SQLite or a postgres:// URL, and brings its tables up to date.
// A SQLite file is made when there is none; one that another process has open is [ErrInUse]. Close it in the end.
func Open(ctx context.Context, location string) (*Store, error) {
	store, err := connect(ctx, location)
	if err != nil {
		return nil, err
	}
	if err := store.migrate(ctx); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

func connect(ctx context.Context, location string) (*Store, error) {
	scheme, _, url := strings.Cut(location, "://")
	switch {
	case location == "":
		return nil, errors.New("database: none is named: give a file's path or a postgres:// URL")
	case !url:
		return openSQLite(ctx, location)
	case scheme == "postgres" || scheme == "postgresql":
		return openPostgres(location)
	}
	// The rest of a URL may have a password.
	return nil, fmt.Errorf("database %s://…: it is no file's path and no postgres:// URL: give one of these", scheme)
}

func (s *Store) migrate(ctx context.Context) error {
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	options, err := s.dialect.options()
	if err != nil {
		return err
	}
	options = append(options, goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler)))
	provider, err := goose.NewProvider(s.dialect.goose, s.write, folder, options...)
	if err != nil {
		return fmt.Errorf("database: reading the migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return s.fault("bringing its tables up to date", err)
	}
	return nil
}

// Close closes the database and lets another process have it.
func (s *Store) Close() error {
	err := errors.Join(s.Reader.Close(), s.write.Close())
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// OpenReader opens a database that is there, to read beside the process that has it open.
func OpenReader(ctx context.Context, location string) (*Reader, error) {
	if location != "" && !strings.Contains(location, "://") {
		return readSQLite(ctx, location)
	}
	store, err := connect(ctx, location)
	if err != nil {
		return nil, err
	}
	return &store.Reader, nil
}

// Close closes the database.
func (r *Reader) Close() error { return r.read.Close() }
