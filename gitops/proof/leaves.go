package proof

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// leaves returns the paths at which a built object differs from the composed one, sorted. What the build adds to labels
// and annotations does not count.
func leaves(at string, composed, built any) []string {
	want, wantOK := composed.(map[string]any)
	got, gotOK := built.(map[string]any)
	if !wantOK || !gotOK {
		if same(composed, built) {
			return nil
		}
		return []string{at}
	}
	var paths []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		paths = append(paths, leaves(join(at, key), want[key], got[key])...)
	}
	if at == "metadata.labels" || at == "metadata.annotations" {
		return paths
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		_, known := want[key]
		if own := join(at, key); !known && own != "metadata.labels" && own != "metadata.annotations" {
			paths = append(paths, own)
		}
	}
	return paths
}

// same compares values as JSON has them: an int and an int64 are one number.
func same(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && string(left) == string(right)
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return fmt.Sprintf("%s.%s", at, key)
}
