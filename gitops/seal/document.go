package seal

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/stores/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var errNotOne = errors.New("not one YAML document in UTF-8")

// readDocument parses a text that is one YAML document. The texts come from repositories: of further documents sops
// follows aliases without end, so they are turned away before it sees them.
func readDocument(content []byte) (sops.TreeBranch, error) {
	if !isOneDocument(content) {
		return nil, errNotOne
	}
	branches, err := yaml.NewStore(&config.YAMLStoreConfig{}).LoadPlainFile(content)
	if err != nil {
		return nil, err
	}
	if len(branches) != 1 {
		return nil, errNotOne
	}
	return branches[0], nil
}

// isOneDocument allows a marker at the start alone. It knows every line break that YAML knows.
func isOneDocument(content []byte) bool {
	if !utf8.Valid(content) {
		return false
	}
	started := false
	for _, line := range bytes.FieldsFunc(content, func(r rune) bool { return strings.ContainsRune("\n\r\u0085\u2028\u2029", r) }) {
		line = bytes.TrimLeft(line, "\ufeff")
		text := bytes.TrimSpace(line)
		switch marker := bytes.HasPrefix(line, []byte("---")); {
		case marker && started, bytes.HasPrefix(line, []byte("...")):
			return false
		case marker, len(text) > 0 && text[0] != '#' && text[0] != '%':
			started = true
		}
	}
	return true
}

// secretFields are the fields of a v1 Secret; true for those that hold its values.
var secretFields = map[string]bool{
	"apiVersion": false, "kind": false, "metadata": false, "type": false, "immutable": false, "data": true, "stringData": true,
}

// readSecret parses the plain document of a file. Its errors quote no value: the parser's own would.
func readSecret(path string, plain clustermanager.Secret) (sops.TreeBranch, error) {
	document, err := readDocument([]byte(plain.Reveal()))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: sealing: the document cannot be read as one YAML document", path)
	case field(document, "apiVersion") != "v1", field(document, "kind") != "Secret":
		return nil, fmt.Errorf("%s: sealing: the document is not a v1 Secret, and nothing else is sealed", path)
	}
	for _, item := range document {
		name, isName := item.Key.(string)
		holdsValues, known := secretFields[name]
		if isName && !known {
			return nil, fmt.Errorf("%s: sealing: a v1 Secret has no field %q", path, name)
		}
		if !holdsValues {
			continue
		}
		if err := checkValues(item.Value); err != nil {
			return nil, fmt.Errorf("%s: sealing: %s: %w", path, name, err)
		}
	}
	return document, nil
}

// checkValues allows text alone: a comment could hold a secret, and selectors may leave comments in the clear.
func checkValues(values any) error {
	branch, ok := values.(sops.TreeBranch)
	if !ok {
		return errors.New("not a mapping")
	}
	for _, item := range branch {
		name, ok := item.Key.(string)
		if !ok {
			return errors.New("a comment or a key that is no text stands among the values")
		}
		if _, ok := item.Value.(string); !ok {
			return fmt.Errorf("the value of %q is not text", name)
		}
	}
	return nil
}

// leaves are the values of a document by path, comments left out. A sealed value is the type sealed.
type leaves map[string]any

type sealed struct{}

var encrypted = regexp.MustCompile(`^ENC\[AES256_GCM,data:.+,iv:.+,tag:.+,type:.+\]$`)

// separator keeps path elements apart: keys such as "values.yaml" hold dots.
const separator = "\x00"

func leavesOf(document sops.TreeBranch) leaves {
	all := leaves{}
	all.add("", document)
	return all
}

func (l leaves) add(path string, value any) {
	switch value := value.(type) {
	case sops.TreeBranch:
		for _, item := range value {
			if _, isComment := item.Key.(sops.Comment); !isComment {
				l.add(path+separator+fmt.Sprint(item.Key), item.Value)
			}
		}
	case []any:
		for index, item := range value {
			l.add(path+separator+strconv.Itoa(index), item)
		}
	case sops.Comment:
	default:
		l[path] = value
	}
}

// expected are the leaves that the sealed form of a plain Secret must have: its values sealed, but for empty ones, which
// sops leaves empty.
func expected(plain sops.TreeBranch) leaves {
	all := leavesOf(plain)
	for path, value := range all {
		if holdsValue(path) && value != "" {
			all[path] = sealed{}
		}
	}
	return all
}

// found are the leaves of a document that may be sealed.
func found(document sops.TreeBranch) leaves {
	all := leavesOf(document)
	for path, value := range all {
		if text, ok := value.(string); ok && encrypted.MatchString(text) {
			all[path] = sealed{}
		}
	}
	return all
}

func holdsValue(path string) bool { return secretFields[strings.Split(path, separator)[1]] }

// difference returns the first path, in order, at which two documents differ, and whether they do.
func difference(one, other leaves) (string, bool) {
	paths := slices.Concat(slices.Collect(maps.Keys(one)), slices.Collect(maps.Keys(other)))
	slices.Sort(paths)
	for _, path := range paths {
		left, inLeft := one[path]
		right, inRight := other[path]
		if inLeft != inRight || left != right {
			return path, true
		}
	}
	return "", false
}

// shown is a path as messages have it.
func shown(path string) string { return strings.ReplaceAll(path[1:], separator, ".") }
