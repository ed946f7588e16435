package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/forge"
	"github.com/clustermanager/cluster-manager/internal/charts"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/internal/snapshot"
	"github.com/clustermanager/cluster-manager/live/session"
)

func newSnapshot() *cobra.Command {
	command := &cobra.Command{
		Use: "snapshot DIR", Short: "Export what the tools would read into a folder",
		Long: `snapshot reads what the tools would read of the installation, as the caller, and writes it into a new folder that serve
and call take with --snapshot.

No Secret's value is written but the server and the certificate authority of clusters' kubeconfigs. In every object, texts
that look like credentials are masked; in Helm values, ConfigMaps, annotations and a Kustomization's substitutions, so is
what stands under a key that names a credential. Containers lose their environment and arguments, and wherever they stand
commands, arguments, variables and HTTP headers are masked but for numbers, true and false. A credential under an ordinary
name that looks like no credential stays. Look the folder through before you hand it on: names, addresses and labels are in it. What could
not be read is listed at the end, and in the folder's not-exported.txt.`,
		Example: "  cluster-manager snapshot gazelle-today --kube-context gazelle --installation gazelle",
		Args:    cobra.ExactArgs(1),
	}
	sources := addSettings(command, settings.Decision, settings.Offer, settings.Reach)
	command.RunE = func(command *cobra.Command, arguments []string) error {
		return export(command, arguments[0], sources())
	}
	return command
}

func export(command *cobra.Command, folder string, above []settings.Source) (err error) {
	ctx := command.Context()
	resolved, err := settings.Resolve(above...)
	if err != nil && resolved.Snapshot == "" {
		return err
	}
	token := takeGitHubToken()
	opened, err := openToExport(ctx, resolved, above, token)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	report, err := opened.export(ctx, folder, token)
	if err != nil {
		return err
	}
	return printReport(command, folder, report)
}

// export writes what the tools would read of the installation. The token is the one of a live installation.
func (i *installation) export(ctx context.Context, folder string, token githubToken) (snapshot.Report, error) {
	options := snapshot.Options{Dir: folder, Settings: i.settings, Caller: i.caller(), Given: exported(i.given), Charts: wholeCharts(i.chartFiles)}
	var err error
	if options.Installation, err = serverOf(i.sessions.Installation(i.caller())); err != nil {
		return snapshot.Report{}, err
	}
	options.Workload = func(cluster clustermanager.Cluster, endpoint clustermanager.Endpoint) (snapshot.Server, error) {
		return serverOf(i.sessions.Workload(i.caller(), cluster, endpoint))
	}
	var unread []string
	if !token.IsZero() && i.offline == nil {
		login, err := token.login(ctx, i.settings)
		if err != nil {
			unread = append(unread, err.Error())
		}
		options.Caller.GitHub = &clustermanager.GitHubIdentity{Login: login}
	}
	report, err := snapshot.Export(ctx, options)
	report.Unread = append(report.Unread, unread...)
	return report, err
}

func printReport(command *cobra.Command, folder string, report snapshot.Report) error {
	_, err := fmt.Fprintf(command.OutOrStdout(), "%s: %d objects, %d workload clusters, %d charts\n", folder, report.Objects, len(report.Clusters), report.Charts)
	if err != nil || len(report.Unread) == 0 {
		return err
	}
	_, err = fmt.Fprintf(command.OutOrStdout(), "not exported (%d):\n", len(report.Unread))
	for _, line := range report.Unread {
		if err == nil {
			_, err = fmt.Fprintln(command.OutOrStdout(), "  "+printable(line))
		}
	}
	return err
}

// openToExport opens the installation that is exported; one of a folder without its clock and forge state.
func openToExport(ctx context.Context, resolved settings.Resolved, above []settings.Source, token githubToken) (*installation, error) {
	if resolved.Snapshot != "" {
		return openSnapshot(ctx, snapshotOptions{directory: resolved.Snapshot, above: above, now: time.Now})
	}
	return openLive(liveOptions{Resolved: resolved, github: token, now: time.Now})
}

func serverOf(client *session.Client, err error) (snapshot.Server, error) {
	if err != nil {
		return snapshot.Server{}, err
	}
	return snapshot.Server{Dynamic: client.Dynamic, Discovery: client.Discovery}, nil
}

// exported are the settings that a snapshot keeps: what decisions depend on and what is offered. The authority's file is
// written beside them.
func exported(given map[string]string) map[string]string {
	values := map[string]string{}
	for name, value := range given {
		setting, _ := settings.Find(name)
		if setting.Built() && (setting.Scope == settings.Decision || setting.Scope == settings.Offer) && setting.Form != settings.Path {
			values[name] = value
		}
	}
	return values
}

// wholeCharts reads a chart and what belongs to it; nil where no registry is read.
func wholeCharts(reader *charts.Survey) func(context.Context, string, string) ([]snapshot.Chart, error) {
	if reader == nil {
		return nil
	}
	return func(ctx context.Context, url, version string) ([]snapshot.Chart, error) {
		read, err := reader.Whole(ctx, url, version)
		var whole []snapshot.Chart
		for _, chart := range read {
			whole = append(whole, snapshot.Chart{Name: chart.Name, Version: chart.Version, Files: chart.Files})
		}
		return whole, err
	}
}

// login asks GitHub whose the token is.
func (t githubToken) login(ctx context.Context, of clustermanager.Settings) (string, error) {
	client, err := forge.New(forge.Options{APIURL: of.GitHosts[t.host], Token: t.Secret})
	if err != nil {
		return "", err
	}
	user, err := client.User(ctx)
	return user.Login, err
}
