package managed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// maxDepth is how deep a body may nest; the deepest input has five levels.
const maxDepth = 16

// object is a JSON object in the order in which it was written.
type object struct {
	names  []string
	values map[string]any
	// doubled are the names that stand there more than once.
	doubled []string
}

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

var (
	errMalformed = errors.New("the body must be one JSON object")
	errTooDeep   = errors.New("the body nests too deep")
)

// parse reads one JSON value and nothing behind it. Objects keep their order and their doubled names.
func parse(body []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	value, err := parseValue(decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errMalformed
	}
	return value, nil
}

func parseValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, errMalformed
	}
	switch {
	case depth > maxDepth:
		return nil, errTooDeep
	case token == json.Delim('{'):
		return parseObject(decoder, depth)
	case token == json.Delim('['):
		return parseList(decoder, depth)
	}
	return token, nil
}

func parseObject(decoder *json.Decoder, depth int) (*object, error) {
	of := &object{values: map[string]any{}}
	for decoder.More() {
		token, err := decoder.Token()
		name, is := token.(string)
		if err != nil || !is {
			return nil, errMalformed
		}
		value, err := parseValue(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		if _, twice := of.values[name]; twice {
			of.doubled = append(of.doubled, name)
			continue
		}
		of.names = append(of.names, name)
		of.values[name] = value
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errMalformed
	}
	return of, nil
}

func parseList(decoder *json.Decoder, depth int) ([]any, error) {
	list := []any{}
	for decoder.More() {
		value, err := parseValue(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errMalformed
	}
	return list, nil
}

// faults collects what is wrong while a body is walked beside the table.
type faults []FieldFault

func (f *faults) add(path, format string, arguments ...any) {
	*f = append(*f, FieldFault{Field: path, Message: fmt.Sprintf(format, arguments...)})
}

// object checks an object and returns what of it is right, with the defaults.
func (f *faults) object(of *object, fields []Field, path string) map[string]any {
	for _, name := range of.doubled {
		f.add(join(path, shorten(name)), "is given twice")
	}
	for _, name := range of.names {
		if !slices.ContainsFunc(fields, func(field Field) bool { return field.Name == name }) {
			f.add(join(path, shorten(name)), "is no field of this input")
		}
	}
	clean := map[string]any{}
	for _, field := range fields {
		at := join(path, field.Name)
		value := of.values[field.Name]
		switch {
		case value == nil && field.Required:
			f.add(at, "is required")
		case value == nil && field.Default != nil:
			clean[field.Name] = field.Default
		case value != nil:
			if right := f.value(value, field, at); right != nil {
				clean[field.Name] = right
			}
		}
	}
	return clean
}

// value checks a value and returns it as the input's type takes it; nil when its type or its number is wrong.
func (f *faults) value(value any, field Field, path string) any {
	switch field.Type {
	case TypeString:
		return f.text(value, field, path)
	case TypeInteger:
		return f.integer(value, field, path)
	case TypeBoolean:
		if truth, is := value.(bool); is {
			return truth
		}
		f.add(path, "must be true or false")
		return nil
	case TypeObject:
		if of, is := value.(*object); is {
			return f.object(of, field.Fields, path)
		}
		f.add(path, "must be an object")
		return nil
	case TypeMap:
		return f.mapping(value, field, path)
	}
	return f.list(value, field, path)
}

func (f *faults) text(value any, field Field, path string) any {
	text, is := value.(string)
	length := len([]rune(text))
	switch {
	case !is:
		f.add(path, "must be a string")
		return nil
	case field.Enum != nil && !slices.Contains(field.Enum, text):
		f.add(path, "must be one of %s", strings.Join(field.Enum, ", "))
	case field.MaxLength > 0 && length > field.MaxLength:
		f.add(path, "has %d characters, at most %d are allowed", length, field.MaxLength)
	case field.Pattern != nil && !field.Pattern.MatchString(text):
		f.add(path, "must match %s", field.Pattern)
	}
	return text
}

func (f *faults) integer(value any, field Field, path string) any {
	number, is := value.(json.Number)
	if !is {
		f.add(path, "must be an integer")
		return nil
	}
	amount, err := number.Float64()
	whole := int(amount)
	switch {
	// A number that no float64 holds is beyond every bound.
	case err != nil || amount < -1e15 || amount > 1e15:
		f.add(path, "must be %s", span(field.Bounds))
		return nil
	case amount != float64(whole):
		f.add(path, "must be an integer")
		return nil
	case field.Bounds != nil && (whole < field.Bounds.Min || whole > field.Bounds.Max):
		f.add(path, "must be %s", span(field.Bounds))
	}
	return whole
}

func (f *faults) mapping(value any, field Field, path string) any {
	of, is := value.(*object)
	if !is {
		f.add(path, "must be an object")
		return nil
	}
	for _, name := range of.doubled {
		f.add(join(path, shorten(name)), "is given twice")
	}
	clean := map[string]any{}
	for _, name := range of.names {
		if right := f.value(of.values[name], Field{Type: field.Of, Fields: field.Fields}, join(path, shorten(name))); right != nil {
			clean[name] = right
		}
	}
	return clean
}

// zeros keep the place of a list's faulty item, so that those behind it keep their index.
var zeros = map[Type]any{TypeString: "", TypeObject: map[string]any{}}

func (f *faults) list(value any, field Field, path string) any {
	items, is := value.([]any)
	switch {
	case !is:
		f.add(path, "must be a list")
		return nil
	case field.Items != nil && (len(items) < field.Items.Min || len(items) > field.Items.Max):
		f.add(path, "has %d items, %d to %d are allowed", len(items), field.Items.Min, field.Items.Max)
	}
	clean := []any{}
	for i, item := range items {
		right := f.value(item, Field{Type: field.Of, Fields: field.Fields}, path+"["+strconv.Itoa(i)+"]")
		if right == nil {
			right = zeros[field.Of]
		}
		clean = append(clean, right)
	}
	return clean
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// shorten keeps a caller's own name short enough for a message.
func shorten(name string) string {
	if characters := []rune(name); len(characters) > 64 {
		return string(characters[:64]) + "…"
	}
	return name
}

func span(bounds *Range) string {
	if bounds == nil {
		return "a smaller number"
	}
	return fmt.Sprintf("%d to %d", bounds.Min, bounds.Max)
}
