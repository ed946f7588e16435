package survey

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var clusterPolicyNoun = noun{"ClusterPolicy", schema.GroupVersionResource{Group: "nvidia.com", Version: "v1", Resource: "clusterpolicies"}}

const (
	// labelHelmChart is the label that a chart puts on what it renders: the chart's name and version.
	labelHelmChart = "helm.sh/chart"
	// chartOfPlatform begins labelHelmChart on what the platform's own chart renders.
	chartOfPlatform = clustermanager.ChartAgentPlatform + "-"

	conditionReady = "Ready"
	// timeLayout is how texts show a time, always in UTC.
	timeLayout = "2006-01-02T15:04:05Z"
)

// finding is a trace of a part on a cluster.
type finding struct {
	provider clustermanager.Provider
	// text is the evidence, as answers show it.
	text string
	// release is the HelmRelease where the trace is one.
	release *unstructured.Unstructured
}

// precedence are the providers, the one that wins over the others first.
var precedence = []clustermanager.Provider{
	clustermanager.ProviderChart, clustermanager.ProviderClusterManager, clustermanager.ProviderManual,
}

func compareProviders(a, b clustermanager.Provider) int {
	return cmp.Compare(slices.Index(precedence, a), slices.Index(precedence, b))
}

// componentOf is what the findings say of a part: it is present when there is one, else absent, and unknown when there
// is none while something could not be read. Remarks are evidence that decides nothing. The reason says what could not
// be read, where it does not decide too: the evidence lacks what that would tell.
func componentOf(findings []finding, remarks []string, unread ...error) clustermanager.Component {
	component := clustermanager.Component{Status: clustermanager.ComponentAbsent, Evidence: slices.Clone(remarks)}
	for _, finding := range findings {
		component.Evidence = append(component.Evidence, finding.text)
	}
	slices.Sort(component.Evidence)
	component.Evidence = slices.Compact(component.Evidence)
	component.Reason = strings.Join(reasonsOf(unread...), "; ")
	if len(findings) > 0 {
		component.Status = clustermanager.ComponentPresent
		component.Provider = slices.MinFunc(findings, func(a, b finding) int { return compareProviders(a.provider, b.provider) }).provider
		return component
	}
	if component.Reason != "" {
		component.Status = clustermanager.ComponentUnknown
	}
	return component
}

// undecided is a component whose provider cannot be told, since what would name a higher one could not be read.
func undecided(component clustermanager.Component, unread error) clustermanager.Component {
	if unread != nil {
		component.Status, component.Provider, component.Reason = clustermanager.ComponentUnknown, "", unread.Error()
	}
	return component
}

// reasonsOf are the texts of the errors, each once, in their order.
func reasonsOf(failed ...error) []string {
	var reasons []string
	for _, err := range failed {
		if err != nil && !slices.Contains(reasons, err.Error()) {
			reasons = append(reasons, err.Error())
		}
	}
	return reasons
}

// releaseOf is the release of the findings' highest provider, of several the first by its text; nil: there is none.
func releaseOf(findings []finding) *unstructured.Unstructured {
	var best *finding
	for index := range findings {
		found := &findings[index]
		if found.release == nil {
			continue
		}
		if best == nil || cmp.Or(compareProviders(found.provider, best.provider), cmp.Compare(found.text, best.text)) < 0 {
			best = found
		}
	}
	if best == nil {
		return nil
	}
	return best.release
}

// providerOf says who put a HelmRelease there.
func providerOf(release *unstructured.Unstructured) clustermanager.Provider {
	switch {
	case strings.HasPrefix(release.GetLabels()[labelHelmChart], chartOfPlatform):
		return clustermanager.ProviderChart
	case owned(release):
		return clustermanager.ProviderClusterManager
	}
	return clustermanager.ProviderManual
}

// isReleaseOf says whether a HelmRelease installs one of the charts, as far as the release itself tells.
func isReleaseOf(release *unstructured.Unstructured, charts ...string) bool {
	return slices.ContainsFunc(charts, func(chart string) bool {
		for _, name := range []string{release.GetName(), textAt(release.Object, "spec", "chartRef", "name")} {
			if name == chart || strings.HasSuffix(name, "-"+chart) {
				return true
			}
		}
		return release.GetLabels()[clustermanager.LabelChart] == chart || textAt(release.Object, "spec", "chart", "spec", "chart") == chart
	})
}

// installsElsewhere says whether a HelmRelease installs on another cluster than the one given: its kubeconfig is not
// that one's.
func installsElsewhere(release *unstructured.Unstructured, cluster clustermanager.Cluster) bool {
	config := mapAt(release.Object, "spec", "kubeConfig")
	return config != nil && textAt(config, "secretRef", "name") != clustermanager.KubeconfigSecretName(cluster)
}

// releasesOf are the findings among HelmReleases of the charts that install on the cluster. Where says where they were
// read.
func releasesOf(releases []unstructured.Unstructured, cluster clustermanager.Cluster, where string, charts ...string) []finding {
	var found []finding
	for index := range releases {
		release := &releases[index]
		if isReleaseOf(release, charts...) && !installsElsewhere(release, cluster) {
			found = append(found, finding{providerOf(release), clustermanager.ReferenceTo(release).String() + where, release})
		}
	}
	return found
}

// onInstallation is added to the evidence that was found on the installation, for a cluster that is not its own.
func onInstallation(cluster clustermanager.Cluster) string {
	if cluster.Own {
		return ""
	}
	return " on the installation"
}

// condition is a status condition. The zero condition is one that is not there.
type condition struct {
	status, reason, message string
	since                   *time.Time
}

// truth is the condition's status; nil: it is Unknown, or the condition is not there.
func (c condition) truth() *bool {
	switch metav1.ConditionStatus(c.status) {
	case metav1.ConditionTrue:
		return new(true)
	case metav1.ConditionFalse:
		return new(false)
	}
	return nil
}

func (c condition) isTrue() bool { return c.status == string(metav1.ConditionTrue) }

// conditionOf is the condition of a type among those of an object's status.
func conditionOf(object *unstructured.Unstructured, kind string) condition {
	return conditionIn(mapsAt(object.Object, "status", "conditions"), kind)
}

func conditionIn(conditions []map[string]any, kind string) condition {
	for _, found := range conditions {
		if textAt(found, "type") == kind {
			return condition{
				status: textAt(found, "status"), reason: textAt(found, "reason"),
				message: clustermanager.OneLine(textAt(found, "message"), 0), since: timeAt(found, "lastTransitionTime"),
			}
		}
	}
	return condition{}
}

// timeAt is the time at a path of an object; nil when there is none.
func timeAt(object map[string]any, path ...string) *time.Time {
	found, err := time.Parse(time.RFC3339, textAt(object, path...))
	if err != nil {
		return nil
	}
	return new(found.UTC())
}

// list is a Reading of objects that were listed.
type list = clustermanager.Reading[[]unstructured.Unstructured]
