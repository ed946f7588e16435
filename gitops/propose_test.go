package gitops_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/partial/gitserver"
)

const branch = "cluster-manager/gazelle/add-wc1-gpu-l4"

// pool is the edit of these tests.
func pool() clustermanager.FileSet {
	return clustermanager.FileSet{
		"clusters/wc1/cluster-manager/gpu-l4.yaml":        text("kind: HelmRelease\n"),
		"clusters/wc1/cluster-manager/kustomization.yaml": text("resources:\n- gpu-l4.yaml\n"),
	}
}

// desk is a repository, its forge, and what is needed to say what was written.
type desk struct {
	t          *testing.T
	server     *gitserver.Server
	repository *gitserver.Repository
	forge      *fakeForge
}

func newDesk(t *testing.T) *desk {
	server, repository := newRepository(t, fleet)
	return &desk{t: t, server: server, repository: repository, forge: newForge(repository)}
}

// propose stages the files in a workspace of its own and proposes them.
func (d *desk) propose(files clustermanager.FileSet) (gitops.Outcome, error) {
	d.t.Helper()
	workspace := open(d.t, d.repository)
	stage(d.t, workspace, files)
	return workspace.Propose(d.t.Context(), d.forge, proposal(branch))
}

func (d *desk) mustPropose(files clustermanager.FileSet) gitops.Outcome {
	d.t.Helper()
	outcome, err := d.propose(files)
	if err != nil {
		d.t.Fatal(err)
	}
	return outcome
}

// at is the commit of a branch on the server; "" where there is none.
func (d *desk) at(name string) string {
	return d.repository.Try("rev-parse", "--verify", "--quiet", "refs/heads/"+name)
}

// quiet runs do and fails when it pushed or called the forge for a write.
func (d *desk) quiet(do func()) {
	d.t.Helper()
	before, pushes := d.repository.Git("for-each-ref"), d.server.Count("git-receive-pack")
	d.forge.taken()
	do()
	calls := d.forge.taken()
	if after := d.repository.Git("for-each-ref"); after != before || d.server.Count("git-receive-pack") != pushes {
		d.t.Errorf("something was pushed:\n%s\nbefore:\n%s", after, before)
	}
	if strings.Contains(calls, "create") || strings.Contains(calls, "update") {
		d.t.Errorf("the forge was written to: %s", calls)
	}
}

func (d *desk) files(revision string) string {
	return d.repository.Git("diff-tree", "-r", "--name-status", "main", revision)
}

func TestProposeNew(t *testing.T) {
	d := newDesk(t)
	outcome := d.mustPropose(pool())
	if outcome.Decision != gitops.DecisionCreate || !outcome.Pushed || !outcome.Opened || outcome.Commit != d.at(branch) || outcome.PullRequest.Number != 1 {
		t.Errorf("%+v", outcome)
	}
	if calls := d.forge.taken(); calls != "create list rules rules" {
		t.Errorf("calls: %s", calls)
	}
	if got, want := d.files(branch), "A\tclusters/wc1/cluster-manager/gpu-l4.yaml\nA\tclusters/wc1/cluster-manager/kustomization.yaml"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	want := "Jane Doe <jane@example.com> Jane Doe <jane@example.com> 1750000000 feat(wc1): add GPU node pool gpu-l4\n\nCluster-Manager: create_node_pool gazelle/wc1/gpu-l4\n"
	if got := d.repository.Git("log", "-1", "--format=%an <%ae> %cn <%ce> %ct %B", branch); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := d.repository.Git("rev-parse", branch+"~1"); got != d.at("main") {
		t.Errorf("parent %s", got)
	}
	if one := d.forge.pullRequests[0]; one.Title != "feat(wc1): add GPU node pool gpu-l4" || one.Body != "The body." || one.HeadSHA != outcome.Commit {
		t.Errorf("%+v", one)
	}
	d.repository.Git("fsck", "--strict", "--full")
}

