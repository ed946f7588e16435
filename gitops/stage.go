package gitops

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/partial"
)

// Stage adds files to the edit; one that was staged before is replaced. All of them or, on an error, none. Errors: a
// path that is not clean, leaves the repository or reaches git's own; a file that was not sealed; and as a
// *clustermanager.Refusal, a path at or below a link, a submodule or a file, or at a directory.
func (w *Workspace) Stage(files clustermanager.FileSet) error {
	for _, path := range files.Paths() {
		if err := checkFile(path, files[path]); err != nil {
			return fmt.Errorf("repository %s: staging %q: %w", w.repository.FullName(), path, err)
		}
	}
	if err := w.fetchLevels(w.context, w.root, files.Paths()); err != nil {
		return err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	staged := maps.Clone(w.staged)
	maps.Copy(staged, files)
	proposed, err := w.edit(w.root, staged)
	if err != nil {
		return err
	}
	w.staged, w.proposed = staged, proposed
	return nil
}

func checkFile(path string, file clustermanager.File) error {
	switch {
	case !fs.ValidPath(path) || path == "." || strings.ContainsAny(path, "\x00\\"):
		return fmt.Errorf("no clean path from the repository's root")
	case slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return strings.EqualFold(name, ".git") }):
		return fmt.Errorf("a path into git's own directory")
	case !file.Plain.IsZero():
		return fmt.Errorf("the file was not sealed")
	case file.Sensitive && !file.Delete && len(file.Content) == 0:
		return fmt.Errorf("the sealed file is empty")
	}
	return nil
}

// Changes lists what is staged by path, each with what it does to the base; unchanged files are listed too. With
// content, each file that is written shows its text, except sealed ones.
func (w *Workspace) Changes(content bool) []clustermanager.FileChange {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	changes := make([]clustermanager.FileChange, 0, len(w.staged))
	for _, path := range w.staged.Paths() {
		file := w.staged[path]
		change := clustermanager.FileChange{Path: path, Action: w.proposed.actions[path]}
		if content && !file.Sensitive && !file.Delete {
			change.Content = string(file.Content)
		}
		changes = append(changes, change)
	}
	return changes
}

// edited is a tree after an edit.
type edited struct {
	root partial.Hash
	// objects are the blobs and trees that the edit made.
	objects []partial.Hash
	// actions say what the edit does to each path.
	actions map[string]clustermanager.FileAction
}

// edit writes files into the tree at root, in memory: the trees on the way are at hand (fetchLevels). A tree in which
// nothing changes keeps its hash, and a directory that becomes empty goes, as git has none.
func (w *Workspace) edit(root partial.Hash, files clustermanager.FileSet) (edited, error) {
	e := &editor{workspace: w, result: edited{actions: map[string]clustermanager.FileAction{}}}
	changed, _, err := e.tree(root, "", files)
	if err != nil {
		return edited{}, err
	}
	if changed.IsZero() {
		if changed, err = w.remote.Objects.AddTree(nil); err != nil {
			return edited{}, err
		}
		e.result.objects = append(e.result.objects, changed)
	}
	e.result.root = changed
	return e.result, nil
}

// editor writes one edit.
type editor struct {
	workspace *Workspace
	result    edited
}

// tree writes the files, whose paths are relative to it, into the tree with the hash (zero: none yet). It returns the
// new hash, zero for a tree without entries.
func (e *editor) tree(hash partial.Hash, directory string, files clustermanager.FileSet) (result partial.Hash, changed bool, err error) {
	store := e.workspace.remote.Objects
	var entries []partial.Entry
	if !hash.IsZero() {
		read, err := store.Tree(hash)
		if err != nil {
			return hash, false, fmt.Errorf("repository %s: %w", e.workspace.repository.FullName(), err)
		}
		entries = slices.Clone(read)
	}
	groups := group(files)
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		at := slices.IndexFunc(entries, func(entry partial.Entry) bool { return entry.Name == name })
		before := partial.Entry{Name: name}
		if at >= 0 {
			before = entries[at]
		}
		after, err := e.entry(before, directory+name, groups[name])
		if err != nil {
			return hash, false, err
		}
		if after == before {
			continue
		}
		changed = true
		switch {
		case at < 0:
			entries = append(entries, after)
		case after.Hash.IsZero():
			entries = slices.Delete(entries, at, at+1)
		default:
			entries[at] = after
		}
	}
	if !changed {
		return hash, false, nil
	}
	if len(entries) == 0 {
		return partial.Hash{}, true, nil
	}
	result, err = store.AddTree(entries)
	e.result.objects = append(e.result.objects, result)
	return result, true, err
}

// entry is one name of a tree after the edit: below holds the file itself under "", or what is below it. An entry with
// a zero hash is absent, before and after.
func (e *editor) entry(before partial.Entry, path string, below clustermanager.FileSet) (partial.Entry, error) {
	w := e.workspace
	if err := w.refuseMode(path, before.Mode); err != nil {
		return before, err
	}
	file, isFile := below[""]
	exists := !before.Hash.IsZero()
	isDirectory := before.Mode == partial.Directory
	switch {
	case isFile && len(below) > 1:
		return before, w.refuseClash(path, "both a file and a directory in this change")
	case isFile && isDirectory:
		return before, w.refuseClash(path, "a directory")
	case !isFile && exists && !isDirectory:
		return before, w.refuseClash(path, "a file, where a directory is needed")
	case isFile:
		return e.file(before, path, file), nil
	}
	hash, changed, err := e.tree(before.Hash, path+"/", below)
	if err != nil || !changed {
		return before, err
	}
	if hash.IsZero() {
		return partial.Entry{Name: before.Name}, nil
	}
	return partial.Entry{Name: before.Name, Mode: partial.Directory, Hash: hash}, nil
}

// file is the entry of one file after the edit. A file that exists keeps its mode.
func (e *editor) file(before partial.Entry, path string, file clustermanager.File) partial.Entry {
	after := partial.Entry{Name: before.Name}
	if !file.Delete {
		after.Mode = before.Mode
		if before.Hash.IsZero() {
			after.Mode = partial.Regular
		}
		after.Hash = e.workspace.remote.Objects.AddBlob(file.Content)
	}
	action := clustermanager.FileUpdate
	switch {
	case after.Hash == before.Hash:
		action = clustermanager.FileUnchanged
	case before.Hash.IsZero():
		action = clustermanager.FileAdd
	case file.Delete:
		action = clustermanager.FileRemove
	}
	e.result.actions[path] = action
	if action == clustermanager.FileUnchanged {
		return before
	}
	if !file.Delete {
		e.result.objects = append(e.result.objects, after.Hash)
	}
	return after
}

func (w *Workspace) refuseClash(path, what string) error {
	return clustermanager.Refuse("%s in %s is %s: rename it, or choose another name", path, w.repository.FullName(), what)
}

// group sorts files by the first element of their paths; a file of that very name stands under "".
func group(files clustermanager.FileSet) map[string]clustermanager.FileSet {
	groups := map[string]clustermanager.FileSet{}
	for path, file := range files {
		name, rest, _ := strings.Cut(path, "/")
		if groups[name] == nil {
			groups[name] = clustermanager.FileSet{}
		}
		groups[name][rest] = file
	}
	return groups
}
