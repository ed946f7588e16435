package gitops

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/partial"
)

// notFiles are the modes that are neither a file nor a directory, in words with their article.
var notFiles = map[partial.Mode]string{
	partial.Symlink:   "a symbolic link",
	partial.Submodule: "a submodule",
}

// refuseMode refuses to read or write through what is no file and no directory; nil for the others.
func (w *Workspace) refuseMode(path string, mode partial.Mode) error {
	if kind, special := notFiles[mode]; special {
		return clustermanager.Refuse("%s in %s is %s, which is not followed: put the file or directory itself there", path, w.repository.FullName(), kind)
	}
	return nil
}

// find walks a path as far as the trees at hand reach. Missing is the tree to fetch to get further, zero at the end.
// Errors: fs.ErrNotExist; a refusal where a link or submodule stands before the last element.
func (w *Workspace) find(root partial.Hash, path string) (entry partial.Entry, missing partial.Hash, err error) {
	entry = partial.Entry{Mode: partial.Directory, Hash: root}
	if path == "." {
		return entry, partial.Hash{}, nil
	}
	walked := 0
	for name := range strings.SplitSeq(path, "/") {
		if err := w.refuseMode(path[:max(walked-1, 0)], entry.Mode); err != nil {
			return entry, partial.Hash{}, err
		}
		if entry.Mode != partial.Directory {
			return entry, partial.Hash{}, fs.ErrNotExist
		}
		if !w.remote.Objects.Has(entry.Hash) {
			return entry, entry.Hash, nil
		}
		entries, err := w.remote.Objects.Tree(entry.Hash)
		if err != nil {
			return entry, partial.Hash{}, err
		}
		at := slices.IndexFunc(entries, func(e partial.Entry) bool { return e.Name == name })
		if at < 0 {
			return entry, partial.Hash{}, fs.ErrNotExist
		}
		entry = entries[at]
		walked += len(name) + 1
	}
	return entry, partial.Hash{}, nil
}

// lookup is find with the trees on the way fetched.
func (w *Workspace) lookup(ctx context.Context, root partial.Hash, path string) (partial.Entry, error) {
	if err := w.fetchLevels(ctx, root, []string{path}); err != nil {
		return partial.Entry{}, err
	}
	entry, _, err := w.find(root, path)
	return entry, err
}

// fetchLevels brings the trees along the paths, one request a level for all of them together. Where a path ends early
// it is left to whoever looks it up.
func (w *Workspace) fetchLevels(ctx context.Context, root partial.Hash, paths []string) error {
	for {
		var wanted []partial.Hash
		for _, path := range paths {
			if _, missing, err := w.find(root, path); err == nil && !missing.IsZero() {
				wanted = append(wanted, missing)
			}
		}
		if len(wanted) == 0 {
			return nil
		}
		if err := w.remote.FetchTrees(ctx, wanted...); err != nil {
			return err
		}
	}
}

// entries returns a tree's entries, fetched where it is not at hand.
func (w *Workspace) entries(ctx context.Context, hash partial.Hash) ([]partial.Entry, error) {
	if err := w.remote.FetchTrees(ctx, hash); err != nil {
		return nil, err
	}
	return w.remote.Objects.Tree(hash)
}

// blob returns a file's content, fetched where it is not at hand.
func (w *Workspace) blob(ctx context.Context, hash partial.Hash) ([]byte, error) {
	if err := w.remote.FetchBlobs(ctx, hash); err != nil {
		return nil, err
	}
	return w.remote.Objects.Blob(hash)
}
