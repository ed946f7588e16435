package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/aftermerge"
	"github.com/clustermanager/cluster-manager/gitops/forge"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/live/session"
	"github.com/clustermanager/cluster-manager/live/survey"
	"github.com/clustermanager/cluster-manager/render"
)

// webhook is what is done as the GitHub App; its zero value does nothing.
type webhook struct {
	path    string
	handler http.Handler
	worker  *aftermerge.Worker
}

// startWebhook starts it where the settings give the App.
func startWebhook(ctx context.Context, options serveOptions, opened *installation, log *slog.Logger) (webhook, error) {
	of := options.GitHubApp
	if of.ID == 0 {
		return webhook{}, nil
	}
	app, err := forge.NewApp(of.ID, of.Key, nil)
	if err != nil {
		return webhook{}, err
	}
	work := aftermerge.Options{Settings: options.Settings, App: app, Diff: render.Diff, Log: log}
	watched := "nothing: without the setting watcher-token-file no check run and no outcome is written"
	if of.WatcherTokenFile != "" {
		if work.Followers, err = watcher(options.Resolved, of.WatcherTokenFile); err != nil {
			return webhook{}, err
		}
		watched = opened.sessions.Host()
	}
	// Work goes on after a stop until it is drained.
	made := webhook{path: of.WebhookPath, worker: aftermerge.New(context.WithoutCancel(ctx), work)}
	made.handler = forge.NewWebhook(of.WebhookSecret, made.worker.Take, log)
	log.Info("GitHub App", "id", of.ID, "webhook", of.WebhookPath, "watched", watched)
	return made, nil
}

// watcher reads Flux's objects with a token of its own and nothing else: no tool can reach it, and it falls back to
// nobody's identity.
func watcher(of settings.Resolved, file string) (func(context.Context) ([]clustermanager.Follower, error), error) {
	base, err := session.Load(of.Kubeconfig, of.KubeContext, of.InCluster)
	if err != nil {
		return nil, err
	}
	sessions := session.New(base, nil)
	return func(ctx context.Context) ([]clustermanager.Follower, error) {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("setting watcher-token-file: %s: %w", file, errors.Unwrap(err))
		}
		client, err := sessions.Installation(clustermanager.Caller{KubernetesToken: clustermanager.NewSecret(strings.TrimSpace(string(content)))})
		if err != nil {
			return nil, err
		}
		reader := survey.New(survey.Client{Dynamic: client.Dynamic, Discovery: client.Discovery, Metadata: client.Metadata}, survey.Options{Settings: of.Settings, Now: time.Now()})
		followers, _, err := reader.Followers(ctx)
		return followers, err
	}, nil
}

// beside puts the webhook beside other routes. GitHub calls it by the server's public name, and its signature is what
// counts, so it stands outside of what guards the others.
func (w webhook) beside(routes http.Handler) http.Handler {
	if w.handler == nil {
		return routes
	}
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.URL.Path == w.path {
			w.handler.ServeHTTP(writer, request)
			return
		}
		routes.ServeHTTP(writer, request)
	})
}

// Close works off what was taken, within the time of a stop.
func (w webhook) Close() error {
	if w.worker == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	w.worker.Close(ctx)
	return nil
}
