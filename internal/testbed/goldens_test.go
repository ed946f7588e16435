package testbed_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const composed = "../../render/compose/testdata"

// golden is one object of a golden file.
type golden struct {
	// name is the file, without its folder and its endings, and the object.
	name   string
	object *unstructured.Unstructured
}

// goldens are the objects of every golden file of the composer: listings (*.txt) and YAML (*.yaml).
func goldens(t *testing.T) []golden {
	t.Helper()
	var all []golden
	err := filepath.WalkDir(composed, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		read := map[string]func(string) ([]*unstructured.Unstructured, error){".txt": readListing, ".yaml": readYAML}[filepath.Ext(path)]
		if read == nil {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		objects, err := read(string(content))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, object := range objects {
			file, _, _ := strings.Cut(filepath.Base(path), ".")
			all = append(all, golden{file + "/" + object.GetKind() + "/" + object.GetName(), object})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatalf("there is no golden in %s", composed)
	}
	return all
}

// goldenOf are the objects of one golden file.
func goldenOf(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, one := range goldens(t) {
		if strings.HasPrefix(one.name, file+"/") {
			objects = append(objects, one.object)
		}
	}
	if len(objects) == 0 {
		t.Fatalf("there is no golden %s", file)
	}
	return objects
}

// readYAML takes what names a kind for an object, and leaves the rest alone.
func readYAML(content string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+content, "\n---") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, err
		}
		if object.GetKind() != "" {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

// readListing reads lines of "path = JSON", an object after each line that begins with "# doc". A path into the YAML text
// of a key is behind "->".
func readListing(content string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		path, text, found := strings.Cut(line, " = ")
		switch {
		case strings.HasPrefix(line, "# doc"):
			objects = append(objects, &unstructured.Unstructured{Object: map[string]any{}})
			continue
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case !found || len(objects) == 0:
			return nil, fmt.Errorf("line %q", line)
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		last := objects[len(objects)-1]
		if err := setIn(last.Object, path, value); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
	}
	for index, object := range objects {
		objects[index] = &unstructured.Unstructured{Object: asText(object.Object).(map[string]any)}
	}
	return objects, nil
}

// document is what a path behind "->" builds; it becomes the text of its key.
type document map[string]any

func asText(value any) any {
	switch value := value.(type) {
	case document:
		content, _ := yaml.Marshal(map[string]any(value))
		return string(content)
	case map[string]any:
		for key := range value {
			value[key] = asText(value[key])
		}
	}
	return value
}

func setIn(object map[string]any, path string, value any) error {
	outer, inner, nested := strings.Cut(path, " -> ")
	keys, err := keysOf(outer)
	if err != nil {
		return err
	}
	if nested {
		at := document{}
		if found, err := lookup(object, keys); err == nil {
			at = found.(document)
		}
		if err := setIn(at, inner, value); err != nil {
			return err
		}
		value = at
	}
	set(object, keys, value)
	return nil
}

func lookup(object map[string]any, keys []any) (any, error) {
	var at any = object
	for _, key := range keys {
		fields, ok := at.(map[string]any)
		name, isName := key.(string)
		if !ok || !isName || fields[name] == nil {
			return nil, fs.ErrNotExist
		}
		at = fields[name]
	}
	return at, nil
}

// set returns the container with the value in it.
func set(container any, keys []any, value any) any {
	if len(keys) == 0 {
		return value
	}
	switch key := keys[0].(type) {
	case string:
		fields, _ := container.(map[string]any)
		if fields == nil {
			fields = map[string]any{}
		}
		fields[key] = set(fields[key], keys[1:], value)
		return fields
	case int:
		entries, _ := container.([]any)
		if key >= len(entries) {
			entries = append(entries, make([]any, key+1-len(entries))...)
		}
		entries[key] = set(entries[key], keys[1:], value)
		return entries
	}
	return nil
}

// keysOf are the keys and indexes of a path such as a.b[0]["c.d/e"].
func keysOf(path string) ([]any, error) {
	var keys []any
	for path != "" {
		switch {
		case path[0] == '.':
			path = path[1:]
		case strings.HasPrefix(path, `["`):
			quoted, err := strconv.QuotedPrefix(path[1:])
			if err != nil {
				return nil, err
			}
			key, _ := strconv.Unquote(quoted)
			keys, path = append(keys, key), strings.TrimPrefix(path[1+len(quoted):], "]")
		case path[0] == '[':
			index, rest, _ := strings.Cut(path[1:], "]")
			number, err := strconv.Atoi(index)
			if err != nil {
				return nil, err
			}
			keys, path = append(keys, number), rest
		default:
			end := slices.IndexFunc([]byte(path), func(b byte) bool { return b == '.' || b == '[' })
			if end < 0 {
				end = len(path)
			}
			keys, path = append(keys, path[:end]), path[end:]
		}
	}
	return keys, nil
}

func TestListingsAreReadAsTheyAreWritten(t *testing.T) {
	objects, err := readListing(`# doc 0: ConfigMap x
apiVersion = "v1"
kind = "ConfigMap"
metadata.labels["app.kubernetes.io/name"] = "a"
metadata.ownerReferences[0].name = "wc1"
metadata.ownerReferences[1].name = "wc2"
data["values.yaml"] -> global.list[1] = 2
data["values.yaml"] -> global.list[0] = "1"
data["values.yaml"] -> global["a.b"] = true
# doc 1: ConfigMap y
kind = "ConfigMap"
`)
	if err != nil || len(objects) != 2 {
		t.Fatalf("%d objects: %v", len(objects), err)
	}
	content, err := yaml.Marshal(objects[0].Object)
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: v1
data:
  values.yaml: |
    global:
      a.b: true
      list:
      - "1"
      - 2
kind: ConfigMap
metadata:
  labels:
    app.kubernetes.io/name: a
  ownerReferences:
  - name: wc1
  - name: wc2
`
	if string(content) != want {
		t.Errorf("read:\n%s", content)
	}
}
