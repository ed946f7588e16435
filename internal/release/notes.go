package release

import (
	"fmt"
	"slices"
	"strings"
)

// Notes are the notes of a release in Markdown: what breaks, then a heading for each type of commit that people notice,
// each with its commits in the order that they were made. Commits are newest first.
func Notes(version string, commits []Commit) string {
	all := changes(commits)
	slices.Reverse(all)
	var text strings.Builder
	fmt.Fprintf(&text, "## %s\n", version)
	section(&text, "Breaking", all, func(one change) bool { return one.breaking })
	for _, row := range kinds {
		section(&text, row.heading, all, func(one change) bool { return !one.breaking && row.holds(one) })
	}
	return text.String()
}

func section(text *strings.Builder, heading string, all []change, of func(change) bool) {
	begun := false
	for _, one := range all {
		if !of(one) {
			continue
		}
		if !begun {
			fmt.Fprintf(text, "\n### %s\n\n", heading)
			begun = true
		}
		text.WriteString(line(one))
	}
}

// shortHash is the length that GitHub shows, and links.
const shortHash = 7

func line(one change) string {
	scope, note := "", ""
	if one.scope != "" {
		scope = "**" + one.scope + ":** "
	}
	if one.breakingNote != "" {
		note = ": " + one.breakingNote
	}
	return fmt.Sprintf("- %s%s (%s)%s\n", scope, one.subject, one.hash[:min(len(one.hash), shortHash)], note)
}
