package managed

import (
	"encoding/json"
	"fmt"
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
