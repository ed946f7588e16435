package release

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// history is commits of these messages, newest first; the hash of each is its place from the end, from 1, in 40 digits.
func history(messages ...string) []Commit {
	commits := make([]Commit, len(messages))
	for index, message := range messages {
		commits[index] = Commit{Hash: fmt.Sprintf("%040d", len(messages)-index), Message: message}
	}
	return commits
}

const (
	hash1 = "0000000000000000000000000000000000000001"
	hash2 = "0000000000000000000000000000000000000002"
)

func TestNext(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		last    string
		commits []Commit
		want    string
	}{
		"nothing since":                     {"0.3.1", nil, ""},
		"nothing that reaches a user":       {"0.3.1", history("docs: x", "test(render): x", "style: x", "chore: x", "ci: x", "build: x"), ""},
		"not of the form":                   {"0.3.1", history("Merge pull request #7", "feature x", "feat x", "docs,ci: x", "feat:x", "feat: ", ""), ""},
		"the first":                         {"", history("fix: x"), "0.1.0"},
		"the first, with nothing":           {"", history("docs: x"), ""},
		"feat":                              {"0.3.1", history("fix: x", "feat: x", "docs: x"), "0.4.0"},
		"feat, stable":                      {"1.3.1", history("feat(mcptools): x"), "1.4.0"},
		"fix":                               {"0.3.1", history("fix(render): x"), "0.3.2"},
		"perf":                              {"0.3.1", history("perf: x"), "0.3.2"},
		"refactor":                          {"0.3.1", history("refactor: x"), "0.3.2"},
		"a dependency":                      {"0.3.1", history("build(deps): x"), "0.3.2"},
		"upper case":                        {"0.3.1", history("Fix: x"), "0.3.2"},
		"breaking before stable":            {"0.3.1", history("feat!: x"), "0.4.0"},
		"breaking":                          {"1.3.1", history("feat(gitops)!: x"), "2.0.0"},
		"breaking, of any type":             {"1.3.1", history("chore!: x"), "2.0.0"},
		"breaking, by its footer":           {"1.3.1", history("fix: x\n\nWhy.\n\nBREAKING CHANGE: y"), "2.0.0"},
		"breaking, by its other footer":     {"1.3.1", history("fix: x\n\nBREAKING-CHANGE: y"), "2.0.0"},
		"breaking, in lower case, is prose": {"1.3.1", history("fix: x\n\nbreaking change: y"), "1.3.2"},
		"breaking, inside a line, is prose": {"1.3.1", history("fix: x\n\nIt is no BREAKING CHANGE: y"), "1.3.2"},
		"taken back since":                  {"1.3.1", history("Revert \"feat: x\"\n\nThis reverts commit "+hash1+".", "feat: x"), ""},
		"taken back of an earlier release":  {"1.3.1", history("Revert \"feat: x\"\n\nThis reverts commit 9999999.", "docs: x"), "1.3.2"},
		"taken back, and that too": {"1.3.1", history(
			"revert: once more\n\nThis reverts commit "+hash2+".", "Revert \"feat: x\"\n\nThis reverts commit "+hash1+".", "feat: x"), "1.4.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Next(test.last, test.commits)
			if err != nil || got != test.want {
				t.Errorf("Next(%q) = %q, %v; want %q", test.last, got, err, test.want)
			}
		})
	}
	if got, err := Next("v1", history("fix: x")); err == nil {
		t.Errorf("a last version that is none gave %q", got)
	}
}

func TestLast(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tags []string
		want string
	}{
		"none":              {nil, ""},
		"by number":         {[]string{"v0.9.0", "v0.10.0", "v0.2.0"}, "0.10.0"},
		"others left alone": {[]string{"v0.1.0", "v1.0.0-rc.1", "2.0.0", "v3", "helm-v4.0.0", "v5.0.0+x", ""}, "0.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Last(test.tags); got != test.want {
				t.Errorf("Last(%q) = %q, want %q", test.tags, got, test.want)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	got := Notes("1.0.0", history(
		"docs: never told",
		"build(deps): a library",
		"build: never told either",
		"fix(render): the second\n\nBREAKING CHANGE: set the flag,\nor else.\nRefs: #7",
		"fix: the first",
		"feat(live): a thing\n\nWhy it is.",
		"Merge pull request #3",
	))
	const want = `## 1.0.0

### Breaking

- **render:** the second (0000000): set the flag, or else.

### Added

- **live:** a thing (0000000)

### Fixed

- the first (0000000)

### Dependencies

- **deps:** a library (0000000)
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
