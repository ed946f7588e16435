package localforge_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
)

// Tokens made for these tests.
var (
	writer = clustermanager.NewSecret("writer-token-made-for-this-test")
	reader = clustermanager.NewSecret("reader-token-made-for-this-test")
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newTree writes a small work tree with everything that an import must keep.
func newTree(t *testing.T) string {
	t.Helper()
	tree := t.TempDir()
	for name, content := range map[string]string{
		"README.md": "fleet\n", "clusters/wc1/kustomization.yaml": "resources: []\n", ".gitignore": "*.log\n", "kept.log": "kept\n",
		`odd "name".txt`: "odd\n", "empty": "", ".git/config": "not part of the tree",
	} {
		writeFile(t, filepath.Join(tree, name), content)
	}
	if err := os.Chmod(filepath.Join(tree, "kept.log"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("README.md", filepath.Join(tree, "link")); err != nil {
		t.Fatal(err)
	}
	return tree
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// newForge starts a forge with the repository acme/fleet, somebody who may write and somebody who may read.
func newForge(t *testing.T, options localforge.Options) *localforge.Forge {
	t.Helper()
	if options.Repositories == "" {
		options.Repositories = t.TempDir()
	}
	options.Now = func() time.Time { return noon }
	forge, err := localforge.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = forge.Close() })
	forge.AddUser(localforge.User{Login: "writer", ID: 7, Name: "W. Riter", Token: writer, Push: true})
	forge.AddUser(localforge.User{Login: "reader", ID: 8, Token: reader})
	if err := forge.Import("acme", "fleet", newTree(t)); err != nil {
		t.Fatal(err)
	}
	return forge
}

// gitIn runs the git program as a person would, with a token, and returns all it prints.
func gitIn(t *testing.T, folder string, token clustermanager.Secret, arguments ...string) (string, error) {
	t.Helper()
	settings := []string{"-c", "user.name=writer", "-c", "user.email=7+writer@users.noreply.github.com", "-c", "core.fsync=none"}
	if !token.IsZero() {
		header := http.Request{Header: http.Header{}}
		header.SetBasicAuth("x-access-token", token.Reveal())
		settings = append(settings, "-c", "http.extraHeader=Authorization: "+header.Header.Get("Authorization"))
	}
	command := exec.CommandContext(t.Context(), "git", append(settings, arguments...)...)
	command.Dir = folder
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
	output, err := command.CombinedOutput()
	return string(output), err
}

func mustGit(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	output, err := gitIn(t, folder, writer, arguments...)
	if err != nil {
		t.Fatalf("git %v: %v\n%s", arguments, err, output)
	}
	return strings.TrimSpace(output)
}

// clone clones acme/fleet.
func clone(t *testing.T, forge *localforge.Forge) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "clone")
	mustGit(t, t.TempDir(), "clone", "--quiet", forge.CloneURL("acme", "fleet"), folder)
	return folder
}

// pushBranch commits one file on a new branch from main and pushes it.
func pushBranch(t *testing.T, folder, branch, file, content string) {
	t.Helper()
	mustGit(t, folder, "checkout", "--quiet", "-B", branch, "origin/main")
	writeFile(t, filepath.Join(folder, file), content)
	mustGit(t, folder, "add", "-A")
	mustGit(t, folder, "commit", "--quiet", "-m", "feat: "+file)
	mustGit(t, folder, "push", "--quiet", "origin", branch)
}

func TestImportKeepsTheTree(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	for name, want := range map[string]string{"kept.log": "kept\n", `odd "name".txt`: "odd\n", "empty": "", "link": "fleet\n"} {
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	listing := mustGit(t, folder, "ls-tree", "-r", "HEAD")
	for _, want := range []string{"100755 blob", "120000 blob", "100644 blob"} {
		if !strings.Contains(listing, want) {
			t.Errorf("no %s in\n%s", want, listing)
		}
	}
	if strings.Contains(listing, "config") {
		t.Errorf("the tree's .git was imported:\n%s", listing)
	}
	if output := mustGit(t, folder, "fsck", "--strict"); strings.Contains(output, "error") {
		t.Errorf("fsck: %s", output)
	}
}

func TestImportIsReproducible(t *testing.T) {
	tree := newTree(t)
	var heads []string
	for range 2 {
		forge := newForge(t, localforge.Options{})
		if err := forge.Import("acme", "copy", tree); err != nil {
			t.Fatal(err)
		}
		heads = append(heads, mustGit(t, t.TempDir(), "ls-remote", forge.CloneURL("acme", "copy"), "refs/heads/main"))
	}
	if heads[0] != heads[1] || len(heads[0]) < 40 {
		t.Errorf("two imports of a tree: %q and %q", heads[0], heads[1])
	}
}

func TestImportLeavesAnExistingRepository(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	other := t.TempDir()
	writeFile(t, filepath.Join(other, "README.md"), "other\n")
	if err := forge.Import("acme", "fleet", other); err != nil {
		t.Fatal(err)
	}
	if content, err := forge.File("acme", "fleet", "main", "README.md"); err != nil || string(content) != "fleet\n" {
		t.Errorf("README.md: %q, %v", content, err)
	}
}

func TestImportLeavesNothingHalfDone(t *testing.T) {
	folder := t.TempDir()
	forge := newForge(t, localforge.Options{Repositories: folder})
	if err := forge.Import("acme", "absent", filepath.Join(t.TempDir(), "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent tree: %v", err)
	}
	for _, name := range []string{"..", "a/b", "", ".hidden", "x.git"} {
		if err := forge.Import("acme", name, t.TempDir()); err == nil {
			t.Errorf("name %q was taken", name)
		}
	}
	entries, err := os.ReadDir(filepath.Join(folder, "acme"))
	if err != nil || len(entries) != 1 || entries[0].Name() != "fleet.git" {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestFile(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	if content, err := forge.File("acme", "fleet", "main", "link"); err != nil || string(content) != "README.md" {
		t.Errorf("link: %q, %v", content, err)
	}
	for _, absent := range [][2]string{{"main", "absent"}, {"absent", "README.md"}, {"--help", "README.md"}, {"main", "clusters"}} {
		if _, err := forge.File("acme", "fleet", absent[0], absent[1]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: %v", absent, err)
		}
	}
}

func TestOnlyLoopback(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "127.0.0.1"} {
		if forge, err := localforge.Start(t.Context(), localforge.Options{Repositories: t.TempDir(), Listen: address}); err == nil {
			_ = forge.Close()
			t.Errorf("%s was listened on", address)
		}
	}
}

func TestClose(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	if err := forge.Close(); err != nil {
		t.Fatal(err)
	}
	if output, err := gitIn(t, t.TempDir(), writer, "ls-remote", forge.CloneURL("acme", "fleet")); err == nil {
		t.Errorf("a closed forge answered: %s", output)
	}
}
