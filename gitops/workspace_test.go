package gitops_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/partial/gitserver"
)

// plainToken is made for these tests and opens nothing.
const plainToken = "ghu_made-for-the-test"

const module = "1111111111111111111111111111111111111111"

// fleet is a small repository with everything that a path can meet.
var fleet = gitserver.Change{
	"README.md":                      "fleet\n",
	"clusters/wc1/wc1.yaml":          "kind: HelmRelease\n",
	"clusters/wc1/run.sh":            gitserver.Script + "#!/bin/sh\n",
	"clusters/wc1/deep/er/file.yaml": "deep: true\n",
	"clusters/wc2/wc2.yaml":          "kind: HelmRelease\n",
	"link":                           gitserver.LinkTo + "clusters/wc1",
	"clusters/wc2/link.yaml":         gitserver.LinkTo + "wc2.yaml",
	"module":                         gitserver.ModuleAt + module,
}

func newRepository(t *testing.T, files gitserver.Change) (*gitserver.Server, *gitserver.Repository) {
	t.Helper()
	server := gitserver.New(t)
	repository := server.Repository("acme/fleet")
	repository.Commit("main", "", "first", files)
	return server, repository
}

func options(repository *gitserver.Repository) gitops.Options {
	return gitops.Options{
		Repository: clustermanager.GitRepository{
			Source: clustermanager.NamespacedName{Namespace: "flux-system", Name: "fleet"},
			Owner:  "acme", Name: "fleet", CloneURL: repository.URL, Branch: "main",
		},
		Token: clustermanager.NewSecret(plainToken),
	}
}

func open(t *testing.T, repository *gitserver.Repository) *gitops.Workspace {
	t.Helper()
	workspace, err := gitops.Open(t.Context(), options(repository))
	if err != nil {
		t.Fatal(err)
	}
	return workspace
}

func stage(t *testing.T, workspace *gitops.Workspace, files clustermanager.FileSet) {
	t.Helper()
	if err := workspace.Stage(files); err != nil {
		t.Fatal(err)
	}
}

func text(content string) clustermanager.File { return clustermanager.File{Content: []byte(content)} }

func mustRefuse(t *testing.T, err error, want string) {
	t.Helper()
	if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.Contains(err.Error(), want) {
		t.Errorf("got  %v (%s)\nwant a refusal with %q", err, clustermanager.ReasonOf(err), want)
	}
	if err != nil && strings.Contains(fmt.Sprintf("%+v", err), plainToken) {
		t.Errorf("the token is in the error: %v", err)
	}
}

func TestOpen(t *testing.T) {
	_, repository := newRepository(t, fleet)
	if got, want := open(t, repository).Base(), repository.Git("rev-parse", "main"); got != want {
		t.Errorf("base %s, want %s", got, want)
	}
	wrong := options(repository)
	wrong.Repository.Branch = "production"
	_, err := gitops.Open(t.Context(), wrong)
	mustRefuse(t, err, "branch production of acme/fleet does not exist, though GitRepository flux-system/fleet follows it: ")
	wrong.Repository.CloneURL = "http://git.example.com/acme/fleet"
	_, err = gitops.Open(t.Context(), wrong)
	mustRefuse(t, err, "over https alone")
}

func TestFS(t *testing.T) {
	_, repository := newRepository(t, gitserver.Change{"README.md": "fleet\n", "a/b/c.yaml": "c", "a/run.sh": gitserver.Script + "x", "a.b": "sorted between"})
	workspace := open(t, repository)
	stage(t, workspace, clustermanager.FileSet{"a/new/d.yaml": text("d"), "README.md": {Delete: true}})
	if err := fstest.TestFS(workspace.FS(), "README.md", "a/b/c.yaml", "a/run.sh", "a.b"); err != nil {
		t.Error(err)
	}
	if err := fstest.TestFS(workspace.Proposed(), "a/b/c.yaml", "a/new/d.yaml", "a.b"); err != nil {
		t.Error(err)
	}
	if _, err := fs.Stat(workspace.Proposed(), "README.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the removed file: %v", err)
	}
	content, err := fs.ReadFile(workspace.FS(), "README.md")
	if err != nil || string(content) != "fleet\n" {
		t.Errorf("%q, %v", content, err)
	}
	content[0] = 'X'
	if again, _ := fs.ReadFile(workspace.FS(), "README.md"); string(again) != "fleet\n" {
		t.Errorf("a reader changed the base: %q", again)
	}
}