func TestProposeNothing(t *testing.T) {
	d := newDesk(t)
	d.quiet(func() {
		for _, files := range []clustermanager.FileSet{nil, {"README.md": text("fleet\n"), "absent": {Delete: true}}} {
			outcome, err := d.propose(files)
			if err != nil || outcome.Decision != gitops.DecisionNothing || outcome.PullRequest.Number != 0 {
				t.Errorf("%+v, %v", outcome, err)
			}
		}
		if calls := d.forge.taken(); calls != "" {
			t.Errorf("calls: %s", calls)
		}
	})
}

func TestProposeAgain(t *testing.T) {
	d := newDesk(t)
	first := d.mustPropose(pool())
	keep := func(why string) {
		t.Helper()
		d.quiet(func() {
			outcome, err := d.propose(pool())
			if err != nil || outcome.Decision != gitops.DecisionKeep || outcome.PullRequest.Number != first.PullRequest.Number || outcome.Commit != d.at(branch) {
				t.Errorf("%s: %+v, %v", why, outcome, err)
			}
		})
	}
	keep("the same plan")
	d.repository.Commit("main", "", "elsewhere", gitserver.Change{"clusters/wc2/other.yaml": "other"})
	keep("the base moved elsewhere")
	d.repository.Git("update-ref", "refs/heads/"+branch, d.merge(branch, "main"))
	keep("a person brought the branch up to date")
}

// merge makes a person's merge commit of two branches that touch different files.
func (d *desk) merge(into, from string) string {
	tree := d.repository.Git("merge-tree", "--write-tree", into, from)
	return d.repository.Git("-c", "user.name=P", "-c", "user.email=p@example.com", "commit-tree", "-p", into, "-p", from, "-m", "Merge branch 'main'", tree)
}

func TestProposeChangedPlan(t *testing.T) {
	d := newDesk(t)
	d.mustPropose(pool())
	main := d.repository.Commit("main", "", "elsewhere", gitserver.Change{"clusters/wc2/other.yaml": "other"})
	d.forge.pullRequests[0].Title = "old title"
	d.forge.taken()
	files := clustermanager.FileSet{"clusters/wc1/cluster-manager/gpu-h100.yaml": text("kind: HelmRelease\n")}
	outcome := d.mustPropose(files)
	if outcome.Decision != gitops.DecisionReplace || !outcome.Pushed || outcome.Opened || !outcome.Updated || outcome.PullRequest.Number != 1 || outcome.PullRequest.HeadSHA != d.at(branch) {
		t.Errorf("%+v", outcome)
	}
	if calls := d.forge.taken(); calls != "compare list rules rules update" {
		t.Errorf("calls: %s", calls)
	}
	if got := d.files(branch); got != "A\tclusters/wc1/cluster-manager/gpu-h100.yaml" {
		t.Errorf("left over: %s", got)
	}
	if got := d.repository.Git("rev-list", branch, "^main"); got != outcome.Commit || d.repository.Git("rev-parse", branch+"~1") != main {
		t.Errorf("commits %s", got)
	}
	if d.forge.pullRequests[0].Title != "feat(wc1): add GPU node pool gpu-l4" {
		t.Errorf("title %q", d.forge.pullRequests[0].Title)
	}
}

func TestProposeLeftoverFileIsAChange(t *testing.T) {
	d := newDesk(t)
	more := pool()
	more["clusters/wc1/cluster-manager/old.yaml"] = text("old")
	d.mustPropose(more)
	if outcome := d.mustPropose(pool()); outcome.Decision != gitops.DecisionReplace || strings.Contains(d.files(branch), "old.yaml") {
		t.Errorf("%+v: %s", outcome, d.files(branch))
	}
}

func TestProposeBesideAPersonsCommits(t *testing.T) {
	d := newDesk(t)
	d.mustPropose(pool())
	theirs := d.repository.Commit(branch, "", "fix: by hand\n\nCluster-Manager: is not on the last paragraph\n\nbye", gitserver.Change{"clusters/wc1/cluster-manager/gpu-l4.yaml": "by hand"})
	d.quiet(func() {
		_, err := d.propose(pool())
		mustRefuse(t, err, "branch "+branch+" of acme/fleet holds commits that are not cluster-manager's ("+theirs[:7]+" by jane) and would be lost; pull request https://git.example.com/acme/fleet/pull/1 is open: merge or close that pull request, then call again")
	})
	d.forge.settle(1, clustermanager.PullRequestClosed)
	if outcome := d.mustPropose(pool()); outcome.Decision != gitops.DecisionReplace || !outcome.Opened || outcome.PullRequest.Number != 2 {
		t.Errorf("after it was closed: %+v", outcome)
	}
}

