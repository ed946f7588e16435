package charts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	connectivityComponent = "agent-platform-connectivity"
	// presetFiles are the presets that the connectivity chart ships.
	presetFiles = "files/model-serving/presets/*.yaml"
)

// component is an entry of a platform chart's components: the chart that it installs, and how its version is chosen.
type component struct {
	chart, repository string
	// releasedWith says that the component's chart has the platform chart's own version.
	releasedWith bool
	// versions and filter choose among the chart's tags; "": not set.
	versions, filter string
}

// url is the chart's OCI address.
func (c component) url() string { return strings.TrimSuffix(c.repository, "/") + "/" + c.chart }

// readComponent reads an entry of components. The error says what it lacks.
func readComponent(values map[string]any, name string) (component, error) {
	components, _ := values["components"].(map[string]any)
	entry, there := components[name].(map[string]any)
	if !there {
		return component{}, errors.New("it has no such component")
	}
	text := func(key string) string { value, _ := entry[key].(string); return value }
	read := component{chart: text("chart"), repository: text("repository"), versions: text("versionRange"), filter: text("semverFilter")}
	read.releasedWith, _ = entry["releasedWithChart"].(bool)
	switch {
	case read.chart == "" || read.repository == "":
		return component{}, errors.New("it names no chart or no repository")
	case read.versions == "" && (!read.releasedWith || read.filter != ""):
		return component{}, errors.New("it is neither released with the chart nor has it a versionRange")
	}
	return read, nil
}

// connectivity reads the chart of the component agent-platform-connectivity as a platform chart's values name it.
func (s *Survey) connectivity(ctx context.Context, url, version string, values map[string]any) (clustermanager.ConnectivityChart, error) {
	chart, err := s.connectivityChart(ctx, url, version, values)
	if err != nil {
		return clustermanager.ConnectivityChart{}, err
	}
	read := clustermanager.ConnectivityChart{Version: chart.Version}
	if read.Values, err = mustValues(chart); err != nil {
		return clustermanager.ConnectivityChart{}, err
	}
	if read.Presets, err = presets(chart); err != nil {
		return clustermanager.ConnectivityChart{}, err
	}
	return read, nil
}

func (s *Survey) connectivityChart(ctx context.Context, url, version string, values map[string]any) (*Chart, error) {
	what := fmt.Sprintf("chart %s %s: reading components.%s of its values", url, version, connectivityComponent)
	named, err := readComponent(values, connectivityComponent)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if named.versions != "" {
		tags, err := s.registry.Tags(ctx, named.url())
		if err != nil {
			return nil, err
		}
		if version, err = newest(tags, named); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	}
	return s.registry.Chart(ctx, named.url(), version)
}

// Whole reads what a decision would read of a chart: the chart itself and, where its values name the component
// agent-platform-connectivity, that component's chart. What was read comes with the error.
func (s *Survey) Whole(ctx context.Context, url, version string) ([]*Chart, error) {
	chart, err := s.registry.Chart(ctx, url, version)
	if err != nil {
		return nil, err
	}
	values, _, err := chart.Values()
	if err != nil {
		return []*Chart{chart}, err
	}
	components, _ := values["components"].(map[string]any)
	if _, there := components[connectivityComponent]; !there {
		return []*Chart{chart}, nil
	}
	connectivity, err := s.connectivityChart(ctx, url, version, values)
	if err != nil {
		return []*Chart{chart}, err
	}
	return []*Chart{chart, connectivity}, nil
}

// newest chooses among a chart's versions as Flux does: strict semantic versions that the filter matches, as tags are
// written, within the range.
func newest(versions []string, of component) (string, error) {
	within, err := semver.NewConstraint(of.versions)
	if err != nil {
		return "", fmt.Errorf("versionRange %q is no range of versions", of.versions)
	}
	filter, err := regexp.Compile(of.filter)
	if err != nil {
		return "", fmt.Errorf("semverFilter %q is no regular expression", of.filter)
	}
	var found *semver.Version
	for _, text := range versions {
		version, err := semver.StrictNewVersion(text)
		if err != nil || !filter.MatchString(tagOf(text)) || !within.Check(version) {
			continue
		}
		if found == nil || version.GreaterThan(found) {
			found = version
		}
	}
	if found == nil {
		return "", fmt.Errorf("none of the %d tags of %s is in versionRange %q (semverFilter %q)", len(versions), of.url(), of.versions, of.filter)
	}
	return found.Original(), nil
}

// presets reads the presets that a chart ships, sorted by name.
func presets(chart *Chart) ([]clustermanager.Preset, error) {
	var shipped []clustermanager.Preset
	for name, document := range chart.Files {
		if matches, _ := path.Match(presetFiles, name); !matches {
			continue
		}
		preset, err := clustermanager.ParsePreset(document)
		if err != nil {
			return nil, fmt.Errorf("chart %s %s: reading %s: %w", chart.URL, chart.Version, name, err)
		}
		shipped = append(shipped, preset)
	}
	slices.SortFunc(shipped, func(a, b clustermanager.Preset) int { return cmp.Compare(a.Name, b.Name) })
	return shipped, nil
}
