package mcptools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// longestValue is how many characters of a caller's value an error repeats.
	longestValue = 60
	// longestText is how many characters a text argument may have. No name or version of Kubernetes, Helm or a provider
	// is nearly so long, and whatever an answer repeats stays short.
	longestText = 256
	// mostFaults is how many faults one answer names.
	mostFaults = 10
)

// checkArguments holds raw arguments against a tool's input schema and returns them with whole numbers written as such.
// All faults stand in one *clustermanager.InvalidArguments, in the order of their names.
func checkArguments(tool Tool, raw json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		raw = json.RawMessage("{}")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, invalid(tool, []string{"the arguments are no JSON"})
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, invalid(tool, []string{"the arguments are no JSON object"})
	}
	if faults := objectFaults("", object, tool.Input); len(faults) > 0 {
		return nil, invalid(tool, faults)
	}
	checked, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("tool %s: reading the arguments: %w", tool.Name, err)
	}
	return checked, nil
}

func invalid(tool Tool, faults []string) error {
	if more := len(faults) - mostFaults; more > 0 {
		faults = append(faults[:mostFaults:mostFaults], fmt.Sprintf("and %d more", more))
	}
	return &clustermanager.InvalidArguments{Message: fmt.Sprintf("%s: %s", tool.Name, strings.Join(faults, "; "))}
}

func objectFaults(at string, object map[string]any, schema *jsonschema.Schema) []string {
	var faults []string
	for _, name := range slices.Sorted(slices.Values(schema.Required)) {
		if value, given := object[name]; !given || value == "" {
			delete(object, name)
			faults = append(faults, fmt.Sprintf("argument %s is missing", join(at, name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		property, known := schema.Properties[name]
		switch {
		case known:
			if number, ok := object[name].(json.Number); ok && property.Type == "integer" {
				if whole, ok := wholeNumber(number); ok {
					object[name] = whole
				}
			}
			faults = append(faults, valueFaults(join(at, name), object[name], property)...)
		case closed(schema):
			faults = append(faults, fmt.Sprintf("argument %s is unknown (known: %s)", short(join(at, name)), names(schema)))
		}
	}
	return faults
}

func names(schema *jsonschema.Schema) string {
	if len(schema.Properties) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", ")
}

// closed says whether the schema allows its own properties alone.
func closed(schema *jsonschema.Schema) bool {
	return schema.AdditionalProperties != nil && schema.AdditionalProperties.Not != nil
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func valueFaults(at string, value any, schema *jsonschema.Schema) []string {
	// Read as "not given", a null dryRun would write.
	if value == nil {
		return []string{fmt.Sprintf("argument %s is null: leave it out", at)}
	}
	if !hasType(value, schema.Type) {
		return []string{fmt.Sprintf("argument %s is no %s", at, schema.Type)}
	}
	switch typed := value.(type) {
	case string:
		return stringFaults(at, typed, schema)
	case int64:
		return numberFaults(at, float64(typed), schema)
	case json.Number:
		number, err := typed.Float64()
		if err != nil {
			return []string{fmt.Sprintf("argument %s is no number", at)}
		}
		return numberFaults(at, number, schema)
	case []any:
		var faults []string
		for i, item := range typed {
			faults = append(faults, valueFaults(fmt.Sprintf("%s[%d]", at, i), item, schema.Items)...)
		}
		return faults
	case map[string]any:
		return objectFaults(at, typed, schema)
	}
	return nil
}

func hasType(value any, name string) bool {
	switch value := value.(type) {
	case int64:
		return name == "integer"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case json.Number:
		if name == "integer" {
			_, whole := wholeNumber(value)
			return whole
		}
		return name == "number"
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return false
}

// wholeNumber reads 4 and 4.0 alike: some clients know floating point numbers alone.
func wholeNumber(number json.Number) (int64, bool) {
	if whole, err := number.Int64(); err == nil {
		return whole, true
	}
	const exact = 1 << 53
	float, err := number.Float64()
	if err != nil || float != math.Trunc(float) || math.Abs(float) > exact {
		return 0, false
	}
	return int64(float), true
}

func stringFaults(at, value string, schema *jsonschema.Schema) []string {
	if utf8.RuneCountInString(value) > longestText || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return []string{fmt.Sprintf("argument %s is %s, which is longer than %d characters or not on one line", at, short(value), longestText)}
	}
	if len(schema.Enum) > 0 && !slices.Contains(schema.Enum, any(value)) {
		names := make([]string, 0, len(schema.Enum))
		for _, name := range schema.Enum {
			names = append(names, fmt.Sprint(name))
		}
		return []string{fmt.Sprintf("argument %s is %s, not one of %s", at, short(value), strings.Join(names, ", "))}
	}
	if schema.Pattern != "" {
		if matched, err := regexp.MatchString(schema.Pattern, value); err != nil || !matched {
			return []string{fmt.Sprintf("argument %s is %s, which does not match %s (%s)", at, short(value), schema.Pattern, schema.Description)}
		}
	}
	return nil
}

func numberFaults(at string, number float64, schema *jsonschema.Schema) []string {
	if schema.Minimum != nil && number < *schema.Minimum {
		return []string{fmt.Sprintf("argument %s is %v, below its minimum %v", at, number, *schema.Minimum)}
	}
	return nil
}

// short quotes a caller's text, cut, so that an error cannot be made long or carry control characters.
func short(text string) string {
	if utf8.RuneCountInString(text) > longestValue {
		text = string([]rune(text)[:longestValue]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
