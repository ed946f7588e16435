package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
)

// gamma is an organization with what a new cluster needs.
const gamma = `
apiVersion: security.giantswarm.io/v1alpha1
kind: Organization
metadata: {name: gamma, labels: {kustomize.toolkit.fluxcd.io/name: mc, kustomize.toolkit.fluxcd.io/namespace: flux}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: mc, namespace: flux}
spec:
  interval: 1m
  path: ./mc
  prune: true
  sourceRef: {kind: GitRepository, name: fleet}
status: {inventory: {entries: [{id: _gamma_security.giantswarm.io_Organization, v: v1alpha1}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-app-installation-values, namespace: org-gamma}
data: {values.yaml: "global: {connectivity: {baseDomain: gamma.example.io}}"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: write-all-customer-sa, namespace: org-gamma}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: write-all-customer}
subjects: [{kind: ServiceAccount, name: automation, namespace: org-gamma}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: admins, namespace: org-gamma}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects:
- {kind: Group, name: "customer:gamma:Admins"}
- {kind: User, name: zoe@gamma.example}
- {kind: ServiceAccount, name: automation, namespace: org-gamma}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: more-admins, namespace: org-gamma}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: User, name: amy@gamma.example}, {kind: Group, name: "customer:gamma:Admins"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: a-role, namespace: org-gamma}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: cluster-admin}
subjects: [{kind: User, name: not-cluster-wide}]
---
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-36.0.0}
spec:
  state: active
  date: "2026-10-26T00:00:00Z"
  components: [{name: cluster-aws, version: v8.0.0}, {name: kubernetes, version: v1.36.1}]
---
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: cloud-director-35.0.0-rc.1}
spec: {state: active, components: []}
---
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: no-version}
spec: {state: active, components: []}
`

// dev01Objects are a cluster of gamma that was created in mode commit.
const dev01Objects = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: dev01, namespace: org-gamma, uid: "1", labels: {release.giantswarm.io/version: 36.0.0}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: dev01-blue, namespace: org-gamma, uid: "2"}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: dev01
  namespace: org-gamma
  generation: 3
  finalizers: [finalizers.fluxcd.io]
  annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}
  labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: release-aws, giantswarm.io/cluster: dev01, giantswarm.io/organization: gamma, kustomize.toolkit.fluxcd.io/name: gazelle-clusters-dev01, kustomize.toolkit.fluxcd.io/namespace: flux}
