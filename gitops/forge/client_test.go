package forge_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/forge"
	"github.com/clustermanager/cluster-manager/internal/githubapi"
	"github.com/clustermanager/cluster-manager/internal/localforge"
)

// token is made for these tests; it must appear in no text.
var token = clustermanager.NewSecret("user-token-made-for-this-test")

const branch = "cluster-manager/gazelle/add-wc1-gpu"

// host is a running forge with the repository acme/fleet, and a clone of it.
type host struct {
	*localforge.Forge
	clone string
}

func newHost(t *testing.T) *host {
	t.Helper()
	server, err := localforge.Start(t.Context(), localforge.Options{Repositories: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	server.AddUser(localforge.User{Login: "jane", ID: 7, Token: token, Push: true})
	tree := t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "README.md"), []byte("fleet\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := server.Import("acme", "fleet", tree); err != nil {
		t.Fatal(err)
	}
	h := &host{server, filepath.Join(t.TempDir(), "clone")}
	h.git(t, t.TempDir(), "clone", "--quiet", server.CloneURL("acme", "fleet"), h.clone)
	return h
}

func (h *host) git(t *testing.T, folder string, arguments ...string) {
	t.Helper()
	h.gitWith(t, nil, folder, arguments...)
}

func (h *host) gitWith(t *testing.T, input io.Reader, folder string, arguments ...string) {
	t.Helper()
	request := http.Request{Header: http.Header{}}
	request.SetBasicAuth("x-access-token", token.Reveal())
	settings := []string{"-c", "user.name=jane", "-c", "user.email=7+jane@users.noreply.github.com",
		"-c", "core.fsync=none", "-c", "http.extraHeader=Authorization: " + request.Header.Get("Authorization")}
	command := exec.CommandContext(t.Context(), "git", append(settings, arguments...)...)
	command.Dir, command.Stdin = folder, input
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", arguments, err, output)
	}
}

// push pushes a branch with one more, empty commit for each message.
func (h *host) push(t *testing.T, name string, messages ...string) {
	t.Helper()
	h.git(t, h.clone, "checkout", "--quiet", "-B", name, "origin/main")
	for _, message := range messages {
		h.git(t, h.clone, "commit", "--quiet", "--allow-empty", "-m", message)
	}
	h.git(t, h.clone, "push", "--quiet", "--force", "origin", name)
}

func (h *host) client(t *testing.T) *forge.Client {
	t.Helper()
	return h.clientOf(t, token)
}

// clientOf is a client with another token. GitHub's own description judges what it sends and what the forge answers.
func (h *host) clientOf(t *testing.T, token clustermanager.Secret) *forge.Client {
	t.Helper()
	return newClient(t, forge.Options{
		APIURL: h.APIURL(), Owner: "acme", Repository: "fleet", Token: token, Transport: githubapi.Transport(t, http.DefaultTransport),
	})
}

