package clustermanager

import "cmp"

// CacheOn says whether the slice runs with the model cache; the chart's default is on.
func (s Slice) CacheOn() bool {
	enabled, is := s.value("modelServing", "cache", "enabled").(bool)
	return !is || enabled
}

// ChartCacheClaim is the claim that the chart agent-platform-connectivity mounts where a slice's values name none. The
// setting ServingCacheClaim, which new claims are named by, is another thing.
const ChartCacheClaim = "hf-cache"

// CacheClaim is the claim that the slice mounts with the cache on: the one that its values name, else the chart's.
func (s Slice) CacheClaim() string {
	return cmp.Or(s.namedClaim(), ChartCacheClaim)
}

func (s Slice) namedClaim() string {
	name, _ := s.value("modelServing", "cache", "pvc", "name").(string)
	return name
}

// KeptCacheClaim is the claim that the slice goes on with, or would with the cache on again; "": it had the cache off and
// names none.
func (s Slice) KeptCacheClaim() string {
	if s.CacheOn() {
		return s.CacheClaim()
	}
	return s.namedClaim()
}

// Mounts says whether the slice mounts the claim of the serving namespace.
func (s Slice) Mounts(claim string) bool { return s.CacheOn() && s.CacheClaim() == claim }

// value is what stands at a path of the slice's values; nil: nothing does.
func (s Slice) value(path ...string) any {
	var at any = s.Values.Reveal()
	for _, key := range path {
		mapping, is := at.(map[string]any)
		if !is {
			return nil
		}
		at = mapping[key]
	}
	return at
}

// TargetNamespace is where the slice's components run on the target.
func (s Slice) TargetNamespace() string {
	if name, is := s.value("gitops", "targetNamespace").(string); is && name != "" {
		return name
	}
	return s.Release.Namespace
}
