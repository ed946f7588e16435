// Package proof builds the tree that Flux would fetch as Flux builds it, at the base and as proposed, and judges the
// difference before anything is pushed.
//
// [Prove] promises that a proposal it lets pass builds at least as well as its base, and that no object differs but
// those the plan means to touch. Where it cannot build the whole tree (an entry that is no file of the repository, a
// tree over the limits, a base that does not build today, no time left) it says so in the note, and lets pass only a
// change of our own directory and of its one entry, with that directory built alone.
//
// A Kustomization that comes or goes with the proposal is two proofs: one of the tree that holds its file, one of its own
// tree, which need not be there on both sides ([Input.Placed]).
//
// The tree is hostile. Nothing that it names is fetched and nothing that it holds is run: every path-valued entry of
// every kustomization is looked up in the tree before kustomize sees it, what is no file or folder there is left out,
// and kustomize works on memory alone. Symbolic links and submodules are never followed. Size, YAML nodes with their
// aliases counted out, and objects are bounded before a build, time during it.
//
// kustomize's OpenAPI schema is one per process: builds share it, and a tree that changes it is built alone. No other
// package of the process may run kustomize builds.
//
// The package decrypts nothing, reads nothing from a cluster and pushes nothing. commonMetadata, which Flux adds when
// it applies, is not part of what it builds.
package proof
