package mcptools

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func TestAuditKeepsNamesAndSwitches(t *testing.T) {
	t.Parallel()
	tools, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Tool{}
	for _, tool := range tools.all {
		byName[tool.Name] = tool
	}
	// What looks like a token was made for this test.
	for name, test := range map[string]struct {
		tool, arguments string
		reason          clustermanager.Reason
		want            map[string]any
	}{
		"names and switches": {
			"create_node_pool", `{"cluster":"wc1","name":"gpu-a","maxGpus":4,"zones":["eu-west-1a"],"dryRun":true}`, "",
			map[string]any{"cluster": "wc1", "name": "gpu-a", "maxGpus": json.Number("4"), "zones": []any{"eu-west-1a"}, "dryRun": true},
		},
		"what a person writes as they like": {
			"create_cluster", `{"name":"wc2","description":"anna","values":{"password":"x"}}`, "",
			map[string]any{"name": "wc2", "description": redacted, "values": redacted},
		},
		"what looks like no name": {
			"list_node_pools", `{"cluster":"ghu_MadeForThisTest0000000000000000000000"}`, clustermanager.ReasonNotFound,
			map[string]any{"cluster": redacted},
		},
		"what was not taken": {
			"list_node_pools", `{"cluster":"wc1","secret":"x"}`, clustermanager.ReasonInvalidArguments, map[string]any{"cluster": redacted},
		},
		"no JSON": {"list_node_pools", `{"cluster`, clustermanager.ReasonInvalidArguments, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := redact(byName[test.tool], json.RawMessage(test.arguments), test.reason)
			if difference := cmp.Diff(test.want, got); difference != "" {
				t.Error(difference)
			}
		})
	}
}

func TestAuditSaysWhoAndWhat(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	tools, err := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	written := clustermanager.WriteResult{
		Mode: clustermanager.ModeCommit, Objects: []clustermanager.Change{{Action: "create"}, {Action: "create"}},
		Commit: &clustermanager.CommitResult{PullRequest: "https://github.example.com/acme/fleet/pull/7"},
	}
	ended := func(caller clustermanager.Caller, answer any, result Result) {
		ctx, observed := tools.observe(t.Context(), tools.all[0], nil)
		observed.ended(ctx, caller, answer, result)
		observed.end()
	}
	ended(clustermanager.Caller{Email: "anna@example.com"}, written, Result{})
	ended(clustermanager.Caller{}, nil, Result{Reason: clustermanager.ReasonRefused})
	for _, want := range []string{"caller=anna@example.com", "mode=commit", "objects=map[create:2]", "pullRequest=https://github.example.com/acme/fleet/pull/7", "reason=refused", `caller="the process's own"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s is not in the log:\n%s", want, log.String())
		}
	}
}
