package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/clustermanager/cluster-manager/internal/registry"
)

// rehearse serves a registry on loopback with an empty base image for as long as a command runs: the one of the
// arguments, with a make variable for each name of that registry behind it, which takes the place of the same variable
// of the environment. In the end it says which name stood for which.
func rehearse(ctx context.Context, asked options, out io.Writer) error {
	if len(asked.arguments) == 0 {
		return errors.New("rehearse: it needs a command")
	}
	served, err := registry.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = served.Close() }()
	stand, err := asked.names.at(served.Address())
	if err != nil {
		return err
	}
	base, err := served.PushEmptyImage(ctx, "empty-base", platforms...)
	if err != nil {
		return err
	}
	variables := []string{"IMAGE=" + stand.image, "CHART_REPOSITORY=" + stand.charts, "BASE=" + base, "HELM_PUSH_FLAGS=--plain-http"}
	command := exec.CommandContext(ctx, asked.arguments[0], append(asked.arguments[1:], variables...)...) //nolint:gosec // the caller's own command.
	command.Stdout, command.Stderr = out, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("rehearse: %s: %w", asked.arguments[0], err)
	}
	_, err = fmt.Fprintf(out, "\nrehearsed; a release would publish\n  %s as %s\n  %s as %s\n", stand.image, asked.names.image, stand.charts, asked.names.charts)
	return err
}

// at are the same names in another registry.
func (n names) at(address string) (names, error) {
	_, image, named := strings.Cut(n.image, "/")
	if !named || image == "" {
		return names{}, fmt.Errorf("image %q: it is no registry and path, such as registry.example.com/x/y", n.image)
	}
	below, of := strings.CutPrefix(n.charts, "oci://")
	_, path, named := strings.Cut(below, "/")
	if !of || !named || path == "" {
		return names{}, fmt.Errorf("chart repository %q: it is nothing like oci://registry.example.com/charts", n.charts)
	}
	return names{image: address + "/" + image, charts: "oci://" + address + "/" + path}, nil
}
