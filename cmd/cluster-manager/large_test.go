package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/fixtures/repos"
)

// Limits of a whole proposal in a repository of 10,000 files, beside the files that the proof builds.
const (
	mostBytesDown = 64 << 10
	mostAPICalls  = 5
	// mostGitRequests: capabilities, branch, commit, six levels of trees, two rounds of files, the new branch with what is
	// beside it, the folder above where nothing is, the push.
	mostGitRequests = 14
)

// meter counts what crosses the network: requests by kind, and the bytes of git's answers.
type meter struct {
	mutex     sync.Mutex
	api, git  int
	bytesDown int64
}

func (m *meter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if strings.Contains(request.URL.Path, "/api/v3/") {
		m.api++
		return response, nil
	}
	m.git++
	response.Body = &metered{ReadCloser: response.Body, meter: m}
	return response, nil
}

type metered struct {
	io.ReadCloser
	meter *meter
}

func (m *metered) Read(buffer []byte) (int, error) {
	n, err := m.ReadCloser.Read(buffer)
	m.meter.mutex.Lock()
	m.meter.bytesDown += int64(n)
	m.meter.mutex.Unlock()
	return n, err
}

// bareRepository puts a generated repository where a kept forge finds it.
func bareRepository(t testing.TB, path string, options repos.Options) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "--quiet", "--bare", "--initial-branch=main", path).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	command := exec.Command("git", "--git-dir", path, "fast-import", "--quiet")
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if err := repos.Generate(input, options); err != nil {
		t.Fatal(err)
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
}

// largeSnapshot is gazelle with wc1 in a directory of the generated repository.
func largeSnapshot(t *testing.T, clusterPath string) string {
	t.Helper()
	directory := t.TempDir()
	if err := os.CopyFS(directory, os.DirFS(filepath.Join("..", "..", "fixtures", "installations", "gazelle"))); err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(directory, "management", "default", "kustomization-clusters-wc1.yaml"),
		"path: ./management-clusters/gazelle/organizations/acme/workload-clusters/wc1/mapi", "path: ./"+clusterPath)
	replace(t, filepath.Join(directory, "management", "default", "gitrepository-fleet.yaml"), "github.com/acme/fleet", "github.com/acme/large")
	replace(t, filepath.Join(directory, "cluster-manager.yaml"), "repos: ../../repos", "repos: none")
	copyFixture(t, filepath.Join(directory, "charts"), "charts")
	replace(t, filepath.Join(directory, "cluster-manager.yaml"), "charts: ../../charts", "charts: charts")
	return directory
}

func replace(t testing.TB, path, old, replacement string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s lacks %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, replacement, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestProposalInALargeRepositoryFetchesWhatItNeeds(t *testing.T) {
	const cluster = 617
	keep := t.TempDir()
	bareRepository(t, filepath.Join(keep, "repos", "acme", "large.git"), repos.Options{Files: 10_000, Seed: 1})
	counted := &meter{}
	opened, err := openSnapshot(t.Context(), snapshotOptions{
		directory: largeSnapshot(t, repos.ClusterPath(cluster)), keep: keep, now: time.Now, transport: counted,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	}()
	client, err := opened.tools.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	arguments := json.RawMessage(`{"cluster":"wc1","name":"gpu-l4","serving":false,"mode":"commit"}`)
	result, err := client.Call(t.Context(), "create_node_pool", arguments, nil)
	if err != nil || result.Reason != "" {
		t.Fatalf("%v %s", err, result.Texts)
	}
	var answer clustermanager.WriteResult
	if err := json.Unmarshal([]byte(result.Texts[0]), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Commit == nil || answer.Commit.Number != 1 || !answer.Commit.Proof.Built {
		t.Fatalf("no proven pull request: %s", result.Texts[0])
	}
	t.Logf("fetched %d bytes in %d git requests, %d API calls", counted.bytesDown, counted.git, counted.api)
	// What the proof builds are this cluster's ten files of about 2 KB, and they are counted too: the limit holds anyway.
	if counted.bytesDown > mostBytesDown || counted.git > mostGitRequests || counted.api > mostAPICalls {
		t.Errorf("fetched %d bytes (most %d) in %d git requests (most %d), %d API calls (most %d)",
			counted.bytesDown, mostBytesDown, counted.git, mostGitRequests, counted.api, mostAPICalls)
	}

	counted.api, counted.git, counted.bytesDown = 0, 0, 0
	pushes := opened.forge.ReceivePacks()
	again, err := client.Call(t.Context(), "create_node_pool", arguments, nil)
	if err != nil || again.Reason != "" {
		t.Fatalf("%v %s", err, again.Texts)
	}
	if err := json.Unmarshal([]byte(again.Texts[0]), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Commit.Number != 1 || opened.forge.ReceivePacks() != pushes {
		t.Errorf("a re-run answered pull request %d and pushed %d times", answer.Commit.Number, opened.forge.ReceivePacks()-pushes)
	}
}
