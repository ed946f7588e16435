// Package offline is an installation as a folder. It reads the settings and the objects of a snapshot and serves them as
// small real API servers on loopback, one base path for the installation and one for each workload cluster, so that
// client-go's own clients speak to it and nothing else in the product knows the difference.
//
// It promises that what a snapshot holds is answered as an API server answers it: discovery, get, list with selectors,
// create, update, delete with preconditions, the patches merge, JSON and server-side apply, dry runs, and errors as Status
// objects. Only the token of the snapshot's caller is let in. The snapshot is never changed: what is written stays
// in memory, and in the kept folder where one is named. No controller runs, so an object with finalizers that is deleted
// stays, marked as such, and nothing gets a status.
//
// It leaves out watches, subresources, conversion between versions, defaults and validation by schema, also the
// strict one that a write may ask for, owners of fields, so that an apply never conflicts and takes nothing off,
// admission, access rules and garbage collection, and the git side and the registry: the folders of the repositories and
// of the charts are named by [Installation.Repositories] and [Installation.Charts], and who opens the installation starts
// what serves them.
package offline

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/settings"
)

const (
	installationPath = "/installation"
	clustersPath     = "/clusters/"
	readTimeout      = 10 * time.Second
)

// Options say where the installation is.
type Options struct {
	// Dir is the snapshot's folder.
	Dir string
	// Keep is the folder in which an earlier call left its state, and this one leaves its; empty: none. An object there
	// replaces the snapshot's of the same group, kind, namespace and name.
	Keep string
	// Now is the clock of what is created and deleted; nil: the machine's.
	Now func() time.Time
	// Above are sources of settings whose values win over those of the snapshot's file, the first one most.
	Above []settings.Source
}

// Installation is a running offline installation.
type Installation struct {
	// Settings are the server's defaults with what the snapshot sets.
	Settings clustermanager.Settings
	// Caller is the signed-in person of the snapshot. Their tokens are made when the installation is opened.
	Caller clustermanager.Caller
	// Flags holds every setting that the snapshot, or what stands above it, gives, by its name, in the form of the command
	// line.
	Flags map[string]string
	// ReadOnly and ToolNames are the settings read-only and tools.
	ReadOnly  bool
	ToolNames []string

	repositories string
	charts       string
	address      string
	clusters     map[string]bool
	server       *http.Server
	served       chan error
}

// Open reads the folder and starts serving it. The error names every fault of the settings and of the objects' files.
// The context bounds the opening alone; Close ends the serving.
func Open(ctx context.Context, options Options) (*Installation, error) {
	resolved, read, faults := readSettings(filepath.Join(options.Dir, settingsFile), options.Above)
	installation := &Installation{
		Settings: resolved.Settings, Caller: read.caller, Flags: resolved.Given,
		ReadOnly: resolved.ReadOnly, ToolNames: resolved.Tools,
		repositories: filepath.Join(options.Dir, filepath.FromSlash(read.repositories)),
		charts:       filepath.Join(options.Dir, filepath.FromSlash(read.charts)),
		clusters:     map[string]bool{},
	}
	installation.Caller.KubernetesToken = clustermanager.NewSecret(rand.Text())
	if read.caller.GitHub != nil {
		installation.Caller.GitHub = &clustermanager.GitHubIdentity{
			Login: read.caller.GitHub.Login, Token: clustermanager.NewSecret("ghu_" + rand.Text()),
		}
	}
	handler, objectFaults := installation.handler(options)
	if faults = append(faults, objectFaults...); len(faults) > 0 {
		return nil, fmt.Errorf("snapshot %s: reading: %s", options.Dir, strings.Join(faults, "; "))
	}
	if err := installation.serve(ctx, handler); err != nil {
		return nil, fmt.Errorf("snapshot %s: serving: %w", options.Dir, err)
	}
	return installation, nil
}

// handler reads the objects and mounts an API server for the installation and one for each cluster.
func (i *Installation) handler(options Options) (http.Handler, []string) {
	token := i.Caller.KubernetesToken
	folders := []string{options.Dir}
	if options.Keep != "" {
		folders = []string{options.Keep, options.Dir}
	}
	mux := http.NewServeMux()
	mount := func(base, folder string) []string {
		objects, faults := readObjects(folders, folder)
		store := newStore(withoutDeleted(objects))
		if options.Now != nil {
			store.now = options.Now
		}
		if options.Keep != "" {
			store.folder = filepath.Join(options.Keep, filepath.FromSlash(folder))
		}
		mux.Handle(base+"/", http.StripPrefix(base, &apiServer{store: store, token: token}))
		return faults
	}
	faults := mount(installationPath, "management")
	names, nameFaults := clusterNames(folders)
	faults = append(faults, nameFaults...)
	for _, name := range names {
		i.clusters[name] = true
		faults = append(faults, mount(clustersPath+name, "clusters/"+name)...)
	}
	return mux, faults
}

func (i *Installation) serve(ctx context.Context, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	i.address = "http://" + listener.Addr().String()
	i.server = &http.Server{Handler: handler, ReadHeaderTimeout: readTimeout}
	i.served = make(chan error, 1)
	go func() { i.served <- i.server.Serve(listener) }()
	return nil
}

// Config returns the address of the installation's API server. It holds no credential: who reads presents the
// caller's token.
func (i *Installation) Config() *rest.Config {
	return &rest.Config{Host: i.address + installationPath}
}

// ClusterConfig returns the address of a workload cluster's API server, again without a credential. The installation's
// own cluster is the installation. A cluster without a folder cannot be read.
func (i *Installation) ClusterConfig(name string) (*rest.Config, error) {
	switch {
	case name != "" && name == i.Settings.Installation:
		return i.Config(), nil
	case !i.clusters[name]:
		return nil, fmt.Errorf("cluster %s: cannot be read: the snapshot has no folder clusters/%s", name, name)
	}
	return &rest.Config{Host: i.address + clustersPath + name}, nil
}

// Route reaches a workload cluster in the snapshot's folder of its name, whatever endpoint its kubeconfig names.
func (i *Installation) Route(cluster clustermanager.Cluster, _ clustermanager.Endpoint) (*rest.Config, error) {
	return i.ClusterConfig(cluster.Name)
}

// Repositories is the folder that holds the repositories as <owner>/<name> trees. It need not exist.
func (i *Installation) Repositories() string { return i.repositories }

// Charts is the folder that holds the charts as <chart>-<version> trees; "": there is none, so no chart can be read.
func (i *Installation) Charts() string {
	if isAbsent(i.charts) {
		return ""
	}
	return i.charts
}

// Close ends the serving and waits for it. A second Close does nothing.
func (i *Installation) Close() error {
	if i.server == nil {
		return nil
	}
	err := i.server.Close()
	if served := <-i.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	i.server = nil
	return err
}

// isAbsent says whether the folder or file does not exist.
func isAbsent(name string) bool {
	_, err := os.Stat(name)
	return errors.Is(err, fs.ErrNotExist)
}
