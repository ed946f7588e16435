package mcptools

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// typeSchemas are the closed sets of the vocabulary: string types whose values the schema lists.
func typeSchemas() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[clustermanager.Mode]():             stringEnum(clustermanager.ModeApply, clustermanager.ModeCommit),
		reflect.TypeFor[clustermanager.APIAvailability]():  stringEnum(clustermanager.APIServed, clustermanager.APIAbsent, clustermanager.APIUnknown),
		reflect.TypeFor[clustermanager.Values]():           {Type: "object"},
		reflect.TypeFor[clustermanager.FileAction]():       stringEnum(clustermanager.FileAdd, clustermanager.FileUpdate, clustermanager.FileRemove, clustermanager.FileUnchanged),
		reflect.TypeFor[clustermanager.Phase]():            stringEnum(clustermanager.PhaseCreating, clustermanager.PhaseReady, clustermanager.PhaseScaling, clustermanager.PhaseRemoving, clustermanager.PhaseFailed),
		reflect.TypeFor[clustermanager.StepState]():        stringEnum(clustermanager.StepPending, clustermanager.StepInProgress, clustermanager.StepDone, clustermanager.StepFailed),
		reflect.TypeFor[clustermanager.PullRequestState](): stringEnum(clustermanager.PullRequestOpen, clustermanager.PullRequestMerged, clustermanager.PullRequestClosed),
		reflect.TypeFor[clustermanager.ChecksState]():      stringEnum(clustermanager.ChecksNone, clustermanager.ChecksPending, clustermanager.ChecksSuccess, clustermanager.ChecksFailure),
		reflect.TypeFor[clustermanager.DiffAction]():       stringEnum(clustermanager.DiffAdd, clustermanager.DiffChange, clustermanager.DiffRemove),
	}
}

func stringEnum[T ~string](values ...T) *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: "string"}
	for _, value := range values {
		schema.Enum = append(schema.Enum, string(value))
	}
	return schema
}

func schemaFor[T any]() (*jsonschema.Schema, error) {
	schema, err := jsonschema.ForType(reflect.TypeFor[T](), &jsonschema.ForOptions{TypeSchemas: typeSchemas()})
	if err != nil {
		return nil, err
	}
	withoutNull(schema)
	return schema, nil
}

// withoutNull takes the type "null" off pointers and slices: an answer leaves an absent value out, and so does a call.
func withoutNull(schema *jsonschema.Schema) {
	if schema == nil {
		return
	}
	if len(schema.Types) == 2 && slices.Contains(schema.Types, "null") {
		schema.Type = schema.Types[1-slices.Index(schema.Types, "null")]
		schema.Types = nil
	}
	for _, property := range schema.Properties {
		withoutNull(property)
	}
	withoutNull(schema.Items)
	withoutNull(schema.AdditionalProperties)
}

func withEnum(values ...string) func(*jsonschema.Schema) {
	return func(schema *jsonschema.Schema) { schema.Enum = stringEnum(values...).Enum }
}

func withPattern(pattern string) func(*jsonschema.Schema) {
	return func(schema *jsonschema.Schema) { schema.Pattern = pattern }
}

// withDefault takes a default as JSON text.
func withDefault(text string) func(*jsonschema.Schema) {
	return func(schema *jsonschema.Schema) { schema.Default = json.RawMessage(text) }
}

func all(adjustments ...func(*jsonschema.Schema)) func(*jsonschema.Schema) {
	return func(schema *jsonschema.Schema) {
		for _, adjust := range adjustments {
			adjust(schema)
		}
	}
}
