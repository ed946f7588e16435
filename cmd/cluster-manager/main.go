// Command cluster-manager is an MCP server that writes Kubernetes clusters' node pools through Git, with a command line
// beside it.
//
//	serve    answers MCP clients over streamable HTTP
//	call     calls one tool and prints its answer
//	snapshot exports what the tools would read into a folder
//	tools    prints the tools as a document
//	demo     shows the main job on fixtures, on this machine alone
//	hours    prints the recorded hours of managed clusters
//	version  prints the version
//
// The package holds flags, environment and wiring; every rule lives in the packages it wires.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "dev"

// exitError ends the program with a status and, unless it was said already, a message.
type exitError struct {
	status  int
	message string
}

func (e *exitError) Error() string { return e.message }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	end := quietKustomize()
	status := run(ctx, newRoot(), os.Args[1:])
	end()
	stop()
	os.Exit(status)
}

func run(ctx context.Context, root *cobra.Command, arguments []string) int {
	root.SetArgs(arguments)
	err := root.ExecuteContext(ctx)
	var exit *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if exit.message != "" {
			_, _ = fmt.Fprintln(root.ErrOrStderr(), "cluster-manager: "+exit.message)
		}
		return exit.status
	}
	_, _ = fmt.Fprintln(root.ErrOrStderr(), "cluster-manager: "+err.Error())
	return 1
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "cluster-manager",
		Short: "Write Kubernetes clusters' node pools through Git, for people and agents",
		Long: `cluster-manager is an MCP server with a command line beside it. Asked for a GPU node pool, it works out what should
exist and opens one pull request, as the caller, in the Git repository that owns the cluster.`,
		SilenceUsage: true, SilenceErrors: true,
	}
	root.AddCommand(newServe(), newCall(), newSnapshot(), newTools(), newDemo(), newHours(), newVersion())
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(command.OutOrStdout(), version)
			return err
		},
	}
}
