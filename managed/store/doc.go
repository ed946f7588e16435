// Package store keeps the records of the managed clusters in SQLite or PostgreSQL: clusters with their leases, the
// outbox of events, the jobs that one process at a time does, metering rows and audit records.
//
// [Open] takes a file's path or a postgres:// URL. The statements are the same for both, and so are the migrations,
// which it runs. A record is one JSON value; the columns beside it are what is asked for.
//
// The package promises: each method is one transaction; an event's id is its place in the order in which transactions
// ended, so that who reads on from an id misses none; a claimed record is saved only by its claim, and only when nothing
// changed it since; what could not be reached is [managed.ErrUnreachable], wrapped, and no text of an error has a password.
// A SQLite file is for one process: a second one gets [ErrInUse]. Two processes share a PostgreSQL.
//
// It leaves out when to look at what, and what a record means: the times in it are given by who saves it.
package store
