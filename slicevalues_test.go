package clustermanager

import "testing"

func TestTheClaimOfASlice(t *testing.T) {
	t.Parallel()
	cache := func(values map[string]any) Slice {
		return Slice{Values: NewValues(map[string]any{"modelServing": map[string]any{"cache": values}})}
	}
	named := map[string]any{"name": "mine"}
	for _, test := range []struct {
		name              string
		slice             Slice
		on                bool
		claim, kept       string
		mounts, mountsOwn bool
	}{
		{"no values", Slice{}, true, ChartCacheClaim, ChartCacheClaim, true, false},
		{"a name", cache(map[string]any{"pvc": named}), true, "mine", "mine", false, true},
		{"off", cache(map[string]any{"enabled": false}), false, ChartCacheClaim, "", false, false},
		{"off with a name", cache(map[string]any{"enabled": false, "pvc": named}), false, "mine", "mine", false, false},
	} {
		s := test.slice
		if s.CacheOn() != test.on || s.CacheClaim() != test.claim || s.KeptCacheClaim() != test.kept || s.Mounts(ChartCacheClaim) != test.mounts || s.Mounts("mine") != test.mountsOwn {
			t.Errorf("%s: %v %q %q", test.name, s.CacheOn(), s.CacheClaim(), s.KeptCacheClaim())
		}
	}
}
