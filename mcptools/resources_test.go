package mcptools

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// fenced is a block of JSON in a document.
var fenced = regexp.MustCompile("(?s)```json\n(.*?)```")

// Each tool has its rules and each document its tool; each argument is told of, and each example is one that the schema takes.
func TestTheRulesAndTheToolsBelongTogether(t *testing.T) {
	t.Parallel()
	made := tools(t)
	wanted := map[string]bool{"rules/modes.md": true}
	for index, tool := range made.List() {
		wanted["rules/"+tool.Name+".md"] = true
		resource := made.resources[index]
		if resource.URI != rulesURI+tool.Name {
			t.Errorf("tool %s: its rules are %s", tool.Name, resource.URI)
		}
		for argument := range tool.Input.Properties {
			if !strings.Contains(resource.Text, "`"+argument+"`") {
				t.Errorf("rules of %s: argument %s is not told of", tool.Name, argument)
			}
		}
		for _, section := range []string{"## What it decides\n", "## Arguments\n", "## Refusals\n", "## After the call\n"} {
			if strings.Count(resource.Text, section) != 1 {
				t.Errorf("rules of %s: section %q is not there once", tool.Name, strings.TrimSpace(section))
			}
		}
		if writes := tool.Kind != Reading; strings.Contains(resource.Text, "## Modes\n") != writes {
			t.Errorf("rules of %s: modes are told of: %t", tool.Name, !writes)
		}
		checkExamples(t, tool, resource.Text)
	}
	files, err := fs.Glob(rules, "rules/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !wanted[file] {
			t.Errorf("%s belongs to no tool", file)
		}
	}
}

// checkExamples holds the examples against the tool's schema.
func checkExamples(t *testing.T, tool Tool, text string) {
	t.Helper()
	count := 0
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		for decoder := json.NewDecoder(strings.NewReader(block[1])); ; {
			var example json.RawMessage
			if err := decoder.Decode(&example); err != nil {
				if err.Error() != "EOF" {
					t.Errorf("rules of %s: an example: %v", tool.Name, err)
				}
				break
			}
			count++
			if _, err := checkArguments(tool, example); err != nil {
				t.Errorf("rules of %s: example %s: %v", tool.Name, example, err)
			}
		}
	}
	if count == 0 && len(tool.Input.Properties) > 0 {
		t.Errorf("rules of %s: no example", tool.Name)
	}
}

// What is not offered is not told of either.
func TestResourcesAndPromptsOfAServerThatReads(t *testing.T) {
	t.Parallel()
	made, err := New(Options{Version: "test", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(made.resources) != len(made.list) || len(made.prompts) != 0 {
		t.Errorf("%d resources of %d tools, %d prompts", len(made.resources), len(made.list), len(made.prompts))
	}
}

var (
	placeholder = regexp.MustCompile(`{{(\w+)}}`)
	toolName    = regexp.MustCompile(`\b(get|list|create|delete|enable|disable|remove)_[a-z_]+\b`)
)

func TestPrompts(t *testing.T) {
	t.Parallel()
	made := tools(t)
	if len(made.prompts) != len(prompts) {
		t.Fatalf("%d prompts of %d", len(made.prompts), len(prompts))
	}
	for _, prompt := range made.prompts {
		named := map[string]bool{}
		for _, match := range placeholder.FindAllStringSubmatch(prompt.text, -1) {
			named[match[1]] = true
		}
		values := map[string]string{}
		for _, argument := range prompt.Arguments {
			values[argument.Name] = "the-" + argument.Name
		}
		if !slices.Equal(slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(values))) {
			t.Errorf("prompt %s: its text has %v, its arguments are %v", prompt.Name, named, values)
		}
		for _, name := range toolName.FindAllString(prompt.text, -1) {
			if !slices.Contains(toolNames(made.list), name) {
				t.Errorf("prompt %s: %s is no tool", prompt.Name, name)
			}
		}
		filled, err := prompt.Fill(values)
		if err != nil || placeholder.MatchString(filled) || !strings.Contains(filled, "the-cluster") {
			t.Errorf("prompt %s: %v\n%s", prompt.Name, err, filled)
		}
		var invalid *clustermanager.InvalidArguments
		if _, err := prompt.Fill(map[string]string{"cluster": " "}); !errors.As(err, &invalid) {
			t.Errorf("prompt %s without its cluster: %v", prompt.Name, err)
		}
	}
	pool := made.prompts[0]
	with, _ := pool.Fill(map[string]string{"cluster": "wc1", "accelerator": "nvidia-l4"})
	without, _ := pool.Fill(map[string]string{"cluster": "wc1"})
	if !strings.HasPrefix(with, "Add a GPU node pool to cluster wc1, with accelerator nvidia-l4.\n") || !strings.HasPrefix(without, "Add a GPU node pool to cluster wc1.\n") {
		t.Errorf("%.80q, %.80q", with, without)
	}
}

// Both are read over the wire, in every era.
func TestResourcesAndPromptsOnTheWire(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(tools(t).Handler("/mcp"))
	t.Cleanup(server.Close)
	for _, era := range eras {
		ask := func(method string, params map[string]any) (map[string]any, float64) {
			_, _, messages := heard(t, posted(t.Context(), t, server.URL+"/mcp", era, "", 1, method, params))
			return last(messages)
		}
		listed, _ := ask("resources/list", nil)
		if resources, _ := listed["resources"].([]any); len(resources) != len(tools(t).list) {
			t.Errorf("%s: resources/list: %v", era, listed)
		}
		read, _ := ask("resources/read", map[string]any{"uri": rulesURI + "create_node_pool"})
		contents, _ := json.Marshal(read["contents"])
		if !strings.Contains(string(contents), `"mimeType":"text/markdown"`) || !strings.Contains(string(contents), "# create_node_pool\\n\\nCreates a GPU node pool") {
			t.Errorf("%s: resources/read: %.200s", era, contents)
		}
		if _, code := ask("resources/read", map[string]any{"uri": rulesURI + "none"}); code == 0 {
			t.Errorf("%s: a resource that is not there is read", era)
		}
		offered, _ := ask("prompts/list", nil)
		if list, _ := offered["prompts"].([]any); len(list) != len(prompts) {
			t.Errorf("%s: prompts/list: %v", era, offered)
		}
		got, _ := ask("prompts/get", map[string]any{"name": "retire_cluster", "arguments": map[string]any{"cluster": "wc1", "organization": "acme"}})
		text, _ := json.Marshal(got["messages"])
		if !strings.Contains(string(text), "Retire cluster wc1 of organization acme.") {
			t.Errorf("%s: prompts/get: %s", era, text)
		}
		// The library has no other code for what a prompt refuses; the message is the argument's name.
		if _, code := ask("prompts/get", map[string]any{"name": "retire_cluster", "arguments": map[string]any{}}); code != -32603 {
			t.Errorf("%s: a prompt without its arguments: %v", era, code)
		}
	}
}
