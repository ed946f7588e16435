package clustermanager

import "slices"

// Admins are users and groups, sorted, each once.
type Admins struct {
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// AdminsOf are whom a cluster's list of bindings binds to ClusterAdmin in every namespace. A binding that names
// namespaces, none of them too, binds in those alone. What is no list of bindings binds nobody.
func AdminsOf(bindings any) Admins {
	var bound Admins
	entries, _ := bindings.([]any)
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		if _, narrowed := fields["namespaces"]; narrowed || fields["role"] != ClusterAdmin {
			continue
		}
		bound.Users = append(bound.Users, names(fields["users"])...)
		bound.Groups = append(bound.Groups, names(fields["groups"])...)
	}
	return Admins{Users: SortedOnce(bound.Users), Groups: SortedOnce(bound.Groups)}
}

// names are the texts of a list that are not empty.
func names(list any) []string {
	entries, _ := list.([]any)
	var found []string
	for _, entry := range entries {
		if name, is := entry.(string); is && name != "" {
			found = append(found, name)
		}
	}
	return found
}

// SortedOnce sorts a copy of names and drops what is there twice; nil for none.
func SortedOnce(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}
