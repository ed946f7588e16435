package mcptools

import (
	"slices"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func TestOfferedTools(t *testing.T) {
	all := []Tool{{Name: "get_info"}, {Name: "list_clusters"}, {Name: "create_node_pool", Kind: Adding}, {Name: "delete_node_pool", Kind: Removing}}
	for name, test := range map[string]struct {
		readOnly bool
		picked   []string
		want     string
		fault    string
	}{
		"all":       {false, nil, "get_info list_clusters create_node_pool delete_node_pool", ""},
		"read-only": {true, nil, "get_info list_clusters", ""},
		"picked":    {false, []string{"delete_node_pool", "get_info"}, "get_info delete_node_pool", ""},
		"both":      {true, []string{"delete_node_pool", "get_info"}, "get_info", ""},
		"unknown":   {false, []string{"get_info", "apply"}, "", `setting tools: "apply" is no tool of this build: it has get_info, list_clusters, create_node_pool, delete_node_pool`},
		"none":      {true, []string{"delete_node_pool"}, "", "settings tools and read-only: together they leave no tool: take one of them out"},
	} {
		left, err := offered(all, test.readOnly, test.picked)
		if test.fault != "" {
			if err == nil || err.Error() != test.fault {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := strings.Join(toolNames(left), " "); err != nil || got != test.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestInstructionsNameWhatIsOffered(t *testing.T) {
	all := []Tool{{Name: "get_info"}, {Name: "create_node_pool", Kind: Adding}}
	text := "A server.\nget_info: version\ncreate_node_pool: adds: a pool\nEvery call: as its caller."
	if got := instructionsFor(text, all, all[:1]); got != "A server.\nget_info: version\nEvery call: as its caller." {
		t.Errorf("got %q", got)
	}
}

// A server that may only read offers no mode, whatever its callers could do.
func TestReadOnlyServersOfferNoMode(t *testing.T) {
	made, err := New(Options{Version: "test", ReadOnly: true, CommitOffered: true, Settings: clustermanager.DefaultSettings()})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range made.List() {
		if tool.Kind != Reading {
			t.Errorf("%s is offered", tool.Name)
		}
	}
	if modes := made.modes(); modes.Apply || modes.Commit || len(modes.CommitTools) > 0 {
		t.Errorf("modes %+v", modes)
	}
	whole, err := New(Options{Version: "test", CommitOffered: true})
	if err != nil {
		t.Fatal(err)
	}
	if modes := whole.modes(); !modes.Commit || !slices.Contains(modes.CommitTools, "create_node_pool") {
		t.Errorf("modes %+v", modes)
	}
}
