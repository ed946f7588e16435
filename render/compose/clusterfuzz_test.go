package compose

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// interesting are keys that a decision looks at, so that random values meet it.
var interesting = []string{
	"global", "metadata", "name", "organization", "release", "version", "controlPlane", "oidc", "usernameClaim", "usernamePrefix",
	"apps", "rbacBootstrap", "values", "bindings", "role", "users", "groups", "namespaces", "cluster", "providerIntegration", "enable",
	"providerSpecific", "awsClusterRoleIdentityName", "azureClusterIdentity", "x",
}

var scalars = []any{nil, true, false, 1, 2.5, "", "acme", "dev01", "36.0.0", "email", "cluster-admin", "${x}", "a: b\n- c", int64(7)}

func randomValue(random *rand.Rand, depth int) any {
	switch choice := random.IntN(10); {
	case depth > 0 && choice < 6:
		value := object{}
		for range random.IntN(5) {
			value[interesting[random.IntN(len(interesting))]] = randomValue(random, depth-1)
		}
		return value
	case depth > 0 && choice < 8:
		list := []any{}
		for range random.IntN(4) {
			list = append(list, randomValue(random, depth-1))
		}
		return list
	}
	return scalars[random.IntN(len(scalars))]
}

func randomMap(random *rand.Rand) object {
	value, isMap := randomValue(random, 6).(object)
	if !isMap {
		return nil
	}
	return value
}

// sometimes is the reading, or an unknown one in its place.
func sometimes[T any](random *rand.Rand, reading clustermanager.Reading[T]) clustermanager.Reading[T] {
	if random.IntN(20) == 0 {
		return clustermanager.Unknown[T]("forbidden")
	}
	return reading
}

func randomNewCluster(random *rand.Rand, chart clustermanager.ReleaseChart, survey clustermanager.NewClusterSurvey) (clustermanager.CreateClusterRequest, clustermanager.NewClusterSurvey) {
	request := newCluster(clustermanager.ClusterProviders()[random.IntN(3)], []string{"", "36.0.0", "v35.1.1", "x"}[random.IntN(4)])
	request.Values = clustermanager.NewValues(randomMap(random))
	request.Mode = []clustermanager.Mode{clustermanager.ModeApply, clustermanager.ModeCommit}[random.IntN(2)]
	chart.Values = randomMap(random)
	if chart.Values == nil || random.IntN(2) == 0 {
		chart.Values = object{"cluster": object{"providerIntegration": object{"apps": object{"rbacBootstrap": object{"enable": random.IntN(2) == 0}}}}}
	}
	chart.Schema = []byte([]string{`{}`, `{"type":"object"}`, `{"properties":{"global":{"type":"object"}}}`, `false`, `[`, ``}[random.IntN(6)])
	if text := []string{"", "defaultValues: {bindings: [{role: view}]}", "defaultValues: 7", ": ["}[random.IntN(4)]; text != "" {
		chart.RBACBootstrap = new(text)
	}
	survey.Chart = sometimes(random, clustermanager.Known(chart))
	survey.Tags = sometimes(random, clustermanager.Known([]string{"36.0.0", "35.1.1", "34.0.1"}))
	survey.InstallationValues = sometimes(random, clustermanager.Known(clustermanager.NewValues(randomMap(random))))
	survey.OwnValues = sometimes(random, clustermanager.Known(clustermanager.NewValues(randomMap(random))))
	survey.Admins = sometimes(random, survey.Admins)
	survey.Releases = sometimes(random, survey.Releases)
	survey.Target = sometimes(random, survey.Target)
	if random.IntN(2) == 0 {
		survey.Settings.IssuerURL, survey.Settings.ClientID = "https://dex.example", "client"
	}
	if random.IntN(8) == 0 {
		survey.Settings.TenantServiceAccount = ""
	}
	return request, survey
}

