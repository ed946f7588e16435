package release

import (
	"strings"

	"github.com/Masterminds/semver/v3"
)

// First is the version of the first release.
const First = "0.1.0"

// raise is what a commit asks of the version.
type raise int

const (
	none raise = iota
	patch
	minor
	major
)

// kind is a type of commit that people notice, with the heading of the notes that it comes under.
type kind struct {
	name string
	// scope narrows the row to commits of that scope; empty is any.
	scope   string
	raise   raise
	heading string
}

// kinds has every type that makes a release, in the order of the notes. A dependency is in the binary, and a refactoring
// may behave differently whatever its author thinks, so both are a patch; docs, test, style, chore, ci and the rest of
// build reach no user.
var kinds = []kind{
	{name: "feat", raise: minor, heading: "Added"},
	{name: "fix", raise: patch, heading: "Fixed"},
	{name: "perf", raise: patch, heading: "Faster"},
	{name: "revert", raise: patch, heading: "Taken back"},
	{name: "refactor", raise: patch, heading: "Reworked"},
	{name: "build", scope: "deps", raise: patch, heading: "Dependencies"},
}

func (k kind) holds(one change) bool {
	return k.name == one.kind && (k.scope == "" || k.scope == one.scope)
}

// Last is the highest release among tags, without its "v"; empty for none. Tags that are no release are passed over, and
// so are pre-releases, which nothing here makes.
func Last(tags []string) string {
	var last *semver.Version
	for _, tag := range tags {
		numbers, prefixed := strings.CutPrefix(tag, "v")
		version, err := semver.StrictNewVersion(numbers)
		if !prefixed || err != nil || version.Prerelease() != "" || version.Metadata() != "" {
			continue
		}
		if last == nil || version.GreaterThan(last) {
			last = version
		}
	}
	if last == nil {
		return ""
	}
	return last.String()
}

// Next is the version that follows the last one, both without "v"; last is empty before the first release. It is empty
// when no commit makes a release. Commits are those since the last release, newest first.
//
// Before 1.0.0 a breaking change raises the minor version: the first stable version is a person's decision, and is
// tagged by hand.
func Next(last string, commits []Commit) (string, error) {
	asked := none
	for _, one := range changes(commits) {
		asked = max(asked, asks(one))
	}
	if asked == none {
		return "", nil
	}
	if last == "" {
		return First, nil
	}
	version, err := semver.StrictNewVersion(last)
	if err != nil {
		return "", err
	}
	if asked == major && version.Major() == 0 {
		asked = minor
	}
	switch asked {
	case major:
		return version.IncMajor().String(), nil
	case minor:
		return version.IncMinor().String(), nil
	default:
		return version.IncPatch().String(), nil
	}
}

func asks(one change) raise {
	if one.breaking {
		return major
	}
	for _, row := range kinds {
		if row.holds(one) {
			return row.raise
		}
	}
	return none
}
