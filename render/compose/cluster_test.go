package compose

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// releases are those of the cases: one line with every state, one whose newest is not published, one that is not offered.
var releases = []clustermanager.Release{
	{Name: "aws-35.1.1", Provider: "aws", Version: "35.1.1", State: "active", Kubernetes: "1.35.4", ClusterChart: "7.2.1"},
	{Name: "aws-37.0.0", Provider: "aws", Version: "37.0.0", State: "preview", Kubernetes: "1.37.0", ClusterChart: "9.0.0"},
	{Name: "aws-34.0.0", Provider: "aws", Version: "34.0.0", State: "deprecated", Kubernetes: "1.34.2", ClusterChart: "6.4.0"},
	{Name: "aws-36.0.0", Provider: "aws", Version: "36.0.0", State: "active", Kubernetes: "1.36.1", ClusterChart: "8.0.0"},
	{Name: "aws-33.0.0", Provider: "aws", Version: "33.0.0", Kubernetes: "1.33.1", ClusterChart: "5.0.0"},
	{Name: "aws-32.0.0", Provider: "aws", Version: "32.0.0", State: "active", Kubernetes: "1.32.1"},
	{Name: "azure-35.0.0", Provider: "azure", Version: "35.0.0", State: "active", ClusterChart: "4.0.0"},
	{Name: "azure-36.0.0", Provider: "azure", Version: "36.0.0", State: "active", ClusterChart: "5.0.0"},
	{Name: "eks-34.0.1", Provider: "eks", Version: "34.0.1", State: "active", Kubernetes: "1.34.3", ClusterChart: "2.3.0"},
	{Name: "vsphere-36.0.0", Provider: "vsphere", Version: "36.0.0", State: "active", ClusterChart: "4.0.0"},
}

// newCluster is the request of the listings.
func newCluster(provider, release string) clustermanager.CreateClusterRequest {
	return clustermanager.CreateClusterRequest{
		Organization: "acme", Name: "dev01", Provider: provider, Release: release,
		Identity: "acme-dev", Description: "Acme's development cluster", Mode: clustermanager.ModeCommit,
		Values: clustermanager.NewValues(object{"global": object{"controlPlane": object{"instanceType": "m6i.xlarge"}}}),
	}
}

// fixtureChart is the release chart of the fixtures.
func fixtureChart(t testing.TB) clustermanager.ReleaseChart {
	t.Helper()
	folder := filepath.Join("..", "..", "fixtures", "charts", "release-aws-36.0.0")
	chart := clustermanager.ReleaseChart{URL: "oci://gsoci.azurecr.io/charts/giantswarm/release-aws", Version: "36.0.0"}
	values, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err == nil {
		err = yaml.Unmarshal(values, &chart.Values)
	}
	var schema, bindings []byte
	if err == nil {
		schema, err = os.ReadFile(filepath.Join(folder, "values.schema.json"))
	}
	if err == nil {
		bindings, err = os.ReadFile(filepath.Join(folder, "charts", "cluster", "files", "helmreleases", "rbac-bootstrap.yaml"))
	}
	if err != nil {
		t.Fatal(err)
	}
	chart.Schema, chart.RBACBootstrap = schema, new(string(bindings))
	return chart
}