spec: {interval: 10m}
status: {observedGeneration: 2}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: dev01-gpu-l4, namespace: org-gamma, labels: {app.kubernetes.io/managed-by: cluster-manager, giantswarm.io/cluster: dev01}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: dev01, namespace: org-gamma, labels: {app.kubernetes.io/managed-by: cluster-manager, giantswarm.io/cluster: dev01}}
spec: {ref: {tag: 36.0.0}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: dev01-values, namespace: org-gamma, labels: {app.kubernetes.io/managed-by: cluster-manager}}
data: {values.yaml: "global: {metadata: {name: dev01}}"}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: gazelle-clusters-dev01, namespace: flux, labels: {kustomize.toolkit.fluxcd.io/name: mc, kustomize.toolkit.fluxcd.io/namespace: flux}}
spec: {path: ./mc/organizations/gamma/workload-clusters/dev01, prune: true, deletionPolicy: Orphan}
status: {inventory: {entries: [{id: org-gamma_dev01_helm.toolkit.fluxcd.io_HelmRelease, v: v2}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: model-backend-kserve-dev01, namespace: agent-platform, labels: {app.kubernetes.io/managed-by: cluster-manager, agent-platform.giantswarm.io/model-backend: "true", giantswarm.io/cluster: dev01}}
data:
  backend.yaml: |
    kind: ModelBackend
    metadata: {name: kserve-dev01}
    spec: {kserve: {target: {organization: gamma}}}
`

// registry is a registry in memory; asked are the charts that were read.
type registry struct {
	tags  map[string][]string
	asked *[]string
}

func (r registry) Slice(context.Context, string, string, bool) (clustermanager.SliceCharts, error) {
	return clustermanager.SliceCharts{}, errors.New("not read here")
}

func (r registry) Tags(_ context.Context, provider string) ([]string, error) {
	if tags, found := r.tags[provider]; found {
		return tags, nil
	}
	return nil, fmt.Errorf("chart release-%s: listing its tags: no such chart", provider)
}

func (r registry) Release(_ context.Context, provider, version string) (clustermanager.ReleaseChart, error) {
	*r.asked = append(*r.asked, provider+" "+version)
	return clustermanager.ReleaseChart{URL: "oci://registry.example/release-" + provider, Version: version}, nil
}

func inGamma(more ...string) clustermanager.CreateClusterRequest {
	request := clustermanager.CreateClusterRequest{Organization: "gamma", Name: "dev01", Provider: "aws"}
	if len(more) > 0 {
		request.Release = more[0]
	}
	return request
}

// TestNewClusterGolden reads a free name and one that is taken.
func TestNewClusterGolden(t *testing.T) {
	for name, documents := range map[string]string{"newcluster": gamma, "newcluster-rerun": gamma + "---" + dev01Objects} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			reader := snapshot(t).add(documents).readerWith(t, nil, registry{map[string][]string{"aws": {"36.0.0"}}, &asked})
			made, err := reader.NewCluster(t.Context(), inGamma(), "jane@acme.example")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "testdata/"+name+".json", made, &clustermanager.NewClusterSurvey{})
			if diff := cmp.Diff([]string{"aws 36.0.0"}, asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRemoveClusterGolden(t *testing.T) {
	over := &wire{}
	made, err := snapshot(t).add(gamma+"---"+dev01Objects).reader(t, over).RemoveCluster(t.Context(), clustermanager.DeleteClusterRequest{Organization: "gamma", Name: "dev01"})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/removecluster.json", made, &clustermanager.RemoveClusterSurvey{})
	asked := slices.Sorted(slices.Values(over.requested()))
	if diff := cmp.Diff(slices.Compact(slices.Clone(asked)), asked); diff != "" {
		t.Errorf("asked for twice: %s", diff)
	}
	for _, request := range asked {
		if strings.Contains(request, "secrets") && !strings.HasSuffix(request, "/secrets/dev01-kubeconfig") || !strings.HasPrefix(request, "GET ") {
			t.Errorf("%s", request)
		}
	}
}

// golden compares a survey with its file, and wants the file to be read back as the same.
func golden(t *testing.T, file string, made, back any) {
	t.Helper()
	got, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal(got, back); err != nil {
		t.Fatal(err)
	}
	again, err := json.MarshalIndent(back, "", "  ")
	if diff := cmp.Diff(string(got), string(again)+"\n"); diff != "" || err != nil {
		t.Errorf("read back: %s %v", diff, err)
	}
}

// What could not be read is unknown with its reason, and nothing else is.
func TestFailedReadsOfANewCluster(t *testing.T) {
	over := &wire{fail: []string{"/releases$", "/rolebindings", "/organizations/gamma", "/helmreleases/dev01", "/configmaps/", "/ocirepositories/", "/clusters?"}}
	made, err := snapshot(t).add(gamma).reader(t, over).NewCluster(t.Context(), inGamma(), "")
	if err != nil {
		t.Fatal(err)
	}
	for name, reason := range map[string]string{
		"releases": made.Releases.Reason(), "tenant": made.TenantBound.Reason(), "admins": made.Admins.Reason(), "target": made.Target.Reason(),
		"live": made.Live["org-gamma_dev01_helm.toolkit.fluxcd.io_HelmRelease"].Reason(), "values": made.OwnValues.Reason(),
		"installation": made.InstallationValues.Reason(), "tag": made.Tag.Reason(), "same name": made.SameName.Reason(),
	} {
		if !strings.Contains(reason, "reading: internalerror by the test") {
			t.Errorf("%s: %q", name, reason)
		}
	}
	if made.Tags.Reason() != "no registry is read here" || made.Chart.Reason() != "no registry is read here" {
		t.Errorf("%q %q", made.Tags.Reason(), made.Chart.Reason())
	}
	request := clustermanager.DeleteClusterRequest{Organization: "gamma", Name: "dev01"}
	over = &wire{fail: []string{"/helmreleases/dev01", "/clusters/dev01", "/clusters$", "labelSelector", "/ocirepositories/dev01", "/configmaps/dev01"}}
	removal, err := snapshot(t).add(gamma+"---"+dev01Objects).reader(t, over).RemoveCluster(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	for name, reason := range map[string]string{
		"running": removal.Running.Reason(), "release": removal.Release.Reason(), "source": removal.Source.Reason(), "values": removal.Values.Reason(),
		"labelled": removal.Labelled.Reason(), "neighbours": removal.Neighbours.Reason(), "backends": removal.Backends.Reason(), "Kustomization": removal.Kustomization.Reason(),
	} {
		if !strings.Contains(reason, "reading: internalerror by the test") {
			t.Errorf("%s: %q", name, reason)
		}
	}
	if removal.Models.Reason() != "Secret org-gamma/dev01-kubeconfig: reading: it does not exist" {
		t.Errorf("%q", removal.Models.Reason())
	}
}

// Who may not list clusters everywhere learns which namespaces were not looked at.
func TestTheNameWhereClustersMayNotBeListed(t *testing.T) {
	over := &wire{forbid: []string{"/v1beta1/clusters?", "/org-beta/clusters/"}}
	made, err := snapshot(t).add(gamma+"---"+dev01Objects).reader(t, over).NewCluster(t.Context(), inGamma(), "")
	if err != nil {
		t.Fatal(err)
	}
	found, known := made.SameName.Get()
	if !known || len(found) != 1 || found[0].Namespace != "org-gamma" || !slices.Equal(made.UnreadNamespaces, []string{"org-beta"}) {
		t.Errorf("%v %v", found, made.UnreadNamespaces)
	}
}

// Where an organization's clusters go in git, and each no on the way.
func TestOrganizationTarget(t *testing.T) {
	dev01 := clustermanager.Cluster{Namespace: "org-gamma", Name: "dev01", Organization: "gamma"}
	target, err := snapshot(t).add(gamma).reader(t, nil).OrganizationTarget(t.Context(), dev01)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&clustermanager.Placement{
		Directory: "mc/organizations/gamma/workload-clusters/dev01", Required: "mc/organizations/gamma",
		Name: clustermanager.NamespacedName{Namespace: "flux", Name: "gazelle-clusters-dev01"},
	}, target.Placement); diff != "" {
		t.Error(diff)
	}
	for _, test := range []struct {
		files files
		over  *wire
		want  string
	}{
		{snapshot(t), nil, "Organization gamma: it does not exist: create the organization first"},
		{snapshot(t).add(strings.Replace(gamma, "labels: {kustomize.toolkit.fluxcd.io/name: mc, kustomize.toolkit.fluxcd.io/namespace: flux}", "labels: {}", 1)), nil, "Organization gamma: no Kustomization reconciles it"},
		{snapshot(t).add(gamma), &wire{forbid: []string{"/organizations/gamma"}}, "Organization gamma: you may not read it"},
		{snapshot(t).add(gamma), &wire{forbid: []string{"/kustomizations/mc"}}, "Kustomization flux/mc: you may not read it"},
		{snapshot(t).add(strings.Replace(gamma, "kind: GitRepository", "kind: OCIRepository", 1)), nil, `Kustomization flux/mc: its source is of kind "OCIRepository"`},
		{fluxFile(t, "{branch: main}", "{tag: v1}").add(gamma), nil, "GitRepository flux/fleet: it follows the tag v1"},
		{fluxFile(t, "{branch: main}", "{branch: main}\n  sparseCheckout: [clusters]").add(gamma), nil, "leaves out mc/organizations/gamma/workload-clusters/dev01"},
	} {
		_, err := test.files.reader(t, test.over).OrganizationTarget(t.Context(), dev01)
		if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want a refusal with %q", err, test.want)
		}
	}
}

func TestReleases(t *testing.T) {
	made, err := snapshot(t).add(gamma).readerWith(t, nil, registry{map[string][]string{"aws": {"36.0.0"}}, nil}).Releases(t.Context())
	if err != nil || !made.Served {
		t.Fatal(made, err)
	}
	names := map[string]clustermanager.Release{}
	for _, release := range made.Releases {
		names[release.Provider+" "+release.Version] = release
	}
	if diff := cmp.Diff(clustermanager.Release{
		Name: "aws-36.0.0", Provider: "aws", Version: "36.0.0", State: "active", Date: "2026-10-26T00:00:00Z", Kubernetes: "1.36.1", ClusterChart: "8.0.0",
	}, names["aws 36.0.0"]); diff != "" {
		t.Error(diff)
	}
	if _, split := names["cloud-director 35.0.0-rc.1"]; !split || len(names) != 5 {
		t.Errorf("%v", names)
	}
	if made.Tags["azure"].Reason() == "" || !slices.Equal(made.Tags["aws"].Or(nil), []string{"36.0.0"}) {
		t.Errorf("%v", made.Tags)
	}
	made, err = snapshot(t).readerWith(t, &wire{forbid: []string{"/releases$"}}, registry{map[string][]string{"aws": {"36.0.0"}}, nil}).Releases(t.Context())
	if err != nil || made.Unread != "every Release: reading: forbidden by the test" || len(made.Tags) != 3 || !slices.Equal(made.Tags["aws"].Or(nil), []string{"36.0.0"}) {
		t.Errorf("%+v, %v", made, err)
	}
	_, err = snapshot(t).reader(t, &wire{fail: []string{"/releases$"}}).Releases(t.Context())
	if err == nil || !strings.Contains(err.Error(), "every Release: reading: ") {
		t.Errorf("%v", err)
	}
	unserved := snapshot(t)
	delete(unserved, "management/cluster-scoped.yaml")
	if made, err := unserved.reader(t, nil).Releases(t.Context()); err != nil || made.Served {
		t.Errorf("%+v %v", made, err)
	}
}

func TestNewClusterWithoutClusterAPI(t *testing.T) {
	reader := files{"cluster-manager.yaml": snapshot(t)["cluster-manager.yaml"], "management/a.yaml": gamma}.reader(t, nil)
	var absent *survey.ClusterAPIAbsent
	if _, err := reader.NewCluster(t.Context(), inGamma(), ""); !errors.As(err, &absent) {
		t.Errorf("%v", err)
	}
	if _, err := reader.RemoveCluster(t.Context(), clustermanager.DeleteClusterRequest{Organization: "gamma", Name: "dev01"}); !errors.As(err, &absent) {
		t.Errorf("%v", err)
	}
}
