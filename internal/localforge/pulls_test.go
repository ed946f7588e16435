package localforge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
)

// api sends one request and returns the status, the decoded answer and its header.
func api(t *testing.T, forge *localforge.Forge, token clustermanager.Secret, method, path string, body any) (int, map[string]any, http.Header) {
	t.Helper()
	status, data, header := rawAPI(t, forge, token, method, path, body)
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, data)
	}
	return status, answer, header
}

func rawAPI(t *testing.T, forge *localforge.Forge, token clustermanager.Secret, method, path string, body any) (int, []byte, http.Header) {
	t.Helper()
	var payload []byte
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, forge.APIURL()+path, bytes.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	if !token.IsZero() {
		request.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("${")) {
		t.Errorf("%s %s: a template's name is left in %s", method, path, data)
	}
	return response.StatusCode, data, response.Header
}

const pulls = "/repos/acme/fleet/pulls"

// opened opens a pull request of a new branch with one file.
func opened(t *testing.T, forge *localforge.Forge, folder, branch string) {
	t.Helper()
	pushBranch(t, folder, branch, branch+".yaml", "kind: "+branch+"\n")
	status, answer, _ := api(t, forge, writer, http.MethodPost, pulls, map[string]any{"title": "feat: " + branch, "body": "why", "head": branch, "base": "main"})
	if status != http.StatusCreated {
		t.Fatalf("opening a pull request: %d %v", status, answer)
	}
}

func TestPullRequestIsAnswered(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	opened(t, forge, folder, "topic")
	status, answer, _ := api(t, forge, reader, http.MethodGet, pulls+"/1", nil)
	head := mustGit(t, folder, "rev-parse", "topic")
	got := map[string]any{"status": status}
	for _, key := range []string{"number", "state", "title", "body", "merged", "mergeable", "merged_at", "html_url", "changed_files", "additions", "commits", "created_at"} {
		got[key] = answer[key]
	}
	got["head"] = answer["head"].(map[string]any)["sha"]
	got["label"] = answer["head"].(map[string]any)["label"]
	got["login"] = answer["user"].(map[string]any)["login"]
	want := map[string]any{
		"status": 200, "number": 1.0, "state": "open", "title": "feat: topic", "body": "why", "merged": false, "mergeable": nil, "merged_at": nil,
		"html_url": forge.URL() + "/acme/fleet/pull/1", "changed_files": 1.0, "additions": 1.0, "commits": 1.0, "created_at": "2026-03-01T12:00:00Z",
		"head": head, "label": "acme:topic", "login": "writer",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	opened(t, forge, folder, "topic")
	mustGit(t, folder, "push", "--quiet", "origin", "origin/main:refs/heads/same")
	for _, test := range []struct {
		name   string
		token  clustermanager.Secret
		body   map[string]any
		status int
		words  string
	}{
		{"a second one", writer, map[string]any{"title": "t", "head": "topic", "base": "main"}, 422, "A pull request already exists for acme:topic."},
		{"with the owner", writer, map[string]any{"title": "t", "head": "acme:topic", "base": "main"}, 422, "A pull request already exists for acme:topic."},
		{"nothing in it", writer, map[string]any{"title": "t", "head": "same", "base": "main"}, 422, "No commits between main and same"},
		{"no such head", writer, map[string]any{"title": "t", "head": "absent", "base": "main"}, 422, `"field":"head"`},
		{"another owner's head", writer, map[string]any{"title": "t", "head": "other:topic", "base": "main"}, 422, `"field":"head"`},
		{"no such base", writer, map[string]any{"title": "t", "head": "same", "base": "absent"}, 422, `"field":"base"`},
		{"a base that is a pattern", writer, map[string]any{"title": "t", "head": "same", "base": "m*"}, 422, `"field":"base"`},
		{"no title", writer, map[string]any{"head": "topic", "base": "main"}, 422, `"field":"title"`},
		{"no push rights", reader, map[string]any{"title": "t", "head": "topic", "base": "main"}, 403, "Resource not accessible by integration"},
		{"unknown token", clustermanager.NewSecret("unknown-made-for-this-test"), nil, 401, "Bad credentials"},
		{"no token", clustermanager.Secret{}, nil, 401, "Requires authentication"},
		{"no body", writer, nil, 400, "Problems parsing JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var body any
			if test.body != nil {
				body = test.body
			}
			status, data, _ := rawAPI(t, forge, test.token, http.MethodPost, pulls, body)
			if status != test.status || !strings.Contains(string(data), test.words) || !strings.Contains(string(data), "documentation_url") {
				t.Errorf("%d %s, want %d with %s", status, data, test.status, test.words)
			}
		})
	}
	if _, err := forge.PullRequest("acme", "fleet", 2); err == nil {
		t.Error("a second pull request was opened")
	}
}

