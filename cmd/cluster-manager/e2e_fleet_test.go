package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A cluster whose API server does not answer is told in its place, and costs the others nothing; who may read one
// organization is told of that one alone.
func (e *endToEnd) testFleet(t *testing.T) {
	e.cluster(t, "research", "wc9")
	secret, err := e.bed.UnreachableSecret("org-research", "wc9")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.admin.Apply(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	list := e.clusters(t, e.as(t, engineer))
	t.Logf("%+v", list)
	if wc1 := listedCluster(t, list, "wc1"); wc1.GPUOperator.Status == "unknown" || wc1.Serving.Status == "unknown" {
		t.Errorf("wc1: %+v", wc1)
	}

	grant(t, e.admin, "cluster-manager-organizations", "", "research:readers")
	grant(t, e.admin, "cluster-manager-read", "org-research", "research:readers")
	grant(t, e.admin, "cluster-manager-organization", "org-research", "research:readers")
	olga := e.as(t, oneOrgOnly)
	result := called(t, olga, "list_clusters", nil)
	t.Log(result.Texts)
	for _, text := range result.Texts {
		for _, foreign := range []string{"wc1", "org-acme/", "acme/fleet", "gpu-l4"} {
			if strings.Contains(text, foreign) {
				t.Errorf("%s is told:\n%s", foreign, text)
			}
		}
	}
	mine := e.clusters(t, olga)
	if diff := cmp.Diff("", mine.Note); diff != "" {
		t.Error(diff)
	}
}
