package survey_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// The fixture holds what a pool with serving is planned from, on a cluster of each kind.
func TestTheFixtureCanBePlannedOn(t *testing.T) {
	const folder = "../../fixtures/installations/gazelle"
	absent := clustermanager.Component{Status: clustermanager.ComponentAbsent}
	for _, test := range []struct {
		cluster   string
		component clustermanager.Component
		presets   int
		// unread are the facts that the cluster gives no reason to read.
		unread []string
	}{
		{cluster: "gazelle", component: absent, unread: []string{"issuer", "prepullImages", "charts", "models"}},
		{cluster: "wc1", component: absent, unread: []string{"prepullImages", "charts", "models"}},
		{cluster: "wc3", component: absent, unread: []string{"prepullImages", "charts", "models"}},
		{cluster: "wc2", presets: 3, unread: []string{"issuer", "charts", "models"}, component: clustermanager.Component{
			Status: clustermanager.ComponentPresent, Provider: clustermanager.ProviderChart,
			Evidence: []string{"API serving.kserve.io/v1alpha1 served", "API serving.kserve.io/v1beta1 served", "ConfigMap agent-platform/model-serving"},
		}},
	} {
		t.Run(test.cluster, func(t *testing.T) {
			made, err := openFolder(t, folder, nil).NodePool(t.Context(), clustermanager.CreateNodePoolRequest{Cluster: test.cluster, Name: "gpu-l4"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.component, made.Serving.Component); diff != "" {
				t.Error(diff)
			}
			if made.GPUOperator.Status != clustermanager.ComponentAbsent || len(made.Nodes.Or(nil)) == 0 {
				t.Errorf("%+v %s", made.GPUOperator, made.Nodes.Reason())
			}
			if presets, known := made.Serving.Presets.Get(); !known || len(presets) != test.presets {
				t.Error(presets, made.Serving.Presets.Reason())
			}
			platform, _ := made.Serving.Platform.Get()
			if platform.Domain != "gazelle.example.io" || platform.ModelManagerVersion.Or("") != "1.12.0" || platform.Namespace != "agent-platform" {
				t.Errorf("%+v %s", platform, made.Serving.Platform.Reason())
			}
			for name, reason := range unreadFacts(t, made.Serving) {
				if reason != "not read" {
					t.Errorf("%s: %s", name, reason)
				}
			}
			for _, name := range test.unread {
				if found := factsOfServing(t, made.Serving); found[name] != nil {
					t.Errorf("%s was read: %s", name, found[name])
				}
			}
			for key, live := range made.Live {
				if live.Err() != nil {
					t.Error(key, live.Err())
				}
			}
			text, err := json.Marshal(made)
			if err != nil || strings.Contains(string(text), "not-a-real-") {
				t.Error("the survey holds a Secret's value", err)
			}
		})
	}
}

// factsOfServing are the facts of serving that were read, by their key.
func factsOfServing(t *testing.T, serving clustermanager.ServingSurvey) map[string]json.RawMessage {
	t.Helper()
	text, err := json.Marshal(serving)
	if err != nil {
		t.Fatal(err)
	}
	var found map[string]json.RawMessage
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// unreadFacts are the reasons of the facts that could not be read.
func unreadFacts(t *testing.T, serving clustermanager.ServingSurvey) map[string]string {
	t.Helper()
	reasons := map[string]string{}
	for name, text := range factsOfServing(t, serving) {
		var fact struct {
			Unknown string `json:"unknown"`
		}
		if json.Unmarshal(text, &fact) == nil && fact.Unknown != "" {
			reasons[name] = fact.Unknown
		}
	}
	return reasons
}
