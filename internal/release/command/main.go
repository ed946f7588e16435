// Command command does the steps of a release that need more than stock tools.
//
//	next        prints the version that this commit is released as, or nothing
//	notes       prints the notes of a version, from the commits since the release before it
//	provenance  prints how the release was built, as a SLSA predicate, from the variables of a workflow run
//	check       reads the image and the chart of a version back from their registry
//	rehearse    runs a command with the names of a registry on loopback in place of the real ones
//
// The package holds flags, git, registries and printing; what a release is, package release says.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/clustermanager/cluster-manager/internal/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are the flags of all verbs.
type options struct {
	folder, version string
	names           names
	arguments       []string
}

// names say where a release is published: the image's repository, and the OCI reference that charts lie below.
type names struct {
	image, charts string
}

func run(ctx context.Context, arguments []string, out io.Writer) error {
	verbs := map[string]func(context.Context, options, io.Writer) error{
		"next": next, "notes": notes, "provenance": provenance, "check": check, "rehearse": rehearse,
	}
	if len(arguments) == 0 || verbs[arguments[0]] == nil {
		return errors.New("release: say next, notes, provenance, check or rehearse")
	}
	var asked options
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	flags.StringVar(&asked.folder, "folder", ".", "checkout whose history counts")
	flags.StringVar(&asked.version, "version", "", "version, without v")
	flags.StringVar(&asked.names.image, "image", "", "repository of the image")
	flags.StringVar(&asked.names.charts, "chart-repository", "", "oci:// reference that charts lie below")
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	asked.arguments = flags.Args()
	return verbs[arguments[0]](ctx, asked, out)
}

func next(ctx context.Context, asked options, out io.Writer) error {
	at, err := readHistory(ctx, asked.folder)
	if err != nil {
		return err
	}
	version, err := at.next()
	if err != nil || version == "" {
		return err
	}
	_, err = fmt.Fprintln(out, version)
	return err
}

func notes(ctx context.Context, asked options, out io.Writer) error {
	at, err := readHistory(ctx, asked.folder)
	if err != nil {
		return err
	}
	version := asked.version
	if version == "" {
		if version, err = at.next(); err != nil {
			return err
		}
	}
	_, err = io.WriteString(out, release.Notes(version, at.commits))
	return err
}

func provenance(_ context.Context, _ options, out io.Writer) error {
	variables := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		variables[name] = value
	}
	predicate, err := release.Provenance(variables)
	if err != nil {
		return err
	}
	_, err = out.Write(predicate)
	return err
}
