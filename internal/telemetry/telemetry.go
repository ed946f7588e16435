package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
)

// Variables of OpenTelemetry's specification that are read here; those of the exporter itself (endpoint, headers, TLS),
// of the sampler and of the resource are read by its SDK.
const (
	variableEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	variableTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	variableProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	variableTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	variableTraces         = "OTEL_TRACES_EXPORTER"
	variableMetrics        = "OTEL_METRICS_EXPORTER"
	variableMetricsHost    = "OTEL_EXPORTER_PROMETHEUS_HOST"
	variableMetricsPort    = "OTEL_EXPORTER_PROMETHEUS_PORT"
	variableDisabled       = "OTEL_SDK_DISABLED"
	variablePod            = "KUBERNETES_SERVICE_HOST"
)

const (
	name = "cluster-manager"
	// flushTimeout is how long a stop waits for spans that were not sent.
	flushTimeout = 5 * time.Second
	// The address of metrics by the specification's own defaults.
	defaultMetricsHost = "localhost"
	defaultMetricsPort = "9464"
)

// Options are what telemetry starts with.
type Options struct {
	Version string
	// Variable reads the environment.
	Variable func(name string) string
	Log      *slog.Logger
	// Spans takes spans in place of an exporter; for tests.
	Spans sdktrace.SpanProcessor
}

// Telemetry is one process's. It is safe for concurrent use.
type Telemetry struct {
	traces  trace.TracerProvider
	meters  metric.MeterProvider
	tracer  trace.Tracer
	calls   metric.Float64Histogram
	context propagation.TextMapPropagator
	// registry is nil where no metrics are served.
	registry *prometheus.Registry
	address  string
	stops    []func(context.Context) error
}

// Start reads the variables and makes what they ask for. An unknown exporter or protocol is an error that names its
// variable.
func Start(ctx context.Context, options Options) (*Telemetry, error) {
	t := &Telemetry{
		traces: nooptrace.NewTracerProvider(), meters: noopmetric.NewMeterProvider(),
		context: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	}
	if options.Variable(variableDisabled) != "true" {
		described, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
			attribute.String("service.name", name), attribute.String("service.version", options.Version)), resource.WithFromEnv())
		if err != nil {
			return nil, fmt.Errorf("telemetry: reading OTEL_RESOURCE_ATTRIBUTES: %w", err)
		}
		if err := errors.Join(t.startTraces(ctx, options, described), t.startMetrics(options, described)); err != nil {
			return nil, err
		}
	}
	t.tracer = t.traces.Tracer(name)
	var err error
	t.calls, err = t.meters.Meter(name).Float64Histogram("mcp.server.operation.duration",
		metric.WithUnit("s"), metric.WithDescription("Duration of an MCP request as the server saw it."),
		metric.WithExplicitBucketBoundaries(buckets...))
	return t, err
}

// buckets are seconds: a read takes tens of milliseconds, and calls end within their budgets, of about ten seconds.
var buckets = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10, 15}

func (t *Telemetry) startTraces(ctx context.Context, options Options, described *resource.Resource) error {
	processor := options.Spans
	if processor == nil {
		sender, err := spanExporter(ctx, options.Variable)
		if err != nil || sender == nil {
			return err
		}
		processor = sdktrace.NewBatchSpanProcessor(sender)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor), sdktrace.WithResource(described))
	t.traces, t.stops = provider, append(t.stops, provider.Shutdown)
	return nil
}

// spanExporter is nil where no endpoint is named.
func spanExporter(ctx context.Context, variable func(string) string) (sdktrace.SpanExporter, error) {
	if variable(variableEndpoint) == "" && variable(variableTracesEndpoint) == "" || variable(variableTraces) == "none" {
		return nil, nil
	}
	if kind := variable(variableTraces); kind != "" && kind != "otlp" {
		return nil, fmt.Errorf("environment variable %s: %q is none of otlp and none", variableTraces, kind)
	}
	protocol := variable(variableTracesProtocol)
	if protocol == "" {
		protocol = variable(variableProtocol)
	}
	switch protocol {
	case "", "grpc":
		return otlptracegrpc.New(ctx)
	case "http/protobuf":
		return otlptracehttp.New(ctx)
	}
	return nil, fmt.Errorf("environment variable %s: %q is none of grpc and http/protobuf", variableProtocol, protocol)
}

func (t *Telemetry) startMetrics(options Options, described *resource.Resource) error {
	switch kind := options.Variable(variableMetrics); {
	case kind == "none", kind == "" && options.Variable(variablePod) == "":
		return nil
	case kind != "" && kind != "prometheus":
		return fmt.Errorf("environment variable %s: %q is none of prometheus and none", variableMetrics, kind)
	}
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry))
	if err != nil {
		return fmt.Errorf("telemetry: making the metrics: %w", err)
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(described))
	host, port := options.Variable(variableMetricsHost), options.Variable(variableMetricsPort)
	if host == "" {
		host = defaultMetricsHost
	}
	if port == "" {
		port = defaultMetricsPort
	}
	t.meters, t.registry, t.address = provider, registry, net.JoinHostPort(host, port)
	t.stops = append(t.stops, provider.Shutdown)
	return nil
}

// MetricsAddress is where the metrics are to be served; "": nowhere.
func (t *Telemetry) MetricsAddress() string { return t.address }

// Metrics serves them; nil where there are none.
func (t *Telemetry) Metrics() http.Handler {
	if t.registry == nil {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{Registry: t.registry}))
	return mux
}

// Meter makes metrics of the product's own.
func (t *Telemetry) Meter() metric.Meter { return t.meters.Meter(name) }

// Stop sends what is left, for five seconds at most.
func (t *Telemetry) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	var faults []error
	for _, stop := range t.stops {
		faults = append(faults, stop(ctx))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("telemetry: sending what is left: %w", err)
	}
	return nil
}
