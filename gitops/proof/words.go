package proof

import (
	"regexp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// maxWords is how much of a build's own words a refusal relays, in characters.
const maxWords = 600

// rooted finds the slash of the in-memory file system's root before a path.
var rooted = regexp.MustCompile(`(^|['"\s(=:])/([^/\s])`)

// credentials finds the user part of a URL.
var credentials = regexp.MustCompile(`://[^/\s@]*@`)

// words makes a build's error fit for a sentence: one line, bounded, with paths as the repository has them.
func words(err error) string {
	return quote(rooted.ReplaceAllString(err.Error(), "$1$2"), maxWords)
}

// quote is one line of what others wrote, without the credentials of a URL.
func quote(text string, limit int) string {
	return clustermanager.OneLine(credentials.ReplaceAllString(text, "://"), limit)
}
