package survey_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
)

const moreClusters = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: twin, namespace: org-beta}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: twin, namespace: org-acme}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: gazelle
  namespace: org-beta
  uid: own
  deletionTimestamp: "2026-08-01T09:00:00Z"
  finalizers: [a/b]
  labels: {giantswarm.io/organization: other}
`

var (
	everyCluster      = "/v1beta1/clusters?"
	everyOrganization = "/organizations$"
	everyNamespace    = "/v1/namespaces$"
)

func TestFindCluster(t *testing.T) {
	for _, test := range []struct {
		name            string
		namespace, find string
		forbid          []string
		want            clustermanager.Cluster
	}{
		{name: "in its namespace", namespace: "org-acme", find: "wc1", want: clustermanager.Cluster{
			Namespace: "org-acme", Name: "wc1", UID: "6f1c0c1e-8a4a-4c1e-9c3a-000000000001", Organization: "acme", Release: "31.0.0",
		}},
		{name: "own and deleting", find: "gazelle", want: clustermanager.Cluster{
			Namespace: "org-beta", Name: "gazelle", UID: "own", Organization: "other", Own: true, Deleting: true,
		}},
		{name: "per organization", find: "gazelle", forbid: []string{everyCluster}, want: clustermanager.Cluster{
			Namespace: "org-beta", Name: "gazelle", UID: "own", Organization: "other", Own: true, Deleting: true,
		}},
		{name: "per namespace", find: "gazelle", forbid: []string{everyCluster, everyOrganization}, want: clustermanager.Cluster{
			Namespace: "org-beta", Name: "gazelle", UID: "own", Organization: "other", Own: true, Deleting: true,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			reader := snapshot(t).add(moreClusters).reader(t, &wire{forbid: test.forbid})
			got, err := reader.FindCluster(t.Context(), test.namespace, test.find)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOrganizationWithoutLabel(t *testing.T) {
	got, err := snapshot(t).add(moreClusters).reader(t, nil).FindCluster(t.Context(), "org-beta", "twin")
	if err != nil || got.Organization != "beta" || got.Own {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestClusterIsNotFound(t *testing.T) {
	for _, test := range []struct {
		name            string
		namespace, find string
		over            *wire
		reason          clustermanager.Reason
		want            string
	}{
		{"absent", "", "wc9", &wire{}, clustermanager.ReasonNotFound,
			"cluster wc9 not found: correct the name or the namespace"},
		{"absent in a namespace", "org-beta", "wc1", &wire{}, clustermanager.ReasonNotFound,
			"cluster org-beta/wc1 not found: correct the name or the namespace"},
		{"no name of a cluster", "", "../wc1", &wire{}, clustermanager.ReasonNotFound, "cluster ../wc1 not found"},
		{"no namespace", "a/b", "wc1", &wire{}, clustermanager.ReasonNotFound, "cluster a/b/wc1 not found"},
		{"ambiguous", "", "twin", &wire{}, clustermanager.ReasonRefused,
			"Cluster twin is ambiguous, it exists in org-acme, org-beta: name the namespace"},
		{"ambiguous per organization", "", "twin", &wire{forbid: []string{everyCluster}}, clustermanager.ReasonRefused,
			"Cluster twin is ambiguous, it exists in org-acme, org-beta: name the namespace"},
		{"where one may not look", "", "gazelle", &wire{forbid: []string{everyCluster, "/org-beta/clusters/"}}, clustermanager.ReasonNotFound,
			"cluster gazelle not found: correct the name or the namespace; you may not read clusters in org-beta"},
		{"nothing can be listed", "", "wc1", &wire{forbid: []string{everyCluster, everyOrganization, everyNamespace}}, clustermanager.ReasonError,
			"you may list neither clusters over all namespaces (clusters.cluster.x-k8s.io) nor organizations nor namespaces"},
		{"forbidden", "org-acme", "wc1", &wire{forbid: []string{"/clusters/"}}, clustermanager.ReasonError,
			"Cluster org-acme/wc1: reading: forbidden by the test"},
		{"one namespace fails", "", "wc1", &wire{forbid: []string{everyCluster}, fail: []string{"/org-beta/clusters/"}}, clustermanager.ReasonError,
			"Cluster org-beta/wc1: reading: internalerror by the test"},
		{"organizations fail", "", "wc1", &wire{forbid: []string{everyCluster}, fail: []string{everyOrganization}}, clustermanager.ReasonError,
			"every Organization: reading: internalerror by the test"},
		{"discovery fails", "", "wc1", &wire{fail: []string{"/v1beta1?timeout"}}, clustermanager.ReasonError,
			"Cluster wc1: finding it: discovering cluster.x-k8s.io/v1beta1: internalerror by the test"},
	} {
		t.Run(test.name, func(t *testing.T) {
			reader := snapshot(t).add(moreClusters).reader(t, test.over)
			_, err := reader.FindCluster(t.Context(), test.namespace, test.find)
			if got := clustermanager.ReasonOf(err); got != test.reason {
				t.Errorf("reason %q, want %q", got, test.reason)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

func TestClusterAPI(t *testing.T) {
	over := &wire{}
	reader := snapshot(t).reader(t, over)
	for range 2 {
		want := clustermanager.APIState{Group: "cluster.x-k8s.io", Version: "v1beta1", State: "served"}
		if diff := cmp.Diff(want, reader.ClusterAPI(t.Context())); diff != "" {
			t.Error(diff)
		}
	}
	if len(over.requested()) != 1 {
		t.Errorf("requests: %v", over.requested())
	}
	reader = snapshot(t).drop(t, wc1, "apiVersion: cluster.x-k8s.io/v1beta1").reader(t, nil)
	if state := reader.ClusterAPI(t.Context()); state.State != "absent" || state.Note != "" {
		t.Errorf("%+v", state)
	}
	_, err := reader.FindCluster(t.Context(), "org-acme", "wc1")
	var absent *survey.ClusterAPIAbsent
	if !errors.As(err, &absent) || !strings.Contains(err.Error(), "Cluster org-acme/wc1") || !strings.Contains(err.Error(), "cluster.x-k8s.io") {
		t.Error(err)
	}
	reader = snapshot(t).reader(t, &wire{fail: []string{"/v1beta1?timeout"}})
	if state := reader.ClusterAPI(t.Context()); state.State != "unknown" || !strings.Contains(state.Note, "internalerror by the test") {
		t.Errorf("%+v", state)
	}
}

func TestNotFoundAsksNothingMore(t *testing.T) {
	over := &wire{}
	_, err := snapshot(t).reader(t, over).NodePool(t.Context(), clustermanager.CreateNodePoolRequest{Cluster: "wc9", Name: "gpu-l4"})
	if clustermanager.ReasonOf(err) != clustermanager.ReasonNotFound || len(over.requested()) != 2 {
		t.Errorf("%v after %v", err, over.requested())
	}
	if slices.ContainsFunc(over.requested(), func(line string) bool { return strings.Contains(line, "secrets") }) {
		t.Error("a Secret is read")
	}
}