// Whatever the survey and the values hold: no panic, an error is a refusal on one line, the caller's and the survey's
// values are unchanged, every object is ours, and every release passes the multi-tenancy rule.
func FuzzCluster(f *testing.F) {
	chart := fixtureChart(f)
	for seed := range uint64(8) {
		f.Add(seed, seed*7)
	}
	f.Fuzz(func(t *testing.T, one, two uint64) {
		random := rand.New(rand.NewPCG(one, two))
		composed := 0
		for range 100 {
			base := freeName(t)
			if random.IntN(3) == 0 {
				base = made(t, "35.1.1")
			}
			request, survey := randomNewCluster(random, chart, base)
			before := encoded(t, request.Values.Reveal()) + encoded(t, survey.InstallationValues.Or(clustermanager.Values{}).Reveal())
			cluster, err := Cluster(request, survey)
			if after := encoded(t, request.Values.Reveal()) + encoded(t, survey.InstallationValues.Or(clustermanager.Values{}).Reveal()); after != before {
				t.Fatalf("the input was changed:\n%s", cmp.Diff(before, after))
			}
			if err != nil {
				if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || strings.ContainsAny(err.Error(), "\n\r\t") {
					t.Fatalf("%q", err)
				}
				continue
			}
			composed++
			checkClusterPlan(t, cluster, survey.Settings.TenantServiceAccount)
		}
		if composed == 0 {
			t.Skip("nothing was composed")
		}
	})
}

// The fuzz above reaches plans: half of its rounds would prove nothing.
func TestRandomClustersAreComposed(t *testing.T) {
	random, chart, composed := rand.New(rand.NewPCG(1, 2)), fixtureChart(t), 0
	for range 500 {
		request, survey := randomNewCluster(random, chart, freeName(t))
		if _, err := Cluster(request, survey); err == nil {
			composed++
		}
	}
	if composed < 10 {
		t.Errorf("%d of 500 were composed", composed)
	}
}

func checkClusterPlan(t *testing.T, cluster NewCluster, account string) {
	t.Helper()
	checkObjects(t, cluster.Plan)
	for _, step := range cluster.Plan.Steps {
		if step.Object.GetLabels()[clustermanager.LabelManagedBy] != clustermanager.ManagedBy || len(step.SecretData) > 0 || step.Object.GetKind() == "Secret" {
			t.Fatalf("%s: %v", step.Reference(), step.Object.GetLabels())
		}
		if step.Object.GetKind() != "HelmRelease" {
			continue
		}
		spec := step.Object.Object["spec"].(map[string]any)
		if name, _, _ := unstructured.NestedString(spec, "serviceAccountName"); name != account || spec["values"] != nil || spec["targetNamespace"] != nil || spec["storageNamespace"] != nil {
			t.Fatalf("%s breaks the multi-tenancy rule: %v", step.Reference(), spec)
		}
	}
	values := valuesOf(t, cluster.Plan)
	for path, want := range map[string]string{"name": "dev01", "organization": "acme"} {
		if got := text(values, "global", "metadata", path); got != want {
			t.Fatalf("global.metadata.%s is %q", path, got)
		}
	}
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A removal never panics, never touches what is not the cluster's, and says no on one line.
func FuzzRemoveCluster(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		for range 50 {
			survey := []func() clustermanager.RemoveClusterSurvey{standingCluster, gone, func() clustermanager.RemoveClusterSurvey { return inGit(nil) }}[random.IntN(3)]()
			survey.Release, survey.Running = sometimes(random, survey.Release), sometimes(random, survey.Running)
			survey.Source, survey.Values = sometimes(random, survey.Source), sometimes(random, survey.Values)
			survey.Labelled, survey.Backends, survey.Target = sometimes(random, survey.Labelled), sometimes(random, survey.Backends), sometimes(random, survey.Target)
			survey.Neighbours, survey.Kustomization, survey.Models = sometimes(random, survey.Neighbours), sometimes(random, survey.Kustomization), sometimes(random, survey.Models)
			mode := []clustermanager.Mode{clustermanager.ModeApply, clustermanager.ModeCommit}[random.IntN(2)]
			removal, err := RemoveCluster(removeDev01(mode), survey)
			if reason := clustermanager.ReasonOf(err); err != nil && (reason == clustermanager.ReasonError || strings.ContainsAny(err.Error(), "\n\r\t")) {
				t.Fatalf("%q", err)
			}
			for _, step := range removal.Plan.Steps {
				if !strings.Contains(step.Object.GetName(), "dev01") || step.Verb != clustermanager.Remove {
					t.Fatalf("%s %s", step.Verb, step.Reference())
				}
			}
		}
	})
}
