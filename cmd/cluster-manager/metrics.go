package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/clustermanager/cluster-manager/internal/telemetry"
)

// serveMetrics serves the metrics, where there are any, on a listener of their own while the server runs.
func serveMetrics(ctx context.Context, observed *telemetry.Telemetry, log *slog.Logger, run func() error) (err error) {
	address := observed.MetricsAddress()
	if address == "" {
		return run()
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listener %s of the metrics: opening: %w", address, err)
	}
	server := &http.Server{Handler: observed.Metrics(), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout}
	log.Info("serving metrics", "endpoint", "http://"+listener.Addr().String()+"/metrics")
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() {
		_ = server.Close()
		if fault := <-ended; !errors.Is(fault, http.ErrServerClosed) {
			err = errors.Join(err, fmt.Errorf("listener %s of the metrics: serving: %w", address, fault))
		}
	}()
	return run()
}
