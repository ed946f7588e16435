package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/clustermanager/cluster-manager/internal/bench"
	"github.com/clustermanager/cluster-manager/internal/limits"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/internal/telemetry"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// mostAllocations is how many more a call may make than a bare tool of the library that does the same work.
const mostAllocations = 60

// overheadCall is one call as it stands on the wire, of one revision of the protocol.
type overheadCall struct {
	name, tool, version, body string
}

func overheadCalls() []overheadCall {
	var calls []overheadCall
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		for _, call := range []struct{ tool, arguments string }{
			{"get_info", `{}`}, {"create_node_pool", `{"cluster":"wc1","name":"gpu-l4","serving":false,"dryRun":true}`},
		} {
			meta := ""
			if version == "2026-07-28" {
				meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}`
			}
			calls = append(calls, overheadCall{
				name: "tool=" + call.tool + "/revision=" + version, tool: call.tool, version: version,
				body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, call.tool, call.arguments, meta),
			})
		}
	}
	return calls
}

func (c overheadCall) request(ctx context.Context, url string) *http.Request {
	request, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(c.body))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": c.version, "Mcp-Method": "tools/call", "Mcp-Name": c.tool,
	} {
		request.Header.Set(name, value)
	}
	return request
}

// openOverhead opens what serve opens, with the limits on and so high that no call meets them. The handler is serve's own:
// what is put before the endpoint there, a token's check or tracing, is measured here.
func openOverhead(tb testing.TB, spans sdktrace.SpanProcessor) (*installation, http.Handler) {
	tb.Helper()
	observed, err := telemetry.Start(tb.Context(), telemetry.Options{
		Version: version, Variable: func(string) string { return "" }, Spans: spans,
	})
	if err != nil {
		tb.Fatal(err)
	}
	opened, err := openSnapshot(tb.Context(), snapshotOptions{
		directory: filepath.Join("..", "..", "fixtures", "installations", "gazelle"), now: time.Now, log: slog.New(slog.DiscardHandler),
		limits: limits.New(1<<30, 1<<30, time.Now), observe: observed.Call,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = opened.Close() })
	handler, err := routes(opened, nil, serveOptions{Resolved: settings.Resolved{Server: settings.Server{MCPPath: "/mcp", MaxRequestBytes: settings.DefaultMaxRequestBytes}}}, observed)
	if err != nil {
		tb.Fatal(err)
	}
	return opened, observed.Server(handler)
}

// bare is a server of the library alone whose one tool does what the real one does and checks nothing; canned answers
// instead what was answered once.
func bare(tb testing.TB, opened *installation, name string, canned *mcp.CallToolResult) http.Handler {
	tb.Helper()
	index := slices.IndexFunc(opened.tools.List(), func(tool mcptools.Tool) bool { return tool.Name == name })
	tool := opened.tools.List()[index]
	mcpServer := server.NewMCPServer("bare", "test")
	mcpServer.AddTool(mcp.Tool{Name: name, RawInputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if canned != nil {
			return canned, nil
		}
		answer, err := tool.Handle(ctx, mcptools.Call{Caller: opened.caller(), Start: time.Now(), Now: time.Now(), Progress: func(string) {}}, json.RawMessage(`{}`))
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(string(text))}, StructuredContent: json.RawMessage(text)}, nil
	})
	return server.NewStreamableHTTPServer(mcpServer, server.WithStateLess(true))
}

// answerOf calls a handler without a network.
func answerOf(tb testing.TB, handler http.Handler, call overheadCall) []byte {
	tb.Helper()
	answer := httptest.NewRecorder()
	request := call.request(tb.Context(), "http://127.0.0.1/mcp")
	request.RemoteAddr, request.RequestURI = "127.0.0.1:1", "/mcp"
	handler.ServeHTTP(answer, request)
	if answer.Code != http.StatusOK || bytes.Contains(answer.Body.Bytes(), []byte(`"isError":true`)) {
		tb.Fatalf("%s: %d %s", call.name, answer.Code, answer.Body)
	}
	return answer.Body.Bytes()
}

// What stands before and around a tool costs little beside the library's own endpoint with the same work behind it.
func TestACallsOverheadIsSmall(t *testing.T) {
	opened, ours := openOverhead(t, nil)
	_, traced := openOverhead(t, sdktrace.NewBatchSpanProcessor(tracetest.NewNoopExporter()))
	for _, call := range overheadCalls() {
		if call.tool != "get_info" {
			continue
		}
		peer := bare(t, opened, call.tool, nil)
		fewest := func(handler http.Handler) float64 {
			least := testing.AllocsPerRun(20, func() { answerOf(t, handler, call) })
			for range 4 {
				least = min(least, testing.AllocsPerRun(20, func() { answerOf(t, handler, call) }))
			}
			return least
		}
		theirs, own := fewest(peer), fewest(ours)
		t.Logf("%s: %g allocations, traced %g, a bare tool %g", call.name, own, fewest(traced), theirs)
		if own > theirs+mostAllocations {
			t.Errorf("%s: %g allocations, a bare tool with the same work %g: more than %d over it", call.name, own, theirs, mostAllocations)
		}
	}
}

// BenchmarkOverhead is a whole call over streamable HTTP beside a bare tool of the library that answers what was answered
// before, one that does the same work (get_info alone: a dry run's is the tool itself), and a plain handler.
func BenchmarkOverhead(b *testing.B) {
	opened, ours := openOverhead(b, sdktrace.NewBatchSpanProcessor(tracetest.NewNoopExporter()))
	for _, call := range overheadCalls() {
		b.Run(call.name, func(b *testing.B) {
			answered := answerOf(b, ours, call)
			var message struct {
				Result struct {
					StructuredContent json.RawMessage `json:"structuredContent"`
				} `json:"result"`
			}
			if err := json.Unmarshal(answered, &message); err != nil {
				b.Fatal(err)
			}
			text := message.Result.StructuredContent
			canned := &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(string(text))}, StructuredContent: text}
			plain := http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
				_, _ = io.Copy(io.Discard, request.Body)
				writer.Header().Set("Content-Type", "application/json")
				_, _ = writer.Write(answered)
			})
			ways := []bench.Way{
				overTheWire(b, "ours", ours, call), overTheWire(b, "mcp-go-canned", bare(b, opened, call.tool, canned), call), overTheWire(b, "net-http", plain, call),
			}
			if call.tool == "get_info" {
				ways = append(ways, overTheWire(b, "mcp-go-same-work", bare(b, opened, call.tool, nil), call))
			}
			bench.Interleave(b, ways...)
		})
	}
}

// overTheWire calls a handler on loopback, over one connection, and reports the median beside the mean.
func overTheWire(b *testing.B, name string, handler http.Handler, call overheadCall) bench.Way {
	b.Helper()
	served := httptest.NewServer(handler)
	b.Cleanup(served.Close)
	return bench.Way{Name: name, Run: func(b *testing.B) {
		b.ReportAllocs()
		var took []time.Duration
		for b.Loop() {
			start := time.Now()
			response, err := served.Client().Do(call.request(b.Context(), served.URL+"/mcp"))
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK {
				b.Fatal(response.Status)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
	}}
}
