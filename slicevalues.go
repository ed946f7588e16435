package clustermanager

// CacheOn says whether the slice runs with the model cache; the chart's default is on.
func (s Slice) CacheOn() bool {
	enabled, is := s.value("modelServing", "cache", "enabled").(bool)
	return !is || enabled
}

// CacheClaim is the claim that the slice mounts with the cache on: its own, else the chart's default.
func (s Slice) CacheClaim(settings Settings) string {
	if name, is := s.value("modelServing", "cache", "pvc", "name").(string); is && name != "" {
		return name
	}
	return settings.ServingCacheClaim
}

// Mounts says whether the slice mounts the claim of the serving namespace.
func (s Slice) Mounts(claim string, settings Settings) bool {
	return s.CacheOn() && s.CacheClaim(settings) == claim
}

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
