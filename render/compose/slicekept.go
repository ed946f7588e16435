package compose

import (
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// servingPaths are what serving rules in the values of a slice's release, with everything below. A component's switch,
// and the values under the name of one of KServe's, are serving's too.
var servingPaths = [][]string{
	{"global", "domain"}, {"global", "identity"}, {"gitops"}, {"modelServing"}, {"gatewayApi", "gateway", "tls"}, {"gateway", "jwksEgress"},
}

// keepOthers lets another slice that the release carries be, with every value that serving does not rule. What it holds
// in plain text is not copied anywhere.
func (s *slice) keepOthers() error {
	if s.existing == nil {
		return nil
	}
	values := s.existing.Values.Reveal()
	others := otherComponents(values)
	if len(others) == 0 {
		return nil
	}
	s.kept = othersValues(values, others)
	if paths := clustermanager.NewValues(s.kept).Credentials(); len(paths) > 0 {
		return clustermanager.Refuse("%s: it carries another slice too (%s), whose values hold credentials in plain text (%s), and writing the release anew would copy them: move them into a Secret there, then call again",
			clustermanager.SliceReference(s.survey.Cluster), strings.Join(others, ", "), strings.Join(paths, ", "))
	}
	s.warn("%s: it carries another slice too (%s), which stays on with every value that serving does not set", s.existing.Release, strings.Join(others, ", "))
	return nil
}

// othersValues are a release's values without what serving rules.
func othersValues(values map[string]any, others []string) map[string]any {
	kept, _ := copied(values).(map[string]any)
	paths := slices.Clone(servingPaths)
	for _, component := range catalog.SliceComponents() {
		if !slices.Contains(others, component.Name) {
			paths = append(paths, []string{"components", component.Name})
		}
		if component.KServe {
			paths = append(paths, []string{component.Name})
		}
	}
	for _, path := range paths {
		unset(kept, path...)
	}
	return kept
}

// unset takes out what stands at a path, and the mappings that are empty without it.
func unset(values map[string]any, path ...string) {
	next, isMap := values[path[0]].(map[string]any)
	switch {
	case len(path) == 1:
		delete(values, path[0])
	case isMap:
		unset(next, path[1:]...)
		if len(next) == 0 {
			delete(values, path[0])
		}
	}
}

// withKept lays the values of serving above those that it leaves alone. The switches of another slice's components stay.
func (s *slice) withKept(values map[string]any) map[string]any {
	components, _ := s.kept["components"].(map[string]any)
	values = layer(s.kept, values)
	for name, component := range components {
		set(values, component, "components", name)
	}
	return values
}
