package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/proof"
	"github.com/clustermanager/cluster-manager/internal/charts"
	"github.com/clustermanager/cluster-manager/internal/limits"
	"github.com/clustermanager/cluster-manager/internal/localforge"
	"github.com/clustermanager/cluster-manager/internal/offline"
	"github.com/clustermanager/cluster-manager/internal/registry"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/internal/telemetry"
	"github.com/clustermanager/cluster-manager/live/session"
	"github.com/clustermanager/cluster-manager/live/survey"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// What get_info says of a server over a folder, and what refuses mode commit there.
const (
	snapshotNote = "this server stands on a folder instead of an installation: every call runs as the person that its settings name"
	noLoginNote  = "mode commit is not offered: give the caller of this snapshot a github login (cluster-manager.yaml)"
)

// installation is an installation and the tools over it: a live one, or an offline one with its forge and its registry.
type installation struct {
	sessions *session.Sessions
	settings clustermanager.Settings
	// given are the settings that some source gives, in the form of the command line.
	given map[string]string
	// callers says for the log as whom calls run.
	callers string
	tools   *mcptools.Tools
	// chartFiles reads charts from the registry; nil: no registry is read.
	chartFiles *charts.Survey

	// offline is nil for a live installation, and so is all below.
	offline *offline.Installation
	// forge is the one that was started for the snapshot's repositories; nil where another one stands for it.
	forge     *localforge.Forge
	addresses addresses
	// registry serves the snapshot's charts; nil: it has none.
	registry *registry.Registry
	scratch  string
	// lock is the open file that keeps other processes out of a kept folder.
	lock *os.File
}

// addresses are where a forge answers.
type addresses interface {
	CloneURL(owner, name string) string
	APIURL() string
}

// outsideForge is a forge that runs already, such as one that several processes write to.
type outsideForge struct {
	addresses
	// token is the one that the forge knows the caller by.
	token clustermanager.Secret
}

// snapshotOptions say which folder stands for the installation, and where its state goes.
type snapshotOptions struct {
	directory string
	// keep is the folder where repositories, pull requests and written objects stay after the call; "" is a scratch folder.
	keep string
	// signIn asks callers who they are; nil: the snapshot's settings name the caller.
	signIn *signIn
	// above are sources of settings that win over the snapshot's file.
	above []settings.Source
	now   func() time.Time
	log   *slog.Logger
	// transport carries git's and GitHub's requests; nil is http.DefaultTransport.
	transport http.RoundTripper
	// forge stands for the one of the snapshot; nil starts one over the snapshot's repositories.
	forge *outsideForge
	// through gives the address that the installation's API server is reached at, such as a proxy's; nil: its own.
	through func(address string) string
	// limits bound what one caller may ask; nil: nothing does.
	limits *limits.Table
	// observe begins the observation of a call; nil: nobody observes.
	observe func(ctx context.Context, tool string) (context.Context, func(telemetry.Outcome))
}

// openSnapshot brings up an installation from a folder: its API server, its repositories on a forge, and the tools.
func openSnapshot(ctx context.Context, options snapshotOptions) (_ *installation, err error) {
	// What another user of the machine left behind cannot be removed, and stops nobody.
	_ = proof.Sweep(time.Now())
	opened := &installation{}
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.Close())
		}
	}()
	if opened.offline, err = offline.Open(ctx, offline.Options{Dir: options.directory, Keep: options.keep, Now: options.now, Above: options.above}); err != nil {
		return nil, err
	}
	if err = opened.findForge(ctx, options); err != nil {
		return nil, err
	}
	if err = opened.startRegistry(ctx); err != nil {
		return nil, err
	}
	server := opened.offline.Config()
	if options.through != nil {
		server.Host = options.through(server.Host)
	}
	opened.sessions = session.New(server, opened.offline.Route)
	opened.sessions.LogTo(options.log)
	opened.settings, opened.given = opened.offline.Settings, opened.offline.Flags
	tools := mcptools.Options{
		Version: version, Settings: opened.settings, Sessions: opened.sessions,
		Charts: opened.charts(), Resolve: opened.resolve, Transport: options.transport, Now: options.now, Log: options.log,
		Caller:        func(context.Context) (clustermanager.Caller, error) { return opened.offline.Caller, nil },
		CommitOffered: opened.offline.Caller.GitHub != nil, NoCommit: noLoginNote, ReadOnly: opened.offline.ReadOnly, Picked: opened.offline.ToolNames,
		Notes: []string{snapshotNote}, Limits: options.limits, Observe: options.observe,
	}
	opened.callers = opened.offline.Caller.Email
	if in := options.signIn; in != nil {
		tools.Caller = func(ctx context.Context) (clustermanager.Caller, error) {
			return in.onFolder(ctx, opened.offline.Caller)
		}
		tools.CommitOffered = tools.CommitOffered && in.commitOffered()
		opened.callers = fmt.Sprintf(standInNote, in.issuer)
		tools.Notes = []string{opened.callers}
	}
	opened.tools, err = mcptools.New(tools)
	return opened, err
}

