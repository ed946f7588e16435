package gitops_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/partial"
	"github.com/clustermanager/cluster-manager/gitops/partial/gitserver"
)

// inWholeWays runs a test with each kind of server that sends whole branches alone. Opening costs as many requests.
func inWholeWays(t *testing.T, test func(t *testing.T, d *desk, way partial.Way, opening int)) {
	t.Run(string(partial.WayShallow), func(t *testing.T) {
		d := newDesk(t)
		d.repository.Git("config", "uploadpack.allowFilter", "false")
		test(t, d, partial.WayShallow, 3)
	})
	t.Run(string(partial.WayVersion0), func(t *testing.T) {
		d := newDesk(t)
		d.repository.Git("config", "uploadpack.allowAnySHA1InWant", "false")
		d.server.Age()
		test(t, d, partial.WayVersion0, 2)
	})
}

func TestFallbackReads(t *testing.T) {
	inWholeWays(t, func(t *testing.T, d *desk, way partial.Way, opening int) {
		workspace := open(t, d.repository)
		if err := workspace.LoadFiles(t.Context(), "README.md", "clusters/wc2/absent.yaml"); err != nil {
			t.Fatal(err)
		}
		if err := workspace.Load(t.Context(), "clusters", nil); err != nil {
			t.Fatal(err)
		}
		content, err := fs.ReadFile(workspace.FS(), "clusters/wc1/deep/er/file.yaml")
		if err != nil || string(content) != "deep: true\n" {
			t.Errorf("%q, %v", content, err)
		}
		stats := workspace.Stats()
		if stats.Way != way || stats.Requests != opening || stats.BytesDown > 4<<10 {
			t.Errorf("%+v, want %d requests", stats, opening)
		}
		warnings := workspace.Warnings()
		if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "the git server of acme/fleet sends whole branches alone, so every file of branch main was fetched") || !strings.HasSuffix(warnings[0], way.Advice()) {
			t.Errorf("%q", warnings)
		}
	})
	if warnings := open(t, newDesk(t).repository).Warnings(); len(warnings) != 0 {
		t.Errorf("a server with filters: %q", warnings)
	}
}

func TestFallbackProposes(t *testing.T) {
	inWholeWays(t, func(t *testing.T, d *desk, _ partial.Way, opening int) {
		d.repository.Commit("main", "", "second", gitserver.Change{"clusters/wc2/wc2.yaml": "kind: HelmRelease\nspec: {}\n"})
		workspace := open(t, d.repository)
		stage(t, workspace, pool())
		outcome, err := workspace.Propose(t.Context(), d.forge, proposal(branch))
		if err != nil || outcome.Decision != gitops.DecisionCreate || !outcome.Pushed || !outcome.Opened || outcome.Commit != d.at(branch) {
			t.Fatalf("%+v, %v", outcome, err)
		}
		if got := d.files(branch); got != "A\tclusters/wc1/cluster-manager/gpu-l4.yaml\nA\tclusters/wc1/cluster-manager/kustomization.yaml" {
			t.Errorf("files: %s", got)
		}
		if got := d.repository.Git("rev-parse", branch+"~1"); got != d.at("main") {
			t.Errorf("parent %s", got)
		}
		// The names that could clash cost two requests by version 2, one by version 0; the push costs one.
		if want := map[int]int{3: 3 + 2 + 1, 2: 2 + 1 + 1}[opening]; workspace.Stats().Requests != want {
			t.Errorf("%d requests, want %d", workspace.Stats().Requests, want)
		}
		d.repository.Git("fsck", "--strict", "--full")
	})
}

