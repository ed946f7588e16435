package githubapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// schema is a schema of the description. An unknown keyword is an error when it is parsed.
type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 string             `json:"type"`
	Nullable             bool               `json:"nullable"`
	Enum                 []any              `json:"enum"`
	Format               string             `json:"format"`
	Minimum              *float64           `json:"minimum"`
	Maximum              *float64           `json:"maximum"`
	MinLength            int                `json:"minLength"`
	MaxLength            *int               `json:"maxLength"`
	MaxItems             *int               `json:"maxItems"`
	Required             []string           `json:"required"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties *additional        `json:"additionalProperties"`
	Items                *schema            `json:"items"`
	AllOf                []*schema          `json:"allOf"`
	// OneOf is read as "at least one": GitHub's alternatives overlap. What alternatives of AnyOf leave open, such as
	// further fields, opens the schema that they stand in no more than they say of themselves.
	OneOf []*schema `json:"oneOf"`
	AnyOf []*schema `json:"anyOf"`

	// Said for readers alone.
	Title           ignored `json:"title"`
	Text            ignored `json:"description"`
	Default         ignored `json:"default"`
	Example         ignored `json:"example"`
	Deprecated      ignored `json:"deprecated"`
	Discriminator   ignored `json:"discriminator"`
	BreakingChanges ignored `json:"x-github-breaking-changes"`

	// target is what Ref stands for.
	target *schema
}

// ignored takes any JSON and keeps nothing of it.
type ignored struct{}

// UnmarshalJSON takes anything.
func (*ignored) UnmarshalJSON([]byte) error { return nil }

// UnmarshalJSON refuses keywords that nothing here would check.
func (s *schema) UnmarshalJSON(data []byte) error {
	type plain schema
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode((*plain)(s))
}

// additional says whether fields beyond the described ones are allowed. Of a schema for them only that much is read.
type additional struct{ allowed bool }

// UnmarshalJSON takes a boolean or a schema.
func (a *additional) UnmarshalJSON(data []byte) error {
	a.allowed = true
	if bytes.HasPrefix(data, []byte("{")) {
		return nil
	}
	return json.Unmarshal(data, &a.allowed)
}

// below are the schemas that this one is made of.
func (s *schema) below() iter.Seq[*schema] {
	return func(yield func(*schema) bool) {
		parts := slices.Concat(slices.Collect(maps.Values(s.Properties)), s.AllOf, s.OneOf, s.AnyOf, []*schema{s.Items})
		for _, part := range parts {
			if part != nil && !yield(part) {
				return
			}
		}
	}
}

func (s *schema) resolved() *schema {
	for s.target != nil {
		s = s.target
	}
	return s
}

// faults tells, each with its place, what of a JSON value is not as described: missing fields, other types, values
// outside of an enumeration. Fields beyond the described ones are a fault only where the schema says so.
func (s *schema) faults(at string, value any) []string {
	s = s.resolved()
	if value == nil && s.Nullable {
		return nil
	}
	if s.Type != "" && s.Type != typeOf(value) && (s.Type != "number" || typeOf(value) != "integer") {
		return []string{fmt.Sprintf("%s is of type %s, described is %s", at, typeOf(value), s.Type)}
	}
	found := s.scalarFaults(at, value)
	switch value := value.(type) {
	case map[string]any:
		found = append(found, s.fieldFaults(at, value)...)
	case []any:
		if s.MaxItems != nil && len(value) > *s.MaxItems {
			found = append(found, fmt.Sprintf("%s has %d entries, described are at most %d", at, len(value), *s.MaxItems))
		}
		for i, item := range value {
			if s.Items != nil {
				found = append(found, s.Items.faults(fmt.Sprintf("%s[%d]", at, i), item)...)
			}
		}
	}
	for _, part := range s.AllOf {
		found = append(found, part.faults(at, value)...)
	}
	return append(found, s.nearest(at, value)...)
}

func (s *schema) fieldFaults(at string, fields map[string]any) []string {
	var found []string
	for _, name := range s.Required {
		if _, present := fields[name]; !present {
			found = append(found, at+"."+name+" is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		described, known := s.Properties[name]
		switch {
		case known:
			found = append(found, described.faults(at+"."+name, fields[name])...)
		case s.AdditionalProperties != nil && !s.AdditionalProperties.allowed:
			found = append(found, at+"."+name+" is not described")
		}
	}
	return found
}

// nearest returns the faults by that alternative which has the fewest.
func (s *schema) nearest(at string, value any) []string {
	var nearest []string
	for i, alternative := range slices.Concat(s.OneOf, s.AnyOf) {
		if found := alternative.faults(at, value); i == 0 || len(found) < len(nearest) {
			nearest = found
		}
	}
	return nearest
}

func (s *schema) scalarFaults(at string, value any) []string {
	var found []string
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(one any) bool { return fmt.Sprint(one) == fmt.Sprint(value) }) {
		found = append(found, fmt.Sprintf("%s is %q, described are %q", at, fmt.Sprint(value), s.Enum))
	}
	if number, is := value.(json.Number); is {
		size, err := number.Float64()
		if err != nil || s.Minimum != nil && size < *s.Minimum || s.Maximum != nil && size > *s.Maximum {
			found = append(found, fmt.Sprintf("%s is %s, outside of the described range", at, number))
		}
	}
	if text, is := value.(string); is {
		if length := utf8.RuneCountInString(text); length < s.MinLength || s.MaxLength != nil && length > *s.MaxLength {
			found = append(found, fmt.Sprintf("%s has %d characters, outside of the described range", at, length))
		}
		if fits := formats[s.Format]; fits != nil && !fits(text) {
			found = append(found, fmt.Sprintf("%s is no %s", at, s.Format))
		}
	}
	return found
}

// formats are the formats that are checked; the others say nothing about a value's form.
var formats = map[string]func(string) bool{
	"date-time": func(text string) bool { _, err := time.Parse(time.RFC3339, text); return err == nil },
	"email":     func(text string) bool { return strings.Contains(text, "@") },
	"uri":       func(text string) bool { address, err := url.Parse(text); return err == nil && address.IsAbs() },
}

// unknown tells, each with its place, the fields of a value that are described nowhere in the schema.
func (s *schema) unknown(at string, value any) []string {
	var found []string
	switch value := value.(type) {
	case map[string]any:
		fields, open := s.fields()
		for _, name := range slices.Sorted(maps.Keys(value)) {
			switch described, known := fields[name]; {
			case known:
				found = append(found, described.unknown(at+"."+name, value[name])...)
			case !open:
				found = append(found, at+"."+name+" is not described")
			}
		}
	case []any:
		for i, item := range value {
			if items := s.resolved().Items; items != nil {
				found = append(found, items.unknown(fmt.Sprintf("%s[%d]", at, i), item)...)
			}
		}
	}
	return found
}

// fields are the fields that a schema or any part of it describes; open says that it allows others.
func (s *schema) fields() (fields map[string]*schema, open bool) {
	s = s.resolved()
	fields = maps.Clone(s.Properties)
	if fields == nil {
		fields = map[string]*schema{}
	}
	open = s.AdditionalProperties != nil && s.AdditionalProperties.allowed
	for _, part := range slices.Concat(s.AllOf, s.OneOf) {
		more, wide := part.fields()
		maps.Copy(fields, more)
		open = open || wide
	}
	return fields, open
}

// typeOf is the description's name of a value's type.
func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	}
	return "object"
}

// parse reads one JSON value and nothing after it.
func parse(data []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, fmt.Errorf("more than one value")
	}
	return value, nil
}
