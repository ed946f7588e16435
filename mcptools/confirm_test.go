package mcptools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var dev01Removal = map[string]any{"organization": "acme", "name": "dev01"}

// newestCall is a call as a client of the newest revision sends it, which says with each request whether it asks its user.
func newestCall(tool string, arguments map[string]any, asks string, more map[string]any) map[string]any {
	params := map[string]any{"name": tool, "arguments": arguments, "_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": json.RawMessage(asks),
		"io.modelcontextprotocol/clientInfo": map[string]any{"name": "test", "version": "1"},
	}}
	maps.Copy(params, more)
	return map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
}

// sent posts a message of the newest revision, and returns the result of the answer.
func sent(t *testing.T, endpoint string, message map[string]any) map[string]any {
	t.Helper()
	return sentAs(t, endpoint, "2026-07-28", message)
}

func sentAs(t *testing.T, endpoint, revision string, message map[string]any) map[string]any {
	t.Helper()
	body, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	params, _ := message["params"].(map[string]any)
	name, _ := params["name"].(string)
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": revision, "Mcp-Method": "tools/call", "Mcp-Name": name,
	} {
		request.Header.Set(key, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if after, is := strings.CutPrefix(line, "data: "); is {
			text = []byte(after)
		}
	}
	var answer struct{ Result map[string]any }
	if err := json.Unmarshal(text, &answer); err != nil || answer.Result == nil {
		t.Fatalf("%v: %s", err, text)
	}
	return answer.Result
}

func textOf(result map[string]any) string {
	encoded, _ := json.Marshal(result["content"])
	return string(encoded)
}

const asking = `{"elicitation":{}}`

// A client of the newest revision that asks its user is asked once, with what goes; the reply counts for this call alone.
func TestARemovalIsAskedFor(t *testing.T) {
	t.Parallel()
	l := newLife(t, nil, map[string]string{managementFile: dev01 + running + leftByFar})
	server := httptest.NewServer(l.Handler("/mcp"))
	t.Cleanup(server.Close)
	endpoint := server.URL + "/mcp"
	ask := func(tool string, arguments map[string]any, more map[string]any) map[string]any {
		return sent(t, endpoint, newestCall(tool, arguments, asking, more))
	}
	answered := func(action string, state any) map[string]any {
		return map[string]any{"requestState": state, "inputResponses": map[string]any{"confirm": map[string]any{"action": action}}}
	}
	first := ask("delete_cluster", dev01Removal, nil)
	requests, _ := json.Marshal(first["inputRequests"])
	for _, want := range []string{"elicitation/create", "would-delete: ConfigMap agent-platform/model-backend-kserve-dev01, HelmRelease org-acme/dev01", "with the cluster go: dev01-cilium"} {
		if !strings.Contains(string(requests), want) {
			t.Errorf("the question lacks %q: %s", want, requests)
		}
	}
	state, _ := first["requestState"].(string)
	if first["resultType"] != "input_required" || state == "" {
		t.Fatalf("%v", first)
	}
	if declined := ask("delete_cluster", dev01Removal, answered("decline", state)); declined["isError"] != true || !strings.Contains(textOf(declined), "it was declined, so nothing was removed") {
		t.Errorf("%v", declined)
	}
	// What the user was not asked about is asked for again.
	for name, again := range map[string]map[string]any{
		"a state of nobody": answered("accept", "e30.e30"), "another state": answered("accept", state+"x"), "none": answered("accept", ""),
	} {
		if result := ask("delete_cluster", dev01Removal, again); result["resultType"] != "input_required" {
			t.Errorf("%s: %v", name, result)
		}
	}
	other := ask("delete_cluster", map[string]any{"organization": "acme", "name": "dev01", "mode": "apply"}, nil)
	if result := ask("delete_cluster", dev01Removal, answered("accept", other["requestState"])); other["requestState"] == nil || result["resultType"] != "input_required" {
		t.Errorf("the state of another call: %v", result)
	}
	if writes := l.reset(); writes != 0 {
		t.Fatalf("%d writes before anybody said yes", writes)
	}
	if result := ask("delete_cluster", dev01Removal, answered("accept", state)); result["isError"] == true || l.reset() != 4 {
		t.Errorf("%v", result)
	}
	if refused := ask("delete_cluster", map[string]any{"organization": "acme", "name": "gazelle"}, nil); refused["isError"] != true || refused["resultType"] == "input_required" {
		t.Errorf("a refusal is asked about: %v", refused)
	}
}

// A client that cannot be asked gets the removal in the first call; a dry run, and what removes nothing, asks nobody.
func TestWhoIsNotAsked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tool, asks string
		arguments  map[string]any
		writes     int
	}{
		"no elicitation":       {"delete_cluster", `{}`, dev01Removal, 4},
		"elicitation by link":  {"delete_cluster", `{"elicitation":{"url":{}}}`, dev01Removal, 4},
		"a dry run":            {"delete_cluster", asking, map[string]any{"organization": "acme", "name": "dev01", "dryRun": true}, 0},
		"what removes nothing": {"create_node_pool", asking, map[string]any{"cluster": "wc1", "name": "gpu-l4", "serving": false}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLife(t, nil, map[string]string{managementFile: dev01 + running})
			server := httptest.NewServer(l.Handler("/mcp"))
			t.Cleanup(server.Close)
			result := sent(t, server.URL+"/mcp", newestCall(test.tool, test.arguments, test.asks, nil))
			if writes := l.reset(); result["isError"] == true || result["resultType"] == "input_required" || writes != test.writes {
				t.Errorf("%d writes, %v", writes, result)
			}
		})
	}
}

