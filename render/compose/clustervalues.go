package compose

import (
	"encoding/json"
	"maps"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// longestShown is how many characters of a caller's value a refusal repeats.
const longestShown = 80

// identityPaths are where the cloud identity stands, by provider line.
var identityPaths = map[string]string{
	"aws":   "global.providerSpecific.awsClusterRoleIdentityName",
	"eks":   "global.providerSpecific.awsClusterRoleIdentityName",
	"azure": "global.providerSpecific.azureClusterIdentity.name",
}

// composeValues puts the arguments into a copy of the caller's values. A value of the caller's at such a path has to be
// the argument's.
func (d *clusterDecision) composeValues() error {
	d.values, _ = deepCopy(d.request.Values.Reveal()).(map[string]any)
	if d.values == nil {
		d.values = map[string]any{}
	}
	for _, composed := range []struct{ path, value, argument string }{
		{"global.metadata.name", d.request.Name, "name"},
		{"global.metadata.organization", d.request.Organization, "organization"},
		{"global.release.version", d.release.Version, "release"},
		{"global.metadata.description", d.request.Description, "description"},
		{identityPaths[d.request.Provider], d.request.Identity, "identity"},
	} {
		if composed.value == "" {
			continue
		}
		keys := strings.Split(composed.path, ".")
		given, there, err := find(d.values, keys)
		switch {
		case err != nil:
			return clustermanager.Refuse("%s: values: %v, and %s is composed there from the argument %s: make it one, or leave it out", d.named(), err, composed.path, composed.argument)
		case there && given != any(composed.value):
			return clustermanager.Refuse("%s: values has %s: %s, and the argument %s is %q: leave it out of values, or make both the same",
				d.named(), composed.path, shown(given), composed.argument, composed.value)
		}
		set(d.values, composed.value, keys...)
	}
	return nil
}

// find is the value at a path. The error says which part of the path is no mapping.
func find(values map[string]any, path []string) (value any, there bool, err error) {
	for depth, key := range path {
		value, there = values[key]
		if !there || depth == len(path)-1 {
			return value, there, nil
		}
		next, isMap := value.(map[string]any)
		if !isMap {
			return nil, false, at(strings.Join(path[:depth+1], "."), errNoMap)
		}
		values = next
	}
	return nil, false, nil
}

// shown is a caller's value in a sentence.
func shown(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "a value that is not JSON"
	}
	return clustermanager.OneLine(string(text), longestShown)
}

// deepCopy copies mappings and lists; what they hold is shared.
func deepCopy(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, entry := range value {
			copied[key] = deepCopy(entry)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for index, entry := range value {
			copied[index] = deepCopy(entry)
		}
		return copied
	}
	return value
}

// layer lays values above others as Helm does: mappings merge by key, anything else replaces, and an explicit null
// deletes the key. Neither is changed.
func layer(below, above map[string]any) map[string]any {
	merged := maps.Clone(below)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, value := range above {
		upper, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(merged, key)
		case isMap:
			lower, _ := merged[key].(map[string]any)
			merged[key] = layer(lower, upper)
		default:
			merged[key] = value
		}
	}
	return merged
}

// layered are the cluster's values above the installation's, and both above the chart's own.
func (d *clusterDecision) layered() map[string]any {
	return layer(layer(layer(nil, d.chart.Values), d.installation), d.values)
}
