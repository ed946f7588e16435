package managed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
