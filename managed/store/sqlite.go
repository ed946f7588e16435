package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// sqliteDialect needs no locks on rows: its one writer keeps all.
var sqliteDialect = dialect{
	goose:   goose.DialectSQLite3,
	options: func() ([]goose.ProviderOption, error) { return nil, nil },
	// What the disk refuses may work later; the rest is our own fault.
	unreachable: func(err error) bool {
		var fault *sqlite.Error
		if !errors.As(err, &fault) {
			return errors.Is(err, sql.ErrConnDone) || errors.Is(err, os.ErrNotExist)
		}
		switch fault.Code() & 0xff {
		case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED, sqlitelib.SQLITE_IOERR, sqlitelib.SQLITE_FULL,
			sqlitelib.SQLITE_CANTOPEN, sqlitelib.SQLITE_READONLY, sqlitelib.SQLITE_INTERRUPT:
			return true
		}
		return false
	},
}

// sqliteURL names a file and what every connection to it sets. A write is on the disk when it is answered.
func sqliteURL(path, more string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() +
		"?_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)" + more
}

func openSQLite(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	lock, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	write, err := sql.Open("sqlite", sqliteURL(path, "&_pragma=journal_mode(WAL)&_txlock=immediate"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: opening: %w", path, err), lock.Close())
	}
	write.SetMaxOpenConns(1)
	if err := write.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: opening: %w", path, err), write.Close(), lock.Close())
	}
	reader, err := readSQLite(ctx, path)
	if err != nil {
		return nil, errors.Join(err, write.Close(), lock.Close())
	}
	return &Store{Reader: *reader, write: write, lock: lock}, nil
}

func readSQLite(ctx context.Context, path string) (*Reader, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { //nolint:gosec // the operator names the file
		return nil, fmt.Errorf("database %s: there is no such file: name the one that the service writes", path)
	}
	read, err := sql.Open("sqlite", sqliteURL(path, "&_pragma=query_only(1)"))
	if err != nil {
		return nil, fmt.Errorf("database %s: opening: %w", path, err)
	}
	connections := 2 * runtime.GOMAXPROCS(0)
	read.SetMaxOpenConns(connections)
	read.SetMaxIdleConns(connections)
	if err := read.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: opening: %w", path, err), read.Close())
	}
	return &Reader{dialect: sqliteDialect, read: read}, nil
}

// lockFile keeps other processes out until it is closed. The lock is on a file beside the database: SQLite's own
// exclusive lock would keep out the other connections of this process too.
func lockFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil { //nolint:gosec // the operator names the file
		return nil, fmt.Errorf("database %s: making its folder: %w", path, err)
	}
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("database %s: locking: %w", path, err)
	}
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(fmt.Errorf("database %s: %w: a SQLite file is for one process, name a postgres:// URL for more", path, ErrInUse), file.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("database %s: locking: %w", path, err), file.Close())
	}
	return file, nil
}
