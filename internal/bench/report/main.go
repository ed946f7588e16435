// Command report makes the files of docs/perf out of what `go test -bench` printed: NAME.txt, which benchstat reads, and
// NAME.md, a table for each benchmark with the medians, and whether each figure to beat is met.
//
//	report NAME < output
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(arguments []string, input io.Reader) error {
	if len(arguments) != 1 {
		return errors.New("usage: report NAME < output of go test -bench")
	}
	read, err := read(input)
	if err != nil {
		return err
	}
	if len(read.names) == 0 {
		return errors.New("the input has no results")
	}
	folder, name := filepath.Split(arguments[0])
	if err := os.MkdirAll(filepath.Clean(folder), 0o750); err != nil { //nolint:gosec // the folder is the one that was asked for
		return err
	}
	root, err := os.OpenRoot(filepath.Clean(folder))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return errors.Join(
		root.WriteFile(name+".txt", []byte(read.text.String()), 0o600),
		root.WriteFile(name+".md", []byte(markdown(read, name, machine(read))), 0o600))
}

// machine says what was measured on.
func machine(read *results) string {
	version := func(command *exec.Cmd) string {
		output, err := command.Output()
		if err != nil {
			return "unknown"
		}
		return strings.TrimSpace(string(output))
	}
	ctx := context.Background()
	return fmt.Sprintf("%s, %d cores, %s/%s, %s, %s, commit %s", read.settings["cpu"], runtime.NumCPU(), read.settings["goos"], read.settings["goarch"],
		runtime.Version(), version(exec.CommandContext(ctx, "git", "--version")), version(exec.CommandContext(ctx, "git", "describe", "--always", "--dirty")))
}

// markdown is the whole page.
func markdown(read *results, name, machine string) string {
	var page strings.Builder
	fmt.Fprintf(&page, "# Measured on %s\n\n%s.\n\n", name, machine)
	fmt.Fprintf(&page, "Written by `make bench`. All ways of a row ran in turn in the same run; a figure is the median of the rounds in [%s.txt](%s.txt), "+
		"which `benchstat -col /way` reads. Times move with what else a machine does; bytes, requests, allocations and memory hardly do, and tests "+
		"hold them.\n", name, name)
	for _, table := range tables {
		table.write(&page, read)
	}
	return page.String()
}

func (t table) write(page *strings.Builder, read *results) {
	var rows strings.Builder
	for _, name := range read.names {
		benchmark, rest, _ := strings.Cut(name, "/")
		if benchmark != t.benchmark {
			continue
		}
		workload, way, _ := strings.Cut(rest, "/way=")
		fmt.Fprintf(&rows, "| %s | %s |", strings.ReplaceAll(workload, "/", " "), way)
		for _, column := range t.columns {
			value, found := read.median(name, column.unit)
			fmt.Fprintf(&rows, " %s |", shown(value, column.unit, found))
		}
		rows.WriteString("\n")
	}
	if rows.Len() == 0 {
		return
	}
	fmt.Fprintf(page, "\n## %s\n\n%s\n\n| workload | way |", t.title, t.text)
	for _, column := range t.columns {
		fmt.Fprintf(page, " %s |", column.title)
	}
	fmt.Fprintf(page, "\n| --- | --- |%s\n%s\n| to beat | measured | met |\n| --- | ---: | --- |\n", strings.Repeat(" ---: |", len(t.columns)), rows.String())
	for _, claim := range t.claims {
		fmt.Fprintf(page, "| %s | %s |\n", claim.text, claim.verdict(read))
	}
}

// verdict is what was measured and whether it is met.
func (c claim) verdict(read *results) string {
	value, found := c.value(read)
	switch {
	case !found:
		return "– | not measured"
	case value == c.limit || value < c.limit != c.least:
		return significant(value) + " | yes"
	}
	return significant(value) + " | **no**"
}

// shown is a value with a unit for people.
func shown(value float64, unit string, found bool) string {
	switch kind := strings.TrimSuffix(unit, "/op"); {
	case !found:
		return "–"
	case kind == "ns", strings.HasSuffix(kind, "-ns"):
		return duration(value)
	case strings.HasSuffix(kind, "bytes"), kind == "B":
		return size(value)
	}
	return significant(value)
}

func duration(nanoseconds float64) string {
	switch {
	case nanoseconds >= float64(time.Second):
		return significant(nanoseconds/1e9) + " s"
	case nanoseconds >= float64(time.Millisecond):
		return significant(nanoseconds/1e6) + " ms"
	}
	return significant(nanoseconds/1e3) + " µs"
}

func size(bytes float64) string {
	switch {
	case bytes >= 1<<20:
		return significant(bytes/(1<<20)) + " MiB"
	case bytes >= 1<<10:
		return significant(bytes/(1<<10)) + " KiB"
	}
	return significant(bytes) + " B"
}

// significant is a number of three digits, or a whole one.
func significant(value float64) string {
	switch {
	case value >= 100 || value == float64(int(value)):
		return strconv.FormatFloat(value, 'f', 0, 64)
	case value >= 10:
		return strconv.FormatFloat(value, 'f', 1, 64)
	}
	return strconv.FormatFloat(value, 'f', 2, 64)
}