func newClient(t *testing.T, options forge.Options) *forge.Client {
	t.Helper()
	client, err := forge.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestUser(t *testing.T) {
	h := newHost(t)
	client := newClient(t, forge.Options{APIURL: h.APIURL() + "/", Token: token, Transport: githubapi.Transport(t, http.DefaultTransport)})
	user, err := client.User(t.Context())
	if diff := cmp.Diff(clustermanager.GitHubUser{Login: "jane", ID: 7}, user); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if client.Requests() != 1 {
		t.Errorf("%d requests", client.Requests())
	}
}

func TestBranchRules(t *testing.T) {
	h := newHost(t)
	pattern := map[string]any{"operator": "starts_with", "pattern": "cluster-manager/"}
	want := []clustermanager.BranchRule{{Type: "creation"}, {Type: "required_signatures"}, {Type: "branch_name_pattern", Parameters: pattern}}
	h.SetRules("acme", "fleet", []localforge.Rule{
		{Pattern: "cluster-manager/**", Type: "creation"}, {Type: "required_signatures"}, {Type: "branch_name_pattern", Parameters: pattern}, {Pattern: "main", Type: "deletion"},
	})
	client := h.client(t)
	rules, err := client.BranchRules(t.Context(), branch)
	if diff := cmp.Diff(want, rules); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if client.Requests() != 1 {
		t.Errorf("%d requests", client.Requests())
	}
}

// No description has such a rule, so no judge reads along.
func TestARuleNewerThanThisBuild(t *testing.T) {
	h := newHost(t)
	want := []clustermanager.BranchRule{{Type: "a_rule_of_tomorrow", Parameters: map[string]any{"list": []any{"a"}}}}
	h.SetRules("acme", "fleet", []localforge.Rule{{Type: "a_rule_of_tomorrow", Parameters: map[string]any{"list": []any{"a"}}}})
	client := newClient(t, forge.Options{APIURL: h.APIURL(), Owner: "acme", Repository: "fleet", Token: token})
	rules, err := client.BranchRules(t.Context(), branch)
	if diff := cmp.Diff(want, rules); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestBranchRulesOnAllPages(t *testing.T) {
	h := newHost(t)
	many := make([]localforge.Rule, 230)
	for i := range many {
		many[i].Type = "creation"
	}
	h.SetRules("acme", "fleet", many)
	client := h.client(t)
	rules, err := client.BranchRules(t.Context(), "main")
	if err != nil || len(rules) != len(many) || client.Requests() != 3 {
		t.Errorf("%d rules by %d requests, %v", len(rules), client.Requests(), err)
	}
}

func TestPullRequestFromOpeningToMerge(t *testing.T) {
	h := newHost(t)
	h.push(t, branch, "feat: pool")
	client := h.client(t)
	request := clustermanager.PullRequest{Branch: branch, Title: "feat(wc1): add GPU node pool gpu", Body: "why\n"}
	created, err := client.CreatePullRequest(t.Context(), request, "main")
	if err != nil {
		t.Fatal(err)
	}
	want := request
	want.Number, want.URL, want.State, want.HeadSHA = 1, h.URL()+"/acme/fleet/pull/1", clustermanager.PullRequestOpen, created.HeadSHA
	if diff := cmp.Diff(want, created); diff != "" || len(created.HeadSHA) != 40 {
		t.Error(diff)
	}
	if again, err := client.CreatePullRequest(t.Context(), request, "main"); !errors.Is(err, forge.ErrPullRequestExists) {
		t.Errorf("opening it twice: %+v, %v", again, err)
	}
	updated, err := client.UpdatePullRequest(t.Context(), 1, "new title", "")
	if err != nil || updated.Title != "new title" || updated.Body != "" {
		t.Errorf("updated: %+v, %v", updated, err)
	}
	if err := h.Merge("acme", "fleet", 1); err != nil {
		t.Fatal(err)
	}
	listed, err := client.PullRequests(t.Context(), branch)
	updated.State = clustermanager.PullRequestMerged
	if diff := cmp.Diff([]clustermanager.PullRequest{updated}, listed); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if client.Requests() != 4 {
		t.Errorf("%d requests", client.Requests())
	}
}

func TestPullRequestsOfABranchAlone(t *testing.T) {
	h := newHost(t)
	client := h.client(t)
	for range 3 {
		h.push(t, branch, "feat: again")
		if _, err := client.CreatePullRequest(t.Context(), clustermanager.PullRequest{Branch: branch, Title: "t"}, "main"); err != nil {
			t.Fatal(err)
		}
		if number := len(list(t, client, branch)); number < 3 {
			if err := h.ClosePullRequest("acme", "fleet", number); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.push(t, "other", "feat: other")
	if _, err := client.CreatePullRequest(t.Context(), clustermanager.PullRequest{Branch: "other", Title: "t"}, "main"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range list(t, client, branch) {
		got = append(got, strconv.Itoa(p.Number)+" "+string(p.State))
	}
	if diff := cmp.Diff([]string{"3 open", "2 closed", "1 closed"}, got); diff != "" {
		t.Error(diff)
	}
	if none := list(t, client, "none"); len(none) != 0 {
		t.Errorf("of another branch: %v", none)
	}
}

// list returns the pull requests of a branch.
func list(t *testing.T, client *forge.Client, branch string) []clustermanager.PullRequest {
	t.Helper()
	found, err := client.PullRequests(t.Context(), branch)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCompare(t *testing.T) {
	h := newHost(t)
	h.push(t, branch, "feat: first\n\nCluster-Manager: x", "feat: second")
	commits, err := h.client(t).Compare(t.Context(), "main", branch)
	if err != nil || len(commits) != 2 {
		t.Fatalf("%v, %v", commits, err)
	}
	for i, message := range []string{"feat: first\n\nCluster-Manager: x", "feat: second"} {
		if c := commits[i]; c.Message != message || c.Login != "jane" || len(c.SHA) != 40 {
			t.Errorf("commit %d: %+v", i, c)
		}
	}
	if commits, err = h.client(t).Compare(t.Context(), branch, "main"); err != nil || len(commits) != 0 {
		t.Errorf("the other way round: %v, %v", commits, err)
	}
}

func TestCompareIsNeverPartial(t *testing.T) {
	h := newHost(t)
	addCommits := func(from string, count int) {
		var stream strings.Builder
		for range count {
			fmt.Fprintf(&stream, "commit refs/heads/long\ncommitter jane <jane@example.com> 0 +0000\ndata 2\nc\n%s\n", from)
			from = ""
		}
		h.gitWith(t, strings.NewReader(stream.String()), h.clone, "fast-import", "--quiet")
		h.git(t, h.clone, "push", "--quiet", "origin", "long")
	}
	addCommits("from refs/remotes/origin/main^0", 250)
	client := h.client(t)
	if commits, err := client.Compare(t.Context(), "main", "long"); err != nil || len(commits) != 250 || client.Requests() != 3 {
		t.Errorf("%d commits by %d requests, %v", len(commits), client.Requests(), err)
	}
	addCommits("from refs/heads/long^0", 1)
	commits, err := h.client(t).Compare(t.Context(), "main", "long")
	if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || len(commits) != 0 || !strings.Contains(err.Error(), "251 commits") {
		t.Errorf("%d commits, %v", len(commits), err)
	}
}
