package managed

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Schema is a JSON schema, of the dialect that OpenAPI 3.1 and the tools share.
type Schema = map[string]any

// InputSchema is the schema of a method's body. Unknown fields are refused.
func (m Method) InputSchema() Schema { return objectSchema(m.Input) }

func objectSchema(fields []Field) Schema {
	properties, required := Schema{}, []string{}
	for _, field := range fields {
		properties[field.Name] = field.schema()
		if field.Required {
			required = append(required, field.Name)
		}
	}
	return Schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func (f Field) schema() Schema {
	schema := Schema{"type": string(f.Type)}
	switch f.Type {
	case TypeList:
		schema["type"] = "array"
		schema["items"] = Field{Type: f.Of, Fields: f.Fields}.schema()
	case TypeMap:
		schema["type"] = "object"
		schema["additionalProperties"] = Field{Type: f.Of, Fields: f.Fields}.schema()
	case TypeObject:
		schema = objectSchema(f.Fields)
	}
	if f.Default != nil {
		schema["default"] = f.Default
	}
	if f.Enum != nil {
		schema["enum"] = f.Enum
	}
	if f.MaxLength > 0 {
		schema["maxLength"] = f.MaxLength
	}
	if f.Pattern != nil {
		schema["pattern"] = f.Pattern.String()
	}
	if f.Bounds != nil {
		schema["minimum"], schema["maximum"] = f.Bounds.Min, f.Bounds.Max
	}
	if f.Items != nil {
		schema["minItems"], schema["maxItems"] = f.Items.Min, f.Items.Max
	}
	return schema
}

// OutputSchema is the schema of a method's answer. Every field is required; one that may be null says so.
func (m Method) OutputSchema() Schema { return outputSchema(m.Output) }

var (
	timeType   = reflect.TypeFor[time.Time]()
	secretType = reflect.TypeFor[clustermanager.Secret]()
)

func outputSchema(of reflect.Type) Schema {
	switch {
	case of == timeType:
		return Schema{"type": "string", "format": "date-time"}
	case of == secretType:
		return Schema{"type": "string"}
	}
	switch of.Kind() {
	case reflect.Pointer:
		schema := outputSchema(of.Elem())
		schema["type"] = []string{schema["type"].(string), "null"}
		return schema
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.Int:
		return Schema{"type": "integer"}
	case reflect.Float64:
		return Schema{"type": "number"}
	case reflect.Slice:
		return Schema{"type": "array", "items": outputSchema(of.Elem())}
	case reflect.Map:
		return Schema{"type": "object", "additionalProperties": outputSchema(of.Elem())}
	case reflect.Struct:
		return answerSchema(of)
	}
	return Schema{"type": "string"}
}

func answerSchema(of reflect.Type) Schema {
	properties, required := Schema{}, []string{}
	for member := range of.Fields() {
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		schema := outputSchema(member.Type)
		if words := member.Tag.Get("enum"); words != "" {
			schema["enum"] = strings.Split(words, ",")
		}
		properties[name] = schema
		if options == "" {
			required = append(required, name)
		}
	}
	return Schema{"type": "object", "properties": properties, "required": required}
}

// OpenAPI is the description of the API in OpenAPI 3.1, made from the method table.
func OpenAPI(version string) Schema {
	paths := Schema{}
	for _, method := range Methods() {
		paths[method.Path()] = Schema{"post": method.operation()}
	}
	return Schema{
		"openapi":    "3.1.0",
		"info":       Schema{"title": "cluster-manager: managed Kubernetes clusters", "version": version},
		"paths":      paths,
		"security":   []Schema{{"bearer": []string{}}},
		"components": Schema{"securitySchemes": Schema{"bearer": Schema{"type": "http", "scheme": "bearer"}}},
	}
}

func (m Method) operation() Schema {
	responses := Schema{"200": Schema{"description": "the answer", "content": content(m.OutputSchema())}}
	for _, code := range Codes() {
		status := strconv.Itoa(code.Status())
		response, there := responses[status].(Schema)
		if !there {
			response = Schema{"description": "", "content": content(outputSchema(reflect.TypeFor[Envelope]()))}
			responses[status] = response
		}
		response["description"] = strings.TrimPrefix(response["description"].(string)+", "+string(code), ", ")
	}
	for _, status := range []string{"413", "415"} {
		responses[status] = Schema{"description": string(InvalidInput), "content": content(outputSchema(reflect.TypeFor[Envelope]()))}
	}
	return Schema{
		"operationId":       m.String(),
		"tags":              []string{m.Group},
		"description":       "Decided as " + m.Authorization() + ".",
		"requestBody":       Schema{"required": true, "content": content(m.InputSchema())},
		"responses":         responses,
		"x-kind":            string(m.Kind),
		"x-action":          string(m.Action),
		"x-resource-type":   string(m.Resource),
		"x-items-decided":   m.Items,
		"x-answer-no-store": m.NoStore,
	}
}

func content(schema Schema) Schema { return Schema{"application/json": Schema{"schema": schema}} }

// Codes are all error codes, by HTTP status.
func Codes() []Code {
	return slices.SortedFunc(maps.Keys(statuses), func(some, other Code) int {
		return cmp.Or(cmp.Compare(some.Status(), other.Status()), cmp.Compare(some, other))
	})
}
