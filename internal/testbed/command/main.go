// Command command builds the test bed's programs, and runs a bed by hand.
//
//	build  builds what is missing in the cache folder
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/clustermanager/cluster-manager/internal/testbed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	switch {
	case len(arguments) == 1 && arguments[0] == "build":
		return testbed.Build(ctx, os.Stdout)
	}
	return fmt.Errorf("test bed: say build or run")
}
