package compose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func TestWhenAPoolIsBeingRemoved(t *testing.T) {
	t.Parallel()
	live := func(deleted string, labels map[string]string) clustermanager.Reading[*clustermanager.LiveObject] {
		made := &clustermanager.LiveObject{Labels: labels}
		if deleted != "" {
			made.DeletedAt = clockAt(deleted)
		}
		return clustermanager.Known(made)
	}
	none := clustermanager.Known[*clustermanager.LiveObject](nil)
	foreign := withRelease(func(release *clustermanager.PoolReleaseFacts) { release.Owned = false })
	other := poolOf(0, withRelease(func(release *clustermanager.PoolReleaseFacts) { release.Name, release.Pool = "wc1-other", "other" }))
	other.Name = "wc1-other"
	slice := clustermanager.Slice{Owned: true, Values: clustermanager.NewValues(map[string]any{"components": map[string]any{"modelServing": map[string]any{"enabled": true}, "kagent": map[string]any{"enabled": false}}})}
	kept := slice
	kept.Values = clustermanager.NewValues(map[string]any{"components": map[string]any{"kagent": map[string]any{"enabled": true}}})
	whole := clustermanager.ClusterParts{
		Operator: live("09:50:00", ownMark), OperatorSource: live("", ownMark), SliceRelease: live("", ownMark), SliceSource: live("", ownMark),
		Slice: clustermanager.Known(&slice),
		Children: clustermanager.Known([]clustermanager.SliceChild{
			{Name: "wc1-agentgateway", Chart: "agentgateway"}, {Name: "wc1-kserve-llmisvc-resources", Chart: chartController, DeletedAt: clockAt("09:50:00")},
			{Name: "wc1-kserve-runtime-configs", Chart: chartConfigs},
		}),
	}
	keeps := whole
	keeps.Slice = clustermanager.Known(&kept)
	unread := whole
	unread.Operator, unread.OperatorSource = none, clustermanager.Unknown[*clustermanager.LiveObject]("no way in")
	pool := "OCIRepository org-acme/wc1-gpu pending; HelmRelease org-acme/wc1-gpu pending"
	for _, test := range []struct {
		name   string
		change func(*clustermanager.NodePoolFacts)
		parts  clustermanager.ClusterParts
		others []clustermanager.NodePoolFacts
		want   string
	}{
		{"stands", func(*clustermanager.NodePoolFacts) {}, clustermanager.ClusterParts{Operator: none}, nil, ""},
		{"release deleted", removed, clustermanager.ClusterParts{Operator: none, OperatorSource: none, SliceRelease: none, SliceSource: none, Slice: clustermanager.Known[*clustermanager.Slice](nil)}, nil,
			"OCIRepository org-acme/wc1-gpu pending; HelmRelease org-acme/wc1-gpu terminating"},
		{"source deleted", func(facts *clustermanager.NodePoolFacts) { facts.Source = live("09:50:00", ownMark) }, clustermanager.ClusterParts{}, []clustermanager.NodePoolFacts{other},
			"OCIRepository org-acme/wc1-gpu terminating; HelmRelease org-acme/wc1-gpu pending"},
		{"source gone", func(facts *clustermanager.NodePoolFacts) { facts.Source = none }, clustermanager.ClusterParts{}, []clustermanager.NodePoolFacts{other}, "HelmRelease org-acme/wc1-gpu pending"},
		{"Secret deleted", func(facts *clustermanager.NodePoolFacts) { facts.Secret = live("09:50:00", ownMark) }, clustermanager.ClusterParts{}, []clustermanager.NodePoolFacts{other},
			"OCIRepository org-acme/wc1-gpu pending; Secret org-acme/wc1-gpu-values terminating; HelmRelease org-acme/wc1-gpu pending"},
		{"MachinePool deleted", withMachinePool(func(machinePool *clustermanager.MachinePoolFacts) { machinePool.DeletedAt = clockAt("09:50:00") }), clustermanager.ClusterParts{}, []clustermanager.NodePoolFacts{other}, pool},
		{"operator deleted, last pool", func(*clustermanager.NodePoolFacts) {}, whole, nil,
			"HelmRelease org-acme/wc1-kserve-llmisvc-resources terminating; HelmRelease org-acme/wc1-kserve-runtime-configs pending; HelmRelease org-acme/wc1-gpu-operator terminating; OCIRepository org-acme/wc1-gpu-operator pending; " +
				"ConfigMap agent-platform/model-backend-kserve-wc1 pending; OCIRepository org-acme/wc1-agent-platform pending; HelmRelease org-acme/wc1-agent-platform pending; " + pool},
		{"operator deleted, another pool", func(*clustermanager.NodePoolFacts) {}, whole, []clustermanager.NodePoolFacts{other}, ""},
		{"another slice is on", func(*clustermanager.NodePoolFacts) {}, keeps, nil, "HelmRelease org-acme/wc1-gpu-operator terminating; OCIRepository org-acme/wc1-gpu-operator pending; " + pool},
		{"a slice child alone", func(*clustermanager.NodePoolFacts) {}, unread, nil, ""},
		{"part of it unread", removed, unread, nil, "HelmRelease org-acme/wc1-kserve-llmisvc-resources terminating; HelmRelease org-acme/wc1-kserve-runtime-configs pending; " +
			"ConfigMap agent-platform/model-backend-kserve-wc1 pending; OCIRepository org-acme/wc1-agent-platform pending; HelmRelease org-acme/wc1-agent-platform pending; " +
			"OCIRepository org-acme/wc1-gpu pending; HelmRelease org-acme/wc1-gpu terminating; note: OCIRepository org-acme/wc1-gpu-operator: whether it is still there is not known: no way in"},
		{"a foreign release deleted", func(facts *clustermanager.NodePoolFacts) { foreign(facts); removed(facts) }, clustermanager.ClusterParts{}, nil, "removing"},
		{"a foreign release without a source", func(facts *clustermanager.NodePoolFacts) { foreign(facts); facts.Source = none }, clustermanager.ClusterParts{}, nil, ""},
	} {
		survey := clustermanager.NodePoolsSurvey{
			Cluster: clustermanager.Cluster{Namespace: "org-acme", Name: "wc1"}, Parts: test.parts,
			Backends: clustermanager.Known([]clustermanager.Backend{
				{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve"}, Cluster: "gazelle", Owned: true},
				{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve-wc1"}, Cluster: "wc1", Owned: true},
			}),
			Pools: append([]clustermanager.NodePoolFacts{poolOf(0, test.change)}, test.others...),
		}
		status := NodePools(survey).NodePools[0]
		var got []string
		for _, change := range status.Pending {
			got = append(got, change.ObjectReference.String()+" "+string(change.Action))
		}
		for _, note := range status.Notes {
			got = append(got, "note: "+note)
		}
		if status.Deleting && len(got) == 0 {
			got = []string{"removing"}
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "; ")); diff != "" || status.Deleting != (test.want != "") || status.Deleting != (status.Phase == clustermanager.PhaseRemoving) {
			t.Errorf("%s: deleting %v, phase %s: %s", test.name, status.Deleting, status.Phase, diff)
		}
	}
}
