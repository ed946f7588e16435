package localforge_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
)

func TestWhoMayCloneAndPush(t *testing.T) {
	unknown := clustermanager.NewSecret("unknown-token-made-for-this-test")
	for _, test := range []struct {
		name, repository string
		token            clustermanager.Secret
		fetch, push      string
	}{
		{name: "writer", repository: "fleet", token: writer},
		{name: "reader", repository: "fleet", token: reader, push: "Permission to acme/fleet.git denied to reader"},
		{name: "unknown token", repository: "fleet", token: unknown, fetch: "could not read Username", push: "could not read Username"},
		{name: "no token", repository: "fleet", fetch: "could not read Username", push: "could not read Username"},
		{name: "not installed", repository: "hidden", token: writer, fetch: "Repository not found", push: "Repository not found"},
		{name: "absent", repository: "absent", token: writer, fetch: "Repository not found", push: "Repository not found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			forge := newForge(t, localforge.Options{})
			if err := forge.Import("acme", "hidden", newTree(t)); err != nil {
				t.Fatal(err)
			}
			forge.SetInstalled("acme", "hidden", false)
			folder := clone(t, forge)
			output, err := gitIn(t, folder, test.token, "ls-remote", forge.CloneURL("acme", test.repository))
			expectGit(t, output, err, test.fetch)
			output, err = gitIn(t, folder, test.token, "push", forge.CloneURL("acme", test.repository), "HEAD:refs/heads/new")
			expectGit(t, output, err, test.push)
			if pushed := forge.ReceivePacks() > 0; pushed != (test.push == "") {
				t.Errorf("a push reached the forge: %t", pushed)
			}
		})
	}
}

// expectGit checks that git failed with the words, or did not fail for "".
func expectGit(t *testing.T, output string, err error, words string) {
	t.Helper()
	if (err != nil) != (words != "") || !strings.Contains(output, words) {
		t.Errorf("git: %v, want %q in\n%s", err, words, output)
	}
}

func TestRulesMeetAPush(t *testing.T) {
	for _, test := range []struct {
		name, refspec string
		rule          localforge.Rule
		words         string
	}{
		{"creation", "HEAD:refs/heads/cluster-manager/a", localforge.Rule{Pattern: "cluster-manager/**", Type: "creation"}, "Cannot create ref due to creations being restricted"},
		{"creation elsewhere", "HEAD:refs/heads/other", localforge.Rule{Pattern: "cluster-manager/**", Type: "creation"}, ""},
		{"a star is one segment", "HEAD:refs/heads/cluster-manager/a/b", localforge.Rule{Pattern: "cluster-manager/*", Type: "creation"}, ""},
		{"creation of a tag", "HEAD:refs/tags/v1", localforge.Rule{Type: "creation"}, ""},
		{"update is no creation", "HEAD:refs/heads/main", localforge.Rule{Type: "creation"}, ""},
		{"name", "HEAD:refs/heads/x", localforge.Rule{Type: "branch_name_pattern", Parameters: map[string]any{"operator": "starts_with", "pattern": "feature/"}}, "Branch name must start with feature/"},
		{"name fits", "HEAD:refs/heads/feature/x", localforge.Rule{Type: "branch_name_pattern", Parameters: map[string]any{"operator": "starts_with", "pattern": "feature/"}}, ""},
		{"negated name", "HEAD:refs/heads/x/y", localforge.Rule{Type: "branch_name_pattern", Parameters: map[string]any{"operator": "regex", "pattern": "^x/", "negate": true}}, "Branch name must not match"},
		{"signatures", "HEAD:refs/heads/x", localforge.Rule{Pattern: "~ALL", Type: "required_signatures"}, "Commits must have verified signatures"},
		{"pull request", "HEAD:refs/heads/main", localforge.Rule{Pattern: "main", Type: "pull_request"}, "Changes must be made through a pull request"},
		{"deletion", ":refs/heads/main", localforge.Rule{Pattern: "refs/heads/m*", Type: "deletion"}, "Cannot delete this protected ref"},
		{"a kind the forge does not enforce", "HEAD:refs/heads/x", localforge.Rule{Type: "some_newer_rule"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			forge := newForge(t, localforge.Options{})
			folder := clone(t, forge)
			mustGit(t, folder, "commit", "--quiet", "--allow-empty", "-m", "feat: something")
			before := mustGit(t, folder, "ls-remote", "origin")
			forge.SetRules("acme", "fleet", []localforge.Rule{test.rule})
			output, err := gitIn(t, folder, writer, "push", "origin", test.refspec)
			expectGit(t, output, err, test.words)
			if test.words != "" && (!strings.Contains(output, "remote: error: GH013") || !strings.Contains(output, "push declined due to repository rule violations")) {
				t.Errorf("not GitHub's words:\n%s", output)
			}
			if after := mustGit(t, folder, "ls-remote", "origin"); (after == before) != (test.words != "") {
				t.Errorf("refs before\n%s\nand after\n%s", before, after)
			}
			if forge.ReceivePacks() != 1 {
				t.Errorf("%d pushes counted", forge.ReceivePacks())
			}
		})
	}
}

