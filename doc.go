// Package clustermanager is the vocabulary of the product: the values that travel between its rooms.
//
// A tool call comes in as a [Caller] with a request. Everything that its decision needs is read once into a
// [Survey]; the composer turns request and survey into a [Plan] or a [Refusal]; the plan leaves through one of two
// doors, a pull request in the repository that owns the cluster ([Target], [FileSet], [PullRequest]) or writes on the
// installation ([Change]); the caller gets an answer ([WriteResult]).
//
// The package holds values only: it opens no connection, reads no file and no clock, and imports nothing of the
// product. What may be secret is a [Secret] or among [Values], which do not print themselves. What could not be read is
// a [Reading] with its reason, never a zero value.
package clustermanager
