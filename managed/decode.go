package managed

import (
	"encoding/json"
	"fmt"
)

// checked is an input with rules that no bound of one field tells. It is given the faults of shape found before.
type checked interface {
	check(shape []FieldFault) []FieldFault
}

// Decode reads the body of a call into its input. Null equals absent, a default is filled in, a doubled or unknown
// field is refused. All faults come in one INVALID_INPUT, one a field: the first of type, enum, bounds and pattern.
func Decode[In, Out any](row Call[In, Out], body []byte) (In, error) {
	var input In
	clean, faults, err := read(row.Method, body)
	if err != nil {
		return input, err
	}
	// What is left of a faulty body has the right types, so that the rules below find their faults beside the others.
	if err := decodeClean(clean, &input); err != nil {
		return input, fmt.Errorf("%s: decoding: %w", row, err)
	}
	if rules, is := any(&input).(checked); is {
		faults = append(faults, rules.check(faults)...)
	}
	if err := Faulty(row.String(), faults); err != nil {
		var none In
		return none, err
	}
	return input, nil
}

// CheckShape is the input stage by itself: the faults of a body by the method's table, without the rules across fields.
func CheckShape(row Method, body []byte) ([]FieldFault, error) {
	_, faults, err := read(row, body)
	return faults, err
}

func read(row Method, body []byte) (map[string]any, []FieldFault, error) {
	tree, err := parse(body)
	if err != nil {
		return nil, nil, Faulty(row.String(), []FieldFault{{Message: err.Error()}})
	}
	of, is := tree.(*object)
	if !is {
		return nil, nil, Faulty(row.String(), []FieldFault{{Message: "the body must be a JSON object"}})
	}
	var found faults
	clean := found.object(of, row.Input, "")
	return clean, found, nil
}

func decodeClean(clean map[string]any, into any) error {
	data, err := json.Marshal(clean)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
