// Package aftermerge does, as the GitHub App itself, what no person's call does: it writes a check run with the objects
// that a pull request of ours changes, anew when its base moves; and after a merge it removes the branch and writes one
// comment with what came of it, once Flux has applied it.
//
// It promises that everything is read from GitHub and from Flux when it is done, so that an event that comes late, twice
// or out of order does no harm: a check run and a comment are changed, not repeated; a branch goes only where every
// commit of it is ours and it is still at the merged head, which the server compares. A pull request that is not ours is
// left alone, and so is another repository's than the event names. Work waits in a bounded queue, which a graceful stop
// works off. No text holds a token, a key or a value of an object: a difference is told by paths.
//
// It leaves out the receiving of events (gitops/forge), the reading of Flux (handed in), and everything that a person
// decides: it opens, merges and closes nothing.
package aftermerge