func TestFSIsLazy(t *testing.T) {
	_, repository := newRepository(t, fleet)
	workspace := open(t, repository)
	requests := func() int { return workspace.Stats().Requests }
	before := requests()
	for range 2 {
		if _, err := fs.ReadFile(workspace.FS(), "clusters/wc1/wc1.yaml"); err != nil {
			t.Fatal(err)
		}
	}
	if got := requests() - before; got != 3 {
		t.Errorf("%d requests, want two trees and a file", got)
	}
}

func TestLinksAndModules(t *testing.T) {
	_, repository := newRepository(t, fleet)
	workspace := open(t, repository)
	base := workspace.FS()
	modes := map[string]fs.FileMode{"link": fs.ModeSymlink | 0o777, "module": fs.ModeIrregular, "clusters/wc2/link.yaml": fs.ModeSymlink | 0o777, "clusters": fs.ModeDir | 0o755}
	for path, want := range modes {
		info, err := fs.Stat(base, path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	tests := map[string]string{
		"link":                   "link in acme/fleet is a symbolic link, which is not followed",
		"link/wc1.yaml":          "link in acme/fleet is a symbolic link",
		"module":                 "module in acme/fleet is a submodule",
		"module/x/y":             "module in acme/fleet is a submodule",
		"clusters/wc2/link.yaml": "clusters/wc2/link.yaml in acme/fleet is a symbolic link",
	}
	for path, want := range tests {
		_, err := fs.ReadFile(base, path)
		mustRefuse(t, err, want)
		var located *fs.PathError
		if !errors.As(err, &located) || located.Path != path {
			t.Errorf("%s: no PathError of it: %v", path, err)
		}
		_, err = base.Open(path)
		mustRefuse(t, err, want)
		mustRefuse(t, workspace.Stage(clustermanager.FileSet{"new.yaml": text("n"), path: text("x")}), want)
		mustRefuse(t, workspace.Stage(clustermanager.FileSet{path + "/x": text("x")}), strings.SplitN(want, ",", 2)[0])
	}
	_, err := fs.ReadDir(base, "link")
	mustRefuse(t, err, "symbolic link")
	mustRefuse(t, workspace.Load(t.Context(), "link", nil), "symbolic link")
	mustRefuse(t, workspace.LoadFiles(t.Context(), "README.md", "module/x"), "submodule")
	if changes := workspace.Changes(false); len(changes) != 0 {
		t.Errorf("a refused edit was staged: %v", changes)
	}
	entries, err := fs.ReadDir(base, ".")
	if err != nil || len(entries) != 4 || entries[2].Type() != fs.ModeSymlink || entries[3].Type() != fs.ModeIrregular {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestLoad(t *testing.T) {
	_, repository := newRepository(t, fleet)
	workspace := open(t, repository)
	load := func(directory string, blobs func(string) bool) int {
		t.Helper()
		before := workspace.Stats().Requests
		if err := workspace.Load(t.Context(), directory, blobs); err != nil {
			t.Fatal(err)
		}
		return workspace.Stats().Requests - before
	}
	yaml := func(path string) bool { return strings.HasSuffix(path, ".yaml") }
	if got := load("./clusters/", yaml); got != 2 {
		t.Errorf("%d requests, want the trees and the files", got)
	}
	if got := load("clusters/wc1", yaml); got != 0 {
		t.Errorf("%d requests for what is here", got)
	}
	if got := load("absent/directory", nil); got != 0 {
		t.Errorf("%d requests for an absent directory", got)
	}
	before := workspace.Stats().Requests
	if content, err := fs.ReadFile(workspace.FS(), "clusters/wc1/deep/er/file.yaml"); err != nil || string(content) != "deep: true\n" || workspace.Stats().Requests != before {
		t.Errorf("%q, %v", content, err)
	}
	if got := load("", nil); got != 1 {
		t.Errorf("%d requests for the files that are left", got)
	}
	if err := workspace.Load(t.Context(), "README.md", nil); err == nil || !strings.Contains(err.Error(), "is no directory") {
		t.Errorf("got %v", err)
	}
}

// TestLoadBomb loads a few small trees that name ten billion paths.
func TestLoadBomb(t *testing.T) {
	_, repository := newRepository(t, fleet)
	tree := repository.Input("100644 blob "+repository.Git("rev-parse", "main:README.md")+"\tf\n", "mktree")
	for range 10 {
		var lines strings.Builder
		for i := range 10 {
			fmt.Fprintf(&lines, "040000 tree %s\t%d\n", tree, i)
		}
		tree = repository.Input(lines.String(), "mktree")
	}
	repository.Git("update-ref", "refs/heads/main", repository.Git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit-tree", "-m", "bomb", tree))
	if err := open(t, repository).Load(t.Context(), ".", func(string) bool { return false }); !errors.Is(err, gitops.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestLoadFiles(t *testing.T) {
	_, repository := newRepository(t, fleet)
	workspace := open(t, repository)
	before := workspace.Stats().Requests
	if err := workspace.LoadFiles(t.Context(), "clusters/wc1/wc1.yaml", "clusters/wc2/wc2.yaml", "clusters/wc1/absent.yaml", "no/such/directory", "README.md", "clusters/wc1/deep"); err != nil {
		t.Fatal(err)
	}
	if got := workspace.Stats().Requests - before; got != 4 {
		t.Errorf("%d requests, want three levels and the files", got)
	}
	for _, path := range []string{"clusters/wc1/wc1.yaml", "clusters/wc2/wc2.yaml", "README.md"} {
		if _, err := fs.ReadFile(workspace.FS(), path); err != nil {
			t.Error(err)
		}
	}
	if _, err := fs.ReadDir(workspace.FS(), "clusters/wc1/deep"); err != nil {
		t.Error(err)
	}
	if got := workspace.Stats().Requests - before; got != 4 {
		t.Errorf("%d requests after reading what was loaded", got)
	}
}

func TestStageRefuses(t *testing.T) {
	_, repository := newRepository(t, fleet)
	workspace := open(t, repository)
	errs := map[string]clustermanager.FileSet{
		"no clean path":        {"../x": text("x")},
		"clean path":           {"/x": text("x")},
		"no clean":             {"a//b": text("x")},
		"clean":                {"a/./b": text("x")},
		"path from":            {".": text("x")},
		"root":                 {"": text("x")},
		"repository's root":    {`a\..\b`: text("x")},
		"git's own":            {".git/config": text("x")},
		"own directory":        {"a/.GIT/hooks/x": text("x")},
		"not sealed":           {"s.yaml": {Plain: clustermanager.NewSecret("plain"), Sensitive: true}},
		"sealed file is empty": {"s.yaml": {Sensitive: true}},
	}
	for want, files := range errs {
		if err := workspace.Stage(files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", files.Paths(), err, want)
		}
	}
	mustRefuse(t, workspace.Stage(clustermanager.FileSet{"README.md/x": text("x")}), "README.md in acme/fleet is a file, where a directory is needed")
	mustRefuse(t, workspace.Stage(clustermanager.FileSet{"clusters/wc1": text("x")}), "clusters/wc1 in acme/fleet is a directory")
	mustRefuse(t, workspace.Stage(clustermanager.FileSet{"n/a": text("x"), "n/a/b": text("x")}), "n/a in acme/fleet is both a file and a directory in this change")
	if got := repository.Git("rev-parse", "main^{tree}"); len(workspace.Changes(false)) != 0 || got == "" {
		t.Error("a refused edit was staged")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// A slow fetch for one file keeps nobody from reading what is staged.
func TestStagingFetchesWithoutTheLock(t *testing.T) {
	_, repository := newRepository(t, fleet)
	var workspace *gitops.Workspace
	fetches := 0
	opened := options(repository)
	opened.Transport = roundTrip(func(request *http.Request) (*http.Response, error) {
		if workspace != nil {
			fetches++
			read := make(chan struct{})
			go func() {
				workspace.Changes(true)
				workspace.Proposed()
				close(read)
			}()
			select {
			case <-read:
			case <-time.After(5 * time.Second):
				t.Error("what is staged cannot be read during a fetch")
			}
		}
		return http.DefaultTransport.RoundTrip(request)
	})
	made, err := gitops.Open(t.Context(), opened)
	if err != nil {
		t.Fatal(err)
	}
	workspace = made
	stage(t, workspace, clustermanager.FileSet{"clusters/wc1/deep/er/new.yaml": text("new: true\n")})
	if fetches == 0 {
		t.Error("nothing was fetched")
	}
}

func TestChanges(t *testing.T) {
	_, repository := newRepository(t, fleet)
	workspace := open(t, repository)
	stage(t, workspace, clustermanager.FileSet{"README.md": text("fleet\n"), "clusters/wc1/wc1.yaml": text("old")})
	stage(t, workspace, clustermanager.FileSet{
		"clusters/wc1/wc1.yaml":                    text("kind: Other\n"),
		"clusters/wc1/cluster-manager/s.enc.yaml":  {Content: []byte("sealed"), Sensitive: true},
		"clusters/wc1/cluster-manager/gone.yaml":   {Delete: true},
		"clusters/wc2/wc2.yaml":                    {Delete: true},
		"clusters/wc1/cluster-manager/gpu-l4.yaml": text("pool"),
	})
	want := []clustermanager.FileChange{
		{Path: "README.md", Action: "unchanged", Content: "fleet\n"},
		{Path: "clusters/wc1/cluster-manager/gone.yaml", Action: "unchanged"},
		{Path: "clusters/wc1/cluster-manager/gpu-l4.yaml", Action: "add", Content: "pool"},
		{Path: "clusters/wc1/cluster-manager/s.enc.yaml", Action: "add"},
		{Path: "clusters/wc1/wc1.yaml", Action: "update", Content: "kind: Other\n"},
		{Path: "clusters/wc2/wc2.yaml", Action: "remove"},
	}
	if diff := cmp.Diff(want, workspace.Changes(true)); diff != "" {
		t.Error(diff)
	}
	for _, change := range workspace.Changes(false) {
		if change.Content != "" {
			t.Errorf("%s shows content", change.Path)
		}
	}
}

// TestTreeEqualsGits compares the pushed tree with what git's own index makes of the same edit, for many edits drawn
// from a seed.
func TestTreeEqualsGits(t *testing.T) {
	files := gitserver.Change{"a.b/x": "1", "a/x": "2", "a-b": "3", "run": gitserver.Script + "4", "l": gitserver.LinkTo + "a", "m": gitserver.ModuleAt + module}
	names := []string{"a.b/x", "a/x", "a/y", "a/z/deep/f", "a-b", "run", "z", "b/c/d", "a.b/w"}
	_, repository := newRepository(t, files)
	base := open(t, repository).Base()
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 7))
		edit := clustermanager.FileSet{}
		for _, name := range names {
			switch random.IntN(3) {
			case 0:
				edit[name] = text(fmt.Sprintf("new %d\n", random.IntN(100)))
			case 1:
				edit[name] = clustermanager.File{Delete: true}
			}
		}
		workspace := open(t, repository)
		stage(t, workspace, edit)
		branch := fmt.Sprintf("topic-%d", seed)
		outcome, err := workspace.Propose(t.Context(), newForge(repository), proposal(branch))
		if err != nil {
			t.Fatal(err)
		}
		want := gitTree(t, repository, base, edit)
		if outcome.Decision == gitops.DecisionNothing {
			branch = "main"
		}
		if got := repository.Git("rev-parse", branch+"^{tree}"); got != want {
			t.Errorf("seed %d: %v: tree %s, git makes %s", seed, edit.Paths(), got, want)
		}
	}
	repository.Git("fsck", "--strict", "--full")
}

// gitTree makes the edit with git's index.
func gitTree(t *testing.T, repository *gitserver.Repository, base string, edit clustermanager.FileSet) string {
	t.Helper()
	t.Setenv("GIT_INDEX_FILE", t.TempDir()+"/index")
	repository.Git("read-tree", base)
	var lines strings.Builder
	for _, path := range edit.Paths() {
		mode, blob := "0", strings.Repeat("0", 40)
		if !edit[path].Delete {
			mode = "100644"
			if line := repository.Git("ls-tree", base, path); line != "" {
				mode = line[:6]
			}
			blob = repository.Input(string(edit[path].Content), "hash-object", "-w", "--stdin")
		}
		fmt.Fprintf(&lines, "%s %s\t%s\n", mode, blob, path)
	}
	repository.Input(lines.String(), "update-index", "--index-info")
	return repository.Git("write-tree")
}
