package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/store"
)

// databaseVariable names the database where the flag does not: a URL may have a password.
const databaseVariable = "CLUSTER_MANAGER_DATABASE"

func newHours() *cobra.Command {
	var database, since string
	var filter managed.HoursFilter
	command := &cobra.Command{
		Use: "hours", Short: "Print the recorded hours of managed clusters, a JSON line each", Args: cobra.NoArgs,
		Long: `Print the recorded hours of managed clusters that began at a time or later, a JSON line each, by their begin.
It reads beside a running service. The hours of a period are those that began in it, so that periods that follow each
other count each hour once; an hour is recorded when it is over.`,
		RunE: func(command *cobra.Command, _ []string) error {
			at, err := time.Parse(time.RFC3339, since)
			if err != nil {
				return &exitError{status: 2, message: fmt.Sprintf("--since %q: it is no time: write it as 2026-03-01T00:00:00Z", since)}
			}
			filter.Since = at
			if database == "" {
				database = os.Getenv(databaseVariable)
			}
			return printHours(command.Context(), command.OutOrStdout(), database, filter)
		},
	}
	flags := command.Flags()
	flags.StringVar(&since, "since", "", "the first hours begin at this time, RFC 3339")
	flags.StringVar(&filter.Tenant, "tenant", "", "of one tenant; empty: of all")
	flags.StringVar(&database, "database", "", "a SQLite file or a postgres:// URL ["+databaseVariable+"]")
	if err := command.MarkFlagRequired("since"); err != nil {
		command.RunE = func(*cobra.Command, []string) error { return err }
	}
	return command
}

func printHours(ctx context.Context, out io.Writer, database string, filter managed.HoursFilter) error {
	reader, err := store.OpenReader(ctx, database)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	for hour, err := range reader.Hours(ctx, filter) {
		if err == nil {
			err = lines.Encode(hour)
		}
		if err != nil {
			return errors.Join(err, reader.Close())
		}
	}
	return reader.Close()
}
