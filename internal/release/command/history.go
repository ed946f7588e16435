package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/clustermanager/cluster-manager/internal/release"
)

// history is what a checkout's commit has behind it, and which releases hold it.
type history struct {
	// here is the release that the commit itself is tagged as, without "v"; empty for none.
	here string
	// later says that a release of a later commit holds this one.
	later bool
	// last is the release before this commit, and commits what came since, newest first.
	last    string
	commits []release.Commit
}

// next is the version that the commit is released as: the one of its tag, where an earlier run got that far; none when a
// later commit was released already.
func (h history) next() (string, error) {
	if h.here != "" {
		return h.here, nil
	}
	if h.later {
		return "", nil
	}
	return release.Next(h.last, h.commits)
}

// readHistory reads the checkout of a folder. Of a shallow clone the history would be wrong, so that is an error.
func readHistory(ctx context.Context, folder string) (history, error) {
	shallow, err := git(ctx, folder, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return history{}, err
	}
	if strings.TrimSpace(shallow) == "true" {
		return history{}, fmt.Errorf("checkout %s: its history is cut off: fetch it whole, with its tags", folder)
	}
	var tags [3][]string
	for index, which := range []string{"--points-at", "--contains", "--merged"} {
		listed, err := git(ctx, folder, "tag", "--list", which, "HEAD")
		if err != nil {
			return history{}, err
		}
		tags[index] = strings.Fields(listed)
	}
	read := history{here: release.Last(tags[0]), later: release.Last(tags[1]) != ""}
	read.last = release.Last(slices.DeleteFunc(tags[2], func(tag string) bool { return slices.Contains(tags[0], tag) }))
	read.commits, err = readCommits(ctx, folder, read.last)
	return read, err
}

func readCommits(ctx context.Context, folder, last string) ([]release.Commit, error) {
	span := "HEAD"
	if last != "" {
		span = "v" + last + "..HEAD"
	}
	logged, err := git(ctx, folder, "log", "-z", "--format=%H%n%B", span)
	if err != nil {
		return nil, err
	}
	var commits []release.Commit
	for record := range strings.SplitSeq(logged, "\x00") {
		if hash, message, whole := strings.Cut(record, "\n"); whole {
			commits = append(commits, release.Commit{Hash: hash, Message: message})
		}
	}
	return commits, nil
}

func git(ctx context.Context, folder string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, arguments...)...) //nolint:gosec // the arguments are this package's own.
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(failure.String()))
	}
	return string(out), nil
}
