package render

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// insertion is the text that makes the entry the list's element at the position, and the offset where it goes.
func (l *resourceList) insertion(position int, entry string) (offset int, text string, err error) {
	entry = l.spell(entry)
	switch {
	case l.key == nil && l.root != nil && l.root.Style&kyaml.FlowStyle != 0:
		return 0, "", l.refuse("it has no %s, and is written in braces", listKey)
	case l.key == nil:
		indent := strings.Repeat(" ", l.rootIndent())
		offset, text = l.lineBelow(len(l.lines), indent+listKey+":", indent+l.newItem(entry))
	case isEmpty(l.list):
		offset, text = l.lineBelow(l.key.Line, strings.Repeat(" ", l.rootIndent())+l.newItem(entry))
	case l.list.Style&kyaml.FlowStyle != 0:
		return l.flowInsertion(position, entry)
	default:
		neighbour, above := l.list.Content[max(position-1, 0)], l.key.Line
		if position > 0 {
			above = neighbour.Line
		}
		bullet, err := l.bullet(neighbour)
		if err != nil {
			return 0, "", err
		}
		offset, text = l.lineBelow(above, bullet+entry)
	}
	return offset, text, nil
}

func (l *resourceList) flowInsertion(position int, entry string) (int, string, error) {
	if len(l.list.Content) == 0 {
		return l.offset(l.list) + len("["), entry, nil
	}
	if position == 0 {
		return l.offset(l.list.Content[0]), entry + ", ", nil
	}
	end, err := l.end(l.list.Content[position-1])
	return end, ", " + entry, err
}

// removal is the part of the text that makes up the element at the position.
func (l *resourceList) removal(position int) (from, to int, err error) {
	items := l.list.Content
	item := items[position]
	if l.list.Style&kyaml.FlowStyle == 0 {
		return l.lineRemoval(item)
	}
	from = l.offset(item)
	if to, err = l.end(item); err != nil {
		return 0, 0, err
	}
	switch {
	case position > 0:
		from, err = l.end(items[position-1])
	case len(items) > 1:
		to = l.offset(items[1])
	}
	if strings.Contains(strings.Join(l.lines, "")[from-l.start:to-l.start], "#") {
		return 0, 0, l.refuse("a comment stands beside the entry %q", item.Value)
	}
	return from, to, err
}

// lineRemoval is the line of a block list's item. Of a file's last line without a line break, the one before it goes.
func (l *resourceList) lineRemoval(item *kyaml.Node) (from, to int, err error) {
	if _, err := l.bullet(item); err != nil {
		return 0, 0, err
	}
	from, to = l.lineStart(item.Line), l.lineStart(item.Line+1)
	if item.Line > 1 && !strings.HasSuffix(l.lines[item.Line-1], "\n") {
		from -= len(lineBreak(l.lines[item.Line-2]))
	}
	return from, to, nil
}

// lineBelow is the text that puts the lines under the line of that number (0: on top), and its offset.
func (l *resourceList) lineBelow(number int, lines ...string) (offset int, text string) {
	if number == 0 {
		return l.start, strings.Join(lines, "\n") + "\n"
	}
	above := l.lines[number-1]
	if !strings.HasSuffix(above, "\n") {
		ending := lineBreak(l.lines[0])
		return l.lineStart(number + 1), ending + strings.Join(lines, ending)
	}
	ending := lineBreak(above)
	return l.lineStart(number + 1), strings.Join(lines, ending) + ending
}

// lineBreak is how a line ends; LF for one that does not.
func lineBreak(line string) string {
	if strings.HasSuffix(line, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// lineStart is the offset of the line of that number; of the one after the last it is the file's end.
func (l *resourceList) lineStart(number int) int {
	offset := l.start
	for _, line := range l.lines[:number-1] {
		offset += len(line)
	}
	return offset
}

// offset is where the node's text starts. A column counts characters, not bytes.
func (l *resourceList) offset(node *kyaml.Node) int {
	return l.lineStart(node.Line) + len(l.before(node))
}

// before is what stands on the node's line before it.
func (l *resourceList) before(node *kyaml.Node) string {
	line := l.lines[node.Line-1]
	characters := 0
	for index := range line {
		if characters == node.Column-1 {
			return line[:index]
		}
		characters++
	}
	return line
}

var bulletPattern = regexp.MustCompile(`^ *- +$`)

// bullet is the indentation, the dash and the blanks before an item of a block list.
func (l *resourceList) bullet(item *kyaml.Node) (string, error) {
	before := l.before(item)
	if !bulletPattern.MatchString(before) {
		return "", l.refuse("the entry %q does not stand on the line of its dash", item.Value)
	}
	return before, nil
}

var quotedPattern = regexp.MustCompile(`^(?:'(?:[^']|'')*'|"(?:[^"\\]|\\.)*")`)

// end is the offset behind an item of a flow list.
func (l *resourceList) end(item *kyaml.Node) (int, error) {
	offset := l.offset(item)
	text := l.lines[item.Line-1][len(l.before(item)):]
	if quoted := quotedPattern.FindString(text); quoted != "" {
		return offset + len(quoted), nil
	}
	if !strings.HasPrefix(text, item.Value) {
		return 0, l.refuse("the entry %q spans several lines", item.Value)
	}
	return offset + len(item.Value), nil
}

func (l *resourceList) rootIndent() int {
	if l.root == nil || len(l.root.Content) == 0 {
		return 0
	}
	return l.root.Content[0].Column - 1
}

// newItem is the first item of a list, indented as the first other list of the file is; without one as kustomize
// writes it, at the key.
func (l *resourceList) newItem(entry string) string {
	indent := 0
	if l.root != nil {
		for _, value := range l.root.Content {
			if value.Kind == kyaml.SequenceNode && value.Style&kyaml.FlowStyle == 0 && value.Anchor == "" {
				indent = max(0, value.Column-1-l.rootIndent())
				break
			}
		}
	}
	return strings.Repeat(" ", indent) + "- " + entry
}

var plainEntry = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// spell writes the entry with the quotes that all others have, and with quotes where it needs them.
func (l *resourceList) spell(entry string) string {
	plain := isPlain(entry)
	switch {
	case plain && l.allStyled(kyaml.SingleQuotedStyle):
		return "'" + entry + "'"
	case plain && !l.allStyled(kyaml.DoubleQuotedStyle):
		return entry
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(entry) // a string always encodes
	return strings.TrimSpace(quoted.String())
}

// isPlain says whether the entry is a string without quotes to the readers of YAML 1.1 and 1.2.
func isPlain(entry string) bool {
	var value any
	var node kyaml.Node
	return plainEntry.MatchString(entry) &&
		yaml.Unmarshal([]byte(entry), &value) == nil && value == any(entry) &&
		kyaml.Unmarshal([]byte(entry), &node) == nil && node.Content[0].Tag == kyaml.NodeTagString
}

func (l *resourceList) allStyled(style kyaml.Style) bool {
	if len(l.entries) == 0 {
		return false
	}
	for _, item := range l.list.Content {
		if item.Style&style == 0 {
			return false
		}
	}
	return true
}
