package clustermanager

import (
	"net/netip"
	"strings"
	"unicode"
)

// OneLine makes a text that others wrote fit for a sentence: on one line, each run of white space, control and format
// characters one space, and cut to at most limit characters; 0: not cut.
func OneLine(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsPrint(r) || unicode.IsSpace(r) || r == unicode.ReplacementChar
	}), " ")
	if runes := []rune(text); limit > 0 && len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// IsLoopback says whether a host, without a port and without brackets, is this machine: a token may be sent to it in
// the clear. Only localhost and addresses are; a name is not looked up.
func IsLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback() && address.Zone() == ""
}
