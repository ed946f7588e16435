package snapshot

import (
	"regexp"
	"strconv"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// texts are what credentials look like in a text, with what is written instead of each. They are looked for in every
// string of every object.
var texts = []struct {
	looks *regexp.Regexp
	shown string
}{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`), clustermanager.Masked},
	{regexp.MustCompile(`(?i)([\w-]*(?:pass(?:word|wd|phrase)|pwd|secret|token|api[-_]?key|access[-_]?key|credential|signature)[\w-]*["']?\s*=\s*["']?)[^\s"',;&]+`), "${1}" + clustermanager.Masked},
	{regexp.MustCompile(`(?i)(--[\w-]*(?:pass(?:word|wd|phrase)|pwd|secret|token|api[-_]?key|access[-_]?key|credential)[\w-]*\s+)[^\s"',;&]+`), "${1}" + clustermanager.Masked},
	{regexp.MustCompile(`(?i)\b((?:authorization:\s*)?(?:bearer|basic)\s+)[\w.~+/=-]{8,}`), "${1}" + clustermanager.Masked},
	{regexp.MustCompile(`(?i)(https://[\w.-]*(?:hooks\.slack\.com|discord(?:app)?\.com/api/webhooks|webhook\.office\.com|chat\.googleapis\.com|api\.telegram\.org|hooks\.zapier\.com)/?)[^\s"']*`), "${1}" + clustermanager.Masked},
	{regexp.MustCompile(`\b(?:gh[opsur]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{16}|hf_[A-Za-z0-9]{16,}|sk-[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)`), clustermanager.Masked},
}

// userInfo is the user of an address within a text, and what follows it: an image's digest is none.
var userInfo = regexp.MustCompile(`([a-zA-Z][-+.a-zA-Z0-9]*://)[^\s/?#@:"']*(:[^\s@"']*)?@(sha\d+:)?`)

// told are the fields whose lists are handed to a program, and named those whose entries are a name with a value. What
// stands there is masked whatever it is, but for a number or a truth value.
var (
	told  = map[string]bool{"args": true, "extraArgs": true, "command": true}
	named = regexp.MustCompile(`(?i)env(vars?)?$|headers$`)
)

// maskedStrings is a value with each string as it may leave the installation.
func maskedStrings(value any) any { return maskedUnder("", value) }

func maskedUnder(key string, value any) any {
	switch value := value.(type) {
	case string:
		return maskedText(value)
	case []any:
		copied := make([]any, len(value))
		for index, entry := range value {
			text, isText := entry.(string)
			switch {
			case isText && told[key]:
				copied[index] = harmless(text)
			case isText:
				copied[index] = maskedText(text)
			default:
				copied[index] = maskedUnder(key, entry)
			}
		}
		return copied
	case map[string]any:
		copied := make(map[string]any, len(value))
		for field, entry := range value {
			text, isText := entry.(string)
			if isText && (field == "value" && named.MatchString(key) || told[field] || named.MatchString(key) && value["name"] == nil) {
				copied[field] = harmless(text)
				continue
			}
			copied[field] = maskedUnder(field, entry)
		}
		return copied
	}
	return value
}

// harmless is a text that may be a credential, as long as it is no number or truth value.
func harmless(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil || text == "true" || text == "false" || text == "" {
		return text
	}
	return clustermanager.Masked
}

func maskedText(text string) string {
	for _, pattern := range texts {
		text = pattern.looks.ReplaceAllString(text, pattern.shown)
	}
	return userInfo.ReplaceAllStringFunc(text, func(found string) string {
		scheme, user, _ := strings.Cut(found, "://")
		sshUser := strings.HasSuffix(scheme, "ssh") && !strings.Contains(user, ":")
		if strings.HasSuffix(found, ":") || sshUser || user == clustermanager.Masked+"@" {
			return found
		}
		return scheme + "://" + clustermanager.Masked + "@"
	})
}
