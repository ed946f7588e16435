// Package compose decides what a call does: request and survey in, a plan or a refusal out.
//
// It is pure. It opens no connection and reads no clock, so that the same request and survey give the same plan. What it
// promises: every refusal is decided here, before the first write, in one fixed order and with its way out; the objects
// are complete but for what a door adds (a file loses ownerReferences, a sealed one its plain text); a credential is
// a [clustermanager.Secret] and in no object, error or warning.
//
// Versions of charts are compared nowhere here: package catalog says what a chart brings. A cluster's values are held
// against the release chart's own schema, of which nothing outside the chart is ever loaded. What stands is told here
// too: the lifecycle of a pool, with why a node does not come, is a function of what was read, and a fact that could not
// be read is absent from what it tells, with a note.
//
// It leaves out where a plan goes (the renderer and the live side) and what the mode allows in a build. A removal is one
// list of steps for both modes; their lanes say which of them a door takes.
package compose
