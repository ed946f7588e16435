package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results are the values of each benchmark by its name, without "Benchmark", and unit: one of each round.
type results struct {
	values map[string]map[string][]float64
	// names are in the order in which they came.
	names []string
	// settings are the lines "key: value" before the results, such as cpu.
	settings map[string]string
	// text is what benchstat reads.
	text strings.Builder
}

var (
	setting = regexp.MustCompile(`^(goos|goarch|pkg|cpu): (.*)$`)
	// result is a name, the marks of a repeated name and of the number of processors, and values.
	result = regexp.MustCompile(`^Benchmark(\S+?)(?:#\d+)?(-\d+)?\s+(\d+\s+[\d.e+]+ \S.*)$`)
)

// read takes what `go test -bench` printed. A name that was run several times has a number behind it, which is taken
// off: to benchstat these are the samples of one.
func read(input io.Reader) (*results, error) {
	read := &results{values: map[string]map[string][]float64{}, settings: map[string]string{}}
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		if found := setting.FindStringSubmatch(lines.Text()); found != nil {
			read.settings[found[1]] = found[2]
			fmt.Fprintln(&read.text, lines.Text())
			continue
		}
		found := result.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		fmt.Fprintf(&read.text, "Benchmark%s%s\t%s\n", found[1], found[2], found[3])
		if err := read.add(found[1], strings.Fields(found[3])[1:]); err != nil {
			return nil, fmt.Errorf("benchmark %s: reading: %w", found[1], err)
		}
	}
	return read, lines.Err()
}

func (r *results) add(name string, fields []string) error {
	if r.values[name] == nil {
		r.values[name] = map[string][]float64{}
		r.names = append(r.names, name)
	}
	for pair := range slices.Chunk(fields, 2) {
		value, err := strconv.ParseFloat(pair[0], 64)
		if err != nil || len(pair) != 2 {
			return fmt.Errorf("no pair of value and unit: %q", pair)
		}
		r.values[name][pair[1]] = append(r.values[name][pair[1]], value)
	}
	return nil
}

// median is the middle one of a benchmark's rounds.
func (r *results) median(name, unit string) (float64, bool) {
	values := slices.Sorted(slices.Values(r.values[name][unit]))
	switch middle := len(values) / 2; {
	case len(values) == 0:
		return 0, false
	case len(values)%2 == 1:
		return values[middle], true
	default:
		return (values[middle-1] + values[middle]) / 2, true
	}
}
