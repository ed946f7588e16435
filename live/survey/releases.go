package survey

import (
	"context"
	"errors"
	"sync"

	"github.com/Masterminds/semver/v3"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// errNoRegistry is why nothing of a registry is known where none is read.
var errNoRegistry = errors.New("no registry is read here")

// Releases reads the installation's releases and the tags of each provider line's release chart. Releases that the
// caller may not list are said in their place; the error says why else they could not be listed.
func (r *Reader) Releases(ctx context.Context) (clustermanager.ReleasesSurvey, error) {
	releases, served, err := r.releases(ctx)
	survey := clustermanager.ReleasesSurvey{Served: served, Releases: releases, Tags: map[string]clustermanager.Reading[[]string]{}}
	switch {
	case apierrors.IsForbidden(err):
		survey.Served, survey.Unread = true, err.Error()
		for _, provider := range clustermanager.ClusterProviders() {
			survey.Tags[provider] = clustermanager.Reading[[]string]{}
		}
	case err != nil:
		return clustermanager.ReleasesSurvey{}, err
	}
	for _, release := range releases {
		survey.Tags[release.Provider] = clustermanager.Reading[[]string]{}
	}
	var mu sync.Mutex
	var reads errgroup.Group
	for provider := range survey.Tags {
		reads.Go(func() error {
			tags := clustermanager.Read(r.tags(ctx, provider))
			mu.Lock()
			defer mu.Unlock()
			survey.Tags[provider] = tags
			return nil
		})
	}
	_ = reads.Wait()
	return survey, ctx.Err()
}

// releases are those whose names have a provider and a version, and whether the kind is served.
func (r *Reader) releases(ctx context.Context) (releases []clustermanager.Release, served bool, err error) {
	found, err := once(r, "releases", func() (*unstructured.UnstructuredList, error) {
		return r.client.Dynamic.Resource(releaseNoun.resource).List(ctx, metav1.ListOptions{})
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, &readError{listed(releaseNoun, ""), err}
	}
	for _, object := range found.Items {
		if release, named := parseRelease(object); named {
			releases = append(releases, release)
		}
	}
	return releases, true, nil
}

// parseRelease reads a Release; named says whether its name is <provider>-<version>.
func parseRelease(object unstructured.Unstructured) (release clustermanager.Release, named bool) {
	release = clustermanager.Release{
		Name: object.GetName(), State: textAt(object.Object, "spec", "state"), Date: textAt(object.Object, "spec", "date"),
		Fault: shapes[releaseNoun.kind].faultOf(object.Object),
	}
	release.Provider, release.Version, named = splitReleaseName(release.Name)
	for _, component := range mapsAt(object.Object, "spec", "components") {
		switch version := withoutV(textAt(component, "version")); textAt(component, "name") {
		case "kubernetes":
			release.Kubernetes = version
		case clustermanager.ClusterChartPrefix + release.Provider:
			release.ClusterChart = version
		}
	}
	return release, named
}

// splitReleaseName splits at the first dash before a strict version.
func splitReleaseName(name string) (provider, version string, named bool) {
	for at := range name {
		if at == 0 || name[at] != '-' {
			continue
		}
		if _, err := semver.StrictNewVersion(name[at+1:]); err == nil {
			return name[:at], name[at+1:], true
		}
	}
	return name, "", false
}

// tags are the tags of a provider line's release chart.
func (r *Reader) tags(ctx context.Context, provider string) ([]string, error) {
	if r.options.Charts == nil {
		return nil, errNoRegistry
	}
	return r.options.Charts.Tags(ctx, provider)
}

// releaseChart is a provider line's release chart at a version.
func (r *Reader) releaseChart(ctx context.Context, provider, version string) (clustermanager.ReleaseChart, error) {
	switch {
	case r.options.Charts == nil:
		return clustermanager.ReleaseChart{}, errNoRegistry
	case version == "":
		return clustermanager.ReleaseChart{}, errors.New("no version of it is meant")
	}
	return r.options.Charts.Release(ctx, provider, version)
}
