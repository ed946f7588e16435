package offline

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// servedVersion is the Kubernetes version that is answered. Nothing reads more of it than that it is there.
var servedVersion = apiversion.Info{Major: "1", Minor: "33", GitVersion: "v1.33.0", Platform: "linux/amd64"}

// verbs are what a resource is served for.
var verbs = metav1.Verbs{"create", "delete", "get", "list", "patch", "update"}

func (r *resource) serves(version string) bool { return slices.Contains(r.versions, version) }

// discovery answers /version, /api, /apis and what they lead to; nil for any other path.
func (a *apiServer) discovery(segments []string) any {
	switch {
	case len(segments) == 1 && segments[0] == "version":
		return servedVersion
	case len(segments) == 1 && segments[0] == "api":
		return metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{},
		}
	case len(segments) == 2 && segments[0] == "api":
		return a.resourceList(schema.GroupVersion{Version: segments[1]})
	case segments[0] != "apis":
		return nil
	}
	switch len(segments) {
	case 1:
		return metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}, Groups: a.store.groups(),
		}
	case 2:
		return a.group(segments[1])
	case 3:
		return a.resourceList(schema.GroupVersion{Group: segments[1], Version: segments[2]})
	}
	return nil
}

func (a *apiServer) group(name string) any {
	for _, group := range a.store.groups() {
		if group.Name == name {
			group.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroup"}
			return group
		}
	}
	return nil
}

// resourceList answers the resources of a version, nil when none is served at it.
func (a *apiServer) resourceList(version schema.GroupVersion) any {
	answered := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: version.String(),
	}
	for _, served := range a.store.sorted() {
		if served.group == version.Group && served.serves(version.Version) {
			answered.APIResources = append(answered.APIResources, metav1.APIResource{
				Name: served.plural, SingularName: served.singular, Kind: served.kind,
				Namespaced: served.namespaced, Verbs: verbs,
			})
		}
	}
	if answered.APIResources == nil {
		return nil
	}
	return answered
}

// groups are the served API groups, without the core group, sorted.
func (s *store) groups() []metav1.APIGroup {
	versions := map[string]*resource{}
	var names []string
	for _, served := range s.sorted() {
		if served.group == "" {
			continue
		}
		if versions[served.group] == nil {
			versions[served.group] = &resource{}
			names = append(names, served.group)
		}
		for _, name := range served.versions {
			versions[served.group].addVersion(name)
		}
	}
	groups := make([]metav1.APIGroup, 0, len(names))
	for _, name := range names {
		group := metav1.APIGroup{Name: name}
		for _, version := range versions[name].versions {
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{
				GroupVersion: name + "/" + version, Version: version,
			})
		}
		group.PreferredVersion = group.Versions[0]
		groups = append(groups, group)
	}
	return groups
}

// sorted are the served resources by group and name.
func (s *store) sorted() []*resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*resource, 0, len(s.resources))
	for _, served := range s.resources {
		all = append(all, served)
	}
	slices.SortFunc(all, func(a, b *resource) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.plural, b.plural))
	})
	return all
}
