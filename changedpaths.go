package clustermanager

import (
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
)

// ChangedPaths are the leaf paths that differ between two objects, such as spec.values.pool.sizes[0] or
// metadata.labels["a.b/c"], sorted. Numbers are compared by value. It never holds a value.
func ChangedPaths(before, after map[string]any) []string {
	var paths []string
	compareMembers("", before, after, &paths)
	slices.Sort(paths)
	return slices.Compact(paths)
}

// absent stands for the value of a key or an element that one side has not.
type absent struct{}

func comparePaths(path string, before, after any, paths *[]string) {
	oldMap, wasMap := before.(map[string]any)
	newMap, isMap := after.(map[string]any)
	oldList, wasList := before.([]any)
	newList, isList := after.([]any)
	switch {
	case wasMap && isMap && len(oldMap) > 0 && len(newMap) > 0:
		compareMembers(path, oldMap, newMap, paths)
	case wasList && isList && len(oldList) > 0 && len(newList) > 0:
		for index := range max(len(oldList), len(newList)) {
			comparePaths(path+"["+strconv.Itoa(index)+"]", elementOf(oldList, index), elementOf(newList, index), paths)
		}
	case !SameValue(before, after):
		leafPaths(path, before, paths)
		leafPaths(path, after, paths)
	}
}

func compareMembers(path string, before, after map[string]any, paths *[]string) {
	for key, element := range before {
		comparePaths(MemberPath(path, key), element, memberOf(after, key), paths)
	}
	for key, element := range after {
		if _, both := before[key]; !both {
			comparePaths(MemberPath(path, key), absent{}, element, paths)
		}
	}
}

func memberOf(values map[string]any, key string) any {
	if value, found := values[key]; found {
		return value
	}
	return absent{}
}

func elementOf(values []any, index int) any {
	if index < len(values) {
		return values[index]
	}
	return absent{}
}

// leafPaths collects the paths of a value's leaves; an empty map or list is a leaf.
func leafPaths(path string, value any, paths *[]string) {
	switch value := value.(type) {
	case absent:
		return
	case map[string]any:
		for key, element := range value {
			leafPaths(MemberPath(path, key), element, paths)
		}
		if len(value) > 0 {
			return
		}
	case []any:
		for index, element := range value {
			leafPaths(path+"["+strconv.Itoa(index)+"]", element, paths)
		}
		if len(value) > 0 {
			return
		}
	}
	*paths = append(*paths, path)
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// MemberPath is the path of a member of a mapping, such as metadata.labels["a.b/c"].
func MemberPath(path, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// SameValue compares two values, numbers by value: the same manifest gives an int64 or a float64 by the way it was read.
func SameValue(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	left, isNumber := numberOf(a)
	right, bothNumbers := numberOf(b)
	return isNumber && bothNumbers && left.Cmp(right) == 0
}

func numberOf(value any) (*big.Rat, bool) {
	switch value.(type) {
	case int, int32, int64, uint64, float32, float64:
		return new(big.Rat).SetString(fmt.Sprint(value))
	}
	return nil, false
}
