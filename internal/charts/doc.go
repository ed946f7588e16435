// Package charts reads Helm charts from an OCI registry, as anybody: no credential is ever presented.
//
// It promises that a chart is what its manifest's digest says, layer and unpacked size and file count within limits; that
// https is spoken, and plain http to this machine alone, redirects included; and that every error names the chart and the
// step. A chart that was read is kept by its manifest's digest, so it is fetched once; which digest a tag means is asked
// of the registry each time, because a tag may move, and tags are never kept.
//
// It leaves out writing to a registry, signatures, provenance files, charts that are packed inside a chart (Helm unpacks
// a chart's dependencies into its archive), and charts behind a login. Which version of a chart brings what is for
// package catalog; [Survey] only asks.
package charts
