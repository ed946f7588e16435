package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// chartModelManager is the chart of the component of the platform that registers backends.
const chartModelManager = "model-manager"

// platformOfSlice is the platform as a cluster's slice takes after it: refused when the cluster has a second slice.
func (r *Reader) platformOfSlice(ctx context.Context, cluster clustermanager.Cluster) (clustermanager.Platform, error) {
	platform, err := r.platform(ctx)
	if err != nil {
		return platform, err
	}
	return platform, r.checkSecondSlice(ctx, cluster, platform.Release)
}

// platform is the installation's own release of the platform's chart. None, several, and one without a domain are
// refused; Secrets that it takes values from are not read.
func (r *Reader) platform(ctx context.Context) (clustermanager.Platform, error) {
	release, err := r.platformRelease(ctx)
	if err != nil {
		return clustermanager.Platform{}, err
	}
	var made clustermanager.Platform
	var modelManager clustermanager.Reading[string]
	var reads errgroup.Group
	reads.Go(func() error {
		modelManager = clustermanager.Read(r.modelManagerVersion(ctx, release))
		return nil
	})
	reads.Go(func() error {
		values, err := r.helmReleaseValues(ctx, release)
		if err != nil {
			return err
		}
		made, err = platformOf(release, values.Values.Reveal())
		return err
	})
	if err := reads.Wait(); err != nil {
		return clustermanager.Platform{}, err
	}
	made.ModelManagerVersion = modelManager
	return made, nil
}

// platformOf is what the release and its values say.
func platformOf(release *unstructured.Unstructured, plain map[string]any) (clustermanager.Platform, error) {
	values := typedValues{plain: plain}
	made := clustermanager.Platform{
		Release: nameOf(release), ChartVersion: deployedVersion(release),
		Domain:             values.text("global", "domain"),
		Identity:           runtime.DeepCopyJSON(values.mapping("global", "identity")),
		TLSSecret:          values.text("gatewayApi", "gateway", "tls", "secretName"),
		DexNamespace:       values.text("gateway", "jwksEgress", "namespace"),
		DexPort:            values.number("gateway", "jwksEgress", "port"),
		Namespace:          values.text("gitops", "targetNamespace"),
		SubstrateNamespace: values.text("components", "substrate", "targetNamespace"),
	}
	reference := clustermanager.ReferenceTo(release)
	switch {
	case values.fault != "":
		return made, fmt.Errorf("%s: reading its values: %s", reference, values.fault)
	case made.Domain == "":
		return made, clustermanager.Refuse("%s: its values name no global.domain, and models are served below it: set it there", reference)
	}
	if made.Namespace == "" {
		made.Namespace = lastDeployed(release, "namespace")
	}
	return made, nil
}

// platformRelease finds the installation's own release of the platform's chart: of those that are not ours the one that
// is called after the chart, else the only one.
func (r *Reader) platformRelease(ctx context.Context) (*unstructured.Unstructured, error) {
	found, err := r.platformReleases(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", clustermanager.ChartAgentPlatform).String(),
	})
	if err == nil && len(found) == 0 {
		found, err = r.platformReleases(ctx, metav1.ListOptions{})
	}
	switch {
	case err != nil:
		return nil, err
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return nil, clustermanager.Refuse("the installation has no HelmRelease of the chart %s of its own, and a slice takes its domain, identity and chart version after that: install the platform first", clustermanager.ChartAgentPlatform)
	}
	var names []string
	for _, release := range found {
		names = append(names, nameOf(release).String())
	}
	slices.Sort(names)
	return nil, clustermanager.Refuse("the installation has several HelmReleases of the chart %s that are not ours (%s), and which one is the platform cannot be told: name the platform's %s",
		clustermanager.ChartAgentPlatform, strings.Join(names, ", "), clustermanager.ChartAgentPlatform)
}

// platformReleases are the releases of the platform's chart that are neither ours nor rendered by another of them.
func (r *Reader) platformReleases(ctx context.Context, options metav1.ListOptions) ([]*unstructured.Unstructured, error) {
	releases, err := r.list(ctx, helmReleaseNoun, "", options)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	names := map[clustermanager.NamespacedName]bool{}
	for index := range releases {
		release := &releases[index]
		if owned(release) {
			continue
		}
		chart, err := r.chartOf(ctx, release)
		if err != nil {
			return nil, err
		}
		if chart == clustermanager.ChartAgentPlatform {
			found, names[nameOf(release)] = append(found, release), true
		}
	}
	return slices.DeleteFunc(found, func(release *unstructured.Unstructured) bool {
		return names[renderedBy(release.GetLabels())]
	}), nil
}

// modelManagerVersion is the deployed version of the one release of model-manager's chart that the platform rendered.
func (r *Reader) modelManagerVersion(ctx context.Context, platform *unstructured.Unstructured) (string, error) {
	releases, err := r.list(ctx, helmReleaseNoun, "", metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{
		clustermanager.LabelHelmReleaseName: platform.GetName(), labelHelmReleaseNamespace: platform.GetNamespace(),
	}).String()})
	if err != nil {
		return "", err
	}
	var found []*unstructured.Unstructured
	for index := range releases {
		chart, err := r.chartOf(ctx, &releases[index])
		if err != nil {
			return "", err
		}
		if chart == chartModelManager {
			found = append(found, &releases[index])
		}
	}
	reference := clustermanager.ReferenceTo(platform)
	if len(found) != 1 {
		return "", fmt.Errorf("%s: finding its release of the chart %s: it rendered %d", reference, chartModelManager, len(found))
	}
	version := deployedVersion(found[0])
	if version == "" {
		return "", fmt.Errorf("%s: reading its version: it has deployed none yet", clustermanager.ReferenceTo(found[0]))
	}
	return version, nil
}

// typedValues reads values by their type. What is there with another type is its fault; the first one stays.
type typedValues struct {
	plain map[string]any
	fault string
}

func (v *typedValues) at(path []string) any {
	value, _, err := unstructured.NestedFieldNoCopy(v.plain, path...)
	if err != nil {
		v.blame(path, "is below what is no mapping")
	}
	return value
}

func (v *typedValues) blame(path []string, what string) {
	if v.fault == "" {
		v.fault = strings.Join(path, ".") + " " + what
	}
}

func (v *typedValues) text(path ...string) string {
	value := v.at(path)
	text, is := value.(string)
	if value != nil && !is {
		v.blame(path, "is no text")
	}
	return text
}

func (v *typedValues) mapping(path ...string) map[string]any {
	value := v.at(path)
	mapping, is := value.(map[string]any)
	if value != nil && !is {
		v.blame(path, "is no mapping")
	}
	return mapping
}

func (v *typedValues) number(path ...string) int {
	switch value := v.at(path).(type) {
	case nil:
	case int64:
		return int(value)
	case float64:
		return int(value)
	default:
		v.blame(path, "is no number")
	}
	return 0
}
