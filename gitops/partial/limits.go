package partial

// What a server may send. Each is far above what a fleet's repository needs, so only a hostile or a broken server
// meets it.
const (
	// maxAdvertisementBytes bounds the capabilities of version 2: about 150 bytes.
	maxAdvertisementBytes = 64 << 10
	// maxRefsBytes bounds one list of refs: 100 bytes a ref, for 80,000 of one prefix, or of all by version 0.
	maxRefsBytes = 8 << 20
	// maxPackBytes bounds one answer to fetch, as it comes over the wire. It is also the largest branch that is fetched
	// whole. Measured with files of 2 KB: 10,000 are 7 MB, 0.4 s and 21 MiB of memory; 100,000 are refused after 60 MB,
	// 5 s and 210 MiB, when a call has hardly time left for its proof.
	maxPackBytes = 64 << 20
	// maxReportBytes bounds the answer to a push: a status line and the words of hooks.
	maxReportBytes = 1 << 20
	// maxWordsBytes bounds what of a server's words goes into an error.
	maxWordsBytes = 2 << 10
	// maxRestBytes is how much of an answer that is of no more use is read before its connection is given up: a new
	// connection costs more.
	maxRestBytes = 64 << 10
	// maxRedirects is how many redirects of info/refs are followed: a renamed repository takes one.
	maxRedirects = 5
)

// packLimits bound what one pack may unfold to: a few bytes of zlib can hold gigabytes, and deltas multiply again.
type packLimits struct {
	// objects is the number of objects.
	objects uint32
	// object and total are bytes of one object and of all of them, unfolded. Deltas count as well.
	object, total int64
}

// fetchLimits are those of every fetch. 200,000 trees and blobs are twice the largest repository that was tried.
var fetchLimits = packLimits{objects: 200_000, object: 32 << 20, total: 256 << 20}
