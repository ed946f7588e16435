package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/limits"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/internal/telemetry"
)

// Timeouts of the listener: a client that sends no header is cut off, an idle connection closed, and a stop waits for
// started calls, whose budget is below it.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 120 * time.Second
	stopTimeout       = 15 * time.Second
)

// serveOptions are the flags of serve.
type serveOptions struct {
	settings.Resolved
	keep string
	// signIn asks callers who they are; nil: nobody is asked.
	signIn *signIn
	// above are the settings' sources, which win over a snapshot's file.
	above []settings.Source
	// forge and through are no flags: see snapshotOptions.
	forge   *outsideForge
	through func(address string) string
	// in and out are the MCP client's with --stdio.
	in  io.Reader
	out io.Writer
}

func newServe() *cobra.Command {
	var options serveOptions
	command := &cobra.Command{
		Use: "serve", Short: "Answer MCP clients over streamable HTTP", Args: cobra.NoArgs,
		Long: `serve answers MCP clients over streamable HTTP, with /healthz and /readyz beside it, or on standard input and output with
--stdio.

With --enable-oauth it answers who brings an id_token of the issuer --dex-issuer-url, and every call runs as that person.
Without, nobody is asked who they are, so it listens on loopback alone: on a live installation every call runs with the
credentials of the kubeconfig, on a folder (--snapshot) as the caller that its cluster-manager.yaml names.

Without --enable-oauth, a GitHub token of your own in ` + githubTokenVariable + ` lets mode commit open pull requests on a live installation, on
github.com or the host that ` + githubHostVariable + ` names of --git-hosts.`,
	}
	sources := addSettings(command, settings.Decision, settings.Offer, settings.Reach, settings.Listener)
	command.Flags().StringVar(&options.keep, "keep", "", "with --snapshot: keep repositories, pull requests and written objects in this folder")
	command.RunE = func(command *cobra.Command, _ []string) error {
		options.above = sources()
		resolved, err := settings.Resolve(options.above...)
		if err != nil && resolved.Snapshot == "" {
			return err
		}
		// Opening a snapshot names the faults of its file too.
		options.Resolved, options.in, options.out = resolved, command.InOrStdin(), command.OutOrStdout()
		return serve(command.Context(), options, command.ErrOrStderr(), nil)
	}
	return command
}

// serve runs until the context ends. started gets the opened installation and the endpoint once it answers.
func serve(ctx context.Context, options serveOptions, logTo io.Writer, started func(*installation, string)) (err error) {
	if err := options.check(); err != nil {
		return err
	}
	log := telemetry.NewLog(logTo, options.Verbose, os.Getenv)
	observed, err := telemetry.Start(ctx, telemetry.Options{Version: version, Variable: os.Getenv})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, observed.Stop(ctx)) }()
	if options.signIn, err = newSignIn(options.Resolved, log); err != nil {
		return err
	}
	// What is opened outlives the signal to stop, until started calls are answered.
	opened, err := options.open(context.WithoutCancel(ctx), log, observed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	if options.Stdio {
		if _, err := options.openManaged(ctx, log); err != nil {
			return err
		}
		log.Info("serving on standard input and output", opened.described()...)
		return opened.tools.ServeStdio(ctx, options.in, options.out, stopTimeout)
	}
	hook, err := startWebhook(ctx, options, opened, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hook.Close()) }()
	clusters, err := options.openManaged(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clusters.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", options.Listen)
	if err != nil {
		return fmt.Errorf("listener %s: opening: %w", options.Listen, err)
	}
	handler, err := routes(opened, clusters, options, observed)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if options.signIn == nil && !onLoopback(options.Listen) {
		log.Warn("nobody is asked who they are, and this is no loopback address: whoever reaches it acts with this server's own credentials", "listen", options.Listen)
	}
	options.signIn.run(ctx)
	endpoint := "http://" + listener.Addr().String() + options.MCPPath
	log.Info("serving", append([]any{"endpoint", endpoint}, opened.described()...)...)
	if started != nil {
		started(opened, endpoint)
	}
	return serveMetrics(ctx, observed, log, func() error { return listenUntil(ctx, listener, observed.Server(hook.beside(handler))) })
}

// open opens the installation that the settings name.
func (o serveOptions) open(ctx context.Context, log *slog.Logger, observed *telemetry.Telemetry) (*installation, error) {
	bounds := limits.New(o.CallerRate, o.CallerConcurrency, time.Now)
	if o.Snapshot == "" {
		return openLive(liveOptions{Resolved: o.Resolved, github: takeGitHubToken(), signIn: o.signIn, now: time.Now, log: log, limits: bounds, observe: observed.Call})
	}
	return openSnapshot(ctx, snapshotOptions{directory: o.Snapshot, keep: o.keep, signIn: o.signIn, above: o.above, now: time.Now, log: log, forge: o.forge, through: o.through, limits: bounds, observe: observed.Call})
}

// described says for the log what calls run on, and as whom.
func (i *installation) described() []any {
	if i.offline == nil {
		return []any{"installation", i.settings.Installation, "server", i.sessions.Host(), "caller", i.callers}
	}
	return []any{"snapshot", i.settings.Installation, "caller", i.callers, "forge", i.addresses.APIURL()}
}

// check finds every fault that the settings' own forms do not.
func (o serveOptions) check() error {
	var faults []error
	if !o.Stdio && !o.OAuth.Enabled && !o.InCluster && !onLoopback(o.Listen) {
		faults = append(faults, fmt.Errorf("setting listen: %q is no loopback address and port: without --enable-oauth nobody is asked who they are, so this machine alone is served, or in a pod (--in-cluster) whoever a network policy lets in; use %s", o.Listen, settings.DefaultListen))
	}
	if o.keep != "" && o.Snapshot == "" {
		faults = append(faults, errors.New(keepNeedsSnapshot))
	}
	if o.Stdio && o.WithoutMCP {
		faults = append(faults, errors.New("setting mcp-enabled: without MCP there is nothing to serve on standard input and output: leave out --stdio"))
	}
	if o.GitHubApp.ID != 0 && (o.Snapshot != "" || o.Stdio) {
		faults = append(faults, errors.New("setting github-app-id: GitHub's deliveries are taken over HTTP for a live installation: leave out snapshot and stdio"))
	}
	return errors.Join(faults...)
}

func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && clustermanager.IsLoopback(host)
}

// keepNeedsSnapshot says what --keep is for.
const keepNeedsSnapshot = "flag --keep: it keeps what happens on a folder, so it goes with --snapshot"

func listenUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	// Requests run on a context of their own, and started ones are waited for.
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("listener %s: serving: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	stopContext, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := server.Shutdown(stopContext); err != nil {
		return fmt.Errorf("listener %s: stopping: %w", listener.Addr(), err)
	}
	return nil
}
