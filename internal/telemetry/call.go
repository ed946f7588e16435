package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Names of OpenTelemetry's conventions for MCP and generative systems.
const (
	attributeMethod    = "mcp.method.name"
	attributeTool      = "gen_ai.tool.name"
	attributeOperation = "gen_ai.operation.name"
	attributeError     = "error.type"
	methodCall         = "tools/call"
	operationCall      = "execute_tool"
	// errorTool is a call that was answered with an error result, errorOther one that was not answered.
	errorTool  = "tool_error"
	errorOther = "_OTHER"
)

// Outcome is how a tool's call ended.
type Outcome int

const (
	// Answered is a call whose result is no error.
	Answered Outcome = iota
	// Refused is a call whose result is an error, of whatever reason.
	Refused
	// Broken is a call that ended without a result.
	Broken
)

// Call begins a tool's span; what it returns ends it and counts it. The tool is one of the server's own.
func (t *Telemetry) Call(ctx context.Context, tool string) (context.Context, func(Outcome)) {
	start := time.Now()
	ctx, span := t.tracer.Start(ctx, "tool."+tool, trace.WithAttributes(attribute.String(attributeTool, tool)))
	return ctx, func(outcome Outcome) {
		attributes := []attribute.KeyValue{
			attribute.String(attributeMethod, methodCall), attribute.String(attributeOperation, operationCall), attribute.String(attributeTool, tool),
		}
		if kind := [...]string{Refused: errorTool, Broken: errorOther}[outcome]; kind != "" {
			attributes = append(attributes, attribute.String(attributeError, kind))
			span.SetAttributes(attribute.String(attributeError, kind))
			span.SetStatus(codes.Error, "")
		}
		t.calls.Record(ctx, time.Since(start).Seconds(), metric.WithAttributes(attributes...))
		span.End()
	}
}
