package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mcpTools is the variable with the folder of the protocol's own tools: its conformance suite, the inspector, and the Node
// that runs them. make test provides it.
const mcpTools = "CLUSTER_MANAGER_TEST_MCP"

// Why a scenario of the suite does not pass. Most of the suite calls tools, prompts and resources of its own reference
// server by their names.
const (
	passes        = ""
	ownTool       = "it calls a tool of the suite's reference server"
	ownPrompt     = "it gets a prompt of the suite's reference server"
	ownResource   = "it reads a resource of the suite's reference server"
	notLogging    = "messages to the client's log are not offered: the server has its own"
	notCompleting = "completion of arguments is not offered"
	notSubscribed = "subscriptions are not offered: the resources change with the build alone"
)

// scenarios are those of the suite for servers, and what each comes to. One that is new, gone, newly passes or newly fails
// is a failure of the test.
var scenarios = map[string]string{
	"server-initialize":             passes,
	"ping":                          passes,
	"tools-list":                    passes,
	"resources-list":                passes,
	"prompts-list":                  passes,
	"server-sse-polling":            passes,
	"server-sse-multiple-streams":   passes,
	"dns-rebinding-protection":      passes,
	"logging-set-level":             notLogging,
	"completion-complete":           notCompleting,
	"resources-subscribe":           notSubscribed,
	"resources-unsubscribe":         notSubscribed,
	"resources-read-text":           ownResource,
	"resources-read-binary":         ownResource,
	"resources-templates-read":      ownResource,
	"prompts-get-simple":            ownPrompt,
	"prompts-get-with-args":         ownPrompt,
	"prompts-get-embedded-resource": ownPrompt,
	"prompts-get-with-image":        ownPrompt,
	"tools-call-simple-text":        ownTool,
	"tools-call-image":              ownTool,
	"tools-call-audio":              ownTool,
	"tools-call-embedded-resource":  ownTool,
	"tools-call-mixed-content":      ownTool,
	"tools-call-with-logging":       ownTool,
	"tools-call-error":              ownTool,
	"tools-call-with-progress":      ownTool,
	"tools-call-sampling":           ownTool,
	"tools-call-elicitation":        ownTool,
	"json-schema-2020-12":           ownTool,
	"elicitation-sep1034-defaults":  ownTool,
	"elicitation-sep1330-enums":     ownTool,
}

// outcome is a line of the suite's summary.
var outcome = regexp.MustCompile(`(?m)^(✓|✗) ([a-z0-9-]+): \d+ passed, (\d+) failed`)

// node runs a program of the protocol's own tools and returns what it printed.
func node(t *testing.T, program string, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	folder := os.Getenv(mcpTools)
	if folder == "" {
		t.Skip(mcpTools + " names no folder with the protocol's own tools: make test provides it")
	}
	command := exec.CommandContext(t.Context(), filepath.Join(folder, "node", "node_modules", "node", "bin", "node"),
		append([]string{filepath.Join(folder, "node_modules", "@modelcontextprotocol", program)}, arguments...)...)
	home := t.TempDir()
	command.Dir, command.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}
	var out, faults strings.Builder
	command.Stdout, command.Stderr = &out, &faults
	err = command.Run()
	return out.String(), faults.String(), err
}

func TestTheConformanceSuite(t *testing.T) {
	endpoint, _ := startServer(t)
	// The suite's status says that some scenario failed, which the table says better.
	stdout, stderr, _ := node(t, "conformance/dist/index.js", "server", "--url", endpoint, "--suite", "all")
	found := map[string]bool{}
	for _, line := range outcome.FindAllStringSubmatch(stdout, -1) {
		name, passed := line[2], line[1] == "✓"
		reason, known := scenarios[name]
		switch {
		case !known:
			t.Errorf("scenario %s is new: passed %t", name, passed)
		case passed != (reason == passes):
			t.Errorf("scenario %s: passed %t, which the table does not say (%q)", name, passed, reason)
		}
		found[name] = true
	}
	for name := range scenarios {
		if !found[name] {
			t.Errorf("scenario %s did not run", name)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", stdout, stderr)
	}
}

// The inspector, which people try servers with, lists the tools, finds no fault in their schemas, calls and reads.
func TestTheInspector(t *testing.T) {
	endpoint, _ := startServer(t)
	inspect := func(arguments ...string) map[string]any {
		t.Helper()
		stdout, stderr, err := node(t, "inspector/clients/launcher/build/index.js", append([]string{"--cli", endpoint, "--transport", "http"}, arguments...)...)
		var answer map[string]any
		if err == nil {
			err = json.Unmarshal([]byte(stdout), &answer)
		}
		if err != nil {
			t.Fatalf("%s: %v: %s%s", arguments, err, stdout, stderr)
		}
		return answer
	}
	var names []string
	listed, _ := inspect("--method", "tools/list", "--strict")["tools"].([]any)
	for _, tool := range listed {
		names = append(names, fmt.Sprint(tool.(map[string]any)["name"]))
	}
	if len(names) < 11 || names[0] != "get_info" || !slices.Contains(names, "create_node_pool") {
		t.Errorf("tools %q", names)
	}
	called := inspect("--method", "tools/call", "--tool-name", "create_node_pool", "--tool-arg", "cluster=wc1", "--tool-arg", "name=gpu-l4", "--tool-arg", "serving=false", "--tool-arg", "dryRun=true")
	if content, _ := called["structuredContent"].(map[string]any); called["isError"] == true || content["cluster"] != "wc1" || content["dryRun"] != true {
		t.Errorf("create_node_pool: %v", called)
	}
	if read := fmt.Sprint(inspect("--method", "resources/read", "--uri", "cluster-manager://tools/create_node_pool")); !strings.Contains(read, "Creates a GPU node pool") {
		t.Errorf("resources/read: %s", read)
	}
}
