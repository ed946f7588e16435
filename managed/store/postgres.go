package store

import (
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// connections to a PostgreSQL are few enough for several processes under its default limit of a hundred.
const connections = 16

var postgresDialect = dialect{
	goose: goose.DialectPostgres,
	// Two processes may start at once: one waits, a second at a time.
	options: func() ([]goose.ProviderOption, error) {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
		return []goose.ProviderOption{goose.WithSessionLocker(locker)}, err
	},
	locked:   " FOR UPDATE",
	skipping: " FOR UPDATE SKIP LOCKED",
	// Whatever PostgreSQL did not say itself is that it could not be asked; and so is that it is going away, has no room,
	// or takes no writes.
	unreachable: func(err error) bool {
		var fault *pgconn.PgError
		if !errors.As(err, &fault) {
			return true
		}
		for _, class := range []string{"08", "53", "57P", "58", "25006"} {
			if strings.HasPrefix(fault.Code, class) {
				return true
			}
		}
		return false
	},
}

func openPostgres(location string) (*Store, error) {
	config, err := pgx.ParseConfig(location)
	if err != nil {
		// The cause repeats the URL, and only its usual parts are masked.
		return nil, errors.New("database postgres://…: the URL cannot be read: write postgres://user:password@host:port/name")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = callDeadline / 2
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return &Store{Reader: Reader{dialect: postgresDialect, read: db}, write: db}, nil
}
