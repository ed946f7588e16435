// Command command builds the test bed's programs, and runs a bed by hand.
//
//	build  builds what is missing in the cache folder
//	run    runs a bed until it is interrupted
//
// The package holds flags and printing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/clustermanager/cluster-manager/internal/testbed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) > 0 {
		switch arguments[0] {
		case "build":
			return testbed.Build(ctx, os.Stdout)
		case "run":
			return runByHand(ctx, arguments[1:])
		}
	}
	return errors.New("test bed: say build or run")
}

func runByHand(ctx context.Context, arguments []string) error {
	options := testbed.Options{Definitions: testbed.PoolPath}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.BoolVar(&options.Flux, "flux", true, "run Flux's controllers")
	flags.BoolVar(&options.Helm, "helm", true, "run the stand-in of helm-controller, and source-controller")
	flags.StringVar(&options.Charts, "charts", "fixtures/charts", "folder of the charts in the registry; empty for no registry")
	flags.BoolVar(&options.Tenancy, "tenancy", true, "hold HelmReleases to the rule of multi-tenancy")
	flags.Func("user", "a person, as EMAIL or EMAIL=GROUP,GROUP (may be repeated)", func(value string) error {
		email, groups, _ := strings.Cut(value, "=")
		options.Users = append(options.Users, testbed.User{
			Email: email, Groups: slices.DeleteFunc(strings.Split(groups, ","), func(group string) bool { return group == "" }),
		})
		return nil
	})
	flags.Func("definitions", "pool, all, or sets separated by commas (default pool), or none: "+join(testbed.AllSets()), func(value string) error {
		return chooseSets(&options, value)
	})
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	fmt.Println("testbed: starting")
	return testbed.Run(ctx, options, func(bed *testbed.Bed, kubeconfig string) {
		fmt.Printf("testbed: ready until you press ctrl+c. In another terminal:\n\n\texport KUBECONFIG=%s\n\tkubectl get crds\n\n", kubeconfig)
		for _, user := range options.Users {
			fmt.Printf("testbed: %s calls with kubectl --context %s\n", user.Email, user.Email)
		}
		if registry := bed.Registry(); registry != nil {
			fmt.Printf("testbed: charts are at http://%s/v2/_catalog\n", registry.Address())
		}
		fmt.Printf("testbed: logs are in %s\n", bed.Logs())
	})
}

func chooseSets(options *testbed.Options, value string) error {
	switch value {
	case "pool":
		options.Definitions = testbed.PoolPath
	case "all":
		options.Definitions = testbed.AllSets()
	case "none":
		options.Definitions = nil
	default:
		options.Definitions = nil
		for name := range strings.SplitSeq(value, ",") {
			if !slices.Contains(testbed.AllSets(), testbed.Set(name)) {
				return fmt.Errorf("there is no set %q; the sets are %s", name, join(testbed.AllSets()))
			}
			options.Definitions = append(options.Definitions, testbed.Set(name))
		}
	}
	return nil
}

func join(sets []testbed.Set) string {
	names := make([]string, len(sets))
	for index, set := range sets {
		names[index] = string(set)
	}
	return strings.Join(names, ", ")
}
