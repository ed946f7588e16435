package telemetry_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/clustermanager/cluster-manager/internal/telemetry"
)

// secret was made for these tests.
const secret = "token-made-for-this-test"

func variables(given map[string]string) func(string) string {
	return func(name string) string { return given[name] }
}

func start(t *testing.T, given map[string]string, spans sdktrace.SpanProcessor) *telemetry.Telemetry {
	t.Helper()
	made, err := telemetry.Start(t.Context(), telemetry.Options{Version: "1.2.3", Variable: variables(given), Spans: spans})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// server is a listener with a probe and an MCP endpoint whose one tool is refused where its name says so.
func server(t *testing.T, observed *telemetry.Telemetry) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("/mcp", observed.Messages(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		if !bytes.Contains(body, []byte("tools/call")) {
			return
		}
		outcome := telemetry.Answered
		if bytes.Contains(body, []byte("refused")) {
			outcome = telemetry.Refused
		}
		_, end := observed.Call(request.Context(), "get_info")
		end(outcome)
	})))
	listening := httptest.NewServer(observed.Server(mux))
	t.Cleanup(listening.Close)
	return listening
}

func post(t *testing.T, url, body string, header map[string]string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}

const calling = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_info","arguments":{"cluster":"` + secret + `"}}}`

func TestSpans(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	listening := server(t, start(t, nil, recorder))
	const trace = "0af7651916cd43dd8448eb211c80319c"
	post(t, listening.URL+"/mcp", calling, map[string]string{"traceparent": "00-" + trace + "-b7ad6b7169203331-01"})
	post(t, listening.URL+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+secret+`"}`, nil)
	probed, err := http.Get(listening.URL + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = probed.Body.Close()
	var names []string
	for _, span := range recorder.Ended() {
		names = append(names, span.Name())
		for _, attribute := range span.Attributes() {
			if strings.Contains(attribute.Value.String(), secret) {
				t.Errorf("span %s: attribute %s holds %s", span.Name(), attribute.Key, attribute.Value.String())
			}
		}
	}
	slices.Sort(names)
	if difference := cmp.Diff([]string{"POST /mcp", "POST /mcp", "mcp.tools/call", "tool.get_info"}, names); difference != "" {
		t.Error(difference)
	}
	for _, span := range recorder.Ended() {
		if span.Name() == "tool.get_info" && (span.SpanContext().TraceID().String() != trace || !span.Parent().IsValid()) {
			t.Errorf("the client's trace does not go on: %v", span.SpanContext())
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	observed := start(t, map[string]string{"OTEL_METRICS_EXPORTER": "prometheus"}, nil)
	listening := server(t, observed)
	post(t, listening.URL+"/mcp", calling, nil)
	post(t, listening.URL+"/mcp", strings.Replace(calling, secret, "refused", 1), nil)
	_, end := observed.Call(t.Context(), "get_info")
	end(telemetry.Broken)
	served := httptest.NewServer(observed.Metrics())
	defer served.Close()
	response, err := http.Get(served.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`mcp_server_operation_duration_seconds_count{gen_ai_operation_name="execute_tool",gen_ai_tool_name="get_info",mcp_method_name="tools/call"`,
		`error_type="tool_error",gen_ai_operation_name`, `error_type="_OTHER",gen_ai_operation_name`,
		"http_server_request_duration_seconds_count{", `service_version="1.2.3"`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%s is not among the metrics:\n%s", want, page)
		}
	}
	if strings.Contains(string(page), secret) {
		t.Error("the metrics hold a request's token")
	}
}

func TestWhereMetricsAreServed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given map[string]string
		want  string
	}{
		"on a person's machine":           {nil, ""},
		"asked for":                       {map[string]string{"OTEL_METRICS_EXPORTER": "prometheus"}, "localhost:9464"},
		"in a pod":                        {map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1", "OTEL_EXPORTER_PROMETHEUS_HOST": "0.0.0.0", "OTEL_EXPORTER_PROMETHEUS_PORT": "9999"}, "0.0.0.0:9999"},
		"switched off in a pod":           {map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1", "OTEL_METRICS_EXPORTER": "none"}, ""},
		"telemetry switched off in a pod": {map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1", "OTEL_SDK_DISABLED": "true"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := start(t, test.given, nil)
			if made.MetricsAddress() != test.want || (made.Metrics() != nil) != (test.want != "") {
				t.Errorf("served at %q, want %q", made.MetricsAddress(), test.want)
			}
		})
	}
}

func TestFaultsOfTheVariables(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given map[string]string
		want  string
	}{
		"metrics":  {map[string]string{"OTEL_METRICS_EXPORTER": "otlp"}, `OTEL_METRICS_EXPORTER: "otlp"`},
		"traces":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_TRACES_EXPORTER": "zipkin"}, `OTEL_TRACES_EXPORTER: "zipkin"`},
		"protocol": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, `OTEL_EXPORTER_OTLP_PROTOCOL: "http/json"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := telemetry.Start(t.Context(), telemetry.Options{Variable: variables(test.given)})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("answered %v, want %s", err, test.want)
			}
		})
	}
}

// A collector takes what is left at a stop, over the protocol that is asked for.
func TestSpansAreSent(t *testing.T) {
	received := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		received <- request.URL.Path + " " + string(body)
	}))
	defer collector.Close()
	// The SDK reads the endpoint itself.
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	made := start(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, nil)
	_, end := made.Call(t.Context(), "get_info")
	end(telemetry.Answered)
	if err := made.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-received; !strings.HasPrefix(got, "/v1/traces ") || !strings.Contains(got, "tool.get_info") {
		t.Errorf("the collector received %q", got)
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	ctx, end := start(t, nil, recorder).Call(context.WithoutCancel(t.Context()), "get_info")
	defer end(telemetry.Answered)
	var text, pod bytes.Buffer
	telemetry.NewLog(&text, false, variables(nil)).With("a", "b").InfoContext(ctx, "said")
	telemetry.NewLog(&text, false, variables(nil)).Debug("not said")
	log := telemetry.NewLog(&pod, true, variables(map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}))
	log.DebugContext(t.Context(), "said")
	if got := text.String(); !strings.Contains(got, "msg=said a=b trace_id=") || strings.Contains(got, "not said") {
		t.Errorf("text: %s", got)
	}
	if got := pod.String(); !strings.Contains(got, `"level":"DEBUG","msg":"said"`) || strings.Contains(got, "trace_id") {
		t.Errorf("in a pod: %s", got)
	}
}
