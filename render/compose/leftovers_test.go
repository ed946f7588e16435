package compose

import (
	"errors"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func TestWhatAPoolThatIsGoneLeft(t *testing.T) {
	t.Parallel()
	gone := func(facts *clustermanager.NodePoolRemovalSurvey) {
		for _, reference := range clustermanager.NodePool(facts.Cluster, "gpu-l4").References() {
			facts.Live[clustermanager.LiveKey(reference)] = clustermanager.Known[*clustermanager.LiveObject](nil)
		}
		facts.Pools = clustermanager.Known([]clustermanager.PoolRelease{})
	}
	registered := func(cluster string) func(*clustermanager.NodePoolRemovalSurvey) {
		return func(facts *clustermanager.NodePoolRemovalSurvey) {
			facts.Serving.Backends = clustermanager.Known([]clustermanager.Backend{
				{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve"}, Cluster: cluster, Owned: true},
				{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve-wc1"}, Cluster: "wc1", Owned: true},
			})
		}
	}
	stranded := func(facts *clustermanager.NodePoolRemovalSurvey) {
		facts.Configs = clustermanager.Known([]clustermanager.ObjectReference{
			{Kind: "LLMInferenceServiceConfig", Namespace: "org-acme", Name: "a"}, {Kind: "LLMInferenceServiceConfig", Namespace: "other", Name: "b"},
		})
		serveModels(qwen, handMade)(facts)
	}
	runs := func(facts *clustermanager.NodePoolRemovalSurvey) {
		facts.Serving.Configs = clustermanager.Known(clustermanager.ServingConfigs{ControllerRuns: clustermanager.Known(true)})
	}
	doubtful := func(facts *clustermanager.NodePoolRemovalSurvey) {
		facts.Serving.Configs = clustermanager.Known(clustermanager.ServingConfigs{ControllerRuns: clustermanager.Unknown[bool]("forbidden")})
	}
	served := func(status clustermanager.ComponentStatus) func(*clustermanager.NodePoolRemovalSurvey) {
		return func(facts *clustermanager.NodePoolRemovalSurvey) {
			facts.Serving.Component = clustermanager.Component{Status: status, Provider: clustermanager.ProviderManual}
		}
	}
	unread := func(facts *clustermanager.NodePoolRemovalSurvey) {
		facts.Configs = clustermanager.Unknown[[]clustermanager.ObjectReference]("no way in")
	}
	namespace := func(facts *clustermanager.NodePoolRemovalSurvey) {
		facts.Serving.Namespace = clustermanager.Known(&clustermanager.ServingNamespace{Name: "model-serving", RenderedBy: clustermanager.NamespacedName{Namespace: "org-acme", Name: "wc1-agent-platform-connectivity"}})
	}
	slice := func(facts *clustermanager.NodePoolRemovalSurvey) { withSlice(serves)(facts); gone(facts) }
	const purged = `remove teardown every LLMInferenceService in model-serving app.kubernetes.io/managed-by=model-manager @target
remove teardown every LLMInferenceServiceConfig in org-acme  @target`
	for _, test := range []struct {
		name  string
		facts clustermanager.NodePoolRemovalSurvey
		want  string
	}{
		{"nothing", plainRemoval(gone), ""},
		{"a registration", plainRemoval(gone, registered("gazelle")), "remove runtime ConfigMap agent-platform/model-backend-kserve-wc1"},
		{"the shared one too", plainRemoval(gone, registered("wc1")), "remove runtime ConfigMap agent-platform/model-backend-kserve\nremove runtime ConfigMap agent-platform/model-backend-kserve-wc1"},
		{"pools left", plainRemoval(gone, registered("gazelle"), another("wc1-gpu-x", true)), "ensure runtime ConfigMap agent-platform/model-backend-kserve-wc1"},
		{"a slice that stands without pools", plainRemoval(slice), ""},
		{"stranded", plainRemoval(gone, stranded), purged},
		{"stranded under a controller", plainRemoval(gone, stranded, runs), ""},
		{"another's by the look of it", plainRemoval(gone, stranded, served(clustermanager.ComponentPresent)), ""},
		{"whose is not known", plainRemoval(gone, stranded, served(clustermanager.ComponentUnknown)), ""},
		{"stranded, the controller unread", plainRemoval(gone, stranded, doubtful), ""},
		{"the serving namespace", plainRemoval(gone, namespace), "await teardown HelmRelease org-acme/wc1-agent-platform-connectivity\nretire teardown Namespace model-serving @target"},
		{"unreadable, registered", plainRemoval(gone, unread, registered("gazelle")), "remove runtime ConfigMap agent-platform/model-backend-kserve-wc1"},
		{"unreadable", plainRemoval(gone, unread), ""},
	} {
		removal, err := RemoveNodePool(clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "gpu-l4"}, test.facts)
		var notFound *clustermanager.NotFound
		if errors.As(err, &notFound) != (test.want == "") || stepsText(removal.Plan) != test.want {
			t.Errorf("%s: %v:\n%s, want\n%s", test.name, err, stepsText(removal.Plan), test.want)
		}
		_, err = RemoveNodePool(clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "gpu-l4", Mode: clustermanager.ModeCommit}, test.facts)
		if !errors.As(err, &notFound) {
			t.Errorf("%s: mode commit: %v", test.name, err)
		}
	}
}

func TestAPoolNamedWithItsCluster(t *testing.T) {
	t.Parallel()
	facts := plainRemoval(func(facts *clustermanager.NodePoolRemovalSurvey) {
		for _, reference := range clustermanager.NodePool(facts.Cluster, "wc1-gpu-l4").References() {
			facts.Live[clustermanager.LiveKey(reference)] = clustermanager.Known[*clustermanager.LiveObject](nil)
		}
		facts.Pools = clustermanager.Known([]clustermanager.PoolRelease{{Name: "wc1-gpu-l4", Pool: "gpu-l4", Owned: true}})
	})
	for _, mode := range []clustermanager.Mode{clustermanager.ModeApply, clustermanager.ModeCommit} {
		_, err := RemoveNodePool(clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "wc1-gpu-l4", Mode: mode}, facts)
		var gone *clustermanager.NotFound
		if !errors.As(err, &gone) || gone.What != "HelmRelease org-acme/wc1-wc1-gpu-l4" || gone.Suffix != "a pool is named without its cluster: gpu-l4" {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
