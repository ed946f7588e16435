package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/githubapi"
	"github.com/clustermanager/cluster-manager/internal/localforge"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// recorded keeps method and path of each API request, without branches and numbers.
type recorded struct {
	next  http.RoundTripper
	mutex sync.Mutex
	calls []string
}

var ownNames = regexp.MustCompile(`(/compare|/rules/branches|/pulls)/.+`)

func (r *recorded) RoundTrip(request *http.Request) (*http.Response, error) {
	if path, isAPI := strings.CutPrefix(request.URL.Path, "/api/v3"); isAPI {
		r.mutex.Lock()
		r.calls = append(r.calls, request.Method+" "+ownNames.ReplaceAllString(path, "$1/…"))
		r.mutex.Unlock()
	}
	return r.next.RoundTrip(request)
}

// taken returns the calls since the last time, each once and in the order of their names.
func (r *recorded) taken() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	calls := r.calls
	r.calls = nil
	slices.Sort(calls)
	return slices.Compact(calls)
}

// GitHub's own description reads along while one pool's pull request is opened, found again, changed and refused.
func TestGitHubDescribesEveryRequestOfAProposal(t *testing.T) {
	githubapi.ForTest(t)
	traffic := &recorded{next: githubapi.Transport(t, http.DefaultTransport)}
	opened, client := openJudged(t, traffic)
	call := func(arguments string) (answer clustermanager.WriteResult, refused string) {
		t.Helper()
		result, err := client.Call(t.Context(), "create_node_pool", json.RawMessage(arguments), nil)
		if err != nil {
			t.Fatal(err)
		}
		if result.Reason != "" {
			return answer, string(result.Reason) + ": " + result.Texts[0]
		}
		if err := json.Unmarshal([]byte(result.Texts[0]), &answer); err != nil {
			t.Fatal(err)
		}
		return answer, ""
	}
	const pool = `{"cluster":"wc1","name":"gpu-l4","serving":false,"mode":"commit"}`
	const larger = `{"cluster":"wc1","name":"gpu-l4","serving":false,"mode":"commit","maxGpus":16,"chartVersion":"0.1.1"}`
	const another = `{"cluster":"wc1","name":"gpu-more","serving":false,"mode":"commit"}`
	const repository = "/repos/acme/fleet"
	reads := []string{"GET " + repository + "/pulls", "GET " + repository + "/rules/branches/…", "GET /user"}
	for _, step := range []struct {
		name, arguments string
		before          func()
		pushes          int
		refused         string
		calls           []string
	}{
		{"opened", pool, nil, 1, "", append(reads, "POST "+repository+"/pulls")},
		{"found again", pool, nil, 0, "", append(reads, "GET "+repository+"/compare/…")},
		{"changed", larger, nil, 1, "", append(reads, "GET "+repository+"/compare/…", "PATCH "+repository+"/pulls/…")},
		{"refused by a rule", another, func() {
			opened.forge.SetRules("acme", "fleet", []localforge.Rule{{Pattern: "cluster-manager/**", Type: "creation"}})
		}, 0, "refused: ", reads},
		{"refused without the App", another, func() { opened.forge.SetInstalled("acme", "fleet", false) }, 0, "refused: ", []string{"GET /user"}},
	} {
		if step.before != nil {
			step.before()
		}
		pushed := opened.forge.ReceivePacks()
		answer, refused := call(step.arguments)
		t.Logf("%s: %s", step.name, refused)
		if !strings.HasPrefix(refused, step.refused) || (refused == "") != (step.refused == "") {
			t.Errorf("%s: %q, want %q", step.name, refused, step.refused)
		}
		if refused == "" && (answer.Commit == nil || answer.Commit.Number != 1) {
			t.Errorf("%s: not pull request 1: %+v", step.name, answer.Commit)
		}
		if pushes := opened.forge.ReceivePacks() - pushed; pushes != step.pushes {
			t.Errorf("%s: %d pushes, want %d", step.name, pushes, step.pushes)
		}
		calls := traffic.taken()
		slices.Sort(step.calls)
		if diff := cmp.Diff(step.calls, calls); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", step.name, diff)
		}
	}
}

// openJudged is gazelle with its own traffic to watch, and a client of it.
func openJudged(t *testing.T, traffic http.RoundTripper) (*installation, *mcptools.Client) {
	t.Helper()
	opened, err := openSnapshot(t.Context(), snapshotOptions{
		directory: filepath.Join("..", "..", "fixtures", "installations", "gazelle"), keep: t.TempDir(), now: time.Now, transport: traffic,
	})
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
	t.Cleanup(func() { _ = client.Close() })
	return opened, client
}
