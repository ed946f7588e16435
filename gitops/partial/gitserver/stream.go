package gitserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Change is what one commit does: path to content. The prefixes of Special say that a path is no regular file.
type Change map[string]string

// Special contents of a Change.
const (
	// Removed takes the path away.
	Removed = "\x00removed"
	// LinkTo and a target make a symbolic link, ModuleAt and a commit a submodule, Script and a text an executable file.
	LinkTo   = "\x00link "
	ModuleAt = "\x00module "
	Script   = "\x00script "
)

// Commit adds a commit to the branch, which is made from its parent (a revision; "" for the branch's own head, or no
// parent where there is none), and returns its hash.
func (r *Repository) Commit(branch, parent, message string, change Change) string {
	r.t.Helper()
	if parent == "" {
		parent = r.Try("rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	} else {
		parent = r.Git("rev-parse", parent)
	}
	var stream strings.Builder
	fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter A Person <person@example.com> 1750000000 +0000\n", branch)
	fmt.Fprintf(&stream, "data %d\n%s\n", len(message), message)
	if parent != "" {
		fmt.Fprintf(&stream, "from %s\n", parent)
	}
	for _, path := range slices.Sorted(maps.Keys(change)) {
		writeChange(&stream, path, change[path])
	}
	r.Input(stream.String(), "fast-import", "--quiet", "--force")
	return r.Git("rev-parse", "refs/heads/"+branch)
}

func writeChange(stream *strings.Builder, path, content string) {
	if content == Removed {
		fmt.Fprintf(stream, "D %s\n", path)
		return
	}
	if commit, found := strings.CutPrefix(content, ModuleAt); found {
		fmt.Fprintf(stream, "M 160000 %s %s\n", commit, path)
		return
	}
	mode := "100644"
	for prefix, special := range map[string]string{LinkTo: "120000", Script: "100755"} {
		if rest, found := strings.CutPrefix(content, prefix); found {
			mode, content = special, rest
		}
	}
	fmt.Fprintf(stream, "M %s inline %s\ndata %d\n%s\n", mode, path, len(content), content)
}
