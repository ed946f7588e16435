// Package gke is the provider Google Kubernetes Engine, and the control planes of its clusters.
//
// A [Provider] shows what an account has ([Provider.Look], [Provider.List]), sends the one write of a pass
// ([Provider.Send]), tells the versions that are offered, and mints tokens on a cluster ([Provider.Token]), each with the
// account's own credentials.
//
// The package promises: a request holds what the record wants and nothing unasked, one field an update; a "please wait",
// too many requests and a fault on the way are no refusal; a message that leaves the package is the provider's words or
// this package's, never a credential; no token is kept, logged or traced, but for the account's own access token, which
// its library renews in memory.
//
// It leaves out when a call is made and what its answer means (package managed), and who may make it.
package gke
