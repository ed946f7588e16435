package mcptools

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/githubapi"
	"github.com/clustermanager/cluster-manager/internal/localforge"
)

var changesToken = clustermanager.NewSecret("user-token-made-for-this-test")

// manyChanges is a forge whose repository acme/fleet has many pull requests: of each number, what the branch is called
// and whether it is merged. All have the same commit, whose trailer is of gazelle/wc1/gpu.
func manyChanges(t *testing.T, count int, branch func(number int) (name string, merged bool)) (*localforge.Forge, *changeReader) {
	t.Helper()
	folder, tree := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "README.md"), []byte("fleet\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	options := localforge.Options{Repositories: filepath.Join(folder, "repos"), State: filepath.Join(folder, "forge.json")}
	first, err := localforge.New(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Import("acme", "fleet", tree); err != nil {
		t.Fatal(err)
	}
	repository := filepath.Join(folder, "repos", "acme", "fleet.git")
	base := gitIn(t, repository, "rev-parse", "main")
	head := gitIn(t, repository, "commit-tree", base+"^{tree}", "-p", base, "-m", "feat(wc1): add GPU node pool gpu\n\nCluster-Manager: create_node_pool gazelle/wc1/gpu")
	var pulls []map[string]any
	for number := 1; number <= count; number++ {
		name, merged := branch(number)
		pull := map[string]any{
			"number": number, "url": "http://127.0.0.1/acme/fleet/pull/1", "title": "feat", "head": name, "headSHA": head, "base": "main", "baseSHA": base,
			"author": map[string]any{"login": "jane", "id": 7}, "createdAt": "2026-03-01T12:00:00Z", "updatedAt": "2026-03-01T12:00:00Z",
		}
		if merged {
			pull["closed"], pull["closedAt"], pull["mergedAt"], pull["mergeCommitSHA"] = true, "2026-03-02T12:00:00Z", "2026-03-02T12:00:00Z", head
		} else {
			gitIn(t, repository, "update-ref", "refs/heads/"+name, head)
		}
		pulls = append(pulls, pull)
	}
	state, err := json.Marshal(map[string]any{"pullRequests": map[string]any{"acme/fleet": pulls}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(options.State, state, 0o600); err != nil {
		t.Fatal(err)
	}
	forge, err := localforge.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = forge.Close() })
	forge.AddUser(localforge.User{Login: "jane", ID: 7, Token: changesToken})
	settings := clustermanager.DefaultSettings()
	settings.Installation = "gazelle"
	return forge, &changeReader{
		context: t.Context(), tools: &Tools{options: Options{Settings: settings, Transport: githubapi.Transport(t, http.DefaultTransport)}},
		call:      Call{Caller: clustermanager.Caller{GitHub: &clustermanager.GitHubIdentity{Token: changesToken}}},
		followers: []clustermanager.Follower{{Target: clustermanager.Target{Repository: clustermanager.GitRepository{Owner: "acme", Name: "fleet", Branch: "main", APIURL: forge.APIURL()}}}},
	}
}

func gitIn(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	settings := []string{"-c", "user.name=jane", "-c", "user.email=jane@acme.example", "-c", "core.fsync=none", "--git-dir", folder}
	output, err := exec.CommandContext(t.Context(), "git", append(settings, arguments...)...).Output()
	if err != nil {
		t.Fatalf("git %v: %v", arguments, err)
	}
	return strings.TrimSpace(string(output))
}

// everyPage follows the cursor to its end and returns the numbers of each answer.
func everyPage(t *testing.T, reader *changeReader, request listChangesRequest) (pages [][]int) {
	t.Helper()
	for range 20 {
		search, err := reader.search(request)
		if err != nil {
			t.Fatal(err)
		}
		found, cursor, err := search.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		numbers := []int{}
		for _, change := range found {
			numbers = append(numbers, change.pull.Number)
		}
		if pages = append(pages, numbers); cursor == "" {
			return pages
		}
		request.Cursor = cursor
	}
	t.Fatal("the cursor does not end")
	return nil
}

// Of a long history a call looks through five hundred, says that it is not all, and goes on from there; what a new pull
// request moves to the next page is not answered twice.
func TestALongHistoryIsLookedThroughInParts(t *testing.T) {
	t.Parallel()
	ours := []int{3, 250, 640, 650}
	forge, reader := manyChanges(t, 700, func(number int) (string, bool) {
		if slices.Contains(ours, number) {
			return "cluster-manager/gazelle/add-wc1-gpu", true
		}
		return fmt.Sprintf("feature/%d", number), true
	})
	request := listChangesRequest{Repository: "acme/fleet", State: "merged"}
	if diff := cmp.Diff([][]int{{650, 640, 250}, {3}}, everyPage(t, reader, request)); diff != "" {
		t.Error(diff)
	}
	if lists := countOf(forge, "/pulls"); lists != 7 {
		t.Errorf("%d pages were read for 700 pull requests", lists)
	}
	if len(reader.notes) != 1 || !strings.Contains(reader.notes[0], "500 pull requests were looked through") {
		t.Errorf("notes: %q", reader.notes)
	}
	request.Limit = 1
	if diff := cmp.Diff([][]int{{650}, {640}, {250}, {3}}, dropEmpty(everyPage(t, reader, request))); diff != "" {
		t.Error(diff)
	}
	request.Cluster = "wc2"
	if pages := dropEmpty(everyPage(t, reader, request)); pages != nil {
		t.Errorf("another cluster's: %v", pages)
	}
}

// Open ones are found by their branches: however many pull requests of others are open, none of them is read.
func TestOpenChangesAreFoundByTheirBranches(t *testing.T) {
	t.Parallel()
	forge, reader := manyChanges(t, 60, func(number int) (string, bool) {
		if number%10 == 0 {
			return fmt.Sprintf("cluster-manager/gazelle/add-wc1-gpu-%02d", number), false
		}
		return fmt.Sprintf("feature/%d", number), false
	})
	request := listChangesRequest{Repository: "acme/fleet", Limit: 4}
	if diff := cmp.Diff([][]int{{10, 20, 30, 40}, {50, 60}}, everyPage(t, reader, request)); diff != "" {
		t.Error(diff)
	}
	if lists := countOf(forge, "/pulls"); lists != 6 {
		t.Errorf("%d lists of pull requests for 6 branches of ours", lists)
	}
	request.Cursor = "bm90aGluZwo"
	if _, err := reader.search(request); clustermanager.ReasonOf(err) != clustermanager.ReasonInvalidArguments {
		t.Errorf("a made-up cursor: %v", err)
	}
	if _, err := reader.search(listChangesRequest{Repository: "acme/elsewhere"}); clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
		t.Errorf("a repository that nothing follows: %v", err)
	}
}

func countOf(forge *localforge.Forge, suffix string) int {
	count := 0
	for _, request := range forge.Requests() {
		if strings.HasSuffix(request.Path, suffix) {
			count++
		}
	}
	return count
}

func dropEmpty(pages [][]int) (left [][]int) {
	for _, page := range pages {
		if len(page) > 0 {
			left = append(left, page)
		}
	}
	return left
}
