package mcptools

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func tools(t *testing.T) *Tools {
	t.Helper()
	made, err := New(Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func tool(t *testing.T, name string) Tool {
	t.Helper()
	for _, tool := range tools(t).List() {
		if tool.Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s", name)
	return Tool{}
}

func TestArgumentsAreHeldAgainstTheSchema(t *testing.T) {
	create := tool(t, "create_node_pool")
	for _, test := range []struct{ name, arguments, want string }{
		{"missing", `{}`, "create_node_pool: argument cluster is missing; argument name is missing"},
		{"nothing", ``, "create_node_pool: argument cluster is missing; argument name is missing"},
		{"no object", `[]`, "no JSON object"},
		{"no JSON", `{`, "no JSON"},
		{"type", `{"cluster":1,"name":"gpu-l4"}`, "argument cluster is no string"},
		{"too short", `{"cluster":"wc1","name":"gpu"}`, `argument name is "gpu", which does not match`},
		{"no label", `{"cluster":"wc1","name":"GPU_00"}`, "does not match"},
		{"unknown argument", `{"cluster":"wc1","name":"gpu-l4","colour":"red"}`, `argument "colour" is unknown (known: accelerator, cache,`},
		{"enum", `{"cluster":"wc1","name":"gpu-l4","accelerator":"nvidia-h100"}`, `is "nvidia-h100", not one of nvidia-l4, nvidia-a10g, nvidia-t4, nvidia-l40s`},
		{"mode", `{"cluster":"wc1","name":"gpu-l4","mode":"push"}`, `is "push", not one of apply, commit`},
		{"minimum", `{"cluster":"wc1","name":"gpu-l4","maxGpus":0}`, "argument maxGpus is 0, below its minimum 1"},
		{"fraction", `{"cluster":"wc1","name":"gpu-l4","maxGpus":1.5}`, "argument maxGpus is no integer"},
		{"huge exponent", `{"cluster":"wc1","name":"gpu-l4","maxGpus":1e999999999}`, "argument maxGpus is no integer"},
		{"two lines", `{"cluster":"wc1","name":"gpu-l4","namespace":"a\nb"}`, `argument namespace is "a\nb", which is longer than 256 characters or not on one line`},
		{"a long cluster", `{"cluster":"` + strings.Repeat("x", 5000) + `","name":"gpu-l4"}`, "which is longer than 256 characters"},
		{"null", `{"cluster":"wc1","name":"gpu-l4","dryRun":null}`, "argument dryRun is null: leave it out"},
		{"array's item", `{"cluster":"wc1","name":"gpu-l4","sizes":["xlarge",2]}`, "argument sizes[1] is no string"},
		{"long value is cut", `{"cluster":"wc1","name":"` + strings.Repeat("x", 5000) + `"}`, `…"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := checkArguments(create, json.RawMessage(test.arguments))
			var invalid *clustermanager.InvalidArguments
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err != nil && len(err.Error()) > 600 {
				t.Errorf("an error of %d characters", len(err.Error()))
			}
		})
	}
}

func TestManyFaultsAreCounted(t *testing.T) {
	_, err := checkArguments(tool(t, "create_node_pool"), json.RawMessage(`{"cluster":"","name":"gpu-l4","sizes":[`+strings.Repeat("1,", 500)+`1]}`))
	if err == nil || !strings.Contains(err.Error(), "argument cluster is missing") || !strings.HasSuffix(err.Error(), "and 492 more") || len(err.Error()) > 600 {
		t.Error(err)
	}
}

func TestToolWithoutArgumentsTakesNone(t *testing.T) {
	if _, err := checkArguments(tool(t, "get_info"), json.RawMessage(`{"x":1}`)); err == nil || !strings.Contains(err.Error(), `"x" is unknown (known: none)`) {
		t.Error(err)
	}
}

func TestArgumentsThatFit(t *testing.T) {
	create := tool(t, "create_node_pool")
	for _, arguments := range []string{
		`{"cluster":"wc1","name":"gpu-l4"}`,
		`{"cluster":"wc1","name":"gpu-l4","maxGpus":4.0,"zones":[],"serving":false}`,
	} {
		checked, err := checkArguments(create, json.RawMessage(arguments))
		if err != nil {
			t.Errorf("%s: %v", arguments, err)
			continue
		}
		var request clustermanager.CreateNodePoolRequest
		if err := json.Unmarshal(checked, &request); err != nil {
			t.Errorf("%s: decoding: %v", checked, err)
		}
	}
}

func FuzzArguments(f *testing.F) {
	made, err := New(Options{Version: "test"})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{"cluster":"wc1","name":"gpu-l4"}`, `{"maxGpus":1e400}`, `null`, `{"sizes":[[]]}`, `{"a":{"b":{}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		for _, tool := range made.List() {
			checked, err := checkArguments(tool, json.RawMessage(arguments))
			if err != nil {
				continue
			}
			var request clustermanager.CreateNodePoolRequest
			if tool.Name == "create_node_pool" {
				if err := json.Unmarshal(checked, &request); err != nil {
					t.Errorf("%s passed the schema and does not decode: %v", arguments, err)
				}
			}
		}
	})
}
