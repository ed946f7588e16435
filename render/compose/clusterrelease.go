package compose

import (
	"fmt"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// chooseRelease takes the release that the request names, else the one that the cluster has, else the newest active
// one. The cluster's own is not judged again: only a release that is named moves a cluster. One that is newer and was not
// taken is told.
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
	stands := reRun && own == version && own != ""
	d.noteNewer(releases, stands)
	switch {
	case stands:
		return nil
	case version == "":
		return clustermanager.Refuse("%s: no release of provider line %s is active: name another provider, or call again once one is", d.named(), provider)
	case at < 0:
		return clustermanager.Refuse("%s: release %s-%s does not exist: %s", d.named(), provider, version, d.others(releases))
	case d.release.State != clustermanager.ReleaseActive:
		return clustermanager.Refuse("%s: release %s is %s, and clusters are created of active ones: %s", d.named(), d.release.Name, stateWord(d.release.State), d.others(releases))
	case d.release.ClusterChart == "":
		return clustermanager.Refuse("%s: release %s pins no %s%s, so no cluster can be created of it: %s", d.named(), d.release.Name,
			clustermanager.ClusterChartPrefix, provider, d.others(releases))
	}
	return nil
}

// noteNewer names a newer release than the chosen one, where create_cluster takes it.
func (d *clusterDecision) noteNewer(releases []clustermanager.Release, stands bool) {
	taken := d.taken(releases)
	if len(taken) == 0 || clustermanager.CompareVersions(taken[0].Version, d.release.Version) <= 0 {
		return
	}
	d.releaseNote = fmt.Sprintf("release %s is named; %s is newer and active: name that, or none on a new cluster, to take it", d.release.Version, taken[0].Version)
	if stands {
		d.releaseNote = fmt.Sprintf("the cluster keeps release %s; %s is newer and active: name it in release to upgrade", d.release.Version, taken[0].Version)
	}
}

// stateWord is a Release's state in a sentence.
func stateWord(state string) string {
	if state == "" {
		return "without a state"
	}
	return state
}

// taken are the releases of the provider line that create_cluster takes, newest first. Where the registry could not be
// read, an active one counts as published: what comes next is refused for that.
func (d *clusterDecision) taken(releases []clustermanager.Release) []clustermanager.Release {
	return slices.DeleteFunc(sortedReleases(releases), func(release clustermanager.Release) bool {
		published := true
		if tags, known := d.survey.Tags.Get(); known {
			published = slices.Contains(tags, release.Version)
		}
		return release.Provider != d.request.Provider || notOffered(release, &published) != ""
	})
}

// others is the way out of a release that cannot be taken.
func (d *clusterDecision) others(releases []clustermanager.Release) string {
	var versions []string
	for _, release := range d.taken(releases) {
		versions = append(versions, release.Version)
	}
	if len(versions) == 0 {
		return "provider line " + d.request.Provider + " has no release that list_releases offers"
	}
	way := "name one of " + strings.Join(versions, ", ")
	// None for the newest means the newest active one, which may be none of these.
	if newest, _ := clustermanager.NewestActive(releases, d.request.Provider); newest.Version == versions[0] {
		way += ", or none for the newest"
	}
	return way
}
