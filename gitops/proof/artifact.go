package proof

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
)

// kind is what a path of the artifact is.
type kind int

const (
	absent kind = iota
	file
	folder
	link
	submodule
)

// artifact is the tree as Flux packs it: what its default exclusions, the .sourceignore files and the GitRepository's
// spec.ignore leave out is absent. Paths are clean and relative to the repository's root, "." is the root.
type artifact struct {
	fsys     fs.FS
	sources  map[string]source
	ignore   source
	listings map[string]map[string]kind
}

// source is one place that patterns come from, with its name for a message.
type source struct {
	name     string
	patterns []gitignore.Pattern
}

func newArtifact(fsys fs.FS, repository string, ignore *string) *artifact {
	a := &artifact{fsys: fsys, sources: map[string]source{}, listings: map[string]map[string]kind{}}
	a.ignore.name = "spec.ignore of GitRepository " + repository
	if ignore != nil {
		a.ignore.patterns = sourceignore.ReadPatterns(strings.NewReader(*ignore), nil)
	}
	return a
}

// defaults are what Flux leaves out of every artifact.
var defaults = source{
	name:     "what Flux leaves out of every artifact",
	patterns: append(sourceignore.VCSPatterns(nil), sourceignore.DefaultPatterns(nil)...),
}

// ignoredBy names what leaves a file out of the artifact; empty: nothing does. Of two patterns the later one counts, a
// deeper .sourceignore is later than one above it, and spec.ignore is last.
func (a *artifact) ignoredBy(name string) (string, error) {
	order := []source{defaults}
	parts := strings.Split(name, "/")
	for depth := range parts {
		own, err := a.sourceIgnore(path.Join(append([]string{"."}, parts[:depth]...)...))
		if err != nil {
			return "", err
		}
		order = append(order, own)
	}
	order = append(order, a.ignore)
	for i := len(order) - 1; i >= 0; i-- {
		for j := len(order[i].patterns) - 1; j >= 0; j-- {
			switch order[i].patterns[j].Match(parts, false) {
			case gitignore.Exclude:
				return order[i].name, nil
			case gitignore.Include:
				return "", nil
			}
		}
	}
	return "", nil
}

// sourceIgnore reads the .sourceignore file of a folder, once.
func (a *artifact) sourceIgnore(dir string) (source, error) {
	if known, ok := a.sources[dir]; ok {
		return known, nil
	}
	listing, err := a.list(dir)
	if err != nil {
		return source{}, err
	}
	own := source{name: path.Join(dir, sourceignore.IgnoreFile)}
	if listing[sourceignore.IgnoreFile] == file {
		content, err := a.read(own.name)
		if err != nil {
			return source{}, err
		}
		var domain []string
		if dir != "." {
			domain = strings.Split(dir, "/")
		}
		own.patterns = sourceignore.ReadPatterns(strings.NewReader(string(content)), domain)
	}
	a.sources[dir] = own
	return own, nil
}

// list returns what a folder holds, before anything is ignored; a folder that is absent holds nothing.
func (a *artifact) list(dir string) (map[string]kind, error) {
	if known, ok := a.listings[dir]; ok {
		return known, nil
	}
	entries, err := fs.ReadDir(a.fsys, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: listing: %w", dir, err)
	}
	listing := make(map[string]kind, len(entries))
	for _, entry := range entries {
		if fs.ValidPath(path.Join(dir, entry.Name())) {
			listing[entry.Name()] = kindOf(entry.Type())
		}
	}
	a.listings[dir] = listing
	return listing, nil
}

func kindOf(mode fs.FileMode) kind {
	switch {
	case mode.IsDir():
		return folder
	case mode.IsRegular():
		return file
	case mode&fs.ModeSymlink != 0:
		return link
	}
	return submodule
}

// at tells what a clean path is. A link or submodule on the way there is what is answered, with its own path.
func (a *artifact) at(name string) (kind, string, error) {
	if name == "." {
		return folder, name, nil
	}
	dir, found := ".", folder
	for part := range strings.SplitSeq(name, "/") {
		if found != folder {
			return absent, name, nil
		}
		listing, err := a.list(dir)
		if err != nil {
			return absent, name, err
		}
		dir, found = path.Join(dir, part), listing[part]
		if found == link || found == submodule {
			return found, dir, nil
		}
	}
	if found != file {
		return found, name, nil
	}
	by, err := a.ignoredBy(name)
	if err != nil || by != "" {
		return absent, name, err
	}
	return file, name, nil
}

// tooLarge says which limit a tree passes; it is no fault of the tree.
type tooLarge struct{ reason string }

func (t *tooLarge) Error() string { return t.reason }

// read returns the content of a file, or a tooLarge.
func (a *artifact) read(name string) ([]byte, error) {
	opened, err := a.fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: reading: %w", name, err)
	}
	defer opened.Close()
	content, err := io.ReadAll(io.LimitReader(opened, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: reading: %w", name, err)
	}
	if len(content) > maxFileBytes {
		return nil, &tooLarge{fmt.Sprintf("%s is larger than %d MiB", name, maxFileBytes>>20)}
	}
	return content, nil
}
