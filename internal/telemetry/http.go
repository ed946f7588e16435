package telemetry

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Probes are not traced and not measured: they come every second and tell nothing.
var probes = map[string]bool{"/healthz": true, "/readyz": true}

// Server measures and traces the requests of a listener, where either is asked for. A trace that a client began goes on.
func (t *Telemetry) Server(handler http.Handler) http.Handler {
	if len(t.stops) == 0 {
		return handler
	}
	return otelhttp.NewHandler(handler, name,
		otelhttp.WithTracerProvider(t.traces), otelhttp.WithMeterProvider(t.meters), otelhttp.WithPropagators(t.context),
		otelhttp.WithFilter(func(request *http.Request) bool { return !probes[request.URL.Path] }),
		otelhttp.WithSpanNameFormatter(func(_ string, request *http.Request) string {
			if request.Pattern == "" {
				return request.Method
			}
			return request.Method + " " + request.URL.Path
		}))
}

// Messages gives each JSON-RPC request of an MCP endpoint a span of its own, named after its method. The body has been
// read and bounded before.
func (t *Telemetry) Messages(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPost || !trace.SpanFromContext(request.Context()).IsRecording() {
			handler.ServeHTTP(writer, request)
			return
		}
		body, err := io.ReadAll(request.Body)
		request.Body = io.NopCloser(bytes.NewReader(body))
		method, tool := methodOf(body)
		if err != nil || method == "" {
			handler.ServeHTTP(writer, request)
			return
		}
		attributes := []attribute.KeyValue{attribute.String(attributeMethod, method)}
		if method == methodCall {
			attributes = append(attributes, attribute.String(attributeTool, tool))
		}
		ctx, span := t.tracer.Start(request.Context(), "mcp."+method, trace.WithAttributes(attributes...))
		defer span.End()
		handler.ServeHTTP(writer, request.WithContext(ctx))
	})
}

// methods are those that a span is named after: a name that a client made up is none.
var methods = map[string]bool{
	"initialize": true, "notifications/initialized": true, "notifications/cancelled": true, "ping": true, methodCall: true,
	"tools/list": true, "resources/list": true, "resources/read": true, "resources/templates/list": true,
	"prompts/list": true, "prompts/get": true, "server/discover": true, "completion/complete": true, "logging/setLevel": true,
}

// methodOf returns a single request's method and the tool that it calls; "" for what is neither.
func methodOf(body []byte) (method, tool string) {
	var message struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &message) != nil || !methods[message.Method] {
		return "", ""
	}
	return message.Method, bounded(message.Params.Name)
}

// bounded keeps what a client calls a tool from filling a span.
func bounded(tool string) string {
	const most = 64
	if len(tool) > most {
		return tool[:most]
	}
	return tool
}
