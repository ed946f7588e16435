// Package render turns a plan into the files of a cluster's cluster-manager/ directory, or of the place of its own that
// a cluster has, as kustomize and Flux read them.
//
// [Objects] gives the declared objects as they stand in files, [Files] the change of the repository: one file for the
// objects of a name, one for each Secret that is to be sealed, and the kustomization files that make Flux apply them.
// [EnsureEntry] and [RemoveEntry] edit the resources list of a kustomization file as text: what they return differs
// from what they got by that one entry, byte for byte, or they refuse. [Diff] compares two builds object by object.
//
// What the package promises: the same plan over the same base gives the same bytes; the kind of an object decides
// whether its file is sealed, whatever names say; a file that holds something else than the plan's objects is refused,
// never overwritten; nothing is read or written outside the directory of the target and the one above it, except that
// a place is looked up in its root, and goes with everything below it where it is given up.
//
// It leaves out sealing (a secret file leaves here as plain text in a [clustermanager.Secret]), building the tree, and
// everything of git. It opens no connection and reads no clock.
package render
