package forge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-github/v62/github"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/githubapi"
	"github.com/clustermanager/cluster-manager/internal/localforge"
)

// The library's own types read what the local forge answers beside the calls of this package.
func TestTheLibraryReadsTheLocalForge(t *testing.T) {
	h := newHost(t)
	h.push(t, branch, "feat: pool")
	api := github.NewClient(&http.Client{Transport: githubapi.Transport(t, http.DefaultTransport)}).WithAuthToken(token.Reveal())
	root, err := api.BaseURL.Parse(h.APIURL() + "/")
	if err != nil {
		t.Fatal(err)
	}
	api.BaseURL = root
	if repository, _, err := api.Repositories.Get(t.Context(), "acme", "fleet"); err != nil || repository.GetFullName() != "acme/fleet" || repository.GetDefaultBranch() != "main" || !repository.GetPermissions()["push"] {
		t.Errorf("repository: %v, %v", repository, err)
	}
	reference, _, err := api.Git.GetRef(t.Context(), "acme", "fleet", "heads/"+branch)
	if err != nil || reference.GetRef() != "refs/heads/"+branch {
		t.Fatalf("reference: %v, %v", reference, err)
	}
	if _, err := h.client(t).CreatePullRequest(t.Context(), request(), "main"); err != nil {
		t.Fatal(err)
	}
	pull, _, err := api.PullRequests.Get(t.Context(), "acme", "fleet", 1)
	if err != nil || pull.GetHead().GetSHA() != reference.GetObject().GetSHA() || pull.GetCommits() != 1 || pull.GetUser().GetLogin() != "jane" || pull.GetMerged() {
		t.Errorf("pull request: %v, %v", pull, err)
	}
	result, _, err := api.PullRequests.Merge(t.Context(), "acme", "fleet", 1, "", &github.PullRequestOptions{MergeMethod: "squash", SHA: reference.GetObject().GetSHA()})
	if err != nil || !result.GetMerged() {
		t.Fatalf("merging: %v, %v", result, err)
	}
	if pull, _, err = api.PullRequests.Get(t.Context(), "acme", "fleet", 1); err != nil || !pull.GetMerged() || pull.GetMergeCommitSHA() != result.GetSHA() || pull.GetMergedBy().GetLogin() != "jane" {
		t.Errorf("the merged pull request: %v, %v", pull, err)
	}
	if main, _, err := api.Git.GetRef(t.Context(), "acme", "fleet", "heads/main"); err != nil || main.GetObject().GetSHA() != result.GetSHA() {
		t.Errorf("main: %v, %v", main, err)
	}
}

// What a person meets on a real host: no right to write, no App on the repository, a token that is not known.
func TestRefusalsOfTheLocalForge(t *testing.T) {
	h := newHost(t)
	h.push(t, branch, "feat: pool")
	readerToken := clustermanager.NewSecret("reader-token-made-for-this-test")
	h.AddUser(localforge.User{Login: "joe", ID: 8, Token: readerToken})
	reader := h.clientOf(t, readerToken)
	stranger := h.clientOf(t, clustermanager.NewSecret("nobody-made-for-this-test"))
	expect := func(err error, words string) {
		t.Helper()
		if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
	expect(operations["create"](t.Context(), reader), "needs the permission pull_requests=write")
	expect(operations["user"](t.Context(), stranger), "connect GitHub where you signed in")
	same := request()
	same.Branch = "same"
	h.push(t, "same")
	_, err := h.client(t).CreatePullRequest(t.Context(), same, "main")
	expect(err, "No commits between main and same")
	_, err = h.client(t).CreatePullRequest(t.Context(), request(), "absent")
	expect(err, "the base branch does not exist")
	h.SetInstalled("acme", "fleet", false)
	for name, call := range operations {
		if name != "user" {
			expect(call(t.Context(), h.client(t)), "is not installed on acme/fleet")
		}
	}
	if _, err := h.PullRequest("acme", "fleet", 1); err == nil {
		t.Error("a refused call opened a pull request")
	}
}

func request() clustermanager.PullRequest {
	return clustermanager.PullRequest{Branch: branch, Title: "feat(wc1): add GPU node pool gpu", Body: "why\n"}
}
