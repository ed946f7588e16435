package mcptools

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// One file per tool holds what a client sees of it; a change on the wire shows in a review.
func TestToolsAsTheyStandOnTheWire(t *testing.T) {
	made := tools(t)
	known := map[string]bool{}
	for _, tool := range made.List() {
		known[tool.Name+".json"] = true
		data, err := json.MarshalIndent(declaration(tool), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "tools", tool.Name+".json")
		if *update {
			if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("tool %s has no file; run make golden: %v", tool.Name, err)
		}
		if diff := cmp.Diff(string(golden), string(data)+"\n"); diff != "" {
			t.Errorf("tool %s differs from its file; run make golden and review (-file +tool):\n%s", tool.Name, diff)
		}
	}
	files, err := os.ReadDir(filepath.Join("testdata", "tools"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !known[file.Name()] {
			t.Errorf("%s belongs to no tool", file.Name())
		}
	}
}

func TestEveryToolIsDeclaredWhole(t *testing.T) {
	for _, tool := range tools(t).List() {
		declared := declaration(tool)
		hints := declared.Annotations
		if hints.Title == "" || hints.ReadOnlyHint == nil || hints.DestructiveHint == nil || hints.IdempotentHint == nil || hints.OpenWorldHint == nil {
			t.Errorf("tool %s: annotations %+v are not all set", tool.Name, hints)
		}
		for _, schema := range []json.RawMessage{declared.RawInputSchema, declared.RawOutputSchema} {
			if strings.Contains(string(schema), `"null"`) || !strings.Contains(string(schema), `"additionalProperties":false`) {
				t.Errorf("tool %s: a schema that allows null or more properties: %s", tool.Name, schema)
			}
		}
		for name, property := range tool.Input.Properties {
			if property.Description == "" {
				t.Errorf("tool %s: argument %s has no description", tool.Name, name)
			}
		}
	}
}
