package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// member is one field of a JSON object, in the order of the text.
type member struct {
	name  string
	value any
}

// decodeOrdered reads JSON with the order of its fields: objects are []member, arrays []any, numbers json.Number.
func decodeOrdered(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := []member{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := decodeOrdered(decoder)
			if err != nil {
				return nil, err
			}
			object = append(object, member{fmt.Sprint(name), value})
		}
		_, err = decoder.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := decodeOrdered(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = decoder.Token()
		return list, err
	}
	return token, nil
}

// drawText draws an answer for a person: by the tool's view where it has one; a write by what happens to which file and
// object; else fields as lines, lists of objects as tables, texts of several lines below their name.
func drawText(out io.Writer, tool string, answer []byte) error {
	object, is := decodeAnswer(answer)
	if !is {
		_, err := fmt.Fprintln(out, string(answer))
		return err
	}
	var text strings.Builder
	with := penFor(out)
	view, has := views[tool]
	switch {
	case has && view.draw(&text, with, object):
	case isWrite(object):
		drawWrite(&text, with, object)
	default:
		drawValue(&text, with, "", object)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func drawValue(text *strings.Builder, with pen, indent string, value any) {
	object, ok := value.([]member)
	if !ok {
		fmt.Fprintf(text, "%s%s\n", indent, cell(value))
		return
	}
	for _, field := range object {
		drawMember(text, with, indent, field)
	}
}

// drawMember draws one field; an empty text says nothing to a person and is left out.
func drawMember(text *strings.Builder, with pen, indent string, field member) {
	if field.value == "" {
		return
	}
	switch value := field.value.(type) {
	case []member:
		fmt.Fprintf(text, "%s%s:\n", indent, field.name)
		drawValue(text, with, indent+"  ", value)
	case []any:
		drawList(text, with, indent, field.name, value)
	case string:
		if strings.Contains(value, "\n") {
			fmt.Fprintf(text, "%s%s:\n%s", indent, field.name, indented(indent+"  | ", value))
			return
		}
		fmt.Fprintf(text, "%s%s: %s\n", indent, field.name, cell(value))
	default:
		fmt.Fprintf(text, "%s%s: %s\n", indent, field.name, cell(value))
	}
}

func drawList(text *strings.Builder, with pen, indent, name string, list []any) {
	if len(list) == 0 {
		return
	}
	if isTable(list) {
		fmt.Fprintf(text, "%s%s:\n", indent, name)
		drawTable(text, with, indent+"  ", list)
		return
	}
	fmt.Fprintf(text, "%s%s:\n", indent, name)
	for _, item := range list {
		if object, ok := item.([]member); ok {
			fmt.Fprintf(text, "%s-\n", indent)
			drawValue(text, with, indent+"  ", object)
			continue
		}
		fmt.Fprintf(text, "%s- %s\n", indent, cell(item))
	}
}

// isTable says whether a list holds objects of single-line values alone.
func isTable(list []any) bool {
	for _, item := range list {
		object, ok := item.([]member)
		if !ok {
			return false
		}
		for _, field := range object {
			switch value := field.value.(type) {
			case []member:
				return false
			case string:
				if strings.Contains(value, "\n") {
					return false
				}
			}
		}
	}
	return true
}

func drawTable(text *strings.Builder, with pen, indent string, list []any) {
	var columns []string
	seen := map[string]bool{}
	for _, item := range list {
		for _, field := range item.([]member) {
			if !seen[field.name] {
				seen[field.name] = true
				columns = append(columns, field.name)
			}
		}
	}
	var rows [][]string
	for _, item := range list {
		cells := make([]string, len(columns))
		for i, column := range columns {
			cells[i] = plain([]any{at(item, column)})
		}
		rows = append(rows, cells)
	}
	titles := make([]string, len(columns))
	for i, column := range columns {
		titles[i] = strings.ToUpper(column)
	}
	drawRows(text, with, indent, titles, rows)
}

// cell is a value on one line, without the control characters that could move a terminal's cursor.
func cell(value any) string {
	if list, ok := value.([]any); ok {
		cells := make([]string, len(list))
		for i, item := range list {
			cells[i] = cell(item)
		}
		return strings.Join(cells, ", ")
	}
	return printable(fmt.Sprint(value))
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

func indented(prefix, text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		lines.WriteString(prefix + printable(strings.TrimRight(line, "\r\n")) + "\n")
	}
	return lines.String()
}
