package clustermanager

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAdminsOf(t *testing.T) {
	t.Parallel()
	binding := func(role string, more map[string]any) map[string]any {
		more["role"] = role
		return more
	}
	people := func(names ...any) map[string]any { return map[string]any{"users": names} }
	narrowed := func(namespaces ...any) map[string]any {
		return map[string]any{"users": []any{"narrow"}, "namespaces": namespaces}
	}
	for _, test := range []struct {
		name     string
		bindings any
		want     Admins
	}{
		{"none", nil, Admins{}},
		{"no list", "cluster-admin", Admins{}},
		{"users and groups of several, each once", []any{
			binding(ClusterAdmin, people("b", "a")), binding(ClusterAdmin, people("a", "", 3)), binding(ClusterAdmin, map[string]any{"groups": []any{"g"}}),
		}, Admins{Users: []string{"a", "b"}, Groups: []string{"g"}}},
		{"another role", []any{binding("view", people("a"))}, Admins{}},
		{"in some namespaces", []any{binding(ClusterAdmin, narrowed("x"))}, Admins{}},
		{"in none", []any{binding(ClusterAdmin, narrowed())}, Admins{}},
		{"no binding", []any{"a"}, Admins{}},
	} {
		if diff := cmp.Diff(test.want, AdminsOf(test.bindings)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}
