package clustermanager

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// Masked is what a Secret shows instead of its value, in every way of printing it.
const Masked = "<redacted>"

// Secret is a token, a password or a Secret's plain value. It prints as [Masked] with every verb of fmt, in JSON, in
// text and in slog, also as an unexported field of another struct, where fmt calls no method: the value sits behind a
// function, which fmt prints as an address. The zero Secret is empty.
type Secret struct {
	reveal func() string
}

// NewSecret wraps a plain value. An empty value gives the zero Secret.
func NewSecret(plain string) Secret {
	if plain == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return plain }}
}

// Reveal returns the plain value. Call it where the value leaves for the one place that needs it: an Authorization
// header, an encryption, a write to the API server.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// IsZero says whether there is no value.
func (s Secret) IsZero() bool { return s.reveal == nil }

// Equal compares two plain values. It makes a Secret comparable in tests without printing it.
func (s Secret) Equal(other Secret) bool { return s.Reveal() == other.Reveal() }

// String masks the value.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return Masked
}

// GoString masks the value for %#v.
func (s Secret) GoString() string { return fmt.Sprintf("clustermanager.Secret(%q)", s.String()) }

// Format masks the value for every verb, %x and %q included.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = fmt.Fprint(state, s.String()) }

// LogValue masks the value in slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText masks the value for every text encoder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON masks the value.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON reads a plain value, so that a settings file or a survey's file may hold one made for a test.
func (s *Secret) UnmarshalJSON(data []byte) error {
	var plain string
	if err := json.Unmarshal(data, &plain); err != nil {
		return fmt.Errorf("secret: decoding: not a string")
	}
	*s = NewSecret(plain)
	return nil
}
