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

// words makes a build's error fit for a sentence: one line, no control characters, paths as the repository has them.
func words(err error) string {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, err.Error())
	plain = rooted.ReplaceAllString(strings.Join(strings.Fields(plain), " "), "$1$2")
	return short(plain, maxWords)
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