// freeName is a survey of an installation where nothing is called dev01.
func freeName(t testing.TB) clustermanager.NewClusterSurvey {
	t.Helper()
	cluster := clustermanager.Cluster{Namespace: "org-acme", Name: "dev01", Organization: "acme"}
	survey := clustermanager.NewClusterSurvey{
		Now: time.Date(2026, 9, 20, 9, 0, 0, 0, time.UTC), Cluster: cluster, Creator: "jane@acme.example",
		Settings: clustermanager.Settings{Installation: "gazelle", TenantServiceAccount: "automation"},
		SameName: clustermanager.Known([]clustermanager.Cluster{}), Live: map[string]clustermanager.Reading[*clustermanager.LiveObject]{},
		Tag: clustermanager.Known(""), OwnValues: clustermanager.Known(clustermanager.Values{}),
		InstallationValues: clustermanager.Known(clustermanager.NewValues(object{"global": object{"connectivity": object{"baseDomain": "acme.example.io"}}})),
		Releases:           clustermanager.Known(releases),
		Tags:               clustermanager.Known([]string{"34.0.0", "35.1.1", "36.0.0", "37.0.0", "34.0.1"}),
		Chart:              clustermanager.Known(fixtureChart(t)),
		TenantBound:        clustermanager.Known(true),
		Admins:             clustermanager.Known(clustermanager.Admins{Users: []string{"ann@acme.example"}, Groups: []string{"customer:acme:Admins"}}),
		Target: clustermanager.Known(clustermanager.Target{
			Kustomization: clustermanager.NamespacedName{Namespace: "default", Name: "flux"}, Path: "management-clusters/mc1",
			Spec: object{
				"interval": "1m", "timeout": "2m", "serviceAccountName": "automation", "path": "./management-clusters/mc1",
				"sourceRef":  object{"kind": "GitRepository", "name": "fleet"},
				"decryption": object{"provider": "sops", "secretRef": object{"name": "sops-gpg-master"}},
				"postBuild":  object{"substitute": object{"a": "b"}},
			},
			Placement: &clustermanager.Placement{
				Directory: "management-clusters/mc1/organizations/acme/workload-clusters/dev01",
				Name:      clustermanager.NamespacedName{Namespace: "default", Name: "mc1-clusters-dev01"},
			},
		}),
	}
	for _, reference := range clustermanager.ClusterRelease(cluster).References() {
		survey.Live[clustermanager.LiveKey(reference)] = clustermanager.Known[*clustermanager.LiveObject](nil)
	}
	return survey
}

// made is the survey after the cluster was created in mode apply with the release.
func made(t testing.TB, release string) clustermanager.NewClusterSurvey {
	survey := freeName(t)
	survey.SameName = clustermanager.Known([]clustermanager.Cluster{survey.Cluster})
	survey.Tag = clustermanager.Known(release)
	for _, reference := range clustermanager.ClusterRelease(survey.Cluster).References() {
		survey.Live[clustermanager.LiveKey(reference)] = clustermanager.Known(&clustermanager.LiveObject{
			Reference: reference, Labels: clusterLabels(survey.Cluster, "release-aws"),
		})
	}
	return survey
}

func clusterOf(t *testing.T, request clustermanager.CreateClusterRequest, survey clustermanager.NewClusterSurvey) NewCluster {
	t.Helper()
	cluster, err := Cluster(request, survey)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// openedListing is a listing in which the values of the ConfigMap are written out.
func openedListing(t *testing.T, plan clustermanager.Plan) string {
	t.Helper()
	const key = `data["values.yaml"]`
	var lines []string
	for line := range strings.SplitSeq(listing(plan), "\n") {
		quoted, isValues := strings.CutPrefix(line, key+" = ")
		if !isValues {
			lines = append(lines, line)
			continue
		}
		var text string
		var values map[string]any
		if err := errors.Join(json.Unmarshal([]byte(quoted), &text), yaml.Unmarshal([]byte(text), &values)); err != nil {
			t.Fatal(err)
		}
		for _, leaf := range flat("", values) {
			lines = append(lines, key+" -> "+leaf)
		}
	}
	return strings.Join(lines, "\n")
}

func TestClusterListings(t *testing.T) {
	for name, request := range map[string]clustermanager.CreateClusterRequest{
		"cluster-aws": newCluster("aws", "36.0.0"), "cluster-eks": newCluster("eks", "34.0.1"),
	} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", "listings", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			survey := freeName(t)
			chart := fixtureChart(t)
			chart.RBACBootstrap = nil
			survey.Chart = clustermanager.Known(chart)
			plan := clusterOf(t, request, survey).Plan
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(openedListing(t, plan), "\n")); diff != "" {
				t.Error(diff)
			}
			if got := len(documents(t, plan)); got != 1613 {
				t.Errorf("%d bytes of YAML, want 1613", got)
			}
		})
	}
}