// What a person adds to an open pull request stays, and the same plan has nothing to add to it.
func TestProposeTheSameBesideAPersonsCommit(t *testing.T) {
	d := newDesk(t)
	d.mustPropose(pool())
	d.repository.Commit(branch, "", "docs: a note", gitserver.Change{"clusters/wc1/NOTE.md": "theirs"})
	d.quiet(func() {
		outcome, err := d.propose(pool())
		if err != nil || outcome.Decision != gitops.DecisionKeep || outcome.PullRequest.Number != 1 {
			t.Errorf("%+v, %v", outcome, err)
		}
	})
}

func TestProposeOnLeftBranches(t *testing.T) {
	ours := "feat: x\n\nCluster-Manager: create_node_pool gazelle/wc1\n"
	tests := []struct {
		name    string
		prepare func(d *desk)
		want    gitops.Decision
		refusal string
	}{
		{"crash after the push", func(d *desk) {
			d.forge.failBefore = true
			if outcome, err := d.propose(pool()); err == nil || !outcome.Pushed || !strings.Contains(err.Error(), "which is pushed (the same call again opens it)") {
				d.t.Errorf("%+v, %v", outcome, err)
			}
			d.forge.failBefore = false
		}, gitops.DecisionOpen, ""},
		{"ours, other content", func(d *desk) {
			d.repository.Commit(branch, "main", ours, gitserver.Change{"clusters/wc1/cluster-manager/gpu-l4.yaml": "old"})
		}, gitops.DecisionReplace, ""},
		{"merged", func(d *desk) {
			d.mustPropose(clustermanager.FileSet{"clusters/wc1/first.yaml": text("1")})
			d.forge.settle(1, clustermanager.PullRequestMerged)
			d.repository.Commit("main", "", "squashed", gitserver.Change{"clusters/wc1/first.yaml": "1"})
		}, gitops.DecisionReplace, ""},
		{"closed with the same content at the same second", func(d *desk) {
			d.mustPropose(pool())
			d.forge.settle(1, clustermanager.PullRequestClosed)
		}, gitops.DecisionReplace, ""},
		{"a commit after the merge", func(d *desk) {
			d.mustPropose(clustermanager.FileSet{"clusters/wc1/first.yaml": text("1")})
			d.forge.settle(1, clustermanager.PullRequestMerged)
			d.repository.Commit(branch, "", "more", gitserver.Change{"x": "1"})
		}, "", "would be lost; no pull request is open for it: delete or rename the branch"},
		{"a person's", func(d *desk) {
			d.repository.Commit(branch, "main", "mine", gitserver.Change{"x": "1"})
		}, "", "holds commits that are not cluster-manager's"},
		{"a person's with our content", func(d *desk) {
			d.repository.Commit(branch, "main", "mine", gitserver.Change{"clusters/wc1/cluster-manager/gpu-l4.yaml": "kind: HelmRelease\n", "clusters/wc1/cluster-manager/kustomization.yaml": "resources:\n- gpu-l4.yaml\n"})
		}, "", "holds commits that are not cluster-manager's"},
		{"at today's base", func(d *desk) { d.repository.Git("branch", branch, "main") }, gitops.DecisionReplace, ""},
		{"at an old base", func(d *desk) {
			d.repository.Git("branch", branch, "main")
			d.repository.Commit("main", "", "on", gitserver.Change{"x": "1"})
		}, "", "holds commits that are not cluster-manager's"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := newDesk(t)
			test.prepare(d)
			if test.refusal != "" {
				d.quiet(func() {
					_, err := d.propose(pool())
					mustRefuse(t, err, test.refusal)
				})
				return
			}
			left, pushes := d.at(branch), d.server.Count("git-receive-pack")
			outcome := d.mustPropose(pool())
			if outcome.Decision != test.want || !outcome.Opened || outcome.PullRequest.State != clustermanager.PullRequestOpen {
				t.Errorf("%+v", outcome)
			}
			if same := d.at(branch) == left; same == outcome.Pushed || d.server.Count("git-receive-pack") > pushes == same {
				t.Errorf("pushed %v, branch from %s to %s", outcome.Pushed, left, d.at(branch))
			}
			if got := d.files(branch); got != "A\tclusters/wc1/cluster-manager/gpu-l4.yaml\nA\tclusters/wc1/cluster-manager/kustomization.yaml" {
				t.Errorf("files: %s", got)
			}
		})
	}
}

