package catalog

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Source is where a release gets its chart: exactly one of Tag and Range is set.
type Source struct {
	// URL is the chart's OCI address without a tag.
	URL string
	// Tag is an exact version, Range a range of versions as Flux reads it.
	Tag, Range string
}

// Version is the tag, else the lower bound of the range.
func (s Source) Version() string {
	if s.Tag != "" {
		return s.Tag
	}
	bound, _, _ := strings.Cut(strings.TrimPrefix(s.Range, ">="), " ")
	return bound
}

// newSource pins the chart, or without a pin lets it follow from the floor to the next major version.
func newSource(url, pin, floor string) (Source, error) {
	if pin != "" {
		return Source{URL: url, Tag: pin}, nil
	}
	version, err := semver.NewVersion(floor)
	if err != nil {
		return Source{}, fmt.Errorf("chart %s: parsing the floor %q: %w", url, floor, err)
	}
	return Source{URL: url, Range: rangeFrom(version)}, nil
}

// rangeFrom follows from a version to the next major one.
func rangeFrom(floor *semver.Version) string {
	return fmt.Sprintf(">=%s <%d.0.0", floor, floor.Major()+1)
}

// Before says whether a version is below a floor; a prerelease is below its version. What is no version is before
// nothing.
func Before(version, floor string) bool {
	parsed, err := semver.NewVersion(version)
	return err == nil && below(parsed, floor)
}

// below is Before for a parsed version; "" is no floor.
func below(version *semver.Version, floor string) bool {
	if floor == "" {
		return false
	}
	bound, err := semver.NewVersion(floor)
	return err == nil && version.LessThan(bound)
}

// Ahead says whether one version is newer than another in major, minor and patch alone; an error: one of them is no
// complete version.
func Ahead(version, than string) (bool, error) {
	left, leftErr := semver.StrictNewVersion(version)
	right, rightErr := semver.StrictNewVersion(than)
	if leftErr != nil || rightErr != nil {
		return false, fmt.Errorf("%q and %q do not compare", than, version)
	}
	return core(left).GreaterThan(core(right)), nil
}

// core is major, minor and patch alone.
func core(version *semver.Version) *semver.Version {
	return semver.New(version.Major(), version.Minor(), version.Patch(), "", "")
}

// ExactVersion says whether a text is one version that can be an OCI tag, which holds no build metadata.
func ExactVersion(text string) bool {
	version, err := semver.StrictNewVersion(text)
	return err == nil && version.Metadata() == ""
}
