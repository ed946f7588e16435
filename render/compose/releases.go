package compose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// releaseKind is the resource of Releases as a note names it.
const releaseKind = "releases.release.giantswarm.io"

// Releases lists the installation's releases, of one provider line where one is named, newest first in each line, and
// says of each whether create_cluster takes it.
func Releases(survey clustermanager.ReleasesSurvey, provider string) clustermanager.ReleaseList {
	list := clustermanager.ReleaseList{Providers: clustermanager.ClusterProviders(), Releases: []clustermanager.ListedRelease{}}
	if !survey.Served {
		list.Note = "the installation does not serve " + releaseKind + ", so it has no releases"
		return list
	}
	if survey.Unread != "" {
		list.Note = "you may not list " + releaseKind + ", which tell what create_cluster takes: " + survey.Unread + ": ask for the right to list them; the registry " + published(survey.Tags, provider)
		return list
	}
	var lines []string
	for _, release := range sortedReleases(survey.Releases) {
		lines = append(lines, release.Provider)
		if provider == "" || release.Provider == provider {
			list.Releases = append(list.Releases, listed(release, survey.Tags[release.Provider]))
		}
	}
	if provider != "" && len(list.Releases) == 0 {
		list.Note = fmt.Sprintf("no release is of provider line %s", provider)
		if lines = slices.Compact(lines); len(lines) > 0 {
			list.Note += "; the lines are " + strings.Join(lines, ", ")
		}
	}
	return list
}

// published says up to which version the registry has each line's release chart, of one provider where one is named.
func published(tags map[string]clustermanager.Reading[[]string], provider string) string {
	var lines []string
	for _, line := range slices.Sorted(maps.Keys(tags)) {
		versions, read := tags[line].Get()
		versions = slices.DeleteFunc(slices.Clone(versions), func(version string) bool {
			_, err := semver.StrictNewVersion(version)
			return err != nil
		})
		switch {
		case provider != "" && line != provider:
		case !read:
			lines = append(lines, line+": "+tags[line].Reason())
		case len(versions) == 0:
			lines = append(lines, line+": none")
		default:
			lines = append(lines, line+": "+slices.MaxFunc(versions, clustermanager.CompareVersions))
		}
	}
	if len(lines) == 0 {
		return "was not asked for provider line " + provider
	}
	return "has these newest releases: " + strings.Join(lines, ", ")
}

// sortedReleases is a copy by provider, newest first.
func sortedReleases(releases []clustermanager.Release) []clustermanager.Release {
	sorted := slices.Clone(releases)
	slices.SortFunc(sorted, func(a, b clustermanager.Release) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), clustermanager.CompareVersions(b.Version, a.Version), cmp.Compare(a.Name, b.Name))
	})
	return sorted
}

func listed(release clustermanager.Release, tags clustermanager.Reading[[]string]) clustermanager.ListedRelease {
	found := clustermanager.ListedRelease{
		Name: release.Name, Provider: release.Provider, Version: release.Version, State: release.State, Date: release.Date,
		KubernetesVersion: release.Kubernetes,
		ReleaseChart:      clustermanager.ListedChart{URL: catalog.ReleaseChartURL(release.Provider), Version: release.Version},
	}
	if release.ClusterChart != "" {
		found.ClusterChart = clustermanager.ClusterChartPrefix + release.Provider + "@" + release.ClusterChart
	}
	if published, known := tags.Get(); known {
		found.ReleaseChart.Published = new(slices.Contains(published, release.Version))
	} else {
		found.ReleaseChart.Note = tags.Reason()
	}
	found.Note = notOffered(release, found.ReleaseChart.Published)
	found.Offered = found.Note == ""
	return found
}

// notOffered is the first reason why create_cluster does not take the release; "": it does.
func notOffered(release clustermanager.Release, published *bool) string {
	switch {
	case release.Fault != "":
		return "it cannot be read: " + release.Fault
	case !slices.Contains(clustermanager.ClusterProviders(), release.Provider):
		return fmt.Sprintf("clusters of provider line %s are not offered", release.Provider)
	case release.State != clustermanager.ReleaseActive:
		return fmt.Sprintf("it is %s, not active", stateWord(release.State))
	case release.ClusterChart == "":
		return fmt.Sprintf("it pins no %s%s", clustermanager.ClusterChartPrefix, release.Provider)
	case published == nil:
		return "whether its chart is published is not known"
	case !*published:
		return "its chart is not published"
	}
	return ""
}
