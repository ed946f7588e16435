package clustermanager

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Rules of create_cluster's and delete_cluster's arguments.
const (
	// ClusterNamePattern is what a cluster may be called: 1 to 20 characters.
	ClusterNamePattern = `^[a-z]([-a-z0-9]{0,18}[a-z0-9])?$`
	// OrganizationPattern is what an organization may be called: org-<organization> is a namespace.
	OrganizationPattern = `^[a-z0-9]([-a-z0-9]{0,57}[a-z0-9])?$`
	// OrganizationPrefix stands before an organization's name in that of its namespace.
	OrganizationPrefix = "org-"
	// ReleaseChartPrefix stands before the provider in the name of a release chart, ClusterChartPrefix in that of the
	// cluster chart that a Release pins.
	ReleaseChartPrefix = "release-"
	ClusterChartPrefix = "cluster-"
	// InstallationValues is the ConfigMap of an organization's namespace with the installation's values, ValuesKey the
	// key of the values in it and in a cluster's own ConfigMap.
	InstallationValues = "cluster-app-installation-values"
	ValuesKey          = "values.yaml"
	// TenantBinding is the RoleBinding that lets the tenant ServiceAccount install into an organization's namespace.
	TenantBinding = "write-all-customer-sa"
	// ClusterAdmin is the ClusterRole that a cluster's creator and its organization's admins get.
	ClusterAdmin = "cluster-admin"
	// ReleaseActive is the state of a Release that clusters are created of.
	ReleaseActive = "active"
)

// KustomizationAPI is the version of Flux's Kustomization that the product reads and composes.
var KustomizationAPI = schema.GroupVersion{Group: "kustomize.toolkit.fluxcd.io", Version: "v1"}

// ClusterProviders are the provider lines that a cluster can be created of, sorted.
func ClusterProviders() []string { return []string{"aws", "azure", "eks"} }

// CreateClusterRequest are the arguments of create_cluster.
type CreateClusterRequest struct {
	Organization string `json:"organization" jsonschema:"organization of the cluster; its namespace is org-<organization>"`
	Name         string `json:"name" jsonschema:"name of the cluster: at most 20 lower-case letters, digits and dashes, starting with a letter, not ending with a dash"`
	Provider     string `json:"provider" jsonschema:"provider line"`
	Release      string `json:"release,omitempty" jsonschema:"version of an active release; none: the newest active one, or on a re-run the cluster's own"`
	Identity     string `json:"identity,omitempty" jsonschema:"cloud identity of the cluster; none: the chart's default"`
	Description  string `json:"description,omitempty" jsonschema:"description of the cluster"`
	Values       Values `json:"values,omitzero" jsonschema:"Helm values of the cluster, which stand in a ConfigMap: no credentials"`
	Mode         Mode   `json:"mode,omitempty" jsonschema:"apply: on the installation; commit: a pull request in the repository that owns the organization"`
	DryRun       bool   `json:"dryRun,omitempty" jsonschema:"show it and write nothing"`
}

// WithDefaults fills what was not given, and takes a leading v off the release.
func (r CreateClusterRequest) WithDefaults() CreateClusterRequest {
	r.Release = strings.TrimPrefix(r.Release, "v")
	if r.Mode == "" {
		r.Mode = ModeApply
	}
	return r
}

// Release is a Release of the installation.
type Release struct {
	// Name is <provider>-<version>.
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Version  string `json:"version"`
	// State is spec.state, such as active, deprecated, preview or wip; "" when it is missing.
	State string `json:"state"`
	// Date is spec.date as it stands.
	Date string `json:"date,omitempty"`
	// Kubernetes is the version of the component kubernetes, ClusterChart that of cluster-<provider>, both without a
	// leading v; "" when the Release has no such component.
	Kubernetes   string `json:"kubernetes,omitempty"`
	ClusterChart string `json:"clusterChart,omitempty"`
	// Fault says which of its fields could not be read; "": none.
	Fault string `json:"fault,omitempty"`
}

// NewestActive is the newest active release of a provider line.
func NewestActive(releases []Release, provider string) (Release, bool) {
	active := slices.DeleteFunc(slices.Clone(releases), func(release Release) bool {
		return release.Provider != provider || release.State != ReleaseActive
	})
	if len(active) == 0 {
		return Release{}, false
	}
	return slices.MaxFunc(active, func(a, b Release) int { return CompareVersions(a.Version, b.Version) }), true
}

// CompareVersions compares two versions; what is no version is below every one.
func CompareVersions(a, b string) int {
	left, leftErr := semver.NewVersion(a)
	right, rightErr := semver.NewVersion(b)
	switch {
	case leftErr != nil && rightErr != nil:
		return strings.Compare(a, b)
	case leftErr != nil:
		return -1
	case rightErr != nil:
		return 1
	}
	return left.Compare(right)
}

