// Package partial speaks git's protocol version 2 as a partial clone does: it fetches single commits, trees and blobs
// by their hashes, and pushes one small pack.
//
// A [Remote] is one repository as one caller. It promises that nothing is kept on disk or across callers, that the
// token goes to the host it was meant for and into no error, that the number of requests and bytes is known
// ([Remote.Stats]), and that a hostile server can make it hold no more than the limits in limits.go.
//
// A server without filters, or without version 2, sends whole commits: then the branch comes once, without its history,
// into memory, and one above the limits is refused ([Stats.Way] tells).
//
// It leaves out every walk of history, negotiation, work trees, and repositories of sha256 objects. What a tree means as
// files is the caller's matter.
package partial