func TestFallbackProposesAgain(t *testing.T) {
	inWholeWays(t, func(t *testing.T, d *desk, _ partial.Way, opening int) {
		first := d.mustPropose(pool())
		keep := func(why string, requests int) {
			t.Helper()
			d.quiet(func() {
				workspace := open(t, d.repository)
				stage(t, workspace, pool())
				outcome, err := workspace.Propose(t.Context(), d.forge, proposal(branch))
				if err != nil || outcome.Decision != gitops.DecisionKeep || outcome.PullRequest.Number != first.PullRequest.Number {
					t.Errorf("%s: %+v, %v", why, outcome, err)
				}
				if stats := workspace.Stats(); stats.Requests != opening+requests {
					t.Errorf("%s: %d requests, want %d for the branch's name, its commits and where it starts", why, stats.Requests, opening+requests)
				}
			})
		}
		keep("the same plan", 2)
		d.repository.Commit("main", "", "elsewhere", gitserver.Change{"clusters/wc2/other.yaml": "other"})
		d.repository.Commit("main", "", "again", gitserver.Change{"clusters/wc2/other.yaml": gitserver.Removed})
		keep("the base moved elsewhere", 3)
		d.repository.Git("update-ref", "refs/heads/"+branch, d.merge(branch, "main"))
		keep("a person brought the branch up to date", 2)

		workspace := open(t, d.repository)
		head, err := workspace.Head(t.Context(), branch)
		if err != nil {
			t.Fatal(err)
		}
		if content, err := fs.ReadFile(head, "clusters/wc1/cluster-manager/gpu-l4.yaml"); err != nil || string(content) != "kind: HelmRelease\n" {
			t.Errorf("%q, %v", content, err)
		}
		d.repository.Git("update-ref", "refs/heads/"+branch, first.Commit)
		outcome := d.mustPropose(clustermanager.FileSet{"clusters/wc1/cluster-manager/gpu-h100.yaml": text("kind: HelmRelease\n")})
		if outcome.Decision != gitops.DecisionReplace || d.files(branch) != "A\tclusters/wc1/cluster-manager/gpu-h100.yaml" || d.repository.Git("rev-parse", branch+"~1") != d.at("main") {
			t.Errorf("%+v: %s", outcome, d.files(branch))
		}
		d.repository.Git("fsck", "--strict", "--full")
	})
}

// TestFallbackSeesABranchThatMoves has a person push between the reads and the push.
func TestFallbackSeesABranchThatMoves(t *testing.T) {
	inWholeWays(t, func(t *testing.T, d *desk, _ partial.Way, _ int) {
		d.mustPropose(pool())
		person := ""
		d.forge.compared = func() {
			if person == "" {
				person = d.repository.Commit(branch, "", "by hand", gitserver.Change{"README.md": "by hand\n"})
			}
		}
		_, err := d.propose(clustermanager.FileSet{"clusters/wc1/cluster-manager/gpu-h100.yaml": text("kind: HelmRelease\n")})
		mustRefuse(t, err, "holds commits that are not cluster-manager's ("+person[:7]+" by jane)")
		if d.at(branch) != person {
			t.Error("a person's commit was lost")
		}
	})
}

func TestFallbackRefusesALargeBranch(t *testing.T) {
	inWholeWays(t, func(t *testing.T, d *desk, way partial.Way, _ int) {
		d.repository.Commit("main", "", "large", gitserver.Change{"model.bin": string(make([]byte, 32<<20+1))})
		d.quiet(func() {
			_, err := gitops.Open(t.Context(), options(d.repository))
			mustRefuse(t, err, "over the limit of 32 MiB for one file that is taken into memory: "+way.Advice())
		})
	})
}

func TestFallbackWithManyRefs(t *testing.T) {
	inWholeWays(t, func(t *testing.T, d *desk, way partial.Way, _ int) {
		main := d.at("main")
		lines := []string{"# pack-refs with: peeled fully-peeled sorted ", main + " refs/heads/main"}
		for number := range 10_000 {
			lines = append(lines, fmt.Sprintf("%s refs/heads/topic-%05d", main, number))
		}
		if err := os.WriteFile(filepath.Join(d.repository.Directory, "packed-refs"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		workspace := open(t, d.repository)
		stage(t, workspace, pool())
		outcome, err := workspace.Propose(t.Context(), d.forge, proposal(branch))
		if err != nil || outcome.Commit != d.at(branch) {
			t.Fatalf("%+v, %v", outcome, err)
		}
		most := map[partial.Way]int64{partial.WayShallow: 8 << 10, partial.WayVersion0: 2 * 10_100 * 72}[way]
		if stats := workspace.Stats(); stats.BytesDown > most {
			t.Errorf("%+v, allowed are %d bytes: two lists of all refs by version 0", stats, most)
		}
		if refs := strings.Fields(d.repository.Git("for-each-ref", "--format=%(refname)")); len(refs) != 10_002 || !slices.Contains(refs, "refs/heads/"+branch) {
			t.Errorf("%d refs", len(refs))
		}
	})
}
