package telemetry

import (
	"context"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// NewLog is the log of a process: JSON in a pod, text elsewhere. A record of a traced call names its trace.
func NewLog(to io.Writer, verbose bool, variable func(name string) string) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if verbose {
		options.Level = slog.LevelDebug
	}
	var handler slog.Handler = slog.NewTextHandler(to, options)
	if variable(variablePod) != "" {
		handler = slog.NewJSONHandler(to, options)
	}
	return slog.New(traced{handler})
}

// traced adds a record's trace.
type traced struct{ slog.Handler }

func (h traced) Handle(ctx context.Context, record slog.Record) error {
	if of := trace.SpanContextFromContext(ctx); of.IsValid() {
		record.AddAttrs(slog.String("trace_id", of.TraceID().String()), slog.String("span_id", of.SpanID().String()))
	}
	return h.Handler.Handle(ctx, record)
}

func (h traced) WithAttrs(attributes []slog.Attr) slog.Handler {
	return traced{h.Handler.WithAttrs(attributes)}
}

func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }
