package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Timeouts of the listener: a client that sends no header is cut off, an idle connection closed, and a stop waits for
// started calls, whose budget is below it.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 120 * time.Second
	stopTimeout       = 15 * time.Second
)

// Defaults of serve.
const (
	defaultMCPPath         = "/mcp"
	defaultMaxRequestBytes = 1 << 20
)

// serveOptions are the flags of serve.
type serveOptions struct {
	snapshot        string
	keep            string
	listen          string
	path            string
	maxRequestBytes int64
	verbose         bool
	// forge is no flag: see snapshotOptions.
	forge *outsideForge
}

func newServe() *cobra.Command {
	var options serveOptions
	command := &cobra.Command{
		Use: "serve", Short: "Answer MCP clients over streamable HTTP", Args: cobra.NoArgs,
		Long: "serve answers MCP clients over streamable HTTP, with /healthz and /readyz beside it. In this build it needs --snapshot:\nevery request runs as the caller that the snapshot's cluster-manager.yaml names, so it listens on loopback alone.",
		RunE: func(command *cobra.Command, _ []string) error {
			return serve(command.Context(), options, command.ErrOrStderr(), nil)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.snapshot, "snapshot", "", "a folder instead of an installation")
	flags.StringVar(&options.keep, "keep", "", "keep repositories and pull requests in this folder")
	flags.StringVar(&options.listen, "listen", "127.0.0.1:8080", "address to listen on; a loopback address with --snapshot")
	flags.StringVar(&options.path, "mcp-path", defaultMCPPath, "path of the MCP endpoint")
	flags.Int64Var(&options.maxRequestBytes, "max-request-bytes", defaultMaxRequestBytes, "most bytes of a request's body")
	flags.BoolVarP(&options.verbose, "verbose", "v", false, "log more")
	bindEnvironment(command)
	return command
}

// serve runs until the context ends. started gets the opened installation and the endpoint once it answers.
func serve(ctx context.Context, options serveOptions, logTo io.Writer, started func(*installation, string)) (err error) {
	if err := options.check(); err != nil {
		return err
	}
	level := slog.LevelInfo
	if options.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(logTo, &slog.HandlerOptions{Level: level}))
	opened, err := openSnapshot(ctx, snapshotOptions{directory: options.snapshot, keep: options.keep, now: time.Now, log: log, forge: options.forge})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", options.listen)
	if err != nil {
		return fmt.Errorf("listener %s: opening: %w", options.listen, err)
	}
	endpoint := "http://" + listener.Addr().String() + options.path
	log.Info("serving a snapshot; every request runs as its caller", "endpoint", endpoint, "snapshot", options.snapshot, "caller", opened.offline.Caller.Email, "forge", opened.addresses.APIURL())
	if started != nil {
		started(opened, endpoint)
	}
	return listenUntil(ctx, listener, routes(opened, options))
}

// check finds every fault of the flags.
func (o serveOptions) check() error {
	var faults []error
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil || !clustermanager.IsLoopback(host) {
		faults = append(faults, fmt.Errorf("flag --listen: %q is no loopback address and port: a snapshot asks nobody who they are, so it is served on this machine alone; use 127.0.0.1:8080", o.listen))
	}
	if !mcpPath.MatchString(o.path) {
		faults = append(faults, fmt.Errorf("flag --mcp-path: %q is no path such as %s", o.path, defaultMCPPath))
	}
	if o.maxRequestBytes < 1 {
		faults = append(faults, fmt.Errorf("flag --max-request-bytes: %d is below 1", o.maxRequestBytes))
	}
	if o.snapshot == "" {
		faults = append(faults, errors.New(needsSnapshot))
	}
	return errors.Join(faults...)
}

// mcpPath is a plain path that is none of the probes'.
var mcpPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

func routes(opened *installation, options serveOptions) http.Handler {
	mux := http.NewServeMux()
	ok := func(writer http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(writer, "ok") }
	mux.HandleFunc("GET /healthz", ok)
	mux.HandleFunc("GET /readyz", ok)
	mux.Handle(options.path, limited(opened.tools.Handler(options.path), options.maxRequestBytes))
	// A page in a browser on this machine must not call tools as the snapshot's person.
	return http.NewCrossOriginProtection().Handler(mux)
}

// limited refuses larger bodies, whether their length is announced or not.
func limited(handler http.Handler, limit int64) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(writer, request.Body, limit))
		var larger *http.MaxBytesError
		switch {
		case errors.As(err, &larger):
			http.Error(writer, fmt.Sprintf("the request's body is larger than the %d bytes that --max-request-bytes allows", limit), http.StatusRequestEntityTooLarge)
			return
		case err != nil:
			http.Error(writer, "the request's body could not be read", http.StatusBadRequest)
			return
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(writer, request)
	})
}

// endStreams ends GET requests, which a client leaves open to listen, once the server stops.
func endStreams(stop context.Context, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodGet {
			ctx, cancel := context.WithCancel(request.Context())
			defer context.AfterFunc(stop, cancel)()
			defer cancel()
			request = request.WithContext(ctx)
		}
		handler.ServeHTTP(writer, request)
	})
}

func listenUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	// Listening streams end with the server; started calls are waited for.
	server := &http.Server{Handler: endStreams(ctx, handler), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout}
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
