package gitops_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/partial/gitserver"
)

// Somebody made the same proposal meanwhile, sealed by them: with what their branch holds staged anew, it stays.
func TestProposeAgainTakesWhatTheBranchHolds(t *testing.T) {
	d := newDesk(t)
	raced := false
	d.server.Before(func(_ http.ResponseWriter, r *http.Request) bool {
		if !raced && strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
			raced = true
			d.repository.Commit(branch, "main", "feat: x\n\nCluster-Manager: create_node_pool gazelle/wc1\n", gitserver.Change{"sealed.yaml": "theirs"})
		}
		return false
	})
	workspace := open(t, d.repository)
	stage(t, workspace, clustermanager.FileSet{"sealed.yaml": text("ours")})
	staged := 0
	wanted := proposal(branch)
	wanted.Again = func(context.Context) error {
		staged++
		return workspace.Stage(clustermanager.FileSet{"sealed.yaml": text("theirs")})
	}
	outcome, err := workspace.Propose(t.Context(), d.forge, wanted)
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Decision != gitops.DecisionOpen || outcome.Pushed || !outcome.Opened || staged != 1 {
		t.Errorf("staged %d times: %+v", staged, outcome)
	}
	if got := d.repository.Git("show", branch+":sealed.yaml"); got != "theirs" {
		t.Errorf("the branch holds %q", got)
	}
}

// The branch was made between the look at it and the proposal: what is staged beside no branch does not replace it.
func TestProposeAgainWhereTheBranchCameMeanwhile(t *testing.T) {
	d := newDesk(t)
	workspace := open(t, d.repository)
	if head, err := workspace.Head(t.Context(), branch); head != nil || err != nil {
		t.Fatalf("%v %v", head, err)
	}
	stage(t, workspace, clustermanager.FileSet{"sealed.yaml": text("ours")})
	theirs := d.repository.Commit(branch, "main", "feat: x\n\nCluster-Manager: create_node_pool gazelle/wc1\n", gitserver.Change{"sealed.yaml": "theirs"})
	wanted := proposal(branch)
	wanted.Again = func(ctx context.Context) error {
		if head, err := workspace.Head(ctx, branch); head == nil || err != nil {
			t.Errorf("%v %v", head, err)
		}
		return workspace.Stage(clustermanager.FileSet{"sealed.yaml": text("theirs")})
	}
	outcome, err := workspace.Propose(t.Context(), d.forge, wanted)
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Decision != gitops.DecisionOpen || outcome.Pushed || outcome.Commit != theirs || d.at(branch) != theirs {
		t.Errorf("%+v, the branch is at %s, was at %s", outcome, d.at(branch), theirs)
	}

	workspace = open(t, d.repository)
	if _, err := workspace.Head(t.Context(), branch); err != nil {
		t.Fatal(err)
	}
	stage(t, workspace, clustermanager.FileSet{"sealed.yaml": text("rotated")})
	if outcome, err = workspace.Propose(t.Context(), d.forge, wanted); err != nil || outcome.Decision != gitops.DecisionReplace || !outcome.Pushed {
		t.Errorf("a branch that did not move is replaced: %+v %v", outcome, err)
	}
}
