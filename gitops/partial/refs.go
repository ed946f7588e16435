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

// objectFormat is the only object format that is known.
const objectFormat = "sha1"

// command starts a request of version 2. A capability that the server did not offer must not be used.
func (r *Remote) command(name string) *packetWriter {
	request := &packetWriter{}
	request.line("command=%s", name)
	for _, capability := range []struct{ name, value string }{{"agent", "cluster-manager"}, {"object-format", objectFormat}} {
		if _, offered := r.capabilities[capability.name]; offered {
			request.line("%s=%s", capability.name, capability.value)
		}
	}
	request.delimiter()
	return request
}

// lister yields the branches whose names start with prefix, until yield returns false.
type lister func(ctx context.Context, prefix string, yield func(branch) bool) error

// lister asks version 2 at each call, and version 0 once, now, as it lists everything.
func (r *Remote) lister(ctx context.Context) (lister, error) {
	if r.way != WayVersion0 {
		return r.branches, nil
	}
	said := r.first.Swap(nil)
	if said == nil {
		again, _, err := r.advertisement(ctx)
		if err != nil {
			return nil, err
		}
		if again.version != 0 {
			return nil, r.wrap("reading the refs", errors.New("the server answers by another protocol version than before"))
		}
		said = &again
	}
	return func(_ context.Context, prefix string, yield func(branch) bool) error {
		for _, one := range said.branches {
			if strings.HasPrefix(one.name, prefix) && !yield(one) {
				break
			}
		}
		return nil
	}, nil
}

// Branch reads the commit of the branch. Names that merely start with it do not count. Error: ErrBranchNotFound,
// wrapped with the name.
func (r *Remote) Branch(ctx context.Context, name string) (Hash, error) {
	var found Hash
	list, err := r.lister(ctx)
	if err != nil {
		return found, err
	}
	err = list(ctx, name, func(one branch) bool {
		if one.name == name {
			found = one.hash
		}
		return one.name != name
	})
	if err == nil && found.IsZero() {
		err = fmt.Errorf("repository %s: branch %s: %w", r.name, name, ErrBranchNotFound)
	}
	return found, err
}

// Find reads the commit of a branch that may not exist (zero), and the name of a branch that keeps it from being
// created, as a and a/b exclude each other ("": none). It costs one request, which lists the branches beside the name in
// its folder, and for an absent branch one for each folder above until one holds a branch; by version 0 one in any case.
func (r *Remote) Find(ctx context.Context, name string) (found Hash, clash string, err error) {
	list, err := r.lister(ctx)
	if err != nil {
		return found, "", err
	}
	prefix := name
	for parent := path.Dir(name); ; parent = path.Dir(parent) {
		if parent != "." {
			prefix = parent
		}
		sibling := false
		err = list(ctx, prefix, func(one branch) bool {
			switch {
			case one.name == name:
				found = one.hash
			case one.name == parent, strings.HasPrefix(one.name, name+"/"):
				clash = one.name
			case strings.HasPrefix(one.name, parent+"/"):
				// It proves that neither the parent nor what is above it is a branch.
				sibling = true
			}
			return found.IsZero() && clash == ""
		})
		if err != nil || !found.IsZero() || clash != "" || sibling || !strings.Contains(parent, "/") {
			break
		}
	}
	return found, clash, err
}

// branches is version 2's lister.
func (r *Remote) branches(ctx context.Context, prefix string, yield func(branch) bool) error {
	doing := "reading branch " + prefix
	request := r.command("ls-refs")
	request.line("ref-prefix %s%s", heads, prefix)
	request.flush()
	body, err := r.post(ctx, uploadPack, doing, request.Bytes(), maxRefsBytes)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := readRefs(newPacketReader(body), yield); err != nil {
		return r.wrap(doing, err)
	}
	return nil
}

// readRefs yields the branches of an answer to ls-refs.
func readRefs(packets *packetReader, yield func(branch) bool) error {
	for {
		text, ok, err := packets.line()
		if errors.Is(err, io.EOF) {
			err = errRefused
		}
		if err != nil || !ok {
			return err
		}
		one, isBranch, err := readRef(text)
		if err != nil {
			return err
		}
		if isBranch && !yield(one) {
			return nil
		}
	}
}

// readRef reads "<hash> <ref>" and what may follow behind a space. Refs that are no branches are passed over unread.
func readRef(text string) (one branch, isBranch bool, err error) {
	identifier, ref, _ := strings.Cut(text, " ")
	ref, _, _ = strings.Cut(ref, " ")
	name, isBranch := strings.CutPrefix(ref, heads)
	if !isBranch {
		return branch{}, false, nil
	}
	hash, err := ParseHash(identifier)
	return branch{name: name, hash: hash}, err == nil, err
}
