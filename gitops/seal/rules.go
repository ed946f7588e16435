package seal

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/getsops/sops/v3"
)

// ruleList are the creation rules of a configuration, for what sops does not tell of the rule that it chose: its number
// and its line. It decides nothing.
type ruleList struct {
	patterns []string
	lines    []int
}

// readRules returns no rules for a configuration that it cannot read: what is wrong with it is for sops to say.
func readRules(content []byte) ruleList {
	document, err := readDocument(content)
	if err != nil {
		return ruleList{}
	}
	items, _ := field(document, "creation_rules").([]any)
	var list ruleList
	for _, item := range items {
		if _, ok := item.(sops.Comment); ok {
			continue
		}
		branch, _ := item.(sops.TreeBranch)
		pattern := field(branch, "path_regex")
		if pattern == nil {
			pattern = ""
		}
		list.patterns = append(list.patterns, fmt.Sprint(pattern))
	}
	if lines := ruleLines(content); len(lines) == len(list.patterns) {
		list.lines = lines
	}
	return list
}

// match returns number and line of the first rule that rules a path, or of the one that keeps sops from choosing.
func (l ruleList) match(path string) (number, line int) {
	for index, pattern := range l.patterns {
		expression, err := regexp.Compile(pattern)
		if err == nil && pattern != "" && !expression.MatchString(path) {
			continue
		}
		if l.lines != nil {
			line = l.lines[index]
		}
		return index + 1, line
	}
	return 0, 0
}

// field looks a key up, also where a YAML merge brought it in.
func field(branch sops.TreeBranch, key string) any {
	var merged any
	for _, item := range branch {
		switch item.Key {
		case key:
			return item.Value
		case "<<":
			merged = item.Value
		}
	}
	switch merged := merged.(type) {
	case sops.TreeBranch:
		return field(merged, key)
	case []any:
		for _, one := range merged {
			branch, _ := one.(sops.TreeBranch)
			if value := field(branch, key); value != nil {
				return value
			}
		}
	}
	return nil
}

var rulesKey = regexp.MustCompile(`^creation_rules:\s*(#.*)?$`)

// ruleLines returns the lines of the items of creation_rules where it is a block list.
func ruleLines(content []byte) []int {
	var lines []int
	inside, width := false, -1
	number := 0
	for line := range bytes.Lines(content) {
		number++
		text := bytes.TrimLeft(line, " ")
		indent := len(line) - len(text)
		text = bytes.TrimSpace(text)
		switch {
		case rulesKey.Match(bytes.TrimRight(line, "\r\n")):
			inside = true
		case !inside || len(text) == 0 || text[0] == '#':
		case (width < 0 || indent == width) && (bytes.HasPrefix(text, []byte("- ")) || string(text) == "-"):
			width = indent
			lines = append(lines, number)
		case indent <= width || width < 0:
			return lines
		}
	}
	return lines
}
