package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// view is how a person sees a tool's answer: a list as a table with few columns, below it what is to be said of single
// rows, and then the answer's other fields.
type view struct {
	// list is the field that the rows are in, row the fields that name a row.
	list string
	row  []string
	// columns are the table's, in their order.
	columns []column
	// remarks are fields whose texts are shown below the table, each with its row; empty ones are not.
	remarks []string
	// hidden are fields of the answer that are shown only when the list is empty.
	hidden []string
}

// column is a title and what is shown below it: the fields, by their path, in a form.
type column struct {
	title string
	form  form
	paths []string
}

// form makes a cell of the values at a column's paths; nil stands for one that is not there.
type form func(values []any) string

func from(title string, show form, paths ...string) column { return column{title, show, paths} }

// views are the tools whose answers are lists.
var views = map[string]view{
	"list_clusters": {
		list: "clusters", row: []string{"namespace", "name"},
		columns: []column{
			from("NAMESPACE", plain, "namespace"), from("NAME", plain, "name"), from("RELEASE", plain, "releaseVersion"),
			from("OWN", mark("yes"), "ownCluster"), from("STATE", mark("deleting"), "deleting"),
			from("GPU OPERATOR", component, "gpuOperator.status", "gpuOperator.provider", "gpuOperator.readiness.release"),
			from("SERVING", component, "serving.status", "serving.provider", "serving.readiness.release"),
			from("POOLS", length, "poolReleases", "poolReleasesNote"), from("CACHE CLAIMS", length, "serving.readiness.cacheClaims"),
			from("ZONES", plain, "zones"), from("REPOSITORY", plain, "commitTarget.repository"),
		},
		remarks: []string{
			"gpuOperator.reason", "gpuOperator.readiness.release.message", "gpuOperator.readiness.operandsError", "gpuOperator.readiness.notes",
			"serving.reason", "serving.readiness.release.message", "serving.readiness.webhook.message", "serving.readiness.modelsGateway.message",
			"serving.readiness.backend.error", "serving.readiness.notes",
			"poolReleasesNote", "zonesNote", "commitTarget.note", "adminsNote",
		},
		hidden: []string{"clusterApi"},
	},
	"list_node_pools": {
		list: "nodePools", row: []string{"name"},
		columns: []column{
			from("NAME", plain, "name"), from("PHASE", plain, "phase"), from("VERSION", plain, "version"),
			from("READY", of, "readyReplicas", "replicas"), from("ACCELERATOR", plain, "accelerator"),
			from("INSTANCE TYPES", plain, "instanceTypes"), from("STEP", step, "steps"),
		},
		remarks: []string{"notes"},
	},
	"list_releases": {
		list: "releases", row: []string{"name"},
		columns: []column{
			from("PROVIDER", plain, "provider"), from("VERSION", plain, "version"), from("STATE", plain, "state"),
			from("KUBERNETES", plain, "kubernetesVersion"), from("DATE", plain, "date"), from("OFFERED", yesNo, "offered"), from("NOTE", plain, "note"),
		},
	},
	"list_changes": {
		list: "changes", row: []string{"repository", "number"},
		columns: []column{
			from("REPOSITORY", plain, "repository"), from("NUMBER", plain, "number"), from("STATE", plain, "state"), from("CHECKS", plain, "checks.state"),
			from("CLUSTER", plain, "cluster"), from("POOL", plain, "pool"), from("TITLE", plain, "title"), from("AUTHOR", plain, "author"), from("URL", plain, "url"),
		},
	},
}

// draw draws an answer; false: it has no list of that name.
func (v view) draw(text *strings.Builder, with pen, answer []member) bool {
	rows, is := at(answer, v.list).([]any)
	if !is {
		return false
	}
	if len(rows) > 0 {
		v.drawTable(text, with, rows)
	} else {
		text.WriteString(v.list + ": none\n")
	}
	v.drawRemarks(text, with, rows)
	for _, field := range answer {
		if field.name != v.list && (len(rows) == 0 || !slices.Contains(v.hidden, field.name)) {
			drawMember(text, with, "", field)
		}
	}
	return true
}

