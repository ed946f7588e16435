package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/kustomize/api/konfig"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// folder is a directory of the base, looked at through its listing alone, since opening a path follows symbolic links.
type folder struct {
	base fs.FS
	// path is from the repository's root; "" is the root itself.
	path string
	// modes are the types of what it holds, by name; nil: there is no such directory.
	modes map[string]fs.FileMode
}

// openFolder walks to the directory. What is no directory on the way is refused by name; an absent one is empty.
func openFolder(base fs.FS, directory string) (*folder, error) {
	at := &folder{base: base}
	if err := at.list(); err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(directory, "/") {
		if name == "" || name == "." {
			continue
		}
		below, err := at.enter(name)
		if err != nil {
			return nil, err
		}
		at = below
	}
	return at, nil
}

func (f *folder) enter(name string) (*folder, error) {
	below := &folder{base: f.base, path: path.Join(f.path, name)}
	mode, found := f.modes[name]
	switch {
	case !found:
		return below, nil
	case !mode.IsDir():
		return nil, clustermanager.Refuse("%s is %s, not a directory of the repository, so nothing is written through it: make it a directory, or point the Kustomization's spec.path elsewhere", below.path, describe(mode))
	}
	return below, below.list()
}

func (f *folder) list() error {
	entries, err := fs.ReadDir(f.base, path.Join(".", f.path))
	if err != nil && !(f.path == "" && errors.Is(err, fs.ErrNotExist)) {
		return fmt.Errorf("%s: listing: %w", path.Join(".", f.path), err)
	}
	f.modes = make(map[string]fs.FileMode, len(entries))
	for _, entry := range entries {
		f.modes[entry.Name()] = entry.Type()
	}
	return nil
}

// read returns the content of a file in the directory; nil: there is none. What is no regular file is refused by name.
func (f *folder) read(name string) ([]byte, error) {
	mode, found := f.modes[name]
	if !found {
		return nil, nil
	}
	file := path.Join(f.path, name)
	if !mode.IsRegular() {
		return nil, clustermanager.Refuse("%s is %s, not a file of the repository, so it is not edited: replace it by the file itself", file, describe(mode))
	}
	content, err := fs.ReadFile(f.base, file)
	if err != nil {
		return nil, fmt.Errorf("%s: reading: %w", file, err)
	}
	if content == nil {
		content = []byte{}
	}
	return content, nil
}

func describe(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeIrregular != 0:
		return "a submodule"
	case mode.IsDir():
		return "a directory"
	case mode.IsRegular():
		return "a file"
	}
	return "a special file"
}

// kustomization returns the name of the directory's own kustomization file, "" when it has none. Two are refused, as
// kustomize refuses them.
func (f *folder) kustomization() (string, error) {
	var found []string
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if _, exists := f.modes[name]; exists {
			found = append(found, path.Join(f.path, name))
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return path.Base(found[0]), nil
	}
	return "", clustermanager.Refuse("%s stand in one directory, which kustomize does not build: keep one of them", strings.Join(found, " and "))
}

// strangers are the names in the directory, sorted, that Flux would build were there no kustomization file, less those
// that are known.
func (f *folder) strangers(known map[string]bool) []string {
	var names []string
	for name, mode := range f.modes {
		manifest := path.Ext(name) == ".yaml" || path.Ext(name) == ".yml"
		if !known[name] && name != ".sops.yaml" && (manifest || !mode.IsRegular()) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// checkPath refuses a spec.path that leaves the repository or that git cannot hold.
func checkPath(directory string) error {
	if directory == "" {
		return nil
	}
	hasGit := slices.ContainsFunc(strings.Split(directory, "/"), func(name string) bool { return strings.EqualFold(name, ".git") })
	if !fs.ValidPath(directory) || hasGit || strings.ContainsFunc(directory, unicode.IsControl) {
		return clustermanager.Refuse("the Kustomization's spec.path %q is no clean path inside its repository: correct spec.path", directory)
	}
	return nil
}