func TestProposePushRefused(t *testing.T) {
	d := newDesk(t)
	d.repository.Hook("pre-receive", "echo 'error: GH013: Repository rule violations found for '$1 >&2; echo '- Changes must be made through the bot.' >&2; exit 1")
	_, err := d.propose(pool())
	mustRefuse(t, err, "acme/fleet refuses branch "+branch+": GH013: Repository rule violations found for - Changes must be made through the bot. pre-receive hook declined; allow it")
	if calls := d.forge.taken(); d.server.Count("git-receive-pack") != 1 || d.at(branch) != "" || strings.Contains(calls, "create") {
		t.Errorf("%d pushes, branch at %q, calls %s", d.server.Count("git-receive-pack"), d.at(branch), calls)
	}
}

func TestProposeCutAfterThePush(t *testing.T) {
	d := newDesk(t)
	d.server.Before(func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
			return false
		}
		d.server.Serve(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
	outcome := d.mustPropose(pool())
	if !outcome.Pushed || !outcome.Opened || outcome.Commit != d.at(branch) {
		t.Errorf("%+v", outcome)
	}
}

func TestProposeForgeAnswerLost(t *testing.T) {
	d := newDesk(t)
	d.forge.failAfter = true
	outcome := d.mustPropose(pool())
	if outcome.Opened || outcome.PullRequest.Number != 1 || len(d.forge.pullRequests) != 1 {
		t.Errorf("%+v", outcome)
	}
}

// TestProposeGoesOn breaks off where an open pull request's text and branch are both to change, and calls again.
func TestProposeGoesOn(t *testing.T) {
	files := clustermanager.FileSet{"clusters/wc1/cluster-manager/gpu-h100.yaml": text("kind: HelmRelease\n")}
	isPush := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/git-receive-pack") }
	for name, test := range map[string]struct {
		breaks  func(d *desk)
		reason  clustermanager.Reason
		begun   bool
		updated bool
		says    string
	}{
		"at the text": {func(d *desk) { d.forge.failUpdate = true }, clustermanager.ReasonRefused, false, false, "bringing title and body of pull request"},
		"at the push": {func(d *desk) {
			d.server.Before(func(w http.ResponseWriter, r *http.Request) bool {
				if isPush(r) {
					http.Error(w, "no", http.StatusForbidden)
				}
				return isPush(r)
			})
		}, clustermanager.ReasonError, true, true, "is not (the same call again pushes it)"},
		"at the push, and after it": {func(d *desk) {
			pushed := false
			d.server.Before(func(_ http.ResponseWriter, r *http.Request) bool {
				if isPush(r) {
					pushed = true
					d.server.Serve(httptest.NewRecorder(), r)
				}
				if pushed {
					panic(http.ErrAbortHandler)
				}
				return false
			})
		}, clustermanager.ReasonError, true, true, "whether the push was taken is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.mustPropose(pool())
			d.forge.pullRequests[0].Title = "old title"
			test.breaks(d)
			_, err := d.propose(files)
			if clustermanager.ReasonOf(err) != test.reason || errors.Is(err, gitops.ErrUnfinished) != test.begun || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %v", clustermanager.ReasonOf(err), err)
			}
			if updated := d.forge.pullRequests[0].Title != "old title"; updated != test.updated {
				t.Errorf("updated: %t", updated)
			}
			d.forge.failUpdate = false
			d.server.Before(func(http.ResponseWriter, *http.Request) bool { return false })
			outcome := d.mustPropose(files)
			if outcome.PullRequest.Number != 1 || len(d.forge.pullRequests) != 1 || d.forge.pullRequests[0].Title == "old title" {
				t.Errorf("%+v", outcome)
			}
			if got := d.files(branch); got != "A\tclusters/wc1/cluster-manager/gpu-h100.yaml" {
				t.Errorf("files: %s", got)
			}
		})
	}
}

