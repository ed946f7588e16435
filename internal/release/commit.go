package release

import (
	"regexp"
	"strings"
)

// Commit is a commit as git tells it: the full hash, and the message with its body.
type Commit struct {
	Hash, Message string
}

// change is what a commit says about itself.
type change struct {
	hash, kind, scope, subject string
	// breaking says that callers have to do something; what is in breakingNote, where the commit has a footer for it.
	breaking     bool
	breakingNote string
	// reverts is the hash of the commit that this one takes back.
	reverts string
}

var (
	header = regexp.MustCompile(`^([A-Za-z]+)(?:\(([^()]+)\))?(!)?: +(\S.*)$`)
	// footer is a breaking change's; unlike the rest of the form its token is upper case alone.
	footer = regexp.MustCompile(`(?m)^BREAKING[ -]CHANGE: +(\S.*(?:\n\S.*)*)`)
	// token begins another footer, which ends the one before it.
	token = regexp.MustCompile(`\n[A-Za-z-]+(?:: | #)`)
	// What git revert writes.
	revertHeader = regexp.MustCompile(`^Revert "(.+)"$`)
	revertBody   = regexp.MustCompile(`(?m)^This reverts commit ([0-9a-f]{7,64})\b`)
)

// parse reads a commit; false for one that is not of the form.
func parse(commit Commit) (change, bool) {
	first, body, _ := strings.Cut(strings.TrimSpace(commit.Message), "\n")
	parsed := change{hash: commit.Hash}
	if found := revertBody.FindStringSubmatch(body); found != nil {
		parsed.reverts = found[1]
	}
	if found := revertHeader.FindStringSubmatch(first); found != nil {
		parsed.kind, parsed.subject = "revert", found[1]
		return parsed, true
	}
	found := header.FindStringSubmatch(first)
	if found == nil {
		return change{}, false
	}
	parsed.kind, parsed.scope, parsed.subject = strings.ToLower(found[1]), found[2], strings.TrimSpace(found[4])
	parsed.breaking = found[3] != ""
	if note := footer.FindStringSubmatch(body); note != nil {
		parsed.breaking, parsed.breakingNote = true, oneLine(note[1])
	}
	return parsed, true
}

func oneLine(note string) string {
	if end := token.FindStringIndex(note); end != nil {
		note = note[:end[0]]
	}
	return strings.Join(strings.Fields(note), " ")
}

// changes reads commits, newest first, without those that are not of the form and those that another one takes back.
func changes(commits []Commit) []change {
	var parsed []change
	for _, commit := range commits {
		if one, of := parse(commit); of {
			parsed = append(parsed, one)
		}
	}
	gone := map[string]bool{}
	for _, one := range parsed {
		if one.reverts == "" || gone[one.hash] {
			continue
		}
		for _, other := range parsed {
			if strings.HasPrefix(other.hash, one.reverts) {
				gone[other.hash], gone[one.hash] = true, true
			}
		}
	}
	kept := parsed[:0]
	for _, one := range parsed {
		if !gone[one.hash] {
			kept = append(kept, one)
		}
	}
	return kept
}
