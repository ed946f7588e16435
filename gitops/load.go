package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/clustermanager/cluster-manager/gitops/partial"
)

// What Load takes at once. A repository of 100,000 files was tried; trees can be built so that a few kilobytes name
// billions of paths.
const (
	maxPaths = 200_000
	maxBlobs = 20_000
	maxDepth = 100
)

var (
	// ErrTooLarge says that a directory holds more than is loaded: 200,000 paths, 20,000 files with content, or 100
	// levels.
	ErrTooLarge = errors.New("the directory holds more than can be loaded")

	errIsDirectory = errors.New("is a directory")
	errNoDirectory = errors.New("is no directory")
)

// Load brings a directory of the base with everything below it in two requests: all trees, then the files that blobs
// wants (nil: all), by their paths from the repository's root. Links and submodules are left out, an absent directory
// is fine, and what is at hand costs nothing. Errors: ErrTooLarge; a *clustermanager.Refusal for a link on the way.
func (w *Workspace) Load(ctx context.Context, directory string, blobs func(path string) bool) error {
	directory = path.Clean("./" + directory)
	doing := func(err error) error {
		return fmt.Errorf("repository %s: loading %s: %w", w.repository.FullName(), directory, err)
	}
	entry, err := w.lookup(ctx, w.root, directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = w.refuseMode(directory, entry.Mode)
	}
	if err == nil && entry.Mode != partial.Directory {
		err = errNoDirectory
	}
	if err != nil {
		return doing(err)
	}
	below := &subtree{workspace: w, wanted: blobs}
	err = below.walk(entry.Hash, directory, 0)
	if errors.Is(err, errIncomplete) {
		if err := w.remote.FetchSubtree(ctx, entry.Hash); err != nil {
			return err
		}
		below = &subtree{workspace: w, wanted: blobs}
		err = below.walk(entry.Hash, directory, 0)
	}
	if err != nil {
		return doing(err)
	}
	return w.remote.FetchBlobs(ctx, below.blobs...)
}

// LoadFiles brings the files of the base that the paths name: their directories level by level, one request a level for
// all, then the files in one. A path may be absent, or a directory, which is then listed. Error: a
// *clustermanager.Refusal for a link or submodule on the way.
func (w *Workspace) LoadFiles(ctx context.Context, paths ...string) error {
	if err := w.fetchLevels(ctx, w.root, paths); err != nil {
		return err
	}
	var trees, blobs []partial.Hash
	for _, path := range paths {
		entry, _, err := w.find(w.root, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("repository %s: loading %s: %w", w.repository.FullName(), path, err)
		}
		switch entry.Mode {
		case partial.Directory:
			trees = append(trees, entry.Hash)
		case partial.Regular, partial.Executable:
			blobs = append(blobs, entry.Hash)
		}
	}
	if err := w.remote.FetchTrees(ctx, trees...); err != nil {
		return err
	}
	return w.remote.FetchBlobs(ctx, blobs...)
}

// errIncomplete is a walk that met a tree which is not at hand.
var errIncomplete = errors.New("a tree is not at hand")

// subtree collects the files below a directory.
type subtree struct {
	workspace *Workspace
	wanted    func(path string) bool
	blobs     []partial.Hash
	paths     int
}

func (s *subtree) walk(hash partial.Hash, directory string, depth int) error {
	if !s.workspace.remote.Objects.Has(hash) {
		return errIncomplete
	}
	entries, err := s.workspace.remote.Objects.Tree(hash)
	if err != nil {
		return err
	}
	s.paths += len(entries)
	if s.paths > maxPaths || depth > maxDepth {
		return ErrTooLarge
	}
	for _, entry := range entries {
		name := path.Join(directory, entry.Name)
		switch entry.Mode {
		case partial.Directory:
			if err := s.walk(entry.Hash, name, depth+1); err != nil {
				return err
			}
		case partial.Regular, partial.Executable:
			if s.wanted == nil || s.wanted(name) {
				if len(s.blobs) == maxBlobs {
					return ErrTooLarge
				}
				s.blobs = append(s.blobs, entry.Hash)
			}
		}
	}
	return nil
}
