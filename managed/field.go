package managed

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Type is a field's type in a body.
type Type string

const (
	TypeString  Type = "string"
	TypeInteger Type = "integer"
	TypeBoolean Type = "boolean"
	TypeObject  Type = "object"
	TypeList    Type = "list"
	TypeMap     Type = "map"
)

// Range is a lower and an upper bound, both allowed.
type Range struct{ Min, Max int }

// Field is a field of an input with its bounds. Those that it does not have are zero.
type Field struct {
	Name     string
	Type     Type
	Required bool
	// Of is the type of a list's items and of a map's values.
	Of Type
	// Fields are those of an object, or of a list's objects.
	Fields []Field
	// Default is what an absent field stands for; nil: nothing.
	Default any
	Enum    []string
	// MaxLength counts characters.
	MaxLength int
	Pattern   *regexp.Regexp
	// Bounds are an integer's, Items the number of a list's items.
	Bounds, Items *Range
}

// fieldsOf reads an input struct's fields and tags. A tag that cannot be read shows in the test that compares the table
// with the reference, which has every bound.
func fieldsOf(input reflect.Type) []Field {
	var fields []Field
	for member := range input.Fields() {
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		field := Field{Name: name, Required: options == ""}
		field.Type, field.Of, field.Fields = typeOf(member.Type)
		field.MaxLength, _ = strconv.Atoi(member.Tag.Get("maxLength"))
		field.Bounds = rangeOf(member.Tag, "minimum", "maximum")
		field.Items = rangeOf(member.Tag, "minItems", "maxItems")
		if pattern := member.Tag.Get("pattern"); pattern != "" {
			field.Pattern = regexp.MustCompile(pattern)
		}
		if words := member.Tag.Get("enum"); words != "" {
			field.Enum = strings.Split(words, ",")
		}
		if value, given := member.Tag.Lookup("default"); given {
			field.Default = defaultOf(field.Type, value)
		}
		fields = append(fields, field)
	}
	return fields
}

// typeOf is the type of a Go type in a body, with that of its items or values and the fields of its objects.
func typeOf(of reflect.Type) (field, item Type, fields []Field) {
	switch of.Kind() {
	case reflect.Pointer:
		return typeOf(of.Elem())
	case reflect.Bool:
		return TypeBoolean, "", nil
	case reflect.Int:
		return TypeInteger, "", nil
	case reflect.Slice:
		item, _, fields := typeOf(of.Elem())
		return TypeList, item, fields
	case reflect.Map:
		item, _, fields := typeOf(of.Elem())
		return TypeMap, item, fields
	case reflect.Struct:
		return TypeObject, "", fieldsOf(of)
	}
	return TypeString, "", nil
}

func rangeOf(tag reflect.StructTag, lower, upper string) *Range {
	least, err := strconv.Atoi(tag.Get(lower))
	if err != nil {
		return nil
	}
	most, err := strconv.Atoi(tag.Get(upper))
	if err != nil {
		return nil
	}
	return &Range{Min: least, Max: most}
}

func defaultOf(of Type, value string) any {
	if of == TypeBoolean {
		return value == "true"
	}
	return value
}
