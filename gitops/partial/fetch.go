package partial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// errRefused is an answer that ends before it began: a server writes the reason to its own log.
var errRefused = errors.New("the server refused the request without saying why (an empty answer)")

// FetchCommit brings a commit without its history, and its root tree. A server that knows no filters sends all that the
// commit holds, and of a later commit the difference.
func (r *Remote) FetchCommit(ctx context.Context, commit Hash) error {
	const doing = "fetching a commit"
	if r.way == WayPartial {
		return r.fetch(ctx, doing, demand{wants: []Hash{commit}, depth: 1, filter: "tree:1"})
	}
	return r.fetchWhole(ctx, doing, commit)
}

// FetchCommits brings commits alone, without trees (without filters as FetchCommit). What is here already is not asked
// for.
func (r *Remote) FetchCommits(ctx context.Context, commits ...Hash) error {
	const doing = "fetching commits"
	if r.way == WayPartial {
		return r.fetch(ctx, doing, demand{wants: r.Objects.missing(commits), depth: 1, filter: "tree:0"})
	}
	return r.fetchWhole(ctx, doing, commits...)
}

// FetchTrees brings single trees, many in one request. What is here already is not asked for.
func (r *Remote) FetchTrees(ctx context.Context, trees ...Hash) error {
	return r.fetchSingle(ctx, "fetching trees", demand{wants: r.Objects.missing(trees), filter: "tree:0"})
}

// FetchSubtree brings a tree with all trees below it.
func (r *Remote) FetchSubtree(ctx context.Context, tree Hash) error {
	return r.fetchSingle(ctx, "fetching a directory's trees", demand{wants: []Hash{tree}, filter: "blob:none"})
}

// FetchBlobs brings files, many in one request. What is here already is not asked for.
func (r *Remote) FetchBlobs(ctx context.Context, blobs ...Hash) error {
	return r.fetchSingle(ctx, "fetching files", demand{wants: r.Objects.missing(blobs)})
}

// demand is one request for objects.
type demand struct {
	wants []Hash
	// depth is how many levels of history come with commits (0: not asked), filter what is left out ("": nothing).
	depth  int
	filter string
	// held is a commit that is here with all it holds; nil for none.
	held *Hash
}

// fetchSingle asks for trees or blobs, which came with their commit where the server knows no filters.
func (r *Remote) fetchSingle(ctx context.Context, doing string, asked demand) error {
	if r.way == WayPartial {
		return r.fetch(ctx, doing, asked)
	}
	return r.leftOut(doing, asked.wants)
}

// fetchWhole brings commits with all they hold, less what the first one holds that was fetched so.
func (r *Remote) fetchWhole(ctx context.Context, doing string, commits ...Hash) error {
	wants := r.Objects.missing(commits)
	err := r.fetch(ctx, doing, demand{wants: wants, depth: 1, held: r.held.Load()})
	if err == nil && len(wants) > 0 {
		r.held.CompareAndSwap(nil, &wants[0])
	}
	return err
}

// fetch asks for the wants and keeps the pack's objects. No wants: no request.
func (r *Remote) fetch(ctx context.Context, doing string, asked demand) error {
	if len(asked.wants) == 0 {
		return nil
	}
	body, err := r.post(ctx, uploadPack, doing, r.fetchRequest(asked), maxPackBytes)
	if err != nil {
		return err
	}
	defer body.Close()
	objects, err := readFetch(newPacketReader(body), r.way, r.Objects)
	if err != nil {
		return r.fetchError(doing, err)
	}
	r.Objects.add(objects)
	return r.leftOut(doing, asked.wants)
}

// leftOut is an error where objects that should be here are not.
func (r *Remote) leftOut(doing string, wants []Hash) error {
	if absent := r.Objects.missing(wants); len(absent) > 0 {
		return r.wrap(doing, fmt.Errorf("the server left out %d objects, %s among them", len(absent), absent[0]))
	}
	return nil
}

// fetchRequest writes a demand in the server's version of the protocol.
func (r *Remote) fetchRequest(asked demand) []byte {
	if r.way == WayVersion0 {
		return r.fetchRequest0(asked)
	}
	request := r.command("fetch")
	request.line("no-progress")
	request.line("ofs-delta")
	if asked.held != nil {
		request.line("thin-pack")
		request.line("shallow %s", asked.held)
	}
	if asked.depth > 0 {
		request.line("deepen %d", asked.depth)
	}
	if asked.filter != "" {
		request.line("filter %s", asked.filter)
	}
	for _, want := range asked.wants {
		request.line("want %s", want)
	}
	if asked.held != nil {
		request.line("have %s", asked.held)
	}
	request.line("done")
	request.flush()
	return request.Bytes()
}

// sideBand is the capability of version 0 that version 2 always has.
const sideBand = "side-band-64k"

// fetchRequest0 writes a demand in version 0, with the capabilities behind the first want.
func (r *Remote) fetchRequest0(asked demand) []byte {
	request := &packetWriter{}
	capabilities := []string{""}
	for _, capability := range []string{sideBand, "ofs-delta", "thin-pack", "no-progress"} {
		if _, offered := r.capabilities[capability]; offered {
			capabilities = append(capabilities, capability)
		}
	}
	behind := strings.Join(capabilities, " ")
	for _, want := range asked.wants {
		request.line("want %s%s", want, behind)
		behind = ""
	}
	if asked.held != nil {
		request.line("shallow %s", asked.held)
	}
	request.line("deepen %d", asked.depth)
	request.flush()
	if asked.held != nil {
		request.line("have %s", asked.held)
	}
	request.line("done")
	return request.Bytes()
}

// readFetch skips the sections before the pack (which commits deepen cut off, and version 0's word on what is held) and
// reads it. Deltas may refer to what is held outside.
func readFetch(packets *packetReader, way Way, outside *Store) ([]object, error) {
	for first := true; ; first = false {
		text, _, err := packets.line()
		if errors.Is(err, io.EOF) {
			err = errRefused
			if !first {
				err = io.ErrUnexpectedEOF
			}
		}
		if err != nil {
			return nil, err
		}
		if startsPack(text, way) {
			break
		}
	}
	return readPack(&bandReader{packets: packets}, fetchLimits, outside)
}

// startsPack says whether the line is the last before the pack.
func startsPack(text string, way Way) bool {
	if way == WayVersion0 {
		return text == "NAK" || strings.HasPrefix(text, "ACK ")
	}
	return text == "packfile"
}
