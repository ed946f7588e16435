package compose

import (
	"fmt"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// chooseRelease takes the release that the request names, else the one that the cluster has, else the newest active
// one. The cluster's own is not judged again: only a release that is named moves a cluster.
func (d *clusterDecision) chooseRelease() error {
	releases, known := d.survey.Releases.Get()
	if !known {
		return clustermanager.Refuse("%s: the installation's releases could not be read: %s; see to that, then call again", d.named(), d.survey.Releases.Reason())
	}
	reRun := d.survey.ReRun()
	own, ownKnown := d.survey.Tag.Get()
	if reRun && !ownKnown && d.request.Release == "" {
		return clustermanager.Refuse("%s: which release it has could not be read: %s; name the release, or see to that", d.named(), d.survey.Tag.Reason())
	}
	version, provider := d.survey.MeantRelease(d.request), d.request.Provider
	at := slices.IndexFunc(releases, func(release clustermanager.Release) bool {
		return release.Provider == provider && release.Version == version
	})
	d.release = clustermanager.Release{Provider: provider, Version: version}
	if at >= 0 {
		d.release = releases[at]
	}
	if reRun && own == version && own != "" {
		d.noteNewer(releases)
		return nil
	}
	switch {
	case version == "":
		return clustermanager.Refuse("%s: no release of provider line %s is active: name another provider, or call again once one is", d.named(), provider)
	case at < 0:
		return clustermanager.Refuse("%s: release %s-%s does not exist: %s", d.named(), provider, version, activeOnes(releases, provider))
	case d.release.State != clustermanager.ReleaseActive:
		return clustermanager.Refuse("%s: release %s is %s, and clusters are created of active ones: %s", d.named(), d.release.Name, stateWord(d.release.State), activeOnes(releases, provider))
	case d.release.ClusterChart == "":
		return clustermanager.Refuse("%s: release %s pins no %s%s, so no cluster can be created of it: %s", d.named(), d.release.Name,
			clustermanager.ClusterChartPrefix, provider, activeOnes(releases, provider))
	}
	return nil
}

// noteNewer names a newer active release than the one that a cluster keeps.
func (d *clusterDecision) noteNewer(releases []clustermanager.Release) {
	newest, found := clustermanager.NewestActive(releases, d.request.Provider)
	if found && clustermanager.CompareVersions(newest.Version, d.release.Version) > 0 {
		d.releaseNote = fmt.Sprintf("the cluster keeps release %s; %s is newer and active: name it in release to upgrade", d.release.Version, newest.Version)
	}
}

// stateWord is a Release's state in a sentence.
func stateWord(state string) string {
	if state == "" {
		return "without a state"
	}
	return state
}

// activeOnes is the way out of a release that cannot be taken.
func activeOnes(releases []clustermanager.Release, provider string) string {
	var versions []string
	for _, release := range sortedReleases(releases) {
		if release.Provider == provider && release.State == clustermanager.ReleaseActive {
			versions = append(versions, release.Version)
		}
	}
	if len(versions) == 0 {
		return "provider line " + provider + " has no active release"
	}
	return "name one of " + strings.Join(versions, ", ") + ", or none for the newest"
}
