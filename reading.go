package clustermanager

import "encoding/json"

// Reading is a value that was read, or the reason why it is unknown. A failed read is never a false, a zero or an empty
// list. In a survey's file it stands as {"value": …} or {"unknown": "reason"}; in an answer it never appears. The zero
// Reading is unknown: it was not read.
type Reading[T any] struct {
	value  T
	known  bool
	reason string
}

// Known is a value that was read.
func Known[T any](value T) Reading[T] { return Reading[T]{value: value, known: true} }

// Unknown is a read that failed, or was not made, with the reason in words that a person can act on.
func Unknown[T any](reason string) Reading[T] { return Reading[T]{reason: reason} }

// Get returns the value and whether it is known.
func (r Reading[T]) Get() (T, bool) { return r.value, r.known }

// Or returns the value, else the given one. Use it only where an unknown value and the fallback decide the same.
func (r Reading[T]) Or(fallback T) T {
	if r.known {
		return r.value
	}
	return fallback
}

// Reason says why the value is unknown; empty for a known one.
func (r Reading[T]) Reason() string {
	switch {
	case r.known:
		return ""
	case r.reason == "":
		return "not read"
	}
	return r.reason
}

// MarshalJSON writes {"value": …} or {"unknown": "reason"}.
func (r Reading[T]) MarshalJSON() ([]byte, error) {
	if !r.known {
		return json.Marshal(map[string]string{"unknown": r.Reason()})
	}
	return json.Marshal(struct {
		Value T `json:"value"`
	}{r.value})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Reading[T]) UnmarshalJSON(data []byte) error {
	var raw struct {
		Value   json.RawMessage `json:"value"`
		Unknown string          `json:"unknown"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*r = Reading[T]{reason: raw.Unknown}
	if raw.Value == nil {
		return nil
	}
	r.known, r.reason = true, ""
	return json.Unmarshal(raw.Value, &r.value)
}