// drawTable draws the rows by the view's columns.
func (v view) drawTable(text *strings.Builder, with pen, rows []any) {
	titles := make([]string, 0, len(v.columns))
	for _, column := range v.columns {
		titles = append(titles, column.title)
	}
	var cells [][]string
	for _, row := range rows {
		cells = append(cells, v.cells(row))
	}
	drawRows(text, with, "", titles, cells)
}

func (v view) cells(row any) []string {
	cells := make([]string, 0, len(v.columns))
	for _, column := range v.columns {
		values := make([]any, 0, len(column.paths))
		for _, path := range column.paths {
			values = append(values, at(row, path))
		}
		cells = append(cells, column.form(values))
	}
	return cells
}

// drawRemarks draws the remarks of the rows, each text once a row.
func (v view) drawRemarks(text *strings.Builder, with pen, rows []any) {
	for _, row := range rows {
		name := make([]string, 0, len(v.row))
		for _, path := range v.row {
			name = append(name, cell(at(row, path)))
		}
		seen := map[string]bool{}
		for _, path := range v.remarks {
			remark := plain([]any{at(row, path)})
			if remark == "" || seen[remark] {
				continue
			}
			seen[remark] = true
			fmt.Fprintf(text, "%s %s: %s\n", with.paint(strings.Join(name, "/"), yellow), path, remark)
		}
	}
}

// at is the value at a path of an object; nil when there is none.
func at(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		object, _ := value.([]member)
		value = nil
		for _, field := range object {
			if field.name == name {
				value = field.value
			}
		}
	}
	return value
}

func plain(values []any) string {
	if values[0] == nil {
		return ""
	}
	return cell(values[0])
}

// mark shows a word where a boolean is true, and nothing otherwise.
func mark(word string) form {
	return func(values []any) string {
		if values[0] == true {
			return word
		}
		return ""
	}
}

func yesNo(values []any) string {
	if values[0] == true {
		return "yes"
	}
	return "no"
}

// length is how many entries a list has; one that is absent, or that a note says could not be read, shows a question
// mark.
func length(values []any) string {
	entries, is := values[0].([]any)
	switch {
	case !is, len(values) > 1 && values[1] != nil:
		return "?"
	case len(entries) == 0:
		return "-"
	}
	return fmt.Sprint(len(entries))
}

// of shows a number of another.
func of(values []any) string { return known(values[0]) + "/" + known(values[1]) }

// known is a cell of a value, a question mark where it is absent.
func known(value any) string {
	if value == nil {
		return "?"
	}
	return cell(value)
}

// component shows a status with its provider, and what a release lacks.
func component(values []any) string {
	text := cell(values[0])
	if provider, is := values[1].(string); is && provider != "" {
		text += " (" + provider + ")"
	}
	if _, is := values[2].([]member); !is {
		return text
	}
	if ready := at(values[2], "ready"); ready != true {
		reason, _ := at(values[2], "reason").(string)
		text = "not ready: " + text
		if reason != "" {
			text += " " + printable(reason)
		}
	}
	return text
}

// step shows the first step that is not done, else what the last one with a message says.
func step(values []any) string {
	steps, _ := values[0].([]any)
	var last string
	for _, step := range steps {
		state, message := at(step, "state"), plain([]any{at(step, "message")})
		text := cell(at(step, "name"))
		if state != "done" {
			text += " " + cmp.Or(plain([]any{state}), "unknown")
		}
		if message != "" {
			text += ": " + message
		}
		if state != "done" {
			return text
		}
		if message != "" {
			last = text
		}
	}
	return last
}

// decodeAnswer reads an answer with the order of its fields; false: it is no object.
func decodeAnswer(answer []byte) ([]member, bool) {
	decoder := json.NewDecoder(strings.NewReader(string(answer)))
	decoder.UseNumber()
	value, err := decodeOrdered(decoder)
	object, is := value.([]member)
	return object, is && err == nil
}
