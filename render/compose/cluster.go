package compose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// NewCluster is a composed cluster: what to do, where it goes in git, and what an answer tells about it.
type NewCluster struct {
	Plan clustermanager.Plan
	// Target is the survey's, with the Flux Kustomization of the cluster in its Placement.
	Target clustermanager.Reading[clustermanager.Target]
	// Release is what the cluster is made of; its name is "" where the installation no longer has the Release.
	Release clustermanager.Release
	// ReleaseNote names a newer release that was not taken.
	ReleaseNote string
	OIDC        clustermanager.ClusterOIDC
	RBAC        clustermanager.ClusterRBAC
	// Shown are the objects that answers show masked, since credentials stand in them.
	Shown map[clustermanager.ObjectReference]map[string]any `json:"-"`
}

// clusterDecision is a new cluster on its way through the guards, which fill in what they establish.
type clusterDecision struct {
	request clustermanager.CreateClusterRequest
	survey  clustermanager.NewClusterSurvey

	release     clustermanager.Release
	releaseNote string
	chart       clustermanager.ReleaseChart
	// installation are the installation's values, values the cluster's own.
	installation, values map[string]any
	oidc                 clustermanager.ClusterOIDC
	rbac                 clustermanager.ClusterRBAC
	warnings             []string
}

// Cluster composes the cluster that the request asks for. An error is a *clustermanager.Refusal; where several rules
// are broken the first of the order below is told. The request's values are not changed.
func Cluster(request clustermanager.CreateClusterRequest, survey clustermanager.NewClusterSurvey) (NewCluster, error) {
	if err := CheckCluster(request); err != nil {
		return NewCluster{}, err
	}
	d := clusterDecision{request: request.WithDefaults(), survey: survey}
	for _, establish := range []func() error{
		d.checkNameFree, d.readInstallationValues, d.chooseRelease, d.checkTenant, d.checkPublished, d.readChart,
		d.composeValues, d.checkCredentials, d.composeOIDC, d.composeRBAC, d.checkSchema,
	} {
		if err := establish(); err != nil {
			return NewCluster{}, err
		}
	}
	steps, err := d.steps(d.values)
	if err == nil {
		err = d.guardOwnership(steps)
	}
	if err != nil {
		return NewCluster{}, err
	}
	shown, err := d.shown()
	if err != nil {
		return NewCluster{}, err
	}
	return NewCluster{
		Shown: shown, Plan: clustermanager.Plan{Steps: steps, Warnings: d.warnings},
		Target: d.target(), Release: d.release, ReleaseNote: d.releaseNote, OIDC: d.oidc, RBAC: d.rbac,
	}, nil
}

var (
	clusterName      = regexp.MustCompile(clustermanager.ClusterNamePattern)
	organizationName = regexp.MustCompile(clustermanager.OrganizationPattern)
)

// CheckCluster refuses what needs no read: the mode, then name, organization and provider.
func CheckCluster(request clustermanager.CreateClusterRequest) error {
	request = request.WithDefaults()
	if err := checkClusterName(request.Mode, request.Organization, request.Name); err != nil {
		return err
	}
	if providers := clustermanager.ClusterProviders(); !slices.Contains(providers, request.Provider) {
		return clustermanager.Refuse("provider %q is not offered: use one of %s", request.Provider, strings.Join(providers, ", "))
	}
	return nil
}

func checkClusterName(mode clustermanager.Mode, organization, name string) error {
	switch {
	case mode != clustermanager.ModeApply && mode != clustermanager.ModeCommit:
		return clustermanager.Refuse("mode %q does not exist: use %s, which opens a pull request", mode, clustermanager.ModeCommit)
	case !clusterName.MatchString(name):
		return clustermanager.Refuse("cluster name %q is not allowed: use at most 20 lower-case letters, digits and dashes, starting with a letter and not ending with a dash", name)
	case !organizationName.MatchString(organization):
		return clustermanager.Refuse("organization %q is not allowed: use its name, at most 59 lower-case letters, digits and dashes, whose namespace is org-<organization>", organization)
	}
	return nil
}

// named is the cluster as errors name it.
func (d *clusterDecision) named() string { return clusterNamed(d.survey.Cluster) }

func clusterNamed(cluster clustermanager.Cluster) string {
	return "cluster " + clustermanager.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}.String()
}

