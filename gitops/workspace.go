package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"sync"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/partial"
)

// Options say which branch of which repository is opened, as whom.
type Options struct {
	Repository clustermanager.GitRepository
	// Token is the caller's.
	Token clustermanager.Secret
	// Transport sends the requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
}

// Workspace is a base commit and the edits staged on it, for one caller and one call. Reading is safe for concurrent
// use, also beside staging.
type Workspace struct {
	// context is that of Open: fs.FS reads lazily and takes none.
	context    context.Context
	repository clustermanager.GitRepository
	remote     *partial.Remote
	base, root partial.Hash

	mutex sync.Mutex
	// looked are the branches that Head was asked for, with where they were: what is staged may stand on them.
	looked   map[string]partial.Hash
	staged   clustermanager.FileSet
	proposed edited
}

// Open reads the branch that Flux follows: its commit and root tree, no more. Errors: a *clustermanager.Refusal where
// the branch does not exist or the account may not read.
func Open(ctx context.Context, options Options) (*Workspace, error) {
	repository := options.Repository
	remote, err := partial.Dial(ctx, partial.Options{URL: repository.CloneURL, Token: options.Token, Transport: options.Transport})
	if err != nil {
		return nil, err
	}
	repository = today(repository, remote.URL())
	base, err := remote.Branch(ctx, repository.Branch)
	if errors.Is(err, partial.ErrBranchNotFound) {
		return nil, clustermanager.Refuse("branch %s of %s does not exist, though GitRepository %s/%s follows it: create the branch or correct spec.ref there",
			repository.Branch, repository.FullName(), repository.Source.Namespace, repository.Source.Name)
	}
	if err != nil {
		return nil, err
	}
	if err := remote.FetchCommit(ctx, base); err != nil {
		return nil, err
	}
	commit, err := remote.Objects.Commit(base)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", repository.FullName(), err)
	}
	return &Workspace{
		context:    ctx,
		repository: repository,
		remote:     remote,
		base:       base,
		root:       commit.Tree,
		looked:     map[string]partial.Hash{},
		staged:     clustermanager.FileSet{},
		proposed:   edited{root: commit.Tree},
	}, nil
}

// today is a repository under the name that its host has for it now, where it sent on to another address.
func today(repository clustermanager.GitRepository, address string) clustermanager.GitRepository {
	moved, err := url.Parse(address)
	if err != nil || strings.TrimSuffix(address, ".git") == strings.TrimSuffix(repository.CloneURL, ".git") {
		return repository
	}
	elements := strings.Split(strings.Trim(strings.TrimSuffix(moved.Path, ".git"), "/"), "/")
	if last := len(elements) - 1; last > 0 {
		repository.Owner, repository.Name, repository.CloneURL = elements[last-1], elements[last], address
	}
	return repository
}

// Repository is the repository under its name of today: a host sends on from the name that it had before.
func (w *Workspace) Repository() clustermanager.GitRepository { return w.repository }

// Base is the base commit, 40 hexadecimal digits.
func (w *Workspace) Base() string { return w.base.String() }

// FS is the base commit's tree. It implements fs.ReadDirFS, fs.ReadFileFS and fs.StatFS, and fetches what is asked for
// with the context of Open. Links and submodules show in Stat and ReadDir; reading one, or through one, is an
// fs.PathError around a *clustermanager.Refusal.
func (w *Workspace) FS() fs.FS { return &tree{workspace: w, root: w.root} }

// Proposed is the base with what is staged by now, as FS is.
func (w *Workspace) Proposed() fs.FS {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return &tree{workspace: w, root: w.proposed.root}
}

// Head is the tree of another branch, as FS is; nil where there is no such branch.
func (w *Workspace) Head(ctx context.Context, branch string) (fs.FS, error) {
	head, _, err := w.remote.Find(ctx, branch)
	if err != nil {
		return nil, err
	}
	w.mutex.Lock()
	w.looked[branch] = head
	w.mutex.Unlock()
	if head.IsZero() {
		return nil, nil
	}
	if err := w.remote.FetchCommit(ctx, head); err != nil {
		return nil, err
	}
	commit, err := w.remote.Objects.Commit(head)
	if err != nil {
		return nil, fmt.Errorf("repository %s: branch %s: %w", w.repository.FullName(), branch, err)
	}
	return &tree{workspace: w, root: commit.Tree}, nil
}

// Stats is what the workspace has cost so far.
func (w *Workspace) Stats() partial.Stats { return w.remote.Stats() }

// Warnings say what the repository's administrator could mend, a sentence each; they do not change from call to call.
func (w *Workspace) Warnings() []string {
	advice := w.Stats().Way.Advice()
	if advice == "" {
		return nil
	}
	return []string{fmt.Sprintf("the git server of %s sends whole branches alone, so every file of branch %s was fetched, where a few would do: %s",
		w.repository.FullName(), w.repository.Branch, advice)}
}
