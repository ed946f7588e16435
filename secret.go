package clustermanager

import (
	"encoding/json"
	"errors"
)

// Secret is a token, a password or a Secret's plain value. It prints as [Masked], whoever prints it and how. The zero
// Secret is empty.
type Secret struct {
	hidden[string]
}

// NewSecret wraps a plain value. An empty value gives the zero Secret.
func NewSecret(plain string) Secret {
	if plain == "" {
		return Secret{}
	}
	return Secret{hide(plain)}
}

// Equal compares two plain values. It makes a Secret comparable in tests without printing it.
func (s Secret) Equal(other Secret) bool { return s.Reveal() == other.Reveal() }

// UnmarshalJSON reads a plain value, so that a settings file or a survey's file may hold one made for a test.
func (s *Secret) UnmarshalJSON(data []byte) error {
	var plain string
	if err := json.Unmarshal(data, &plain); err != nil {
		return errors.New("secret: decoding: not a string")
	}
	*s = NewSecret(plain)
	return nil
}