// checkNameFree keeps names unique on the installation; a cluster that we made is brought along.
func (d *clusterDecision) checkNameFree() error {
	found, known := d.survey.SameName.Get()
	if !known {
		return clustermanager.Refuse("%s: whether the name is in use could not be read: %s; see to that, then call again", d.named(), d.survey.SameName.Reason())
	}
	for _, cluster := range found {
		same := cluster.Namespace == d.survey.Cluster.Namespace
		switch {
		case same && cluster.Deleting:
			return clustermanager.Refuse("%s: it is being deleted: choose another name, or call again once it is gone", d.named())
		case same && d.survey.ReRun():
		default:
			return clustermanager.Refuse("%s: the name is in use, by Cluster %s/%s: choose another name", d.named(), cluster.Namespace, cluster.Name)
		}
	}
	if len(d.survey.UnreadNamespaces) > 0 {
		d.warnings = append(d.warnings, fmt.Sprintf("%s: whether a cluster of that name exists in %s was not checked: you may not read clusters there",
			d.named(), strings.Join(d.survey.UnreadNamespaces, ", ")))
	}
	return nil
}

func (d *clusterDecision) readInstallationValues() error {
	values, known := d.survey.InstallationValues.Get()
	if known {
		d.installation = values.Reveal()
		return nil
	}
	err := d.survey.InstallationValues.Err()
	where := fmt.Sprintf("ConfigMap %s/%s", d.survey.Cluster.Namespace, clustermanager.InstallationValues)
	if clustermanager.ReasonOf(err) == clustermanager.ReasonNotFound {
		return clustermanager.Refuse("%s: organization %s has no values of the installation (%s), so nothing can be created there yet: name an organization that has them, or wait until the installation has written them",
			d.named(), d.survey.Cluster.Organization, where)
	}
	return clustermanager.Refuse("%s: the installation's values (%s) could not be read: %s; see to that, then call again", d.named(), where, err)
}

// checkTenant wants the tenant ServiceAccount bound before anything is installed as it. In mode commit nothing runs
// before a merge, so it is not asked for.
func (d *clusterDecision) checkTenant() error {
	if d.request.Mode != clustermanager.ModeApply || d.survey.Settings.TenantServiceAccount == "" {
		return nil
	}
	bound, known := d.survey.TenantBound.Get()
	where := fmt.Sprintf("RoleBinding %s/%s", d.survey.Cluster.Namespace, clustermanager.TenantBinding)
	switch {
	case !known:
		return clustermanager.Refuse("%s: whether ServiceAccount %s may install there could not be read (%s): %s; see to that, then call again",
			d.named(), d.survey.Settings.TenantServiceAccount, where, d.survey.TenantBound.Reason())
	case !bound:
		return clustermanager.Refuse("%s: ServiceAccount %s is not bound in the organization's namespace yet (%s); that follows a new organization within minutes: call again then",
			d.named(), d.survey.Settings.TenantServiceAccount, where)
	}
	return nil
}

// releaseName names the chosen release, also where the installation has no Release of it any more.
func (d *clusterDecision) releaseName() string {
	return cmp.Or(d.release.Name, d.request.Provider+"-"+d.release.Version)
}

// chartName names the release chart at the chosen version as errors do.
func (d *clusterDecision) chartName() string {
	return catalog.ReleaseChartURL(d.request.Provider) + ":" + d.release.Version
}

func (d *clusterDecision) checkPublished() error {
	tags, known := d.survey.Tags.Get()
	switch {
	case !known:
		return clustermanager.Refuse("%s: whether release %s is published could not be read from the registry (%s): %s; see to that, then call again",
			d.named(), d.releaseName(), d.chartName(), d.survey.Tags.Reason())
	case !slices.Contains(tags, d.release.Version):
		return clustermanager.Refuse("%s: release %s is not published, the registry has no %s: name another release that list_releases offers, or call again once it is published",
			d.named(), d.releaseName(), d.chartName())
	}
	return nil
}

func (d *clusterDecision) readChart() error {
	chart, known := d.survey.Chart.Get()
	if !known {
		return clustermanager.Refuse("%s: the release chart %s could not be read, and the values are checked against it: %s; see to that, then call again",
			d.named(), d.chartName(), d.survey.Chart.Reason())
	}
	d.chart = chart
	return nil
}
