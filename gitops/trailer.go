package gitops

import (
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// TrailerKey marks a commit as the product's own.
const TrailerKey = "Cluster-Manager"

// Subject is what a commit of the product is about, as its message says.
type Subject struct {
	// Tool is the tool that was called.
	Tool string
	// Installation is "" for a server without a name.
	Installation string
	Cluster      string
	// Pool is "" for what is about the cluster itself.
	Pool string
	// Scope is that of the message's first line: the cluster, or of a cluster's own making or removal its organization.
	Scope string
}

// Trailer is the value of a commit's trailer; the subject is [<installation>/]<cluster>[/<pool>].
func Trailer(tool, subject string) string { return tool + " " + subject }

// message is the commit's message: the title and, as its last paragraph, the trailer.
func message(title, trailer string) string {
	return clustermanager.OneLine(title, 0) + "\n\n" + TrailerKey + ": " + clustermanager.OneLine(trailer, 0) + "\n"
}

// trailerOf is the value of the trailer in the last paragraph of a commit's message; false: it carries none.
func trailerOf(message string) (string, bool) {
	paragraphs := strings.Split(strings.TrimSpace(strings.ReplaceAll(message, "\r\n", "\n")), "\n\n")
	if len(paragraphs) < 2 {
		return "", false
	}
	for line := range strings.SplitSeq(paragraphs[len(paragraphs)-1], "\n") {
		if value, is := strings.CutPrefix(line, TrailerKey+": "); is {
			return value, true
		}
	}
	return "", false
}

// isOurs says whether a commit's message carries the trailer.
func isOurs(message string) bool {
	_, is := trailerOf(message)
	return is
}

// AllOurs says whether every commit carries the trailer, and there is one.
func AllOurs(commits []clustermanager.BranchCommit) bool {
	for _, commit := range commits {
		if !isOurs(commit.Message) {
			return false
		}
	}
	return len(commits) > 0
}

// ReadSubject reads what a commit of an installation is about; false: it is none of the product's, or another
// installation's.
func ReadSubject(message, installation string) (Subject, bool) {
	value, is := trailerOf(message)
	tool, about, found := strings.Cut(value, " ")
	if !is || !found || tool == "" {
		return Subject{}, false
	}
	made := Subject{Tool: tool, Installation: installation}
	if installation != "" {
		if about, is = strings.CutPrefix(about, installation+"/"); !is {
			return Subject{}, false
		}
	}
	made.Cluster, made.Pool, _ = strings.Cut(about, "/")
	title, _, _ := strings.Cut(message, "\n")
	if _, rest, there := strings.Cut(title, "("); there {
		made.Scope, _, _ = strings.Cut(rest, ")")
	}
	return made, made.Cluster != "" && !strings.Contains(made.Pool, "/")
}
