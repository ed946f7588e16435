package compose

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Case 20: what list_releases says of a registry that knows most of it, and of none.
func TestReleaseList(t *testing.T) {
	survey := clustermanager.ReleasesSurvey{Served: true, Releases: releases, Tags: map[string]clustermanager.Reading[[]string]{
		"aws": clustermanager.Known([]string{"36.0.0", "35.1.1", "37.0.0", "33.0.0", "32.0.0"}), "azure": clustermanager.Known([]string{"35.1.0"}),
		"eks": clustermanager.Known([]string{"34.0.1"}), "vsphere": unknown[[]string](),
	}}
	var got []string
	for _, release := range Releases(survey, "").Releases {
		got = append(got, fmt.Sprintf("%s %t %s", release.Name, release.Offered, release.Note))
		if (release.ReleaseChart.Published == nil) != (release.Provider == "vsphere") || (release.ReleaseChart.Note == "") == (release.Provider == "vsphere") {
			t.Errorf("%+v", release.ReleaseChart)
		}
	}
	want := []string{
		"aws-37.0.0 false it is preview, not active", "aws-36.0.0 true ", "aws-35.1.1 true ", "aws-34.0.0 false it is deprecated, not active",
		"aws-33.0.0 false it is without a state, not active", "aws-32.0.0 false it pins no cluster-aws",
		"azure-36.0.0 false its chart is not published", "azure-35.0.0 false its chart is not published",
		"eks-34.0.1 true ", "vsphere-36.0.0 false clusters of provider line vsphere are not offered",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, release := range Releases(clustermanager.ReleasesSurvey{Served: true, Releases: releases}, "eks").Releases {
		if release.Offered || release.ReleaseChart.Published != nil || release.Note != "whether its chart is published is not known" || release.Provider != "eks" {
			t.Errorf("without a registry: %+v", release)
		}
	}
	if list := Releases(survey, "gcp"); len(list.Releases) != 0 || list.Note != "no release is of provider line gcp; the lines are aws, azure, eks, vsphere" {
		t.Errorf("%+v", list)
	}
	if list := Releases(clustermanager.ReleasesSurvey{}, ""); len(list.Releases) != 0 || !strings.Contains(list.Note, "releases.release.giantswarm.io") {
		t.Errorf("%+v", list)
	}
	unread := clustermanager.ReleasesSurvey{Served: true, Unread: "every Release: reading: forbidden", Tags: survey.Tags}
	const rights = "you may not list releases.release.giantswarm.io, which tell what create_cluster takes: every Release: reading: forbidden: ask for the right to list them; the registry "
	for provider, want := range map[string]string{
		"":        "has these newest releases: aws: 37.0.0, azure: 35.1.0, eks: 34.0.1, vsphere: " + survey.Tags["vsphere"].Reason(),
		"aws":     "has these newest releases: aws: 37.0.0",
		"nowhere": "was not asked for provider line nowhere",
	} {
		if list := Releases(unread, provider); len(list.Releases) != 0 || list.Note != rights+want {
			t.Errorf("%q: %+v", provider, list)
		}
	}
	if first := Releases(survey, "aws").Releases[1]; first.ClusterChart != "cluster-aws@8.0.0" || first.KubernetesVersion != "1.36.1" {
		t.Errorf("%+v", first)
	}
}
