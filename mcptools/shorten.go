package mcptools

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// mostOutputBytes is what a tool's output schema may take on the wire. A model reads the schemas of all tools before its
// first call, and what an answer's deepest fields are called it sees in the answer; docs/tools.md has the schemas whole.
const mostOutputBytes = 1700

// deepest is more than any answer nests.
const deepest = 16

// shortened is the output schema as a client gets it: as deep as fits. What lies below is an object of any fields.
func shortened(schema *jsonschema.Schema) (json.RawMessage, error) {
	whole, err := json.Marshal(schema)
	if err != nil || len(whole) <= mostOutputBytes {
		return whole, err
	}
	for depth := deepest; ; depth-- {
		text, err := json.Marshal(cut(schema, depth))
		if err != nil || len(text) <= mostOutputBytes || depth == 1 {
			return text, err
		}
	}
}

// cut is a schema whose objects below a depth do not name their fields.
func cut(schema *jsonschema.Schema, depth int) *jsonschema.Schema {
	if schema == nil {
		return nil
	}
	made := *schema
	switch {
	case schema.Properties != nil && depth == 0:
		return &jsonschema.Schema{Type: schema.Type, Description: schema.Description}
	case schema.Properties != nil:
		made.Properties = map[string]*jsonschema.Schema{}
		for name, property := range schema.Properties {
			made.Properties[name] = cut(property, depth-1)
		}
	}
	made.Items = cut(schema.Items, depth)
	return &made
}