// TestProposeLosesARace moves the branch between the reads and the push.
func TestProposeLosesARace(t *testing.T) {
	ours := "feat: x\n\nCluster-Manager: create_node_pool gazelle/wc1\n"
	move := func(d *desk, times int, message string) {
		moved := 0
		d.server.Before(func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/git-receive-pack") && moved < times {
				moved++
				d.repository.Commit(branch, "main", message, gitserver.Change{"x": time.Duration(moved).String()})
			}
			return false
		})
	}
	t.Run("once, ours", func(t *testing.T) {
		d := newDesk(t)
		move(d, 1, ours)
		outcome := d.mustPropose(pool())
		if outcome.Decision != gitops.DecisionReplace || !outcome.Pushed || outcome.Commit != d.at(branch) {
			t.Errorf("%+v", outcome)
		}
	})
	t.Run("once, a person's", func(t *testing.T) {
		d := newDesk(t)
		move(d, 1, "mine")
		_, err := d.propose(pool())
		mustRefuse(t, err, "holds commits that are not cluster-manager's")
		if d.repository.Git("log", "-1", "--format=%s", branch) != "mine" || len(d.forge.pullRequests) != 0 {
			t.Error("the person's commit was overwritten")
		}
	})
	t.Run("always", func(t *testing.T) {
		d := newDesk(t)
		move(d, 100, ours)
		_, err := d.propose(pool())
		if err == nil || clustermanager.ReasonOf(err) != clustermanager.ReasonError || !strings.Contains(err.Error(), "moved 3 times while it was written: call again") {
			t.Errorf("got %v", err)
		}
		if count := d.server.Count("git-receive-pack"); count != 3 {
			t.Errorf("%d pushes", count)
		}
	})
	t.Run("between list and comparison", func(t *testing.T) {
		d := newDesk(t)
		d.mustPropose(pool())
		var theirs string
		d.forge.compared = func() {
			if theirs == "" {
				theirs = d.repository.Commit(branch, "", "mine", gitserver.Change{"x": "1"})
			}
		}
		_, err := d.propose(clustermanager.FileSet{"y": text("1")})
		mustRefuse(t, err, "holds commits that are not cluster-manager's")
		if d.at(branch) != theirs || d.server.Count("git-receive-pack") != 1 {
			t.Error("the person's commit was overwritten")
		}
	})
}

func TestProposeOnALateList(t *testing.T) {
	for late, want := range map[int]string{1: "holds commits that are not cluster-manager's", 3: "moved 3 times while it was written: call again"} {
		d := newDesk(t)
		d.mustPropose(clustermanager.FileSet{"x": text("1")})
		d.repository.Commit(branch, "", "mine", gitserver.Change{"y": "1"})
		d.forge.late = late
		d.quiet(func() {
			if _, err := d.propose(pool()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("late %d: %v", late, err)
			}
		})
	}
}

func TestTwoProposalsAtOnce(t *testing.T) {
	d := newDesk(t)
	var outcomes [2]gitops.Outcome
	var errs [2]error
	var group sync.WaitGroup
	for i := range outcomes {
		workspace := open(t, d.repository)
		stage(t, workspace, pool())
		one := proposal(branch)
		one.Time = one.Time.Add(time.Duration(i) * time.Minute)
		group.Go(func() { outcomes[i], errs[i] = workspace.Propose(t.Context(), d.forge, one) })
	}
	group.Wait()
	for i, err := range errs {
		if err != nil || outcomes[i].PullRequest.Number != 1 || outcomes[i].Commit != d.at(branch) {
			t.Errorf("%d: %+v, %v", i, outcomes[i], err)
		}
	}
	if len(d.forge.pullRequests) != 1 || outcomes[0].Pushed == outcomes[1].Pushed {
		t.Errorf("%d pull requests, pushed %v and %v", len(d.forge.pullRequests), outcomes[0].Pushed, outcomes[1].Pushed)
	}
}