// findForge takes the forge that is there, or starts one.
func (i *installation) findForge(ctx context.Context, options snapshotOptions) error {
	if options.forge != nil {
		i.addresses = options.forge
		if i.offline.Caller.GitHub != nil {
			i.offline.Caller.GitHub.Token = options.forge.token
		}
		return nil
	}
	var err error
	state := options.keep
	if state != "" {
		if i.lock, err = lockFolder(state); err != nil {
			return err
		}
	} else {
		if i.scratch, err = os.MkdirTemp("", "cluster-manager-forge-"); err != nil {
			return fmt.Errorf("scratch folder: making: %w", err)
		}
		state = i.scratch
	}
	return i.startForge(ctx, state)
}

func (i *installation) startForge(ctx context.Context, state string) error {
	var err error
	i.forge, err = localforge.Start(ctx, localforge.Options{
		Repositories: filepath.Join(state, "repos"), State: filepath.Join(state, "forge.json"),
	})
	if err != nil {
		return err
	}
	i.addresses = i.forge
	if person := i.offline.Caller.GitHub; person != nil {
		i.forge.AddUser(localforge.User{Login: person.Login, Email: i.offline.Caller.Email, ID: 1, Token: person.Token, Push: true})
	}
	return i.importRepositories()
}

// importRepositories takes every <owner>/<name> folder as a repository. No such folder at all is fine: --keep may hold
// what is needed.
func (i *installation) importRepositories() error {
	owners, err := folders(i.offline.Repositories())
	if err != nil {
		return err
	}
	for _, owner := range owners {
		names, err := folders(filepath.Join(i.offline.Repositories(), owner))
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := i.forge.Import(owner, name, filepath.Join(i.offline.Repositories(), owner, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// folders are the names of the folders in a folder; none when it is absent.
func folders(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("repositories: listing: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// charts reads what decisions need of charts; nil: no registry is read.
func (i *installation) charts() survey.Charts {
	if i.chartFiles == nil {
		return nil
	}
	return i.chartFiles
}

// caller is who calls run as.
func (i *installation) caller() clustermanager.Caller {
	if i.offline == nil {
		return clustermanager.Caller{}
	}
	return i.offline.Caller
}

// resolve maps any URL to the repository of its last two path elements on the local forge.
func (i *installation) resolve(url string) (clustermanager.GitRepository, error) {
	host, owner, name, err := survey.ParseGitURL(url)
	if err != nil {
		return clustermanager.GitRepository{}, err
	}
	return clustermanager.GitRepository{
		Host: host, Owner: owner, Name: name, CloneURL: i.addresses.CloneURL(owner, name), APIURL: i.addresses.APIURL(),
	}, nil
}

// Close ends the servers and removes the scratch folder.
func (i *installation) Close() error {
	var errs []error
	if i.forge != nil {
		errs = append(errs, i.forge.Close())
	}
	if i.offline != nil {
		errs = append(errs, i.offline.Close())
	}
	if i.registry != nil {
		errs = append(errs, i.registry.Close())
	}
	if i.lock != nil {
		errs = append(errs, i.lock.Close())
	}
	if i.scratch != "" {
		errs = append(errs, os.RemoveAll(i.scratch))
	}
	return errors.Join(errs...)
}
