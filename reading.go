package clustermanager

import (
	"encoding/json"
	"errors"
)

// Reading is a value that was read, or the reason why it is unknown. A failed read is never a false, a zero or an empty
// list. In a survey's file it stands as {"value": …} or {"unknown": "reason"}, with "refused": true where the reason is
// a refusal; in an answer it never appears. The zero Reading is unknown: it was not read.
type Reading[T any] struct {
	value T
	known bool
	// cause is why there is no value; nil: it was not read.
	cause error
}

var errNotRead = errors.New("not read")

// Known is a value that was read.
func Known[T any](value T) Reading[T] { return Reading[T]{value: value, known: true} }

// Unknown is a read that failed, or was not made, with the reason in words that a person can act on.
func Unknown[T any](reason string) Reading[T] { return Reading[T]{cause: errors.New(reason)} }

// Read is what a read returned: the value, or with an error the error, whose class is kept.
func Read[T any](value T, err error) Reading[T] {
	if err != nil {
		return Reading[T]{cause: err}
	}
	return Known(value)
}

// Get returns the value and whether it is known.
func (r Reading[T]) Get() (T, bool) { return r.value, r.known }

// Or returns the value, else the given one. Use it only where an unknown value and the fallback decide the same.
func (r Reading[T]) Or(fallback T) T {
	if r.known {
		return r.value
	}
	return fallback
}

// Asked says whether the read was made. One that a survey has no use for is not.
func (r Reading[T]) Asked() bool { return r.known || r.cause != nil }

// Err says why the value is unknown, as an error of the class that the read had; nil for a known one.
func (r Reading[T]) Err() error {
	switch {
	case r.known:
		return nil
	case r.cause == nil:
		return errNotRead
	}
	return r.cause
}

// Reason says in words why the value is unknown; empty for a known one.
func (r Reading[T]) Reason() string {
	if err := r.Err(); err != nil {
		return err.Error()
	}
	return ""
}

// unknown is the form of an unknown value in a file.
type unknown struct {
	Reason  string `json:"unknown"`
	Refused bool   `json:"refused,omitempty"`
}

// MarshalJSON writes {"value": …} or {"unknown": "reason"}.
func (r Reading[T]) MarshalJSON() ([]byte, error) {
	if err := r.Err(); err != nil {
		return json.Marshal(unknown{Reason: err.Error(), Refused: ReasonOf(err) == ReasonRefused})
	}
	return json.Marshal(struct {
		Value T `json:"value"`
	}{r.value})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Reading[T]) UnmarshalJSON(data []byte) error {
	var raw struct {
		Value json.RawMessage `json:"value"`
		unknown
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*r = Reading[T]{}
	switch {
	case raw.Value != nil:
		r.known = true
		return json.Unmarshal(raw.Value, &r.value)
	case raw.Refused:
		r.cause = Refuse("%s", raw.Reason)
	case raw.Reason != "" && raw.Reason != errNotRead.Error():
		r.cause = errors.New(raw.Reason)
	}
	return nil
}
