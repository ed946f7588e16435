package gitops

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/clustermanager/cluster-manager/gitops/partial"
)

// tree is one tree of the repository as a file system.
type tree struct {
	workspace *Workspace
	root      partial.Hash
}

var (
	_ fs.ReadDirFS  = (*tree)(nil)
	_ fs.ReadFileFS = (*tree)(nil)
	_ fs.StatFS     = (*tree)(nil)
)

// info looks a path up; errors are PathErrors of the operation.
func (t *tree) info(operation, name string) (*info, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: operation, Path: name, Err: fs.ErrInvalid}
	}
	entry, err := t.workspace.lookup(t.workspace.context, t.root, name)
	if err != nil {
		return nil, &fs.PathError{Op: operation, Path: name, Err: err}
	}
	entry.Name = path.Base(name)
	return &info{workspace: t.workspace, entry: entry}, nil
}

// Stat implements fs.StatFS. It does not follow links.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	found, err := t.info("stat", name)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	found, err := t.info("open", name)
	if err != nil {
		return nil, err
	}
	if found.IsDir() {
		entries, err := t.list("open", name, found)
		if err != nil {
			return nil, err
		}
		return &directory{info: found, path: name, entries: entries}, nil
	}
	content, err := t.content("open", name, found)
	if err != nil {
		return nil, err
	}
	return &file{Reader: bytes.NewReader(content), info: found}, nil
}

// ReadFile implements fs.ReadFileFS. The content is the caller's.
func (t *tree) ReadFile(name string) ([]byte, error) {
	found, err := t.info("read", name)
	if err != nil {
		return nil, err
	}
	if found.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIsDirectory}
	}
	content, err := t.content("read", name, found)
	return bytes.Clone(content), err
}

// ReadDir implements fs.ReadDirFS, sorted by name.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	found, err := t.info("readdir", name)
	if err != nil {
		return nil, err
	}
	return t.list("readdir", name, found)
}

func (t *tree) content(operation, name string, found *info) ([]byte, error) {
	err := t.workspace.refuseMode(name, found.entry.Mode)
	var content []byte
	if err == nil {
		content, err = t.workspace.blob(t.workspace.context, found.entry.Hash)
	}
	if err != nil {
		return nil, &fs.PathError{Op: operation, Path: name, Err: err}
	}
	return content, nil
}

func (t *tree) list(operation, name string, found *info) ([]fs.DirEntry, error) {
	err := t.workspace.refuseMode(name, found.entry.Mode)
	if err == nil && !found.IsDir() {
		err = errNoDirectory
	}
	var entries []partial.Entry
	if err == nil {
		entries, err = t.workspace.entries(t.workspace.context, found.entry.Hash)
	}
	if err != nil {
		return nil, &fs.PathError{Op: operation, Path: name, Err: err}
	}
	list := make([]fs.DirEntry, 0, len(entries))
	for _, entry := range entries {
		list = append(list, fs.FileInfoToDirEntry(&info{workspace: t.workspace, entry: entry}))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// modes are git's modes as Go has them.
var modes = map[partial.Mode]fs.FileMode{
	partial.Directory:  fs.ModeDir | 0o755,
	partial.Regular:    0o644,
	partial.Executable: 0o755,
	partial.Symlink:    fs.ModeSymlink | 0o777,
	partial.Submodule:  fs.ModeIrregular,
}

// info is one entry's fs.FileInfo.
type info struct {
	workspace *Workspace
	entry     partial.Entry
}

func (i *info) Name() string       { return i.entry.Name }
func (i *info) Mode() fs.FileMode  { return modes[i.entry.Mode] }
func (i *info) IsDir() bool        { return i.entry.Mode == partial.Directory }
func (i *info) ModTime() time.Time { return time.Time{} }
func (i *info) Sys() any           { return nil }

// Size fetches the file when it is not at hand, since a tree holds no sizes; 0 when that fails.
func (i *info) Size() int64 {
	if i.IsDir() || i.entry.Mode == partial.Submodule {
		return 0
	}
	content, err := i.workspace.blob(i.workspace.context, i.entry.Hash)
	if err != nil {
		return 0
	}
	return int64(len(content))
}

// file is an open file.
type file struct {
	*bytes.Reader
	info *info
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

// directory is an open directory.
type directory struct {
	info    *info
	path    string
	entries []fs.DirEntry
}

func (d *directory) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *directory) Close() error               { return nil }

func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errIsDirectory}
}

// ReadDir implements fs.ReadDirFile.
func (d *directory) ReadDir(count int) ([]fs.DirEntry, error) {
	if count <= 0 {
		count = len(d.entries)
	} else if len(d.entries) == 0 {
		return nil, io.EOF
	}
	count = min(count, len(d.entries))
	read := d.entries[:count:count]
	d.entries = d.entries[count:]
	return read, nil
}
