package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// scene is an installation of fixtures with everything around it watched: the product speaks to a forge of the test's
// through a wire, reads the API server through another, writes its temporary files into a watched folder, logs into a
// sink, and answers a client over HTTP.
type scene struct {
	// root holds everything of the scene: snapshot and repositories are copies of the fixtures, kept is where the bare
	// repositories and pull requests are.
	root, snapshot, repositories, kept string

	forge      *localforge.Forge
	opened     *installation
	client     *mcptools.Client
	git, api   *wire
	answers    *sink
	log        *sink
	progress   []string
	temporary  *temporary
	forgeToken string
}

// newScene opens a copy of the fixtures after the edits.
func newScene(t *testing.T, edits ...func(t *testing.T, s *scene)) *scene {
	t.Helper()
	root, scratch := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", scratch)
	s := &scene{
		root: root, snapshot: filepath.Join(root, "snapshot"), repositories: filepath.Join(root, "trees"), kept: filepath.Join(root, "kept"),
		git: &wire{}, api: &wire{}, answers: &sink{}, log: &sink{}, forgeToken: "ghu_" + "madeForTheTest0123456789",
	}
	copyFixture(t, s.snapshot, "installations", "gazelle")
	copyFixture(t, s.repositories, "repos")
	copyFixture(t, filepath.Join(root, "charts"), "charts")
	replace(t, filepath.Join(s.snapshot, "cluster-manager.yaml"), "repos: ../../repos", "repos: ../trees")
	replace(t, filepath.Join(s.snapshot, "cluster-manager.yaml"), "charts: ../../charts", "charts: ../charts")
	for _, edit := range edits {
		edit(t, s)
	}
	s.startForge(t)
	s.open(t)
	s.temporary = watchTemporary(t, scratch)
	return s
}

func copyFixture(t *testing.T, to string, elements ...string) {
	t.Helper()
	from := filepath.Join(append([]string{"..", "..", "fixtures"}, elements...)...)
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func (s *scene) startForge(t *testing.T) {
	t.Helper()
	var err error
	s.forge, err = localforge.Start(t.Context(), localforge.Options{
		Repositories: filepath.Join(s.kept, "repos"), State: filepath.Join(s.kept, "forge.json"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.forge.Close() })
	s.forge.AddUser(localforge.User{Login: "jane", Email: "jane@acme.example", ID: 1, Token: clustermanager.NewSecret(s.forgeToken), Push: true})
	trees, err := filepath.Glob(filepath.Join(s.repositories, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range trees {
		if info, err := os.Stat(tree); err != nil || !info.IsDir() {
			continue
		}
		if err := s.forge.Import(filepath.Base(filepath.Dir(tree)), filepath.Base(tree), tree); err != nil {
			t.Fatal(err)
		}
	}
}

// open opens the installation and connects a client, over HTTP as a person's would be.
func (s *scene) open(t *testing.T) {
	t.Helper()
	var err error
	s.opened, err = openSnapshot(t.Context(), snapshotOptions{
		directory: s.snapshot, now: time.Now, transport: s.git,
		log:     slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		forge:   &outsideForge{addresses: s.forge, token: clustermanager.NewSecret(s.forgeToken)},
		through: func(address string) string { return proxied(t, address, s.api) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.opened.Close(); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(copied(s.opened.tools.Handler("/mcp"), s.answers))
	t.Cleanup(server.Close)
	if s.client, err = mcptools.Dial(t.Context(), server.URL+"/mcp", version); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.client.Close() })
}

// arguments of create_node_pool for a pool without serving in mode commit, and what else is given.
func poolArguments(cluster, name string, more map[string]any) map[string]any {
	arguments := map[string]any{"cluster": cluster, "name": name, "serving": false, "mode": "commit"}
	maps.Copy(arguments, more)
	return arguments
}

// pool calls create_node_pool.
func (s *scene) pool(t *testing.T, cluster, name string, more map[string]any) mcptools.Result {
	t.Helper()
	data, err := json.Marshal(poolArguments(cluster, name, more))
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.client.Call(t.Context(), "create_node_pool", data, func(step string) { s.progress = append(s.progress, step) })
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// created calls create_node_pool and wants it done.
func (s *scene) created(t *testing.T, cluster, name string, more map[string]any) clustermanager.WriteResult {
	t.Helper()
	result := s.pool(t, cluster, name, more)
	if result.Reason != "" {
		t.Fatalf("%s of %s: %s: %s", name, cluster, result.Reason, result.Texts)
	}
	return readAnswer(t, result)
}

func readAnswer(t *testing.T, result mcptools.Result) clustermanager.WriteResult {
	t.Helper()
	var answer clustermanager.WriteResult
	if err := json.Unmarshal([]byte(result.Texts[0]), &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// bare are the bare repositories of the forge.
func (s *scene) bare(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.kept, "repos", "*", "*.git"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// git runs a git command in a repository of the forge.
func (s *scene) gitIn(t *testing.T, repository string, arguments ...string) string {
	t.Helper()
	return gitAt(t, filepath.Join(s.kept, "repos", repository+".git"), arguments...)
}

func gitAt(t *testing.T, repository string, arguments ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"--git-dir", repository}, arguments...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(arguments, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// pullRequest is what the forge keeps of a pull request.
type pullRequest struct {
	Number        int
	Head, HeadSHA string
	Title, Body   string
	Closed        bool
}

// pullRequests are those of each repository.
func (s *scene) pullRequests(t *testing.T) map[string][]pullRequest {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.kept, "forge.json"))
	if os.IsNotExist(err) {
		return nil
	}
	var state struct{ PullRequests map[string][]pullRequest }
	if err := errors.Join(err, json.Unmarshal(data, &state)); err != nil {
		t.Fatal(err)
	}
	return state.PullRequests
}

// written is everything that a call could have written: each branch, and the pull requests but for the commits that the
// forge looks up when it is asked.
func (s *scene) written(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, repository := range s.bare(t) {
		all.WriteString(repository + "\n" + gitAt(t, repository, "for-each-ref") + "\n")
	}
	requests := s.pullRequests(t)
	for _, repository := range slices.Sorted(maps.Keys(requests)) {
		for _, request := range requests[repository] {
			request.HeadSHA = ""
			fmt.Fprintf(&all, "%s %+v\n", repository, request)
		}
	}
	return all.String()
}

// refused calls create_node_pool and wants a refusal of the class that holds the words, on one line, with nothing
// pushed and nothing opened.
func (s *scene) refused(t *testing.T, cluster, name string, more map[string]any, reason clustermanager.Reason, words ...string) mcptools.Result {
	t.Helper()
	before, pushes := s.written(t), s.forge.ReceivePacks()
	result := s.pool(t, cluster, name, more)
	if result.Reason != reason {
		t.Errorf("%s of %s: class %q, want %q: %s", name, cluster, result.Reason, reason, result.Texts)
	}
	for _, word := range words {
		if !strings.Contains(result.Texts[0], word) {
			t.Errorf("%s of %s: the sentence lacks %q:\n%s", name, cluster, word, result.Texts[0])
		}
	}
	if strings.ContainsAny(result.Texts[0], "\n\r\t") {
		t.Errorf("more than one line: %q", result.Texts[0])
	}
	if pushed := s.forge.ReceivePacks() - pushes; pushed > 0 {
		t.Errorf("%d pushes", pushed)
	}
	if after := s.written(t); after != before {
		t.Errorf("something was written:\n%s\nbefore:\n%s", after, before)
	}
	return result
}
