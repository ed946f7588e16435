package compose

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// schemaAddress is where the chart's schema stands for its own references; nothing else is ever loaded.
const schemaAddress = "chart:///values.schema.json"

// checkSchema holds the values, as Helm layers them, against the release chart's own schema. All violations stand in one
// refusal. No value is told: installation values may hold credentials.
func (d *clusterDecision) checkSchema() error {
	if len(bytes.TrimSpace(d.chart.Schema)) == 0 {
		return clustermanager.Refuse("%s: release chart %s has no values.schema.json, so the values cannot be checked: name another release", d.named(), d.chartName())
	}
	schema, err := compileSchema(d.chart.Schema)
	if err != nil {
		return clustermanager.Refuse("%s: the values.schema.json of release chart %s cannot be used: %v; name another release", d.named(), d.chartName(), err)
	}
	encoded, err := json.Marshal(d.layered())
	if err != nil {
		return clustermanager.Refuse("%s: the values are no JSON: give a JSON object", d.named())
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		return clustermanager.Refuse("%s: the values are no JSON: give a JSON object", d.named())
	}
	var violated *jsonschema.ValidationError
	if err := schema.Validate(instance); errors.As(err, &violated) {
		if at := endless(violated); at != "" {
			return clustermanager.Refuse("%s: the values.schema.json of release chart %s cannot be used: its reference %s leads back to itself, which no value can match; name another release",
				d.named(), d.chartName(), clustermanager.OneLine(at, longestShown))
		}
		return clustermanager.Refuse("%s: the values do not match the values.schema.json of release chart %s: %s; correct them and call again",
			d.named(), d.chartName(), strings.Join(violations(violated), "; "))
	}
	return nil
}

// refusingLoader loads nothing: what a schema names outside itself is never fetched.
type refusingLoader struct{}

func (refusingLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, and nothing outside the chart is fetched", clustermanager.OneLine(url, longestShown))
}

func compileSchema(text []byte) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, errors.New("it is no JSON")
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(refusingLoader{})
	if err := compiler.AddResource(schemaAddress, document); err != nil {
		return nil, errors.New("it is no JSON schema")
	}
	schema, err := compiler.Compile(schemaAddress)
	var unloaded *jsonschema.LoadURLError
	switch {
	case errors.As(err, &unloaded):
		return nil, unloaded.Err
	case err != nil:
		return nil, fmt.Errorf("it is no JSON schema: %s", clustermanager.OneLine(err.Error(), 4*longestShown))
	}
	return schema, nil
}

// endless is the reference of the schema that leads to itself without a step into the value; "": there is none.
func endless(failed *jsonschema.ValidationError) string {
	if cycle, isCycle := failed.ErrorKind.(*kind.RefCycle); isCycle {
		return strings.TrimPrefix(cycle.URL, schemaAddress)
	}
	for _, cause := range failed.Causes {
		if at := endless(cause); at != "" {
			return at
		}
	}
	return ""
}

// violations are the leaves of a failed validation, "/<path>: <what the schema wants>", sorted, each once.
func violations(failed *jsonschema.ValidationError) []string {
	var found []string
	var walk func(*jsonschema.ValidationError)
	walk = func(failed *jsonschema.ValidationError) {
		for _, cause := range failed.Causes {
			walk(cause)
		}
		if len(failed.Causes) > 0 {
			return
		}
		for path, want := range wants(failed) {
			found = append(found, path+": "+want)
		}
	}
	walk(failed)
	slices.Sort(found)
	return slices.Compact(found)
}

// wants says what the schema wants of a leaf, by its path. A key that is missing or too many has its own path.
func wants(failed *jsonschema.ValidationError) map[string]string {
	location := failed.InstanceLocation
	each := func(keys []string, want string) map[string]string {
		found := map[string]string{}
		for _, key := range keys {
			found[pointer(append(slices.Clone(location), key))] = want
		}
		return found
	}
	switch broken := failed.ErrorKind.(type) {
	case *kind.Required:
		return each(broken.Missing, "it is required and missing")
	case *kind.DependentRequired:
		return each(broken.Missing, "it is required beside "+broken.Prop+" and missing")
	case *kind.AdditionalProperties:
		return each(broken.Properties, "the schema knows no such key")
	}
	return map[string]string{pointer(location): wanted(failed.ErrorKind)}
}

// wanted says of a broken rule what it wants, without the value that broke it.
func wanted(broken jsonschema.ErrorKind) string {
	switch broken := broken.(type) {
	case *kind.Type:
		return "must be " + strings.Join(broken.Want, " or ")
	case *kind.Enum:
		return "must be one of " + jsonList(broken.Want)
	case *kind.Const:
		return "must be " + jsonList([]any{broken.Want})
	case *kind.Pattern:
		return "must match the pattern " + broken.Want
	case *kind.Format:
		return "must have the format " + broken.Want
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters", broken.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", broken.Want)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d entries", broken.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d entries", broken.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d keys", broken.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d keys", broken.Want)
	case *kind.Minimum:
		return "must be at least " + broken.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + broken.Want.RatString()
	case *kind.ExclusiveMinimum:
		return "must be more than " + broken.Want.RatString()
	case *kind.ExclusiveMaximum:
		return "must be less than " + broken.Want.RatString()
	case *kind.MultipleOf:
		return "must be a multiple of " + broken.Want.RatString()
	case *kind.UniqueItems:
		return "must not have an entry twice"
	case *kind.FalseSchema:
		return "the schema allows nothing here"
	case *kind.Not:
		return "must not be what the schema excludes"
	case *kind.OneOf:
		return "must match exactly one of the schema's alternatives"
	}
	return "must satisfy the schema's " + strings.Join(broken.KeywordPath(), "/")
}

func jsonList(values []any) string {
	texts := make([]string, 0, len(values))
	for _, value := range values {
		texts = append(texts, shown(value))
	}
	return strings.Join(texts, ", ")
}

// pointer is a path as a JSON pointer; "/" is the whole.
func pointer(location []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	parts := make([]string, 0, len(location))
	for _, part := range location {
		parts = append(parts, escape.Replace(part))
	}
	return clustermanager.OneLine("/"+strings.Join(parts, "/"), 0)
}
