package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
	"github.com/clustermanager/cluster-manager/mcptools"
)

func TestFaultsOfTheForge(t *testing.T) {
	t.Parallel()
	for name, test := range faultCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.run(t)
		})
	}
}

func (c faultCase) run(t *testing.T) {
	opened, client := openFaults(t, c.budget)
	plan := map[string]any{"cluster": "wc1", "name": "gpu-l4", "serving": false, "mode": "commit"}
	if c.earlier != nil {
		earlier := maps.Clone(plan)
		maps.Copy(earlier, c.earlier)
		if result := callFaults(t, client, earlier); result.Reason != "" {
			t.Fatalf("the earlier call: %s", result.Texts)
		}
	}
	token := opened.offline.Caller.GitHub.Token.Reveal()
	change(t, opened.forge, c.breaks)
	opened.forge.Inject(withToken(c.faults, token)...)
	result := callFaults(t, client, plan)
	if len(c.faults) > 0 && opened.forge.Met() == 0 {
		t.Error("no request met the fault")
	}
	text := strings.Join(result.Texts, "\n")
	if result.Reason != c.reason {
		t.Errorf("reason %q, want %q: %s", result.Reason, c.reason, text)
	}
	for _, words := range c.says {
		if !strings.Contains(text, words) {
			t.Errorf("%q is not in the answer: %s", words, text)
		}
	}
	for _, words := range append(slices.Clone(c.lacks), token) {
		if strings.Contains(text, words) {
			t.Errorf("%q is in the answer: %s", words, text)
		}
	}
	owner, name := c.repository()
	if commits := commitsOf(t, opened, owner, name); (commits != "") != c.pushed {
		t.Errorf("pushed: %q commits, want %t", commits, c.pushed)
	}
	if _, err := opened.forge.PullRequest(owner, name, 1); (err == nil) != c.opened {
		t.Errorf("opened: %v, want %t", err, c.opened)
	}

	change(t, opened.forge, c.mends)
	opened.forge.Inject()
	result = callFaults(t, client, plan)
	var answer clustermanager.WriteResult
	if result.Reason != "" || json.Unmarshal([]byte(result.Texts[0]), &answer) != nil || answer.Commit.Number != 1 {
		t.Errorf("the same call afterwards: %s", result.Texts)
	}
	if pull, err := opened.forge.PullRequest(owner, name, 1); err != nil || pull.State != clustermanager.PullRequestOpen {
		t.Errorf("the pull request: %v %v", pull, err)
	}
	if _, err := opened.forge.PullRequest(owner, name, 2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a second pull request: %v", err)
	}
	if commits := commitsOf(t, opened, owner, name); commits != "1" {
		t.Errorf("%q commits on the branch, want 1", commits)
	}
}

// withToken writes the token, which each installation makes anew, into the faults' messages.
func withToken(list []localforge.Fault, token string) []localforge.Fault {
	list = slices.Clone(list)
	for i := range list {
		list[i].Message = strings.ReplaceAll(list[i].Message, "${token}", token)
	}
	return list
}

func change(t *testing.T, forge *localforge.Forge, by func(*localforge.Forge) error) {
	t.Helper()
	if by == nil {
		return
	}
	if err := by(forge); err != nil {
		t.Fatal(err)
	}
}

// repository is where the pull request ends up.
func (c faultCase) repository() (owner, name string) {
	owner, name, found := strings.Cut(c.name, "/")
	if !found {
		return "acme", cmp.Or(c.name, "fleet")
	}
	return owner, name
}

// commitsOf counts the commits of the proposal's branch, "" where there is no branch.
func commitsOf(t *testing.T, opened *installation, owner, name string) string {
	t.Helper()
	command := exec.Command("git", "rev-list", "--count", "main.."+faultsBranch)
	command.Dir = filepath.Join(opened.scratch, "repos", owner, name+".git")
	output, err := command.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(output))
}

func openFaults(t *testing.T, budget string) (*installation, *mcptools.Client) {
	t.Helper()
	directory := filepath.Join("..", "..", "fixtures", "installations", "gazelle")
	if budget != "" {
		directory = filepath.Join(t.TempDir(), "gazelle")
		if err := os.CopyFS(directory, os.DirFS(filepath.Join("..", "..", "fixtures", "installations", "gazelle"))); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(directory, "repos"), os.DirFS(filepath.Join("..", "..", "fixtures", "repos"))); err != nil {
			t.Fatal(err)
		}
		replace(t, filepath.Join(directory, "cluster-manager.yaml"), "repos: ../../repos", "repos: repos\ncommit-budget: "+budget)
	}
	opened, err := openSnapshot(t.Context(), snapshotOptions{directory: directory, now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := opened.tools.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return opened, client
}

func callFaults(t *testing.T, client *mcptools.Client, arguments map[string]any) mcptools.Result {
	t.Helper()
	data, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	result, err := client.Call(t.Context(), "create_node_pool", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestTheTokenStaysWithItsHost sends requests on to another host, which must see no token of theirs.
func TestTheTokenStaysWithItsHost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path, location string
		reason         clustermanager.Reason
		says           string
	}{
		"git":     {advertisement, "/acme/fleet.git/info/refs?service=git-upload-pack", clustermanager.ReasonRefused, "where the sign-in is not valid: correct the URL in the GitRepository"},
		"the API": {rules, "/api/v3/rules", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opened, client := openFaults(t, "")
			token := opened.offline.Caller.GitHub.Token.Reveal()
			var seen atomic.Int64
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen.Add(1)
				if request, err := httputil.DumpRequest(r, true); err != nil || r.Header.Get("Authorization") != "" || strings.Contains(string(request), token) {
					t.Errorf("the other host saw %s (%v)", request, err)
				}
				_, _ = io.WriteString(w, "[]")
			}))
			t.Cleanup(other.Close)
			opened.forge.Inject(localforge.Fault{Status: http.StatusMovedPermanently, Header: map[string]string{"Location": other.URL + test.location}}.On("GET", test.path))
			result := callFaults(t, client, map[string]any{"cluster": "wc1", "name": "gpu-l4", "serving": false, "mode": "commit"})
			if text := strings.Join(result.Texts, "\n"); result.Reason != test.reason || !strings.Contains(text, test.says) || strings.Contains(text, token) {
				t.Errorf("%s: %s", result.Reason, text)
			}
			if wanted := test.reason == ""; opened.forge.Met() == 0 || seen.Load() > 0 != wanted {
				t.Errorf("%d requests were sent on, %d followed", opened.forge.Met(), seen.Load())
			}
		})
	}
}