// Over HTTP nobody knows any more what a client of an older revision said when it connected: it gets the removal in the
// first call, and waits for nobody.
func TestAnOlderClientOverHTTPIsNotAsked(t *testing.T) {
	t.Parallel()
	l := newLife(t, nil, map[string]string{managementFile: dev01 + running})
	server := httptest.NewServer(l.Handler("/mcp"))
	t.Cleanup(server.Close)
	sentAs(t, server.URL+"/mcp", "2025-06-18", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": json.RawMessage(asking), "clientInfo": map[string]any{"name": "test", "version": "1"},
	}})
	result := sentAs(t, server.URL+"/mcp", "2025-06-18", map[string]any{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": map[string]any{
		"name": "delete_cluster", "arguments": dev01Removal,
	}})
	if writes := l.reset(); result["isError"] == true || writes != 4 {
		t.Errorf("%d writes, %v", writes, result)
	}
}

// A client of an older revision that asks its user is asked in the middle of its call.
func TestAnOlderClientIsAskedOnItsConnection(t *testing.T) {
	t.Parallel()
	for action, writes := range map[string]int{"accept": 4, "cancel": 0} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			l := newLife(t, nil, map[string]string{managementFile: dev01 + running})
			ctx, stop := context.WithCancel(t.Context())
			toServer, fromClient := io.Pipe()
			toClient, fromServer := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- l.ServeStdio(ctx, toServer, fromServer, time.Second) }()
			t.Cleanup(func() {
				stop()
				_ = fromClient.Close()
				_ = toClient.Close()
				<-ended
			})
			lines := bufio.NewReader(toClient)
			say := func(message map[string]any) {
				message["jsonrpc"] = "2.0"
				if err := json.NewEncoder(fromClient).Encode(message); err != nil {
					t.Fatal(err)
				}
			}
			hear := func() map[string]any {
				line, err := lines.ReadBytes('\n')
				if err != nil {
					t.Fatal(err)
				}
				var message map[string]any
				if err := json.Unmarshal(line, &message); err != nil {
					t.Fatal(err)
				}
				return message
			}
			say(map[string]any{"id": 1, "method": "initialize", "params": map[string]any{
				"protocolVersion": "2025-06-18", "capabilities": json.RawMessage(asking), "clientInfo": map[string]any{"name": "test", "version": "1"},
			}})
			hear()
			say(map[string]any{"method": "notifications/initialized"})
			say(map[string]any{"id": 2, "method": "tools/call", "params": map[string]any{"name": "delete_cluster", "arguments": dev01Removal}})
			asked := hear()
			params, _ := json.Marshal(asked["params"])
			if asked["method"] != "elicitation/create" || !strings.Contains(string(params), "HelmRelease org-acme/dev01") || l.reset() != 0 {
				t.Fatalf("%v", asked)
			}
			say(map[string]any{"id": asked["id"], "result": map[string]any{"action": action}})
			answer, _ := hear()["result"].(map[string]any)
			if got := l.reset(); got != writes || (answer["isError"] == true) != (writes == 0) {
				t.Errorf("%d writes, %v", got, answer)
			}
		})
	}
}

func TestASealedState(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := newSealer()
	s.now = func() time.Time { return now }
	jane := clustermanager.Caller{Subject: "1", Email: "jane@acme.example", KubernetesToken: clustermanager.NewSecret("made for the test")}
	arguments := map[string]any{"cluster": "wc1", "force": true}
	state := s.seal("delete_node_pool", jane, arguments)
	another := newSealer()
	another.now = s.now
	if !s.holds(state, "delete_node_pool", jane, map[string]any{"force": true, "cluster": "wc1"}) || !another.holds(state, "delete_node_pool", jane, arguments) {
		t.Error("the state does not hold for its own call, or not at another replica")
	}
	joe, alone := jane, jane
	joe.Subject, alone.KubernetesToken = "2", clustermanager.Secret{}
	for name, holds := range map[string]bool{
		"another tool":      s.holds(state, "delete_cluster", jane, arguments),
		"another caller":    s.holds(state, "delete_node_pool", joe, arguments),
		"another token":     s.holds(state, "delete_node_pool", alone, arguments),
		"another target":    s.holds(state, "delete_node_pool", jane, map[string]any{"cluster": "wc2", "force": true}),
		"without the force": s.holds(state, "delete_node_pool", jane, map[string]any{"cluster": "wc1"}),
		"a changed state":   s.holds("A"+state[1:], "delete_node_pool", jane, arguments),
		"no token, another process": func() bool {
			return another.holds(s.seal("delete_node_pool", alone, arguments), "delete_node_pool", alone, arguments)
		}(),
	} {
		if holds {
			t.Errorf("it holds for %s", name)
		}
	}
	now = now.Add(confirmWithin)
	if s.holds(state, "delete_node_pool", jane, arguments) {
		t.Error("it never expires")
	}
	if strings.Contains(state, "made for the test") {
		t.Error("the token is in the state")
	}
}
