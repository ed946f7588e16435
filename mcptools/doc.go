// Package mcptools is the tool surface: one file per tool with its input, output, description and a handler of three
// calls (survey, compose, carry out).
//
// Few files carry what all tools share: server.go and client.go are the only ones that know the MCP library,
// carryout.go is the only place that knows modes, with apply.go for the live door and applybudget.go for its time,
// answer.go turns results and errors into contents, confirm.go asks a client that can be asked before a removal. Every tool has an
// input and an output schema made from its types, all four annotations, and answers its JSON as the first text content
// and as structured content. A refusal is an error result with its class in _meta["cluster-manager/reason"].
//
// The package decides nothing about clusters: what should exist is composed in render/compose, how it gets there in
// gitops and live.
package mcptools
