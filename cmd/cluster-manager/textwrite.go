package main

import (
	"fmt"
	"slices"
	"strings"
)

// writeTables are the lists of a write's answer that a person reads, in their order.
var writeTables = []view{
	{list: "commit.files", columns: []column{from("ACTION", plain, "action"), from("FILE", plain, "path")}},
	{list: "commit.objects", columns: objectColumns},
	{list: "objects", columns: objectColumns},
	{list: "sizes", columns: []column{
		from("INSTANCE TYPE", plain, "instanceType"), from("VCPU", plain, "vcpu"), from("MEMORY GIB", plain, "memoryGiB"),
		from("GPUS", plain, "gpus"), from("GPU MEMORY GIB", plain, "gpuMemoryGiB"), from("USD AN HOUR", plain, "pricePerHourUSD"), from("NOTE", plain, "priceNote"),
	}},
}

var objectColumns = []column{
	from("ACTION", plain, "action"), from("KIND", plain, "kind"), from("NAMESPACE", plain, "namespace"), from("NAME", plain, "name"), from("CHANGES", plain, "changes"),
}

// writeFields are the fields of a write's answer that its headline, its tables and its last lines show.
var writeFields = []string{
	"cluster", "namespace", "pool", "mode", "dryRun", "objects", "sizes", "commit", "manifests", "warnings", "partial", "nextStep",
}

// isWrite says whether an answer is that of a tool that writes.
func isWrite(answer []member) bool {
	mode, is := at(answer, "mode").(string)
	return is && mode != "" && at(answer, "dryRun") != nil && at(answer, "objects") != nil
}

// drawWrite draws what a write did or would do: a headline, the files and objects with what happens to each, what else
// there is to know, warnings, and what comes next. The objects themselves are in -o yaml and -o json.
func drawWrite(text *strings.Builder, with pen, answer []member) {
	text.WriteString(headline(answer) + "\n")
	if commit := at(answer, "commit"); commit != nil {
		drawCommit(text, commit)
	}
	for _, table := range writeTables {
		if rows, _ := at(answer, table.list).([]any); len(rows) > 0 {
			text.WriteString("\n")
			table.drawTable(text, with, rows)
		}
	}
	text.WriteString("\n")
	for _, field := range answer {
		switch {
		case slices.Contains(writeFields, field.name):
		case at(field.value, "status") != nil:
			fmt.Fprintf(text, "%s: %s\n", field.name, component([]any{at(field.value, "status"), at(field.value, "provider"), nil}))
		default:
			drawMember(text, with, "", field)
		}
	}
	if manifests, _ := at(answer, "manifests").([]any); len(manifests) > 0 {
		fmt.Fprintf(text, "manifests: %d, shown by -o yaml and -o json\n", len(manifests))
	}
	for _, step := range listAt(answer, "commit.liveSteps") {
		fmt.Fprintf(text, "after the merge: %s\n", cell(step))
	}
	for _, warning := range listAt(answer, "warnings") {
		fmt.Fprintf(text, "%s %s\n", with.paint("warning:", yellow), cell(warning))
	}
	if next := plain([]any{at(answer, "nextStep")}); next != "" {
		fmt.Fprintf(text, "next: %s\n", next)
	}
}

// headline says in a line of what kind the answer is, and of what.
func headline(answer []member) string {
	what := "cluster " + cell(at(answer, "namespace")) + "/" + cell(at(answer, "cluster"))
	if pool := plain([]any{at(answer, "pool")}); pool != "" {
		what += ", node pool " + pool
	}
	state, mode := "done", cell(at(answer, "mode"))
	switch {
	case at(answer, "dryRun") == true && mode == "commit":
		state = "dry run, nothing was pushed"
	case at(answer, "dryRun") == true:
		state = "dry run, nothing was written"
	case at(answer, "commit.pullRequest") != nil:
		state = "pull request " + cell(at(answer, "commit.pullRequest"))
	case mode == "commit":
		state = "nothing to propose"
	case at(answer, "partial") == true:
		state = "done in part"
	case len(listAt(answer, "objects")) == 0:
		state = "nothing to do"
	}
	return what + ": " + state
}

// drawCommit says where a proposal goes, and how far it was checked.
func drawCommit(text *strings.Builder, commit any) {
	fmt.Fprintf(text, "repository %s: branch %s onto %s, applied by Kustomization %s\n",
		cell(at(commit, "repository")), cell(at(commit, "branch")), cell(at(commit, "base")), cell(at(commit, "kustomization")))
	proof := "not built"
	if at(commit, "proof.built") == true {
		proof = "built as Flux builds it"
	}
	if note := plain([]any{at(commit, "proof.note")}); note != "" {
		proof += ": " + note
	}
	fmt.Fprintf(text, "proof: %s\n", proof)
}

func listAt(value any, path string) []any {
	list, _ := at(value, path).([]any)
	return list
}
