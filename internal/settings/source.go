package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// Source is one place that values come from.
type Source struct {
	values map[string]string
	label  func(Setting) string
	// snapshot says that the source describes the server that a snapshot was taken from: what concerns its listener, its
	// reach and what this build does not have is held against its form, and left aside.
	snapshot bool
	// faults are those of the place itself.
	faults []string
}

// aside says whether the source's value of a setting is left aside.
func (s Source) aside(setting Setting) bool {
	return s.snapshot && (setting.later || setting.Scope == Reach || setting.Scope == Listener)
}

func (s Source) check(setting Setting, value string) error {
	if s.aside(setting) {
		return setting.Form.check(value)
	}
	return setting.fits(value)
}

// Flags are the values of flags that were given, by their names.
func Flags(given map[string]string) Source {
	return Source{values: given, label: func(setting Setting) string { return "flag --" + setting.Name }}
}

// Environment are the variables of the settings that keep says are wanted. An empty one is unset.
func Environment(variable func(name string) string, keep func(Setting) bool) Source {
	values := map[string]string{}
	for _, setting := range table {
		if value := variable(setting.Variable); setting.Variable != "" && value != "" && keep(setting) {
			values[setting.Name] = value
		}
	}
	return Source{values: values, label: func(setting Setting) string { return "environment variable " + setting.Variable }}
}

// File reads a YAML file whose keys are the settings' names. A key without a value is unset. An unreadable file and an
// unknown key are faults of the source.
func File(name string) Source {
	source, _ := readFile(name, "the file does not exist", nil, "config")
	return source
}

// Snapshot reads a snapshot's cluster-manager.yaml: as File, with keys of its own beside the settings, whose values are
// returned as JSON has them.
func Snapshot(name string, own ...string) (Source, map[string]any) {
	source, others := readFile(name, "the file does not exist, so the folder is no snapshot", own, "config", "snapshot")
	source.snapshot = true
	return source, others
}

// readFile reads a file; absent is said when there is none. Settings named by not say where a file is, and stand in none.
func readFile(name, absent string, own []string, not ...string) (Source, map[string]any) {
	source := Source{values: map[string]string{}, label: func(setting Setting) string { return name + ": " + setting.Name }}
	others := map[string]any{}
	values, err := decode(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New(absent)
	}
	if err != nil {
		source.faults = append(source.faults, fmt.Sprintf("%s: %v", name, err))
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		setting, known := Find(key)
		switch {
		case values[key] == nil:
		case slices.Contains(own, key):
			others[key] = values[key]
		case !known || slices.Contains(not, key):
			source.faults = append(source.faults, fmt.Sprintf("%s: %s: no such setting", name, key))
		default:
			plain, err := setting.Form.plain(values[key])
			if err != nil {
				source.faults = append(source.faults, fmt.Sprintf("%s: %s: %v", name, key, err))
				continue
			}
			if setting.Form == Path && plain != "" && !filepath.IsAbs(plain) {
				plain = filepath.Join(filepath.Dir(name), plain)
			}
			source.values[key] = plain
		}
	}
	return source, others
}

// decode returns a file's keys. Numbers keep the text that they were written in.
func decode(name string) (map[string]any, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	document, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return nil, errors.New("the file is not a mapping")
	}
	return values, nil
}
