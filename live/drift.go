package live

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// compared are the fields of an object that composition decides, besides labels and owner references.
var compared = []string{"spec", "data", "stringData"}

// serverDefaults are the values that API servers fill in where the composed object has none. They are no drift.
var serverDefaults = map[string][]struct {
	path  []string
	value any
}{
	"OCIRepository": {
		{[]string{"spec", "provider"}, "generic"},
		{[]string{"spec", "timeout"}, "60s"},
	},
	"HelmRelease": {
		{[]string{"spec", "uninstall", "deletionPropagation"}, "background"},
	},
}

// drift is what a live object has otherwise than the composed one.
type drift struct {
	// paths are the leaf paths that differ, sorted.
	paths []string
	// strays says that the live object has something which has to go. A server-side apply leaves that to whoever set it.
	strays bool
}

// driftOf compares a composed object, with a Secret's plain values in its data, with the live one.
func driftOf(step clustermanager.Step, live *unstructured.Unstructured) drift {
	composed := withDefaults(written(step), live)
	var found drift
	for _, field := range compared {
		want, have := fieldOf(composed, field), fieldOf(live, field)
		if step.Object.GetKind() == "Secret" && field == "data" {
			want, have = decoded(want), decoded(have)
		}
		found.paths = append(found.paths, named(step, clustermanager.ChangedPaths(have, want))...)
		found.strays = found.strays || strays(have, want)
	}
	for _, key := range slices.Sorted(maps.Keys(composed.GetLabels())) {
		if value, there := live.GetLabels()[key]; !there || value != composed.GetLabels()[key] {
			found.paths = append(found.paths, clustermanager.MemberPath("metadata.labels", key))
		}
	}
	for _, owner := range composed.GetOwnerReferences() {
		if !slices.ContainsFunc(live.GetOwnerReferences(), func(have ownerReference) bool { return sameOwner(have, owner) }) {
			found.paths = append(found.paths, "metadata.ownerReferences")
			break
		}
	}
	slices.Sort(found.paths)
	found.paths = slices.Compact(found.paths)
	return found
}

// named calls the keys of a Secret that are composed as stringData by that field.
func named(step clustermanager.Step, paths []string) []string {
	if len(step.SecretData) == 0 {
		return paths
	}
	for index, path := range paths {
		for key := range step.SecretData {
			if path == clustermanager.MemberPath("data", key) {
				paths[index] = clustermanager.MemberPath("stringData", key)
			}
		}
	}
	return paths
}

// fieldOf wraps a field, so that its paths begin with its name.
func fieldOf(object *unstructured.Unstructured, field string) map[string]any {
	if value, there := object.Object[field]; there {
		return map[string]any{field: value}
	}
	return nil
}

// decoded shows the bytes of a Secret's data, for two writings of the same may differ.
func decoded(field map[string]any) map[string]any {
	data, is := field["data"].(map[string]any)
	if !is {
		return field
	}
	plain := make(map[string]any, len(data))
	for key, value := range data {
		plain[key] = value
		if text, is := value.(string); is {
			if bytes, err := base64.StdEncoding.DecodeString(text); err == nil {
				plain[key] = strconv.Quote(string(bytes))
			}
		}
	}
	return map[string]any{"data": plain}
}

// strays says whether the live value holds what the composed one has not: a key, or another list, since a list may be
// one of entries that others own.
func strays(live, composed any) bool {
	have, isMap := live.(map[string]any)
	want, alsoMap := composed.(map[string]any)
	if isMap && alsoMap {
		for key, value := range have {
			wanted, there := want[key]
			if !there || strays(value, wanted) {
				return true
			}
		}
		return false
	}
	if isMap && len(have) > 0 {
		return true
	}
	_, isList := live.([]any)
	return isList && len(clustermanager.ChangedPaths(map[string]any{"": live}, map[string]any{"": composed})) > 0
}

// withDefaults completes a composed object by the server's defaults that the live one shows.
func withDefaults(composed, live *unstructured.Unstructured) *unstructured.Unstructured {
	for _, standard := range serverDefaults[composed.GetKind()] {
		value, there, err := unstructured.NestedFieldNoCopy(live.Object, standard.path...)
		if err != nil || !there || !clustermanager.SameValue(value, standard.value) {
			continue
		}
		if _, set, err := unstructured.NestedFieldNoCopy(composed.Object, standard.path...); !set && err == nil {
			_ = unstructured.SetNestedField(composed.Object, value, standard.path...)
		}
	}
	return composed
}

// written is the object as it goes to the API server: a Secret's plain values in its data, because a server-side apply
// does not own what it writes through stringData.
func written(step clustermanager.Step) *unstructured.Unstructured {
	object := step.Object.DeepCopy()
	if len(step.SecretData) == 0 {
		return object
	}
	unstructured.RemoveNestedField(object.Object, "stringData")
	data, _ := object.Object["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for key, value := range step.SecretData {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value.Reveal()))
	}
	object.Object["data"] = data
	return object
}

// replacing is the live object with everything that is composed in place of what was there.
func replacing(step clustermanager.Step, live *unstructured.Unstructured) *unstructured.Unstructured {
	composed, object := withDefaults(written(step), live), live.DeepCopy()
	for _, field := range compared {
		if value, there := composed.Object[field]; there {
			object.Object[field] = value
		} else {
			delete(object.Object, field)
		}
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, composed.GetLabels())
	object.SetLabels(labels)
	owners := object.GetOwnerReferences()
	for _, owner := range composed.GetOwnerReferences() {
		if !slices.ContainsFunc(owners, func(have ownerReference) bool { return sameOwner(have, owner) }) {
			owners = append(owners, owner)
		}
	}
	object.SetOwnerReferences(owners)
	return object
}
