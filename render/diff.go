package render

import (
	"cmp"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Diff compares two builds of a tree. Objects are matched by group, kind, namespace and name, and answered in the order
// of namespace, kind, name and group, named as they stand after the change. Changes are the leaf paths that differ,
// such as spec.values.pool.sizes[0] or metadata.labels["a.b/c"]; numbers are compared by value. It never holds a value,
// and is empty, not nil, when nothing differs.
func Diff(before, after []*unstructured.Unstructured) []clustermanager.ObjectDiff {
	old := map[clustermanager.ObjectReference]*unstructured.Unstructured{}
	for _, object := range before {
		old[clustermanager.ReferenceTo(object).Identity()] = object
	}
	differences := []clustermanager.ObjectDiff{}
	kept := map[clustermanager.ObjectReference]bool{}
	for _, object := range after {
		reference := clustermanager.ReferenceTo(object)
		kept[reference.Identity()] = true
		previous, found := old[reference.Identity()]
		if !found {
			differences = append(differences, clustermanager.ObjectDiff{ObjectReference: reference, Action: clustermanager.DiffAdd})
		} else if changes := changedPaths(previous.Object, object.Object); len(changes) > 0 {
			differences = append(differences, clustermanager.ObjectDiff{
				ObjectReference: reference, Action: clustermanager.DiffChange, Changes: changes,
			})
		}
	}
	for identity, object := range old {
		if !kept[identity] {
			differences = append(differences, clustermanager.ObjectDiff{
				ObjectReference: clustermanager.ReferenceTo(object), Action: clustermanager.DiffRemove,
			})
		}
	}
	slices.SortFunc(differences, func(a, b clustermanager.ObjectDiff) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group(), b.Group()))
	})
	return differences
}

func changedPaths(before, after map[string]any) []string {
	var paths []string
	compare("", before, after, &paths)
	slices.Sort(paths)
	return slices.Compact(paths)
}

// absent stands for the value of a key or an element that one side has not.
type absent struct{}

func compare(path string, before, after any, paths *[]string) {
	oldMap, wasMap := before.(map[string]any)
	newMap, isMap := after.(map[string]any)
	oldList, wasList := before.([]any)
	newList, isList := after.([]any)
	switch {
	case wasMap && isMap && len(oldMap) > 0 && len(newMap) > 0:
		for key, element := range oldMap {
			compare(member(path, key), element, lookup(newMap, key), paths)
		}
		for key, element := range newMap {
			if _, both := oldMap[key]; !both {
				compare(member(path, key), absent{}, element, paths)
			}
		}
	case wasList && isList && len(oldList) > 0 && len(newList) > 0:
		for index := range max(len(oldList), len(newList)) {
			compare(path+"["+strconv.Itoa(index)+"]", at(oldList, index), at(newList, index), paths)
		}
	case !equal(before, after):
		leaves(path, before, paths)
		leaves(path, after, paths)
	}
}

func lookup(values map[string]any, key string) any {
	if value, found := values[key]; found {
		return value
	}
	return absent{}
}

func at(values []any, index int) any {
	if index < len(values) {
		return values[index]
	}
	return absent{}
}

// leaves collects the paths of a value's leaves; an empty map or list is a leaf.
func leaves(path string, value any, paths *[]string) {
	switch value := value.(type) {
	case absent:
		return
	case map[string]any:
		for key, element := range value {
			leaves(member(path, key), element, paths)
		}
		if len(value) > 0 {
			return
		}
	case []any:
		for index, element := range value {
			leaves(path+"["+strconv.Itoa(index)+"]", element, paths)
		}
		if len(value) > 0 {
			return
		}
	}
	*paths = append(*paths, path)
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func member(path, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// equal compares two values, numbers by value: the same manifest gives an int64 or a float64 by the way it was read.
func equal(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	left, isNumber := number(a)
	right, bothNumbers := number(b)
	return isNumber && bothNumbers && left.Cmp(right) == 0
}

func number(value any) (*big.Rat, bool) {
	switch value.(type) {
	case int, int32, int64, uint64, float32, float64:
		return new(big.Rat).SetString(fmt.Sprint(value))
	}
	return nil, false
}