func TestListing(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	for _, branch := range []string{"a", "b", "c"} {
		opened(t, forge, folder, branch)
	}
	if err := forge.ClosePullRequest("acme", "fleet", 1); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][]float64{
		"": {3, 2}, "?state=all": {3, 2, 1}, "?state=closed": {1}, "?state=all&direction=asc": {1, 2, 3}, "?head=acme:b": {2},
		"?head=other:b": {}, "?head=b": {3, 2}, "?base=other": {}, "?state=all&per_page=2": {3, 2}, "?state=all&per_page=2&page=2": {1},
	} {
		_, data, header := rawAPI(t, forge, reader, http.MethodGet, pulls+query, nil)
		var list []struct{ Number float64 }
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatal(err)
		}
		got := []float64{}
		for _, p := range list {
			got = append(got, p.Number)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
		if linked := header.Get("Link") != ""; linked != (query == "?state=all&per_page=2") {
			t.Errorf("%s: Link %q", query, header.Get("Link"))
		}
	}
}

func TestEditCloseReopen(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	opened(t, forge, folder, "topic")
	edit := func(body map[string]any, status int) {
		t.Helper()
		if got, answer, _ := api(t, forge, writer, http.MethodPatch, pulls+"/1", body); got != status {
			t.Fatalf("%v: %d %v, want %d", body, got, answer, status)
		}
	}
	edit(map[string]any{"title": "new"}, 200)
	edit(map[string]any{"body": ""}, 200)
	got, err := forge.PullRequest("acme", "fleet", 1)
	if err != nil || got.Title != "new" || got.Body != "" || got.State != clustermanager.PullRequestOpen {
		t.Errorf("after editing: %+v, %v", got, err)
	}
	edit(map[string]any{"state": "closed"}, 200)
	if got, _ = forge.PullRequest("acme", "fleet", 1); got.State != clustermanager.PullRequestClosed {
		t.Errorf("after closing: %+v", got)
	}
	edit(map[string]any{"state": "open"}, 200)
	if err := forge.DeleteBranch("acme", "fleet", "topic"); err != nil {
		t.Fatal(err)
	}
	if got, _ = forge.PullRequest("acme", "fleet", 1); got.State != clustermanager.PullRequestClosed {
		t.Errorf("after deleting the branch: %+v", got)
	}
	edit(map[string]any{"state": "open"}, 422)
}

func TestMerging(t *testing.T) {
	for method, parents := range map[string]int{"": 2, "merge": 2, "squash": 1} {
		t.Run("method "+method, func(t *testing.T) {
			forge := newForge(t, localforge.Options{})
			folder := clone(t, forge)
			opened(t, forge, folder, "topic")
			opened(t, forge, folder, "second")
			if status, answer, _ := api(t, forge, reader, http.MethodPut, pulls+"/1/merge", nil); status != http.StatusForbidden {
				t.Errorf("a reader merges: %d %v", status, answer)
			}
			if status, answer, _ := api(t, forge, writer, http.MethodPut, pulls+"/1/merge", map[string]any{"sha": "0"}); status != http.StatusConflict {
				t.Errorf("another head: %d %v", status, answer)
			}
			for _, number := range []string{"1", "2"} {
				if status, answer, _ := api(t, forge, writer, http.MethodPut, pulls+"/"+number+"/merge", map[string]any{"merge_method": method}); status != 200 {
					t.Fatalf("merging %s: %d %v", number, status, answer)
				}
			}
			mustGit(t, folder, "fetch", "--quiet")
			if got := strings.Count(mustGit(t, folder, "rev-list", "--parents", "-1", "origin/main"), " "); got != parents {
				t.Errorf("%d parents, want %d", got, parents)
			}
			for _, file := range []string{"topic.yaml", "second.yaml"} {
				if _, err := forge.File("acme", "fleet", "main", file); err != nil {
					t.Error(err)
				}
			}
			if status, answer, _ := api(t, forge, writer, http.MethodPut, pulls+"/1/merge", nil); status != http.StatusMethodNotAllowed {
				t.Errorf("merging twice: %d %v", status, answer)
			}
			diff, err := forge.Diff("acme", "fleet", 2)
			if err != nil || !strings.Contains(diff, "+kind: second") || strings.Contains(diff, "topic") {
				t.Errorf("the diff of what was merged: %v\n%s", err, diff)
			}
		})
	}
}

func TestConflictIsNotMerged(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	pushBranch(t, folder, "a", "README.md", "a\n")
	pushBranch(t, folder, "b", "README.md", "b\n")
	for _, branch := range []string{"a", "b"} {
		api(t, forge, writer, http.MethodPost, pulls, map[string]any{"title": branch, "head": branch, "base": "main"})
	}
	if err := forge.Merge("acme", "fleet", 1); err != nil {
		t.Fatal(err)
	}
	if err := forge.Merge("acme", "fleet", 2); err == nil || !strings.Contains(err.Error(), "not mergeable") {
		t.Errorf("a conflict: %v", err)
	}
	if content, _ := forge.File("acme", "fleet", "main", "README.md"); string(content) != "a\n" {
		t.Errorf("main holds %q", content)
	}
	if got, _ := forge.PullRequest("acme", "fleet", 2); got.State != clustermanager.PullRequestOpen {
		t.Errorf("after the conflict: %+v", got)
	}
}

