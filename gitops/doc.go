// Package gitops edits a repository that Flux follows without cloning it: a [Workspace] is one base commit as an
// fs.FS, and the edits that are staged on it. [Workspace.Propose] makes them one commit on one branch with one pull
// request.
//
// It promises: what [Workspace.Proposed] shows is the tree that is pushed, to the byte; everything that can be refused
// is refused before the first write ([Workspace.Prepare]); a re-run converges, and pushes nothing when the open pull
// request carries the same edit; a person's commit is never overwritten, unless a closed or merged pull request ended
// with it; nothing is kept across callers.
//
// It leaves out the host's API (the caller hands in a [Forge]), the text of pull requests, sealing, the proof, and
// commits that the host signs.
package gitops