// The organization's Kustomization decides how the cluster's is applied; it substitutes nothing.
func TestFluxKustomization(t *testing.T) {
	target, _ := clusterOf(t, newCluster("aws", ""), freeName(t)).Target.Get()
	want := `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: mc1-clusters-dev01
  namespace: default
spec:
  decryption:
    provider: sops
    secretRef:
      name: sops-gpg-master
  interval: 1m
  path: ./management-clusters/mc1/organizations/acme/workload-clusters/dev01
  prune: true
  serviceAccountName: automation
  sourceRef:
    kind: GitRepository
    name: fleet
  timeout: 2m
`
	got, err := yaml.Marshal(target.Placement.Kustomization)
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	survey := freeName(t)
	bare, _ := survey.Target.Get()
	bare.Spec = object{"sourceRef": object{"kind": "GitRepository", "name": "fleet", "namespace": "flux"}, "decryption": object{"secretRef": object{"name": "x"}}}
	survey.Target = clustermanager.Known(bare)
	target, _ = clusterOf(t, newCluster("aws", ""), survey).Target.Get()
	if diff := cmp.Diff(map[string]any{
		"path": "./management-clusters/mc1/organizations/acme/workload-clusters/dev01", "prune": true,
		"sourceRef": object{"kind": "GitRepository", "name": "fleet", "namespace": "flux"},
	}, target.Placement.Kustomization["spec"]); diff != "" {
		t.Error(diff)
	}
	if left, _ := survey.Target.Get(); left.Placement.Kustomization != nil {
		t.Error("the survey's target was changed")
	}
}

func TestClusterNames(t *testing.T) {
	for name, allowed := range map[string]bool{
		"dev01": true, "a": true, "abcdefghijklmnopqrst": true, "a-b": true,
		"abcdefghijklmnopqrstu": false, "Dev01": false, "1dev": false, "dev-": false, "dev_1": false, "": false, "a/b": false, "..": false, "dev\n": false,
	} {
		request := newCluster("aws", "")
		request.Name = name
		if err := CheckCluster(request); (err == nil) != allowed {
			t.Errorf("%q: %v", name, err)
		}
		if err := CheckClusterRemoval(clustermanager.DeleteClusterRequest{Organization: "acme", Name: name}, clustermanager.Settings{}); (err == nil) != allowed {
			t.Errorf("removing %q: %v", name, err)
		}
	}
	for organization, allowed := range map[string]bool{"acme": true, "1a": true, "": false, "a/b": false, "../x": false, strings.Repeat("a", 60): false} {
		request := newCluster("aws", "")
		request.Organization = organization
		if err := CheckCluster(request); (err == nil) != allowed {
			t.Errorf("organization %q: %v", organization, err)
		}
	}
}

// unknown is a read that failed.
func unknown[T any]() clustermanager.Reading[T] { return clustermanager.Unknown[T]("forbidden") }

