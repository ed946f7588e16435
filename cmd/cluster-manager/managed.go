package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustermanager/cluster-manager/cmd/cluster-manager/managedapi"
	"github.com/clustermanager/cluster-manager/cmd/cluster-manager/manageddemo"
	"github.com/clustermanager/cluster-manager/managed/httpapi"
)

// managedAPI is the managed clusters API at work. The nil one is off.
type managedAPI struct {
	*managedapi.API
	stop    context.CancelFunc
	running sync.WaitGroup
}

// openManaged opens the API and begins to reconcile, where the settings switch it on. It outlives the context, until it is
// closed: started calls are answered first.
func (o serveOptions) openManaged(ctx context.Context, log *slog.Logger) (*managedAPI, error) {
	missing := o.Managed.Missing()
	switch {
	case missing != "":
		log.Warn("managed clusters are not served: they need both the settings database and catalog", "missing", missing)
		return nil, nil
	case !o.Managed.Served():
		return nil, nil
	case o.Stdio:
		log.Warn("managed clusters are not served on standard input and output: they have a REST API, which needs a listener")
		return nil, nil
	}
	opened, err := managedapi.Open(ctx, managedapi.Options{
		Managed: o.Managed, ReadOnly: o.ReadOnly, MaxBytes: o.MaxRequestBytes, Version: version, Identify: managedapi.SignedIn,
		Clock: time.Now, Log: log,
	})
	if err != nil {
		return nil, err
	}
	if o.signIn == nil {
		log.Warn("managed clusters answer nobody: nobody is asked who they are without the setting enable-oauth")
	}
	log.Info("serving managed clusters", "path", httpapi.Root)
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	api := &managedAPI{API: opened, stop: stop}
	api.running.Go(func() { opened.Run(run) })
	return api, nil
}

// Close ends the reconciler and closes the database.
func (m *managedAPI) Close() error {
	if m == nil {
		return nil
	}
	m.stop()
	m.running.Wait()
	return m.API.Close()
}

// mount adds the API's paths. Its description is for everybody.
func (m *managedAPI) mount(mux *http.ServeMux, callers *signIn) {
	if m == nil {
		return
	}
	mux.Handle(httpapi.DescriptionPath, m)
	if callers == nil {
		mux.Handle(httpapi.Root, m)
		return
	}
	mux.Handle(httpapi.Root, callers.Protect(m, managedapi.Refuse))
}

func newDemoManaged() *cobra.Command {
	var kubeconfig string
	command := &cobra.Command{
		Use: "managed", Short: "Show the managed clusters API, on this machine alone", Args: cobra.NoArgs,
		Long: `managed starts a server with SQLite on a double of Google Kubernetes Engine, with an issuer and a webhook of its own, and shows a
Standard and an Autopilot cluster over HTTP, from create to delete, with the events and the hours.`,
		RunE: func(command *cobra.Command, _ []string) error {
			return manageddemo.Run(command.Context(), command.OutOrStdout(), kubeconfig, version)
		},
	}
	command.Flags().StringVar(&kubeconfig, "control-plane", "", "kubeconfig of an API server that stands for the clusters' control planes, to try their credentials")
	return command
}