func TestAPushMayMerge(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	opened(t, forge, folder, "topic")
	mustGit(t, folder, "push", "--quiet", "origin", "topic:main")
	if got, err := forge.PullRequest("acme", "fleet", 1); err != nil || got.State != clustermanager.PullRequestMerged {
		t.Errorf("after pushing the head to the base: %+v, %v", got, err)
	}
}

func TestStateSurvives(t *testing.T) {
	options := localforge.Options{Repositories: t.TempDir(), State: filepath.Join(t.TempDir(), "kept", "forge.json")}
	first := newForge(t, options)
	folder := clone(t, first)
	opened(t, first, folder, "a")
	opened(t, first, folder, "b")
	opened(t, first, folder, "c")
	if err := errors.Join(first.Merge("acme", "fleet", 1), first.ClosePullRequest("acme", "fleet", 2), first.Close()); err != nil {
		t.Fatal(err)
	}
	second := newForge(t, options)
	for number, want := range map[int]clustermanager.PullRequestState{1: clustermanager.PullRequestMerged, 2: clustermanager.PullRequestClosed, 3: clustermanager.PullRequestOpen} {
		before, err := first.PullRequest("acme", "fleet", number)
		after, errAfter := second.PullRequest("acme", "fleet", number)
		if diff := cmp.Diff(before, after); diff != "" && err == nil || errAfter != nil || after.State != want {
			t.Errorf("pull request %d: %v %s, want %s: %s", number, errAfter, after.State, want, diff)
		}
	}
	mustGit(t, folder, "remote", "set-url", "origin", second.CloneURL("acme", "fleet"))
	opened(t, second, folder, "d")
	if got, err := second.PullRequest("acme", "fleet", 4); err != nil || got.Branch != "d" {
		t.Errorf("the next pull request: %+v, %v", got, err)
	}
	data, err := os.ReadFile(options.State)
	if err != nil || bytes.Contains(data, []byte(writer.Reveal())) {
		t.Errorf("the state file: %v, holds a token: %t", err, bytes.Contains(data, []byte(writer.Reveal())))
	}
	if entries, _ := os.ReadDir(filepath.Dir(options.State)); len(entries) != 1 {
		t.Errorf("beside the state file: %v", entries)
	}
}

func TestABrokenStateFileIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "forge.json")
	writeFile(t, path, "{")
	if _, err := localforge.New(t.Context(), localforge.Options{Repositories: t.TempDir(), State: path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a broken state file: %v", err)
	}
}

func TestOtherEndpoints(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	pushBranch(t, folder, "topic/one", "one", "1")
	forge.SetRules("acme", "fleet", []localforge.Rule{
		{Pattern: "topic/*", Type: "branch_name_pattern", Parameters: map[string]any{"operator": "contains", "pattern": "o"}}, {Pattern: "main", Type: "deletion"},
	})
	forge.SetInstalled("acme", "fleet", true)
	for _, test := range []struct {
		path   string
		status int
		words  []string
	}{
		{"/user", 200, []string{`"login":"writer"`, `"name":"W. Riter"`, `"email":null`, `"id":7`}},
		{"/repos/acme/fleet", 200, []string{`"full_name":"acme/fleet"`, `"default_branch":"main"`, `"push":true`}},
		{"/repos/acme/fleet/rules/branches/topic%2Fone", 200, []string{`"type":"branch_name_pattern"`, `"operator":"contains"`}},
		{"/repos/acme/fleet/rules/branches/main", 200, []string{`"type":"deletion"`}},
		{"/repos/acme/fleet/rules/branches/topic/one", 404, []string{"Not Found"}},
		{"/repos/acme/fleet/git/ref/heads/topic/one", 200, []string{`"ref":"refs/heads/topic/one"`}},
		{"/repos/acme/fleet/git/ref/heads/topic", 404, []string{"Not Found"}},
		{"/repos/acme/fleet/compare/main...topic%2Fone", 200, []string{`"status":"ahead"`, `"total_commits":1`, `"message":"feat: one"`, `"login":"writer"`}},
		{"/repos/acme/fleet/compare/topic/one...main", 200, []string{`"status":"behind"`, `"commits":[]`}},
		{"/repos/acme/fleet/compare/main...absent", 404, []string{"Not Found"}},
		{"/repos/acme/fleet/pulls/1", 404, []string{"Not Found"}},
		{"/repos/acme/absent", 404, []string{"Not Found"}},
	} {
		status, data, _ := rawAPI(t, forge, writer, http.MethodGet, test.path, nil)
		for _, words := range test.words {
			if status != test.status || !bytes.Contains(data, []byte(words)) {
				t.Errorf("GET %s: %d, want %d with %s in %s", test.path, status, test.status, words, data)
			}
		}
	}
	forge.SetInstalled("acme", "fleet", false)
	if status, answer, _ := api(t, forge, writer, http.MethodGet, pulls, nil); status != 404 || answer["message"] != "Not Found" || answer["status"] != "404" {
		t.Errorf("not installed: %d %v", status, answer)
	}
}
