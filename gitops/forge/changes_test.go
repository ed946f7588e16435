package forge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
)

// What is read of changes, beside a branch of another prefix, a longer name and a branch that has no pull request.
func TestChangesAreRead(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	client := h.client(t)
	for _, name := range []string{"cluster-manager/gazelle-two/add-wc1-gpu", "feature/cluster-manager/gazelle/x", branch + "-2"} {
		h.push(t, name, "feat: "+name)
	}
	h.push(t, branch, "feat(wc1): add GPU node pool gpu\n\nCluster-Manager: create_node_pool gazelle/wc1/gpu", "chore: a reviewer's")
	if _, err := client.CreatePullRequest(t.Context(), request(), "main"); err != nil {
		t.Fatal(err)
	}
	names, err := client.Branches(t.Context(), "cluster-manager/gazelle/")
	if diff := cmp.Diff([]string{branch, branch + "-2"}, names); diff != "" || err != nil {
		t.Errorf("branches: %v %s", err, diff)
	}
	open, err := client.OpenOf(t.Context(), branch)
	if err != nil || len(open) != 1 || open[0].Author != "jane" || open[0].Base != "main" || open[0].Fork || open[0].CreatedAt.IsZero() || open[0].MergeSHA != "" {
		t.Fatalf("open: %+v, %v", open, err)
	}
	if none, err := client.OpenOf(t.Context(), branch+"-2"); err != nil || len(none) != 0 {
		t.Errorf("a branch without one: %v, %v", none, err)
	}
	commits, err := client.CommitsOf(t.Context(), 1)
	if err != nil || len(commits) != 2 || !strings.Contains(commits[0].Message, "Cluster-Manager: ") || commits[1].SHA != open[0].HeadSHA {
		t.Errorf("commits: %+v, %v", commits, err)
	}
	if err := h.Merge("acme", "fleet", 1); err != nil {
		t.Fatal(err)
	}
	merged, err := client.Change(t.Context(), 1)
	if err != nil || merged.State != clustermanager.PullRequestMerged || merged.MergeSHA == "" || merged.MergedAt.IsZero() {
		t.Fatalf("merged: %+v, %v", merged, err)
	}
	h.push(t, branch+"-3", "feat: later")
	for revision, want := range map[string]bool{merged.MergeSHA: true, merged.HeadSHA: false, "main": true, branch + "-2": false} {
		if got, err := client.Contains(t.Context(), revision, merged.MergeSHA); err != nil || got != want {
			t.Errorf("%s holds the merge: %v, %v", revision, got, err)
		}
	}
	newest, more, err := client.Newest(t.Context(), true, 1)
	if err != nil || more || len(newest) != 1 || newest[0].Number != 1 {
		t.Errorf("closed: %+v, %v, %v", newest, more, err)
	}
	if _, err := client.Change(t.Context(), 9); clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
		t.Errorf("an unknown number: %v", err)
	}
}

func TestFilesOfAChange(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.git(t, h.clone, "rm", "--quiet", "README.md")
	h.push(t, branch, "feat: pool")
	if _, err := h.client(t).CreatePullRequest(t.Context(), request(), "main"); err != nil {
		t.Fatal(err)
	}
	files, err := h.client(t).FilesOf(t.Context(), 1)
	if diff := cmp.Diff([]string{"README.md"}, files); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

// Statuses and check runs count together; the gravest decides.
func TestChecksOfACommit(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.push(t, branch, "feat: pool")
	client := h.client(t)
	if _, err := client.CreatePullRequest(t.Context(), request(), "main"); err != nil {
		t.Fatal(err)
	}
	change, err := client.Change(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name, state string
		want        clustermanager.Checks
	}{
		{want: clustermanager.Checks{State: clustermanager.ChecksNone}},
		{"lint", "success", clustermanager.Checks{State: clustermanager.ChecksSuccess}},
		{"build", "pending", clustermanager.Checks{State: clustermanager.ChecksPending, Pending: []string{"build"}}},
		{"policy", "error", clustermanager.Checks{State: clustermanager.ChecksFailure, Failed: []string{"policy"}, Pending: []string{"build"}}},
	} {
		if step.name != "" {
			h.SetStatus("acme", "fleet", change.HeadSHA, step.name, step.state)
		}
		got, err := client.Checks(t.Context(), change.HeadSHA)
		if diff := cmp.Diff(step.want, got); diff != "" || err != nil {
			t.Errorf("after %s: %v %s", step.name, err, diff)
		}
	}
	h.Inject(localforge.NotPermitted("checks=read").On("", "**/check-runs"))
	if _, err := client.Checks(t.Context(), change.HeadSHA); err == nil || !strings.Contains(err.Error(), "checks=read") {
		t.Errorf("without the permission: %v", err)
	}
}
