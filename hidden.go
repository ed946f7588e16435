package clustermanager

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// Masked is what a hidden value shows instead of itself, in every way of printing it.
const Masked = "<redacted>"

// hidden is a value that prints as [Masked] with every verb of fmt, in JSON, in text and in slog, also as an unexported
// field of another struct, where fmt calls no method: the value sits behind a function, which fmt prints as an address.
// The zero hidden holds nothing.
type hidden[T any] struct {
	reveal func() T
}

func hide[T any](plain T) hidden[T] { return hidden[T]{reveal: func() T { return plain }} }

// Reveal returns the plain value. Call it where the value leaves for the one place that needs it: an Authorization
// header, an encryption, a write to the API server.
func (h hidden[T]) Reveal() T {
	if h.reveal == nil {
		var nothing T
		return nothing
	}
	return h.reveal()
}

// IsZero says whether there is no value.
func (h hidden[T]) IsZero() bool { return h.reveal == nil }

// String masks the value.
func (h hidden[T]) String() string {
	if h.IsZero() {
		return ""
	}
	return Masked
}

// GoString masks the value for %#v.
func (h hidden[T]) GoString() string { return fmt.Sprintf("%q", h.String()) }

// Format masks the value for every verb, %x and %q included.
func (h hidden[T]) Format(state fmt.State, _ rune) { _, _ = fmt.Fprint(state, h.String()) }

// LogValue masks the value in slog.
func (h hidden[T]) LogValue() slog.Value { return slog.StringValue(h.String()) }

// MarshalText masks the value for every text encoder.
func (h hidden[T]) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// MarshalJSON masks the value.
func (h hidden[T]) MarshalJSON() ([]byte, error) { return json.Marshal(h.String()) }
