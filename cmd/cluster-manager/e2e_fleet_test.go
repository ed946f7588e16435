package main

import (
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
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
	if wc1 := listedCluster(t, list, "wc1"); wc1.GPUOperator.Status == "unknown" || wc1.Serving.Status == "unknown" {
		t.Errorf("wc1: %+v", wc1)
	}
	wc9 := listedCluster(t, list, "wc9")
	for _, part := range []clustermanager.Component{wc9.GPUOperator.Component, wc9.Serving.Component} {
		if part.Status != "unknown" || !strings.HasPrefix(part.Reason, "Cluster org-research/wc9: connecting: ") {
			t.Errorf("wc9: %+v", part)
		}
	}
	if wc9.ReleaseVersion != "36.0.0" || len(wc9.Zones) != 3 || wc9.Serving.Readiness.Backend.Registered == nil {
		t.Errorf("what the installation knows of wc9: %+v", wc9)
	}

	grant(t, e.admin, "cluster-manager-organizations", "", "research:readers")
	grant(t, e.admin, "cluster-manager-read", "org-research", "research:readers")
	grant(t, e.admin, "cluster-manager-organization", "org-research", "research:readers")
	olga := e.as(t, oneOrgOnly)
	result := called(t, olga, "list_clusters", nil)
	for _, text := range result.Texts {
		for _, foreign := range []string{"wc1", "org-acme", "acme/fleet", "gpu-l4"} {
			if strings.Contains(text, foreign) {
				t.Errorf("%s is told:\n%s", foreign, text)
			}
		}
	}
	mine := e.clusters(t, olga)
	const note = "clusters were read in org-research alone; you may not list them over all namespaces, and other namespaces could not be read"
	if len(mine.Clusters) != 1 || mine.Clusters[0].Name != "wc9" || mine.Note != note {
		t.Errorf("of one organization: %+v", mine)
	}
}
