package managed

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// phase and status are those of every method.
const (
	phase  = "v1.0"
	status = "registered"
)

// MethodTable is the reference's table of the methods, as Markdown.
func MethodTable() string {
	rows := [][]string{{"Method", "Kind", "Authorization", "Phase", "Status"}}
	for _, method := range Methods() {
		link := "[" + code(method.Name) + "](#" + method.Name + ")"
		rows = append(rows, []string{link, string(method.Kind), codeAuthorization(method), phase, status})
	}
	return table(rows)
}

// codeAuthorization is the authorization with action and resource as code.
func codeAuthorization(method Method) string {
	text := code(string(method.Action)) + " @ " + code(string(method.Resource))
	if method.Items {
		text += " + items"
	}
	return text
}

// Reference is the reference's generated part, as Markdown: the methods, what each takes and answers, the errors.
func Reference() string {
	var text strings.Builder
	text.WriteString("# " + GroupClusters + "\n\n" + MethodTable())
	for _, method := range Methods() {
		text.WriteString("\n## " + method.Name + " [#" + method.Name + "]\n\n" + code("POST "+method.Path()) + "\n\n")
		text.WriteString("* **Kind:** " + string(method.Kind) + "\n* **Authorization:** " + codeAuthorization(method) + "\n\n")
		text.WriteString("**Input**\n\n" + method.InputTable() + "\n**Answer**\n\n" + method.AnswerTable())
	}
	text.WriteString("\n## Errors\n\n" + ErrorTable())
	return text.String()
}

// ErrorTable is the reference's table of the error codes, as Markdown.
func ErrorTable() string {
	rows := [][]string{{"Code", "HTTP"}}
	for _, of := range Codes() {
		rows = append(rows, []string{code(string(of)), strconv.Itoa(of.Status())})
	}
	return table(rows)
}

// AnswerTable is the reference's table of a method's answer, as Markdown. A field that may be null says so.
func (m Method) AnswerTable() string {
	return table(append([][]string{{"Field", "Type"}}, answerRows(m.OutputSchema(), m.Output, "")...))
}

// answerRows walks the fields in their order, which a schema has not.
func answerRows(schema Schema, of reflect.Type, path string) [][]string {
	var rows [][]string
	properties, _ := schema["properties"].(Schema)
	for member := range of.Fields() {
		name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
		property, shown := properties[name].(Schema)
		if !shown {
			continue
		}
		at := join(path, name)
		rows = append(rows, []string{code(at), answerWords(property)})
		inner, suffix := member.Type, ""
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map {
			switch inner.Kind() {
			case reflect.Slice:
				property, suffix = property["items"].(Schema), suffix+"[]"
			case reflect.Map:
				property, suffix = property["additionalProperties"].(Schema), suffix+".*"
			}
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			rows = append(rows, answerRows(property, inner, at+suffix)...)
		}
	}
	return rows
}

// answerWords are a property's type in the words of the inputs.
func answerWords(schema Schema) string {
	kind, null := schema["type"], ""
	if either, is := kind.([]string); is {
		kind, null = either[0], ", null"
	}
	items, list := schema["items"].(Schema)
	values, mapping := schema["additionalProperties"].(Schema)
	words, enum := schema["enum"].([]string)
	switch {
	case enum:
		return "one of " + code(strings.Join(words, "`, `")) + null
	case list:
		return "list of " + answerWords(items) + null
	case mapping:
		return "map of " + answerWords(values) + null
	case schema["format"] == "date-time":
		return "time" + null
	}
	return fmt.Sprint(kind) + null
}

// InputTable is the reference's table of a method's input, as Markdown: a row a field, those of objects by their path.
func (m Method) InputTable() string {
	return table(append([][]string{{"Field", "Type", "Required", "Constraints"}}, inputRows(m.Input, "")...))
}

func inputRows(fields []Field, path string) [][]string {
	var rows [][]string
	for _, field := range fields {
		at := join(path, field.Name)
		required := ""
		if field.Required {
			required = "yes"
		}
		rows = append(rows, []string{code(at), field.typeWords(), required, field.constraints()})
		if field.Type == TypeList {
			at += "[]"
		}
		rows = append(rows, inputRows(field.Fields, at)...)
	}
	return rows
}

// typeWords are the type as the reference writes it.
func (f Field) typeWords() string {
	switch {
	case f.Enum != nil:
		return "one of " + code(strings.Join(f.Enum, "`, `"))
	case f.Type == TypeList, f.Type == TypeMap:
		return string(f.Type) + " of " + string(f.Of)
	}
	return string(f.Type)
}

// constraints are the bounds as the reference writes them.
func (f Field) constraints() string {
	var words []string
	if f.MaxLength > 0 {
		words = append(words, fmt.Sprintf("at most %d characters", f.MaxLength))
	}
	if f.Pattern != nil {
		words = append(words, "matches "+code(f.Pattern.String()))
	}
	if f.Bounds != nil {
		words = append(words, fmt.Sprintf("%d-%d", f.Bounds.Min, f.Bounds.Max))
	}
	if f.Items != nil {
		words = append(words, fmt.Sprintf("%d-%d items", f.Items.Min, f.Items.Max))
	}
	if f.Default != nil {
		value, _ := json.Marshal(f.Default)
		words = append(words, "default "+code(string(value)))
	}
	return strings.Join(words, "; ")
}

func code(text string) string { return "`" + text + "`" }

func table(rows [][]string) string {
	var text strings.Builder
	for i, row := range rows {
		text.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			text.WriteString("|" + strings.Repeat(" --- |", len(row)) + "\n")
		}
	}
	return text.String()
}