// Each row is a new cluster that is refused; the rows cover case 19 and every read that may fail.
func TestNewClusterRefusals(t *testing.T) {
	type setUp struct {
		request clustermanager.CreateClusterRequest
		survey  clustermanager.NewClusterSurvey
	}
	given := func(values object) func(*setUp) {
		return func(s *setUp) { s.request.Values = clustermanager.NewValues(values) }
	}
	live := func(labels map[string]string, inventory *clustermanager.NamespacedName) func(*setUp) {
		return func(s *setUp) {
			reference := clustermanager.ClusterRelease(s.survey.Cluster).Source
			s.survey.Live[clustermanager.LiveKey(reference)] = clustermanager.Known(&clustermanager.LiveObject{Reference: reference, Labels: labels, InInventoryOf: inventory})
		}
	}
	chart := func(change func(*clustermanager.ReleaseChart)) func(*setUp) {
		return func(s *setUp) {
			chart, _ := s.survey.Chart.Get()
			change(&chart)
			s.survey.Chart = clustermanager.Known(chart)
		}
	}
	apply := func(s *setUp) { s.request.Mode = clustermanager.ModeApply }
	elsewhere := &clustermanager.NamespacedName{Namespace: "default", Name: "clusters-dev01"}
	ours := clusterLabels(clustermanager.Cluster{Name: "dev01", Organization: "acme"}, "release-aws")
	for name, test := range map[string]struct {
		change []func(*setUp)
		want   string
	}{
		"mode":          {[]func(*setUp){func(s *setUp) { s.request.Mode = "merge" }}, `mode "merge" does not exist`},
		"23 characters": {[]func(*setUp){func(s *setUp) { s.request.Name = "abcdefghijklmnopqrstuvw" }}, "at most 20"},
		"vsphere":       {[]func(*setUp){func(s *setUp) { s.request.Provider = "vsphere" }}, "use one of aws, azure, eks"},
		"name in use": {[]func(*setUp){func(s *setUp) {
			s.survey.SameName = clustermanager.Known([]clustermanager.Cluster{{Namespace: "org-research", Name: "dev01"}})
		}}, "the name is in use, by Cluster org-research/dev01"},
		"not ours":     {[]func(*setUp){func(s *setUp) { s.survey.SameName = clustermanager.Known([]clustermanager.Cluster{s.survey.Cluster}) }}, "the name is in use, by Cluster org-acme/dev01"},
		"names unread": {[]func(*setUp){func(s *setUp) { s.survey.SameName = unknown[[]clustermanager.Cluster]() }}, "whether the name is in use could not be read: forbidden"},
		"no values": {[]func(*setUp){func(s *setUp) {
			s.survey.InstallationValues = clustermanager.Read(clustermanager.Values{}, error(&clustermanager.NotFound{What: "x"}))
		}}, "organization acme has no values of the installation (ConfigMap org-acme/cluster-app-installation-values)"},
		"values unread":    {[]func(*setUp){func(s *setUp) { s.survey.InstallationValues = unknown[clustermanager.Values]() }}, "could not be read: forbidden"},
		"releases unread":  {[]func(*setUp){func(s *setUp) { s.survey.Releases = unknown[[]clustermanager.Release]() }}, "the installation's releases could not be read: forbidden"},
		"preview":          {[]func(*setUp){func(s *setUp) { s.request.Release = "37.0.0" }}, "release aws-37.0.0 is preview, and clusters are created of active ones: name one of 36.0.0, 35.1.1, or none for the newest"},
		"deprecated":       {[]func(*setUp){func(s *setUp) { s.request.Release = "v34.0.0" }}, "release aws-34.0.0 is deprecated"},
		"no state":         {[]func(*setUp){func(s *setUp) { s.request.Release = "33.0.0" }}, "release aws-33.0.0 is without a state"},
		"no cluster chart": {[]func(*setUp){func(s *setUp) { s.request.Release = "32.0.0" }}, "release aws-32.0.0 pins no cluster-aws"},
		"newest not published": {[]func(*setUp){func(s *setUp) {
			s.request.Release, s.survey.Tags = "99.0.0", clustermanager.Known([]string{"35.1.1"})
		}}, "release aws-99.0.0 does not exist: name one of 35.1.1"},
		"none published": {[]func(*setUp){func(s *setUp) {
			s.request.Release, s.survey.Tags = "99.0.0", clustermanager.Known([]string{"1.0.0"})
		}}, "release aws-99.0.0 does not exist: provider line aws has no release that list_releases offers"},
		"unknown release, registry unread": {[]func(*setUp){func(s *setUp) {
			s.request.Release, s.survey.Tags = "99.0.0", unknown[[]string]()
		}}, "release aws-99.0.0 does not exist: name one of 36.0.0, 35.1.1, or none for the newest"},
		"unknown release": {[]func(*setUp){func(s *setUp) { s.request.Release = "99.0.0" }}, "release aws-99.0.0 does not exist"},
		"none active":     {[]func(*setUp){func(s *setUp) { s.survey.Releases = clustermanager.Known([]clustermanager.Release{}) }}, "no release of provider line aws is active"},
		"newest unpublished": {[]func(*setUp){func(s *setUp) { s.request.Provider, s.survey.Tags = "azure", clustermanager.Known([]string{"35.0.0"}) }},
			"release azure-36.0.0 is not published, the registry has no oci://gsoci.azurecr.io/charts/giantswarm/release-azure:36.0.0"},
		"registry unread":      {[]func(*setUp){func(s *setUp) { s.survey.Tags = unknown[[]string]() }}, "whether release aws-36.0.0 is published could not be read from the registry (oci://gsoci.azurecr.io/charts/giantswarm/release-aws:36.0.0): forbidden"},
		"chart unread":         {[]func(*setUp){func(s *setUp) { s.survey.Chart = unknown[clustermanager.ReleaseChart]() }}, "the release chart oci://gsoci.azurecr.io/charts/giantswarm/release-aws:36.0.0 could not be read"},
		"chart without schema": {[]func(*setUp){chart(func(c *clustermanager.ReleaseChart) { c.Schema = nil })}, "has no values.schema.json"},
		"a schema elsewhere":   {[]func(*setUp){chart(func(c *clustermanager.ReleaseChart) { c.Schema = []byte(`{"$ref": "https://example.com/schema.json"}`) })}, "it refers to https://example.com/schema.json, and nothing outside the chart is fetched"},
		"a schema in a file":   {[]func(*setUp){chart(func(c *clustermanager.ReleaseChart) { c.Schema = []byte(`{"$ref": "file:///etc/passwd"}`) })}, "it refers to file:///etc/passwd, and nothing outside the chart is fetched"},
		"a schema in a circle": {[]func(*setUp){chart(func(c *clustermanager.ReleaseChart) {
			c.Schema = []byte(`{"properties": {"global": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}}`)
		})}, "release-aws:36.0.0 cannot be used: its reference #/$defs/a leads back to itself, which no value can match; name another release"},
		"no schema at all":   {[]func(*setUp){chart(func(c *clustermanager.ReleaseChart) { c.Schema = []byte(`{"type": 7}`) })}, "cannot be used: it is no JSON schema"},
		"tenant not bound":   {[]func(*setUp){apply, func(s *setUp) { s.survey.TenantBound = clustermanager.Known(false) }}, "ServiceAccount automation is not bound in the organization's namespace yet (RoleBinding org-acme/write-all-customer-sa)"},
		"tenant unread":      {[]func(*setUp){apply, func(s *setUp) { s.survey.TenantBound = unknown[bool]() }}, "whether ServiceAccount automation may install there could not be read"},
		"urgent":             {[]func(*setUp){given(object{"global": object{"metadata": object{"servicePriority": "urgent"}}})}, `/global/metadata/servicePriority: must be one of "highest", "medium", "lowest"`},
		"other organization": {[]func(*setUp){given(object{"global": object{"metadata": object{"organization": "other"}}})}, `values has global.metadata.organization: "other", and the argument organization is "acme"`},
		"other release":      {[]func(*setUp){given(object{"global": object{"release": object{"version": 36}}})}, `values has global.release.version: 36, and the argument release is "36.0.0"`},
		"other identity":     {[]func(*setUp){given(object{"global": object{"providerSpecific": object{"awsClusterRoleIdentityName": "x"}}})}, "the argument identity"},
		"no mapping":         {[]func(*setUp){given(object{"global": object{"metadata": "x"}})}, "global.metadata is no mapping"},
		"control plane":      {[]func(*setUp){given(object{"global": object{"controlPlane": 7}})}, "global.controlPlane is no mapping"},
		"apps":               {[]func(*setUp){given(object{"global": object{"apps": []any{}}})}, "global.apps is no mapping"},
		"too large":          {[]func(*setUp){given(object{"global": object{"nodePools": object{"x": strings.Repeat("x", 1<<20)}}})}, "and a ConfigMap holds 1048576"},
		"admins unread":      {[]func(*setUp){func(s *setUp) { s.survey.Admins = unknown[clustermanager.Admins]() }}, "ask for the right to list them, or say in values who is bound: global.apps.rbacBootstrap.values.bindings, [] binds nobody"},
		"bindings unread":    {[]func(*setUp){chart(func(c *clustermanager.ReleaseChart) { c.RBACBootstrap = new("{{ if }}: [") })}, "say in values who is bound"},
		"live unread":        {[]func(*setUp){func(s *setUp) { s.survey.Live = nil }}, "OCIRepository org-acme/dev01: whether it exists and whose it is could not be read"},
		"foreign":            {[]func(*setUp){live(map[string]string{clustermanager.LabelManagedBy: "Helm"}, nil)}, "OCIRepository org-acme/dev01: it exists and create_cluster did not make it (it is managed by Helm)"},
		"another chart":      {[]func(*setUp){live(clusterLabels(clustermanager.Cluster{Name: "dev01", Organization: "acme"}, "release-eks"), nil)}, `belongs to another release of ours (app.kubernetes.io/name="release-eks")`},
		"in git, mode apply": {[]func(*setUp){apply, live(ours, &clustermanager.NamespacedName{Namespace: "default", Name: "mc1-clusters-dev01"})}, "applies it from git: use mode commit"},
		"in git, elsewhere":  {[]func(*setUp){live(ours, elsewhere)}, "Kustomization default/clusters-dev01 applies it, and this cluster's files belong to another one"},
		"its Kustomization": {[]func(*setUp){func(s *setUp) {
			target, _ := s.survey.Target.Get()
			s.survey.Live[clustermanager.LiveKey(target.Brought())] = clustermanager.Known(&clustermanager.LiveObject{Reference: target.Brought()})
		}}, "Kustomization default/mc1-clusters-dev01: it exists and Kustomization default/flux does not apply it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp{newCluster("aws", ""), freeName(t)}
			for _, change := range test.change {
				change(&s)
			}
			cluster, err := Cluster(s.request, s.survey)
			if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("got %v, want a refusal with %q", err, test.want)
			}
			if strings.ContainsAny(fmt.Sprint(err), "\n\r\t") {
				t.Errorf("more than one line: %q", err)
			}
			if len(cluster.Plan.Steps) > 0 {
				t.Error("a refusal came with a plan")
			}
		})
	}
}

