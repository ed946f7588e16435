package clustermanager

import (
	"encoding/json"
	"errors"
	"regexp"
)

// Values are a cluster's Helm values. Passwords of registries and proxies stand among them, so they print as [Masked]
// like a [Secret]. In JSON the credentials alone are masked, so that a survey that was written to a file still decides
// as the one it was made of. The zero Values are none.
type Values struct {
	hidden[map[string]any]
}

// NewValues wraps plain values, which are not copied.
func NewValues(plain map[string]any) Values {
	if plain == nil {
		return Values{}
	}
	return Values{hide(plain)}
}

// MarshalJSON writes the values without their credentials: of what stands below containerRegistries the endpoints
// alone, nothing below a key that names a secret (the name of a Kubernetes Secret is none), and no user info of an address.
func (v Values) MarshalJSON() ([]byte, error) {
	return json.Marshal(withoutCredentials(v.Reveal(), false))
}

// UnmarshalJSON reads plain values, so that a survey's file may hold some made for a test.
func (v *Values) UnmarshalJSON(data []byte) error {
	var plain map[string]any
	if err := json.Unmarshal(data, &plain); err != nil {
		return errors.New("values: decoding: not a mapping")
	}
	*v = NewValues(plain)
	return nil
}

var (
	secretKey = regexp.MustCompile(`(?i)^containerRegistries$|credential|pass(word|wd|phrase)|secret|token|private|(api|access)[-_]?key|` +
		`bearer|connection[-_]?string|webhook[-_]?url|^auth(orization)?$|(^|[-_.])(pwd|pat)$|(?-i:[a-z](Pwd|Pat)$)`)
	// secretNameKey are the keys by which charts are told the name of a Secret, which decisions read.
	secretNameKey = regexp.MustCompile(`^existingSecret$|^secret(Name|Ref)$|Secret(Name|Ref)$`)
	// userInfo is everything up to an address's last "@", but for a scheme in front.
	userInfo = regexp.MustCompile(`(?s)^([a-zA-Z][-+.a-zA-Z0-9]*://)?.*@`)
)

// withoutCredentials copies a value, with the leaves masked when it is secret.
func withoutCredentials(value any, secret bool) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, entry := range value {
			_, isText := entry.(string)
			shown := isText && key == "endpoint"
			hides := secretKey.MatchString(key) && !secretNameKey.MatchString(key)
			copied[key] = withoutCredentials(entry, !shown && (secret || hides))
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for index, entry := range value {
			copied[index] = withoutCredentials(entry, secret)
		}
		return copied
	case string:
		if !secret || value == "" {
			return userInfo.ReplaceAllString(value, "${1}"+Masked+"@")
		}
	case nil, bool:
		return value
	}
	if secret {
		return Masked
	}
	return value
}
