package render

import (
	"cmp"
	"slices"

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
		} else if changes := clustermanager.ChangedPaths(previous.Object, object.Object); len(changes) > 0 {
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
