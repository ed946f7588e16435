package localforge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// importAuthor and the fixed date make a tree's commit the same each time.
const importAuthor = "local forge <local-forge@example.com> 1767225600 +0000"

// Import makes a repository of a plain work tree: branch main with one commit that holds every file of the folder, with
// its mode and symbolic links as links. A .gitignore leaves nothing out; a .git at the top is no part of the tree. A
// repository that is there already stays as it is. The same tree always gives the same hashes.
func (f *Forge) Import(owner, name, tree string) error {
	repo, err := f.place(owner, name)
	if err != nil {
		return err
	}
	f.imports.Lock()
	defer f.imports.Unlock()
	if _, err := os.Stat(repo.path); err == nil {
		return nil
	}
	if err := f.importTree(repo, tree); err != nil {
		return fmt.Errorf("repository %s: importing %s: %w", repo.fullName(), tree, err)
	}
	return nil
}

// importTree fills a folder beside the repository's and moves it into place, so that there is never half of one.
func (f *Forge) importTree(repo repository, tree string) error {
	parent := filepath.Dir(repo.path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	unfinished, err := os.MkdirTemp(parent, ".import-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(unfinished) }()
	final := repo.path
	repo.path = unfinished
	if err := initialise(unfinished); err != nil {
		return err
	}
	if err := fastImport(f.context, repo, tree); err != nil {
		return err
	}
	return os.Rename(unfinished, final)
}

// initialise writes an empty bare repository; that is what "git init" does, without its process and its templates.
func initialise(path string) error {
	for _, folder := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(path, folder), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(path, 0o755); err != nil {
		return err
	}
	files := map[string]string{
		"HEAD":   "ref: refs/heads/main\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n",
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(path, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// fastImport writes the commit by one git process.
func fastImport(ctx context.Context, repo repository, tree string) error {
	command := exec.CommandContext(ctx, repo.program, "-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", "--done")
	command.Dir = repo.path
	command.Env = gitEnvironment()
	var errorText strings.Builder
	command.Stderr = &errorText
	input, err := command.StdinPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	writer := bufio.NewWriterSize(input, 1<<16)
	writeError := writeCommit(writer, tree)
	if writeError == nil {
		writeError = writer.Flush()
	}
	closeError := input.Close()
	if err := command.Wait(); err != nil {
		return errors.Join(writeError, fmt.Errorf("running git fast-import: %w: %s", err, strings.TrimSpace(errorText.String())))
	}
	return errors.Join(writeError, closeError)
}

func writeCommit(w *bufio.Writer, tree string) error {
	const message = "feat: the tree as it was given\n"
	_, _ = fmt.Fprintf(w, "commit refs/heads/main\nauthor %s\ncommitter %s\ndata %d\n%s\n", importAuthor, importAuthor, len(message), message)
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == ".git" && entry.IsDir():
			return fs.SkipDir
		case path == ".git" || entry.IsDir():
			return nil
		}
		return writeEntry(w, root, path, entry)
	})
	if err != nil {
		return err
	}
	_, err = w.WriteString("done\n")
	return err
}

func writeEntry(w *bufio.Writer, root *os.Root, path string, entry fs.DirEntry) error {
	if entry.Type()&fs.ModeSymlink != 0 {
		target, err := root.Readlink(path)
		if err != nil {
			return err
		}
		target = filepath.ToSlash(target)
		writeHeader(w, "120000", path, int64(len(target)))
		_, err = w.WriteString(target + "\n")
		return err
	}
	if !entry.Type().IsRegular() {
		return fmt.Errorf("file %s: neither a plain file nor a symbolic link", path)
	}
	file, err := root.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	information, err := file.Stat()
	if err != nil {
		return err
	}
	mode := "100644"
	if information.Mode()&0o100 != 0 {
		mode = "100755"
	}
	writeHeader(w, mode, path, information.Size())
	if written, err := io.Copy(w, file); err != nil || written != information.Size() {
		return fmt.Errorf("file %s: reading %d bytes: got %d: %w", path, information.Size(), written, err)
	}
	return w.WriteByte('\n')
}

func writeHeader(w *bufio.Writer, mode, path string, size int64) {
	if strings.ContainsAny(path, "\"\n") {
		path = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
	}
	_, _ = w.WriteString("M " + mode + " inline " + path + "\ndata " + strconv.FormatInt(size, 10) + "\n")
}