// ReleasesSurvey is what list_releases is decided from.
type ReleasesSurvey struct {
	// Served says whether the installation serves the kind Release.
	Served bool `json:"served"`
	// Unread says why the caller may not list the releases; "": they may. Tags are then those of the lines that clusters
	// are made of.
	Unread string `json:"unread,omitempty"`
	// Releases are those of the installation whose names have a provider and a version, in no order.
	Releases []Release `json:"releases"`
	// Tags are the tags of each provider line's release chart.
	Tags map[string]Reading[[]string] `json:"tags"`
}

// NewClusterSurvey is what was observed for a new cluster, as a [Survey] is of a cluster that exists.
type NewClusterSurvey struct {
	// Now is the time of the call.
	Now time.Time `json:"now"`
	// Settings are the server's settings.
	Settings Settings `json:"settings"`
	// Creator is the caller's e-mail; "" when the sign-in carries none.
	Creator string `json:"creator,omitempty"`
	// Cluster names the cluster: namespace, name and organization.
	Cluster Cluster `json:"cluster"`
	// SameName are the clusters of that name in every namespace that could be read; UnreadNamespaces are the others.
	SameName         Reading[[]Cluster] `json:"sameName"`
	UnreadNamespaces []string           `json:"unreadNamespaces,omitempty"`
	// Live are the objects under the names that the call would write, as in [Survey.Live].
	Live map[string]Reading[*LiveObject] `json:"live"`
	// Tag is the release tag that the cluster's source follows; "": there is no source, or it follows no tag.
	Tag Reading[string] `json:"tag"`
	// OwnValues are the values of the cluster's own ConfigMap; none: there is no such ConfigMap.
	OwnValues Reading[Values] `json:"ownValues"`
	// InstallationValues are the installation's values for the organization. Unknown with a *NotFound: there are none.
	InstallationValues Reading[Values] `json:"installationValues"`
	// Releases are those of the installation, in no order.
	Releases Reading[[]Release] `json:"releases"`
	// Tags are the tags of the provider's release chart, Chart is that chart at the version that the call means.
	Tags  Reading[[]string]     `json:"tags"`
	Chart Reading[ReleaseChart] `json:"chart"`
	// TenantBound says whether the tenant ServiceAccount is bound in the organization's namespace.
	TenantBound Reading[bool] `json:"tenantBound"`
	// Admins are whom RoleBindings of the organization's namespace bind to the ClusterRole cluster-admin.
	Admins Reading[Admins] `json:"admins"`
	// Target is where in git the organization's clusters are listed, with its Placement's directory set.
	Target Reading[Target] `json:"target"`
}

// ReRun says whether the cluster's release stands and is ours: the call changes a cluster that it made.
func (s NewClusterSurvey) ReRun() bool {
	live, _ := s.Live[LiveKey(ClusterRelease(s.Cluster).Release)].Get()
	return live != nil && live.Labels[LabelManagedBy] == ManagedBy
}

// MeantRelease is the version that a request means: the one it names, else that of the cluster which it re-runs, else
// the newest active one; "": there is none.
func (s NewClusterSurvey) MeantRelease(request CreateClusterRequest) string {
	if request.Release != "" {
		return request.Release
	}
	if tag := s.Tag.Or(""); tag != "" && s.ReRun() {
		return tag
	}
	newest, _ := NewestActive(s.Releases.Or(nil), request.Provider)
	return newest.Version
}

// ClusterObjects are the objects that a cluster is made of.
type ClusterObjects struct {
	// Source is where the release chart comes from, Values the ConfigMap with the cluster's values, Release the chart's
	// release. Source and Release have the cluster's name.
	Source, Values, Release ObjectReference
}

// ClusterRelease names the objects of a cluster.
func ClusterRelease(cluster Cluster) ClusterObjects {
	return ClusterObjects{
		Source:  ObjectReference{APIVersion: SourceAPI.String(), Kind: "OCIRepository", Namespace: cluster.Namespace, Name: cluster.Name},
		Values:  ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: cluster.Namespace, Name: ReleaseName(cluster, "values")},
		Release: ObjectReference{APIVersion: HelmAPI.String(), Kind: "HelmRelease", Namespace: cluster.Namespace, Name: cluster.Name},
	}
}

// References are the objects in the order in which they are composed.
func (o ClusterObjects) References() []ObjectReference {
	return []ObjectReference{o.Source, o.Values, o.Release}
}

// ClusterKustomization names the Flux Kustomization of a cluster that was created in mode commit:
// <installation>-clusters-<cluster>, without the first part where the installation has no name.
func ClusterKustomization(installation, cluster string) string {
	name := "clusters-" + cluster
	if installation != "" {
		name = installation + "-" + name
	}
	return name
}

// OrganizationDirectory is where an organization's files are below the root of a tree in the layout of gitops-template.
func OrganizationDirectory(root, organization string) string {
	return path.Join(root, "organizations", organization)
}

// ClusterDirectory is where the files of an organization's cluster are.
func ClusterDirectory(root string, cluster Cluster) string {
	return path.Join(OrganizationDirectory(root, cluster.Organization), "workload-clusters", cluster.Name)
}
