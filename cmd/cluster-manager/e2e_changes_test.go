package main

import (
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// followed wants get_change to say of a merged proposal that Flux has applied it, and list_changes to find it.
func (e *endToEnd) followed(t *testing.T, client *mcptools.Client, opened clustermanager.WriteResult, kustomization string) {
	t.Helper()
	var change mcptools.ProposedChange
	e.answer(t, client, "get_change", map[string]any{"repository": opened.Commit.Repository, "number": opened.Commit.Number}, &change)
	if change.State != clustermanager.PullRequestMerged || change.Merged == nil || change.Applied == nil || change.Cluster != opened.Cluster || change.Pool != opened.Pool {
		t.Fatalf("get_change: %+v", change)
	}
	if change.Applied.Kustomization != kustomization || len(change.Applied.Revision) != 40 {
		t.Errorf("applied: %+v, want by %s", change.Applied, kustomization)
	}
	if change.Pool != "" && change.Phase == "" {
		t.Errorf("pool %s has no phase: %v", change.Pool, change.Notes)
	}
	var listed mcptools.ChangeList
	e.answer(t, client, "list_changes", map[string]any{"cluster": opened.Cluster, "state": "merged"}, &listed)
	if len(listed.Changes) == 0 || listed.Changes[0].Number != opened.Commit.Number || listed.Changes[0].Applied == nil {
		t.Errorf("list_changes: %+v", listed)
	}
}
