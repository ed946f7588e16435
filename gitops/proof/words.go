package proof

import (
	"regexp"
	"strings"
	"unicode"
)

// maxWords is how much of a build's own words a refusal relays, in bytes.
const maxWords = 600

// rooted finds the slash of the in-memory file system's root before a path.
var rooted = regexp.MustCompile(`(^|['"\s(=:])/([^/\s])`)

// credentials finds the user part of a URL.
var credentials = regexp.MustCompile(`://[^/\s@]*@`)

// words makes a build's error fit for a sentence: plain, short, with paths as the repository has them.
func words(err error) string {
	return short(rooted.ReplaceAllString(plain(err.Error()), "$1$2"), maxWords)
}

// plain puts what others wrote on one line, without control characters and without the credentials of a URL.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return credentials.ReplaceAllString(strings.Join(strings.Fields(text), " "), "://")
}

// short cuts text at a rune, with a mark.
func short(text string, limit int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + "…"
}
