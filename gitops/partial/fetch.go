package partial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// errRefused is an answer that ends before it began: a server writes the reason to its own log.
var errRefused = errors.New("the server refused the request without saying why (an empty answer)")

// FetchCommit brings a commit without its history, and its root tree.
func (r *Remote) FetchCommit(ctx context.Context, commit Hash) error {
	return r.fetch(ctx, "fetching a commit", []Hash{commit}, "deepen 1", "filter tree:1")
}

// FetchCommits brings commits alone, without trees. What is here already is not asked for.
func (r *Remote) FetchCommits(ctx context.Context, commits ...Hash) error {
	return r.fetch(ctx, "fetching commits", r.Objects.missing(commits), "deepen 1", "filter tree:0")
}

// FetchTrees brings single trees, many in one request. What is here already is not asked for.
func (r *Remote) FetchTrees(ctx context.Context, trees ...Hash) error {
	return r.fetch(ctx, "fetching trees", r.Objects.missing(trees), "filter tree:0")
}

// FetchSubtree brings a tree with all trees below it.
func (r *Remote) FetchSubtree(ctx context.Context, tree Hash) error {
	return r.fetch(ctx, "fetching a directory's trees", []Hash{tree}, "filter blob:none")
}

// FetchBlobs brings files, many in one request. What is here already is not asked for.
func (r *Remote) FetchBlobs(ctx context.Context, blobs ...Hash) error {
	return r.fetch(ctx, "fetching files", r.Objects.missing(blobs))
}

// fetch asks for the wants and keeps the pack's objects. No wants: no request.
func (r *Remote) fetch(ctx context.Context, doing string, wants []Hash, lines ...string) error {
	if len(wants) == 0 {
		return nil
	}
	request := command("fetch")
	for _, line := range slices.Concat([]string{"no-progress", "ofs-delta"}, lines) {
		request.line("%s", line)
	}
	for _, want := range wants {
		request.line("want %s", want)
	}
	request.line("done")
	request.flush()
	body, err := r.post(ctx, uploadPack, doing, request.Bytes(), maxPackBytes)
	if err != nil {
		return err
	}
	defer body.Close()
	objects, err := readFetch(newPacketReader(body))
	if err != nil {
		return r.wrap(doing, err)
	}
	r.Objects.add(objects)
	if absent := r.Objects.missing(wants); len(absent) > 0 {
		return r.wrap(doing, fmt.Errorf("the server left out %d objects, %s among them", len(absent), absent[0]))
	}
	return nil
}

// readFetch skips the sections before the pack (shallow-info, which lists what deepen cut off) and reads it.
func readFetch(packets *packetReader) ([]object, error) {
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
		if text == "packfile" {
			break
		}
	}
	return readPack(&bandReader{packets: packets}, fetchLimits)
}
