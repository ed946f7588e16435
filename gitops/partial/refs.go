package partial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// heads is the namespace of branches.
const heads = "refs/heads/"

// command starts a request of version 2.
func command(name string) *packetWriter {
	request := &packetWriter{}
	request.line("command=%s", name)
	request.line("agent=cluster-manager")
	request.line("object-format=sha1")
	request.delimiter()
	return request
}

// Branch reads the commit of the branch. Names that merely start with it do not count. Error: ErrBranchNotFound,
// wrapped with the name.
func (r *Remote) Branch(ctx context.Context, name string) (Hash, error) {
	var found Hash
	err := r.branches(ctx, name, func(branch string, hash Hash) bool {
		if branch == name {
			found = hash
		}
		return branch != name
	})
	if err == nil && found.IsZero() {
		err = fmt.Errorf("repository %s: branch %s: %w", r.name, name, ErrBranchNotFound)
	}
	return found, err
}

// Find reads the commit of a branch that may not exist (zero), and the name of a branch that keeps it from being
// created, as a and a/b exclude each other ("": none). It costs one request, and for an absent branch one for each
// level of its name until a sibling is seen.
func (r *Remote) Find(ctx context.Context, name string) (found Hash, clash string, err error) {
	err = r.branches(ctx, name, func(branch string, hash Hash) bool {
		switch {
		case branch == name:
			found = hash
		case strings.HasPrefix(branch, name+"/"):
			clash = branch
		}
		return found.IsZero() && clash == ""
	})
	if err != nil || !found.IsZero() || clash != "" {
		return found, clash, err
	}
	for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
		sibling := false
		err = r.branches(ctx, parent, func(branch string, _ Hash) bool {
			if branch == parent {
				clash = branch
			}
			// A branch below the parent proves that neither it nor what is above it is a branch.
			sibling = strings.HasPrefix(branch, parent+"/")
			return clash == "" && !sibling
		})
		if err != nil || clash != "" || sibling {
			break
		}
	}
	return Hash{}, clash, err
}

// branches reads the branches whose names start with prefix, until yield returns false.
func (r *Remote) branches(ctx context.Context, prefix string, yield func(branch string, hash Hash) bool) error {
	doing := "reading branch " + prefix
	request := command("ls-refs")
	request.line("ref-prefix %s%s", heads, prefix)
	request.flush()
	body, err := r.post(ctx, uploadPack, doing, request.Bytes(), maxRefsBytes)
	if err != nil {
		return err
	}
	defer body.Close()
	packets := newPacketReader(body)
	for {
		text, ok, err := packets.line()
		if errors.Is(err, io.EOF) {
			err = errRefused
		}
		if err != nil {
			return r.wrap(doing, err)
		}
		if !ok {
			return nil
		}
		identifier, ref, _ := strings.Cut(text, " ")
		ref, _, _ = strings.Cut(ref, " ")
		branch, isBranch := strings.CutPrefix(ref, heads)
		if !isBranch {
			continue
		}
		hash, err := ParseHash(identifier)
		if err != nil {
			return r.wrap(doing, err)
		}
		if !yield(branch, hash) {
			return nil
		}
	}
}
