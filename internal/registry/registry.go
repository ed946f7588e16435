// Package registry serves folders of charts as an OCI registry on a loopback address, over plain HTTP and without a login.
//
// It promises what Helm's own client pushes: each chart an archive of Helm's media types under [Prefix], tagged with its
// version, whose bytes depend on the chart's files alone. It is for tests and for installations without a network.
//
// It leaves out provenance files, dependencies that are not in the chart's own folder, and what .helmignore would leave
// out. Nothing is kept beyond Close.
package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Prefix is the path of every chart's repository before the chart's name.
const Prefix = "charts/giantswarm/"

// Registry is a running registry. Its methods may be called at the same time.
type Registry struct {
	address string
	server  *http.Server
}

// Serve starts a registry that holds every chart of a folder, <folder>/<chart>-<version>/. Files beside the charts are
// left alone; a folder that is no chart, or has another name than its chart and version, is an error. The context is for
// reading and pushing: the registry runs until Close.
func Serve(ctx context.Context, folder string) (*Registry, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("registry: reading its charts: %w", err)
	}
	served, err := Start(ctx)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		if err := served.Push(ctx, filepath.Join(folder, entry.Name())); err != nil {
			return nil, errors.Join(err, served.Close())
		}
	}
	return served, nil
}

// Start starts a registry that holds nothing. The context is for listening alone: the registry runs until Close.
func Start(ctx context.Context) (*Registry, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("registry: listening: %w", err)
	}
	started := &Registry{address: listener.Addr().String(), server: &http.Server{
		Handler:           registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)),
		ReadHeaderTimeout: 10 * time.Second,
	}}
	go func() { _ = started.server.Serve(listener) }()
	return started, nil
}

// Address is the host and port, for oci://<address>/charts/giantswarm/<chart>.
func (r *Registry) Address() string { return r.address }

// Close ends the registry, requests that are under way included.
func (r *Registry) Close() error {
	if err := r.server.Close(); err != nil {
		return fmt.Errorf("registry: closing: %w", err)
	}
	return nil
}

// Push adds the chart of a folder, or takes the place of what has its version.
func (r *Registry) Push(ctx context.Context, folder string) error {
	packed, err := pack(folder)
	if err != nil {
		return fmt.Errorf("chart %s: packing: %w", filepath.Base(folder), err)
	}
	if err := r.push(ctx, packed); err != nil {
		return fmt.Errorf("chart %s %s: pushing: %w", packed.name, packed.version, err)
	}
	return nil
}

// push uploads the blobs and then the manifest, each in one request of OCI's distribution API.
//
// A tag cannot hold the plus of a version's build metadata; Helm writes an underscore.
func (r *Registry) push(ctx context.Context, packed *chart) error {
	repository := "http://" + r.address + "/v2/" + Prefix + packed.name
	for _, one := range []blob{packed.config, packed.content} {
		err := send(ctx, http.MethodPost, repository+"/blobs/uploads/?digest="+one.Digest.String(), "application/octet-stream", one.bytes)
		if err != nil {
			return err
		}
	}
	tag := strings.ReplaceAll(packed.version, "+", "_")
	return send(ctx, http.MethodPut, repository+"/manifests/"+tag, string(types.OCIManifestSchema1), packed.manifest)
}

func send(ctx context.Context, method, url, contentType string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusCreated {
		return fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return nil
}
