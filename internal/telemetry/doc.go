// Package telemetry is what operators see of the server: traces over OTLP, metrics for Prometheus, and the log's form.
//
// It promises that nothing is sent or served unless the standard OTEL_ variables ask for it (a pod, whose chart sets them,
// aside from traces serves metrics by default), that a span or a metric holds the names of methods, tools and routes and
// how long they took, never an argument, an answer, a token or an error's text, and that an exporter which cannot be
// reached costs a call nothing.
//
// It leaves out the audit record of a call, which knows what a tool did and is written with it.
package telemetry
