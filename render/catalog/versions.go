package catalog

import "github.com/Masterminds/semver/v3"

// below says whether a version is below a floor; a prerelease is below its version. "" is no floor.
func below(version *semver.Version, floor string) bool {
	if floor == "" {
		return false
	}
	bound, err := semver.NewVersion(floor)
	return err == nil && version.LessThan(bound)
}