func TestOneBrokenRuleDeclinesTheWholePush(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	forge.SetRules("acme", "fleet", []localforge.Rule{{Pattern: "b", Type: "creation"}})
	output, err := gitIn(t, folder, writer, "push", "origin", "HEAD:refs/heads/a", "HEAD:refs/heads/b")
	expectGit(t, output, err, "push declined")
	if refs := mustGit(t, folder, "ls-remote", "origin", "refs/heads/*"); strings.Count(refs, "\n") != 0 {
		t.Errorf("refs after a declined push:\n%s", refs)
	}
}

func TestPartialClone(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := filepath.Join(t.TempDir(), "partial")
	mustGit(t, t.TempDir(), "clone", "--quiet", "--filter=tree:0", "--depth=1", "--no-checkout", forge.CloneURL("acme", "fleet"), folder)
	if missing := mustGit(t, folder, "rev-list", "--objects", "--missing=print", "HEAD"); !strings.Contains(missing, "\n?") {
		t.Errorf("the filter had no effect:\n%s", missing)
	}
	blob := mustGit(t, clone(t, forge), "rev-parse", "HEAD:README.md")
	if content := mustGit(t, folder, "cat-file", "blob", blob); content != "fleet" {
		t.Errorf("a file fetched by its hash: %q", content)
	}
}

func TestCapabilitiesOfProtocol2(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, forge.CloneURL("acme", "fleet")+"/info/refs?service=git-upload-pack", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("x-access-token", writer.Reveal())
	request.Header.Set("Git-Protocol", "version=2")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	for _, want := range []string{"version 2", "fetch=shallow", "filter", "object-format=sha1"} {
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%v, no %q in %q", err, want, body)
		}
	}
}

// The host looks at what it is sent, as GitHub does.
func TestABrokenTreeIsDeclined(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	writeFile(t, filepath.Join(folder, "tree"), "100644 blob "+mustGit(t, folder, "rev-parse", "HEAD:README.md")+"\t.git\n")
	tree := mustGit(t, folder, "-c", "alias.broken=!git mktree < tree", "broken")
	commit := mustGit(t, folder, "commit-tree", "-m", "broken", tree)
	output, err := gitIn(t, folder, writer, "push", "origin", commit+":refs/heads/broken")
	expectGit(t, output, err, "hasDotgit")
	if refs := mustGit(t, folder, "ls-remote", "origin"); strings.Contains(refs, "broken") {
		t.Errorf("refs:\n%s", refs)
	}
}

func TestALargePushInChunks(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	mustGit(t, folder, "config", "http.postBuffer", "65536")
	random := make([]byte, 1<<20)
	for i := range random {
		random[i] = byte(i * i * 31 >> (i % 7))
	}
	mustGit(t, folder, "config", "core.compression", "0")
	pushBranch(t, folder, "large", "large.bin", string(random))
	if content, err := forge.File("acme", "fleet", "large", "large.bin"); err != nil || string(content) != string(random) {
		t.Errorf("%d bytes came, %v", len(content), err)
	}
}

func TestTheMachinesGitSettingsDoNotCount(t *testing.T) {
	home := t.TempDir()
	writeFile(t, filepath.Join(home, ".gitconfig"), "[core]\n\thooksPath = "+home+"\n[uploadpack]\n\tallowFilter = false\n[http]\n\treceivepack = false\n")
	marker := filepath.Join(home, "ran")
	writeFile(t, filepath.Join(home, "update"), "#!/bin/sh\ntouch "+marker+"\nexit 1\n")
	if err := os.Chmod(filepath.Join(home, "update"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", filepath.Join(home, "elsewhere"))
	forge := newForge(t, localforge.Options{})
	pushBranch(t, clone(t, forge), "a", "a", "a")
	if _, err := os.Stat(marker); err == nil {
		t.Error("a hook of the machine ran")
	}
}

func TestOtherAddressesAreNotFound(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	for path, want := range map[string]int{
		"/": 404, "/acme/fleet.git/config": 404, "/acme/fleet.git/objects/info/packs": 404, "/api/v3/repos/acme/fleet/hooks": 404,
		"/acme/fleet.git/info/refs": 403, "/acme/..%2Facme%2Ffleet.git/info/refs?service=git-upload-pack": 404,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, forge.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth("x-access-token", writer.Reveal())
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("GET %s: %d, want %d", path, response.StatusCode, want)
		}
	}
}

func TestBehindAnotherServer(t *testing.T) {
	folder := t.TempDir()
	forge, err := localforge.New(t.Context(), localforge.Options{Repositories: folder})
	if err != nil {
		t.Fatal(err)
	}
	if err := forge.Import("acme", "fleet", newTree(t)); err != nil {
		t.Fatal(err)
	}
	forge.AddUser(localforge.User{Login: "writer", ID: 7, Token: writer, Push: true})
	server := httptest.NewServer(forge)
	defer server.Close()
	mustGit(t, folder, "ls-remote", server.URL+"/acme/fleet")
	if requests := forge.Requests(); len(requests) == 0 || requests[0].Path != "/acme/fleet/info/refs" {
		t.Errorf("requests: %v", requests)
	}
}
