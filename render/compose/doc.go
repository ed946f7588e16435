// Package compose decides what a call does: request and survey in, a plan or a refusal out.
//
// It is pure. It opens no connection and reads no clock, so that the same request and survey give the same plan. What it
// promises: every refusal is decided here, before the first write, in one fixed order and with its way out; the objects
// are complete but for what a door adds (a file loses ownerReferences, a sealed one its plain text); a credential is
// a [clustermanager.Secret] and in no object, error or warning.
//
// Versions of charts are compared nowhere here: package catalog says what a chart brings.
//
// It leaves out where a plan goes (the renderer and the live side), what the mode allows in a build, and the ordered
// teardown of serving on a cluster, which an answer's live steps name.
package compose
