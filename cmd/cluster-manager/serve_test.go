package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

// startServer serves gazelle on a free port until the test ends.
func startServer(t *testing.T) (endpoint string, log *lockedBuffer) {
	t.Helper()
	return startServerOf(t, serveOptions{
		keep: t.TempDir(), Resolved: settings.Resolved{Server: settings.Server{
			Snapshot: filepath.Join("..", "..", "fixtures", "installations", "gazelle"), Listen: "127.0.0.1:0",
			MCPPath: settings.DefaultMCPPath, MaxRequestBytes: settings.DefaultMaxRequestBytes,
		}},
	})
}

// startServerOf serves what the options say until the test ends.
func startServerOf(t *testing.T, options serveOptions) (endpoint string, log *lockedBuffer) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	log = &lockedBuffer{}
	go func() {
		ended <- serve(ctx, options, log, func(_ *installation, endpoint string) { ready <- endpoint })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case endpoint = <-ready:
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	return endpoint, log
}

// post sends one JSON-RPC message and returns the status and the message in the answer, of a stream or not.
func post(t *testing.T, endpoint, body string, header map[string]string) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	if host := header["Host"]; host != "" {
		request.Host = host
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if after, ok := strings.CutPrefix(line, "data: "); ok {
			data = []byte(after)
		}
	}
	var message map[string]any
	_ = json.Unmarshal(data, &message)
	return response.StatusCode, message
}

// Both eras of the protocol are served on one endpoint, without a session.
func TestBothErasOnOneEndpoint(t *testing.T) {
	endpoint, _ := startServer(t)
	status, message := post(t, endpoint, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, nil)
	result, _ := message["result"].(map[string]any)
	if status != http.StatusOK || result["protocolVersion"] != "2025-06-18" {
		t.Errorf("initialize: %d %v", status, message)
	}
	status, message = post(t, endpoint, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_info","arguments":{}}}`, map[string]string{"MCP-Protocol-Version": "2025-06-18"})
	if result, _ := message["result"].(map[string]any); status != http.StatusOK || result["structuredContent"] == nil {
		t.Errorf("the older era: %d %v", status, message)
	}
	client, err := mcptools.Dial(t.Context(), endpoint, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	answered, err := client.Call(t.Context(), "get_info", json.RawMessage(`{}`), nil)
	if err != nil || answered.Reason != "" || answered.Structured == nil {
		t.Errorf("the newest era: %v %+v", err, answered)
	}
}

func TestProgressNamesTheSteps(t *testing.T) {
	endpoint, _ := startServer(t)
	client, err := mcptools.Dial(t.Context(), endpoint, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for range 2 {
		var steps []string
		_, err := client.Call(t.Context(), "create_node_pool", json.RawMessage(`{"cluster":"wc1","name":"gpu-l4","serving":false,"mode":"commit","dryRun":true}`),
			func(step string) { steps = append(steps, step) })
		if err != nil {
			t.Fatal(err)
		}
		// The last ones may come too late for an answer that is there already.
		all := []string{"survey", "compose", "fetch", "render and seal", "prove"}
		if len(steps) < 4 || len(steps) > len(all) || !slices.Equal(steps, all[:len(steps)]) {
			t.Errorf("steps %q", steps)
		}
	}
}

// What is not the client's own is turned away: a large body, a page of another site, a name that was bound to loopback.
func TestRequestsThatAreTurnedAway(t *testing.T) {
	endpoint, log := startServer(t)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_info","arguments":{}}}`
	large := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_info","arguments":{"x":"` + strings.Repeat("x", settings.DefaultMaxRequestBytes) + `"}}}`
	for name, test := range map[string]struct {
		body   string
		header map[string]string
	}{
		"large body":        {large, nil},
		"another site":      {call, map[string]string{"Origin": "https://example.com", "Sec-Fetch-Site": "cross-site"}},
		"rebound name":      {call, map[string]string{"Host": "attacker.example"}},
		"another site, old": {call, map[string]string{"Origin": "https://example.com"}},
	} {
		if status, message := post(t, endpoint, test.body, test.header); status < 400 || status >= 500 {
			t.Errorf("%s: %d %v", name, status, message)
		}
	}
	if strings.Contains(log.String(), "tool=get_info") {
		t.Errorf("a tool ran: %s", log)
	}
}

func TestServeChecksItsFlags(t *testing.T) {
	good := serveOptions{Resolved: settings.Resolved{Server: settings.Server{Snapshot: "x", Listen: "127.0.0.1:0"}}}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	err := serveOptions{Resolved: settings.Resolved{Server: settings.Server{Listen: "0.0.0.0:80"}}, keep: "x"}.check()
	for _, want := range []string{"setting listen", "flag --keep"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

// A client reads the tools in the order of their use, not of their names.
func TestToolsAreListedInTheirOrder(t *testing.T) {
	endpoint, _ := startServer(t)
	client, err := mcptools.Dial(t.Context(), endpoint, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	names, err := client.Tools(t.Context())
	if err != nil || strings.Join(names, " ") != "get_info list_clusters list_releases create_cluster delete_cluster list_node_pools create_node_pool delete_node_pool enable_model_serving disable_model_serving remove_model_cache list_changes get_change" {
		t.Errorf("%v %v", names, err)
	}
}

// A page whose name was made to point at this machine is of the same origin as what it calls; its name gives it away.
func TestAnotherHostsNameIsRefused(t *testing.T) {
	handler := byLoopbackName(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, status := range map[string]int{
		"127.0.0.1:8080": http.StatusOK, "localhost:8080": http.StatusOK, "[::1]:8080": http.StatusOK, "[::1]": http.StatusOK, "localhost": http.StatusOK,
		"evil.example:8080": http.StatusForbidden, "evil.example": http.StatusForbidden, "localhost.evil.example:8080": http.StatusForbidden, "": http.StatusForbidden,
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil)
		request.Host = host
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != status {
			t.Errorf("%q: status %d, want %d", host, answer.Code, status)
		}
	}
}
