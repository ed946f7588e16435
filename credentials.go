package clustermanager

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	// strongKey and weakKey are keys whose values are credentials; a number is one below a strong key alone, since
	// tokenLifetimeSeconds is none.
	strongKey = regexp.MustCompile(`(?i)credential|passw`)
	weakKey   = regexp.MustCompile(`(?i)secret|token|private_?key`)
	// referenceKey is a key whose value names a Secret and is none itself.
	referenceKey = regexp.MustCompile(`(?i)(name|namespace|ref|url|pullsecrets?|^existingsecret|^username(claim)?)$`)
	// signedAddress is an address with a password, or with any user before a web host.
	signedAddress = regexp.MustCompile(`(?i)https?://[^/\s]*@|[a-z][-+.a-z0-9]*://[^/\s:@]*:[^/\s]*@`)
	// signedProxy is a proxy's address without a scheme, with a password.
	signedProxy = regexp.MustCompile(`^[^/\s:@]+:[^/\s]*@`)
)

// Credentials are the paths of the values that hold a credential in plain text, sorted: below a key that says so, an
// address with user info, a private key. The name of a Secret is none.
func (v Values) Credentials() []string {
	var paths []string
	maskCredentials(v.Reveal(), credentialPlace{found: &paths})
	slices.Sort(paths)
	return paths
}

// WithoutCredentials is a copy of the values with [Masked] at the paths of Credentials.
func (v Values) WithoutCredentials() map[string]any {
	var paths []string
	masked, _ := maskCredentials(v.Reveal(), credentialPlace{found: &paths}).(map[string]any)
	return masked
}

// credentialPlace is where among the values a value stands.
type credentialPlace struct {
	path, key    string
	strong, weak bool
	found        *[]string
}

func (p credentialPlace) below(key string) credentialPlace {
	reference := referenceKey.MatchString(key)
	p.strong = p.strong && key != "endpoint" || strongKey.MatchString(key) && !reference
	p.weak = (p.weak || weakKey.MatchString(key)) && !reference
	p.key, p.path = key, strings.TrimPrefix(p.path+"."+key, ".")
	return p
}

// holds says whether a leaf at the place is a credential.
func (p credentialPlace) holds(value any) bool {
	text, isText := value.(string)
	_, isBool := value.(bool)
	switch {
	case value == nil, isBool, isText && text == "":
		return false
	case p.strong, p.weak && isText:
		return true
	}
	return signedAddress.MatchString(text) || strings.Contains(text, "PRIVATE KEY-----") ||
		strings.Contains(strings.ToLower(p.key), "proxy") && signedProxy.MatchString(text)
}

func maskCredentials(value any, place credentialPlace) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			copied[key] = maskCredentials(value[key], place.below(key))
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for index, entry := range value {
			at := place
			at.path = fmt.Sprintf("%s[%d]", place.path, index)
			copied[index] = maskCredentials(entry, at)
		}
		return copied
	}
	if place.holds(value) {
		*place.found = append(*place.found, place.path)
		return Masked
	}
	return value
}
