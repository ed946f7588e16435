package render

import (
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// NewKustomization returns a new kustomization file that lists the entries, sorted.
func NewKustomization(entries ...string) ([]byte, error) {
	return newKustomization(slices.Sorted(slices.Values(entries)))
}

func newKustomization(entries []string) ([]byte, error) {
	content, err := yaml.Marshal(types.Kustomization{
		TypeMeta:  types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Resources: entries,
	})
	if err != nil {
		return nil, fmt.Errorf("kustomization file: writing: %w", err)
	}
	return content, nil
}

// EnsureEntry returns the kustomization file with the entry in its resources: in its place where the list is sorted,
// else at the end. An entry that is there in any spelling ("x", "./x", "x/"), also among bases or components, is left as
// it is. The result is the file with one piece of text put in and every other byte kept; path names the file in a
// [clustermanager.Refusal], which is the answer for a file that cannot be edited so.
func EnsureEntry(file []byte, path, entry string) ([]byte, error) {
	return putEntry(file, path, entry, func(entries []string) int {
		if !slices.IsSorted(entries) {
			return len(entries)
		}
		position, _ := slices.BinarySearch(entries, entry)
		return position
	})
}

// AppendEntry is [EnsureEntry] with a new entry always at the end of the list.
func AppendEntry(file []byte, path, entry string) ([]byte, error) {
	return putEntry(file, path, entry, func(entries []string) int { return len(entries) })
}

func putEntry(file []byte, path, entry string, place func(entries []string) int) ([]byte, error) {
	list, err := openList(file, path, entry)
	if err != nil {
		return nil, err
	}
	if list.index(entry) >= 0 || list.elsewhere(entry) != "" {
		return file, nil
	}
	position := place(list.entries)
	offset, text, err := list.insertion(position, entry)
	if err != nil {
		return nil, err
	}
	edited := slices.Concat(file[:offset], []byte(text), file[offset:])
	if err := list.verify(edited, slices.Insert(slices.Clone(list.entries), position, entry)); err != nil {
		return nil, err
	}
	return edited, nil
}

// RemoveEntry returns the kustomization file without the entry, in any spelling and as often as resources lists it. The
// line of the entry goes, and every other byte stays: a comment above it as well. An entry that is not there changes
// nothing. Refusals are as for [EnsureEntry], and one under bases or components is refused too.
func RemoveEntry(file []byte, path, entry string) ([]byte, error) {
	for {
		list, err := openList(file, path, entry)
		if err != nil {
			return nil, err
		}
		position := list.index(entry)
		if position < 0 {
			if key := list.elsewhere(entry); key != "" {
				return nil, list.refuse("%s lists %q, and only resources is edited", key, entry)
			}
			return file, nil
		}
		from, to, err := list.removal(position)
		if err != nil {
			return nil, err
		}
		edited := slices.Concat(file[:from], file[to:])
		if err := list.verify(edited, slices.Delete(slices.Clone(list.entries), position, position+1)); err != nil {
			return nil, err
		}
		file = edited
	}
}

// openList reads the file for an edit of the entry.
func openList(file []byte, path, entry string) (*resourceList, error) {
	if !fs.ValidPath(entry) || entry == "." || strings.ContainsFunc(entry, unicode.IsControl) {
		return nil, clustermanager.Refuse("%s: %q is no path below its directory, so it cannot be listed: use another name", path, entry)
	}
	return readList(file, path)
}

// index is the position of the entry in any spelling, -1: not listed.
func (l *resourceList) index(entry string) int {
	return slices.IndexFunc(l.entries, func(listed string) bool { return sameEntry(listed, entry) })
}

func sameEntry(listed, entry string) bool { return path.Clean(listed) == path.Clean(entry) }

// elsewhere is the key of the other list that has the entry, "": none.
func (l *resourceList) elsewhere(entry string) string {
	for _, key := range []string{"bases", "components"} {
		listed, _ := l.content[key].([]any)
		for _, element := range listed {
			if text, isText := element.(string); isText && sameEntry(text, entry) {
				return key
			}
		}
	}
	return ""
}

// verify reads an edited file again, all of it, and refuses unless its list is the one wanted and nothing else changed.
func (l *resourceList) verify(edited []byte, want []string) error {
	after, err := readList(edited, l.path)
	if err != nil || !slices.Equal(after.entries, want) || !reflect.DeepEqual(rest(l.content), rest(after.content)) {
		return l.refuse("the entry cannot be changed there without changing something else")
	}
	return nil
}

// rest is the content without the list.
func rest(content map[string]any) map[string]any {
	others := map[string]any{}
	for key, value := range content {
		if key != listKey {
			others[key] = value
		}
	}
	return others
}

// refuse says why the file is not edited, and the way out.
func (l *resourceList) refuse(format string, arguments ...any) error {
	return clustermanager.Refuse("%s: %s; edit its resources by hand, then call again", l.path, fmt.Sprintf(format, arguments...))
}
