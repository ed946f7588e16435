package render

import (
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

const listKey = "resources"

const byteOrderMark = "\ufeff"

// resourceList is the resources list of a kustomization file, with where it stands in the text.
type resourceList struct {
	path    string
	entries []string
	// content is the file as kustomize decodes it; nil for a file without content.
	content map[string]any
	// lines are the file's lines with their line breaks; start is the offset of the first, behind a byte order mark.
	lines []string
	start int
	// root is the top-level mapping; nil for a file without content. key and list are nil without the key; list is an
	// empty scalar where the key has no value.
	root, key, list *kyaml.Node
}

// readList reads a kustomization file, all of it, and refuses what cannot be edited as text.
func readList(file []byte, path string) (*resourceList, error) {
	l := &resourceList{path: path}
	text := string(file)
	if strings.HasPrefix(text, byteOrderMark) {
		l.start = len(byteOrderMark)
	}
	text = text[l.start:]
	if !utf8.ValidString(text) {
		return nil, l.refuse("it is not UTF-8 text")
	}
	if strings.ContainsAny(strings.ReplaceAll(text, "\r\n", "\n"), "\r\u0085\u2028\u2029") {
		return nil, l.refuse("it holds a line break other than LF or CRLF")
	}
	l.lines = strings.SplitAfter(text, "\n")
	if l.lines[len(l.lines)-1] == "" {
		l.lines = l.lines[:len(l.lines)-1]
	}
	if err := l.parse(text); err != nil {
		return nil, err
	}
	return l, l.decode(text)
}

// parse finds the list's nodes.
func (l *resourceList) parse(text string) error {
	decoder := kyaml.NewDecoder(strings.NewReader(text))
	var document, second kyaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return l.refuse("it cannot be read (%s)", err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return l.refuse("it holds more than one document")
	}
	root := document.Content[0]
	if isEmpty(root) {
		return nil
	}
	if root.Kind != kyaml.MappingNode {
		return l.refuse("its content is not a mapping")
	}
	l.root = root
	for index := 0; index < len(root.Content); index += 2 {
		// kustomize decodes keys without regard to case.
		if key := root.Content[index]; strings.EqualFold(key.Value, listKey) {
			if l.key != nil {
				return l.refuse("it has the key %s twice", listKey)
			}
			l.key, l.list = key, root.Content[index+1]
		}
	}
	return l.checkList()
}

func (l *resourceList) checkList() error {
	switch {
	case l.key == nil || isEmpty(l.list) && l.key.Value == listKey:
		return nil
	case l.key.Value != listKey:
		return l.refuse("its key %s is not spelled %s", l.key.Value, listKey)
	case l.list.Kind == kyaml.AliasNode || l.list.Anchor != "":
		return l.refuse("its list is an anchor or an alias")
	case l.list.Kind != kyaml.SequenceNode:
		return l.refuse("its %s is not a list", listKey)
	case l.list.Style&kyaml.TaggedStyle != 0:
		return l.refuse("its list has a tag")
	}
	for _, item := range l.list.Content {
		switch {
		case item.Kind == kyaml.AliasNode || item.Anchor != "":
			return l.refuse("line %d of its list is an anchor or an alias", item.Line)
		case item.Tag != kyaml.NodeTagString || item.Style&kyaml.TaggedStyle != 0:
			return l.refuse("line %d of its list is not a plain string", item.Line)
		}
		l.entries = append(l.entries, item.Value)
	}
	return nil
}

// decode reads the text as kustomize does, which takes more words for something else than a string.
func (l *resourceList) decode(text string) error {
	if err := yaml.Unmarshal([]byte(text), &l.content); err != nil {
		return l.refuse("it cannot be read (%s)", err)
	}
	listed, _ := l.content[listKey].([]any)
	if len(listed) != len(l.entries) {
		return l.refuse("its list reads differently by reader")
	}
	for index, element := range listed {
		if element != l.entries[index] {
			return l.refuse("the entry %q of its list is not a plain string", l.entries[index])
		}
	}
	return nil
}

// isEmpty says whether there is no text behind a null.
func isEmpty(node *kyaml.Node) bool {
	return node.Kind == kyaml.ScalarNode && node.Tag == kyaml.NodeTagNull && node.Value == "" && node.Anchor == "" &&
		node.Style&kyaml.TaggedStyle == 0
}

// builders are the keys, beside the list, that give objects.
var builders = []string{
	"bases", "components", "configMapGenerator", "secretGenerator", "generators", "helmCharts", "helmChartInflationGenerator",
}

// builds says whether anything is built from the file.
func (l *resourceList) builds() bool {
	return len(l.entries) > 0 || slices.ContainsFunc(builders, func(key string) bool { return l.content[key] != nil })
}