// Every violation is named with its path, sorted, in one refusal; none repeats the value.
func TestViolations(t *testing.T) {
	request := newCluster("aws", "")
	request.Values = clustermanager.NewValues(object{
		"glboal": object{"a": 1},
		"global": object{
			"controlPlane": object{"instanceType": "HUGE-made-for-a-test", "replicas": 2.5},
			"metadata":     object{"servicePriority": "urgent", "preventDeletion": "yes", "labels": object{"a/b": 7}},
			"apps":         object{"rbacBootstrap": object{"values": object{"bindings": []any{object{"users": []any{"x"}}}}}},
		},
	})
	_, err := Cluster(request, freeName(t))
	want := "cluster org-acme/dev01: the values do not match the values.schema.json of release chart oci://gsoci.azurecr.io/charts/giantswarm/release-aws:36.0.0: " +
		"/glboal: the schema knows no such key; " +
		"/global/apps/rbacBootstrap/values/bindings/0/role: it is required and missing; " +
		`/global/controlPlane/instanceType: must match the pattern ^[a-z][a-z0-9-]*\.[a-z0-9]+$; ` +
		"/global/controlPlane/replicas: must be integer; " +
		"/global/metadata/labels/a~1b: must be string; " +
		"/global/metadata/preventDeletion: must be boolean; " +
		`/global/metadata/servicePriority: must be one of "highest", "medium", "lowest"; correct them and call again`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

// Helm's layering: maps merge by key, anything else replaces, an explicit null deletes, no layer is changed.
func TestLayering(t *testing.T) {
	below := object{"a": object{"b": 1, "c": []any{1, 2}}, "d": object{"e": 1}, "f": 1}
	above := object{"a": object{"b": nil, "c": []any{3}, "x": object{"y": nil, "z": 1}}, "d": nil, "f": object{"g": nil}}
	got := layer(layer(nil, below), above)
	if diff := cmp.Diff(object{"a": object{"c": []any{3}, "x": object{"z": 1}}, "f": object{}}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(object{"a": object{"b": 1, "c": []any{1, 2}}, "d": object{"e": 1}, "f": 1}, below); diff != "" {
		t.Errorf("a layer was changed:\n%s", diff)
	}
}

// The caller's null takes a default of the chart away before the schema is asked.
func TestANullDeletesADefault(t *testing.T) {
	request := newCluster("aws", "")
	request.Values = clustermanager.NewValues(object{"global": object{"metadata": object{"servicePriority": nil}}})
	text := documents(t, clusterOf(t, request, freeName(t)).Plan)
	if !strings.Contains(text, "servicePriority: null") {
		t.Errorf("the null is gone from the values:\n%s", text)
	}
}

// The cluster's own release stands on a re-run, and only a named one moves it.
func TestReleaseOfAReRun(t *testing.T) {
	for name, test := range map[string]struct {
		release, own, want, note string
	}{
		"keeps":              {"", "35.1.1", "35.1.1", "36.0.0 is newer"},
		"keeps a deprecated": {"", "34.0.0", "34.0.0", "36.0.0 is newer"},
		"keeps the newest":   {"", "36.0.0", "36.0.0", ""},
		"names an older one": {"35.1.1", "36.0.0", "35.1.1", "release 35.1.1 is named; 36.0.0 is newer and active: name that"},
		"names its own":      {"34.0.0", "34.0.0", "34.0.0", "36.0.0 is newer"},
		"upgrades":           {"36.0.0", "35.1.1", "36.0.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := clusterOf(t, newCluster("aws", test.release), made(t, test.own))
			if cluster.Release.Version != test.want || (cluster.ReleaseNote == "") != (test.note == "") || !strings.Contains(cluster.ReleaseNote, test.note) {
				t.Errorf("%+v %q", cluster.Release, cluster.ReleaseNote)
			}
		})
	}
	fresh := freeName(t)
	for release, want := range map[string]string{"": "", "36.0.0": "", "35.1.1": "release 35.1.1 is named; 36.0.0 is newer and active: name that, or none on a new cluster, to take it"} {
		if got := clusterOf(t, newCluster("aws", release), fresh).ReleaseNote; got != want {
			t.Errorf("release %q of a new cluster: note %q", release, got)
		}
	}
	fresh.Tags = clustermanager.Known([]string{"35.1.1"})
	if got := clusterOf(t, newCluster("aws", "35.1.1"), fresh).ReleaseNote; got != "" {
		t.Errorf("the newest is not published: note %q", got)
	}
	if _, err := Cluster(newCluster("aws", "34.0.0"), made(t, "35.1.1")); err == nil || !strings.Contains(err.Error(), "deprecated") {
		t.Errorf("a named release is judged: %v", err)
	}
	survey := made(t, "35.1.1")
	survey.Tag = unknown[string]()
	if _, err := Cluster(newCluster("aws", ""), survey); err == nil || !strings.Contains(err.Error(), "which release it has could not be read") {
		t.Errorf("%v", err)
	}
}

// A survey's file decides as the survey does.
func TestNewClusterSurveyAsAFile(t *testing.T) {
	survey := made(t, "35.1.1")
	text, err := json.Marshal(survey)
	if err != nil {
		t.Fatal(err)
	}
	var read clustermanager.NewClusterSurvey
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	request := newCluster("aws", "")
	if diff := cmp.Diff(documents(t, clusterOf(t, request, survey).Plan), documents(t, clusterOf(t, request, read).Plan)); diff != "" {
		t.Error(diff)
	}
}

// Installation values hold credentials: none of them is in an object, an answer, a warning or a refusal.
func TestInstallationValuesStayWhereTheyAre(t *testing.T) {
	credentials := object{"username": canary, "password": canary}
	for _, values := range []object{
		{"global": object{"components": object{"containerd": object{"containerRegistries": object{"x": []any{object{"endpoint": "y", "credentials": credentials}}}}}}},
		{"global": object{"components": object{"containerd": object{"containerRegistries": object{"x": []any{object{"endpoint": []any{canary}}}}}}}},
		{"global": object{"controlPlane": object{"instanceType": canary, "replicas": canary}}},
		{"global": object{"metadata": object{"servicePriority": canary, "name": object{"x": canary}}}},
		{"global": object{"apps": object{"rbacBootstrap": object{"values": object{"bindings": canary}}}}},
		{"global": canary}, {"cluster": canary},
	} {
		survey := freeName(t)
		survey.InstallationValues = clustermanager.Known(clustermanager.NewValues(values))
		cluster, err := Cluster(newCluster("aws", ""), survey)
		text, encodeErr := json.Marshal(cluster)
		if encodeErr != nil {
			t.Fatal(encodeErr)
		}
		if shown := fmt.Sprint(err) + string(text) + documents(t, cluster.Plan); strings.Contains(shown, canary) {
			t.Errorf("%v: %s", values, shown)
		}
	}
}
