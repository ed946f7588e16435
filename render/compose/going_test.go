package compose

import (
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// A merge that removed the slice has Flux delete all of it at once, which leaves configurations that nobody lets go.
func TestASliceThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	going := func(labels map[string]string) func(*clustermanager.NodePoolRemovalSurvey) {
		return func(facts *clustermanager.NodePoolRemovalSurvey) {
			for _, reference := range clustermanager.NodePool(facts.Cluster, "gpu-l4").References() {
				facts.Live[clustermanager.LiveKey(reference)] = clustermanager.Known[*clustermanager.LiveObject](nil)
			}
			facts.Pools = clustermanager.Known([]clustermanager.PoolRelease{})
			slice := clustermanager.SliceReference(facts.Cluster)
			facts.Live[clustermanager.LiveKey(slice)] = clustermanager.Known(&clustermanager.LiveObject{Reference: slice, Labels: labels, DeletedAt: new(time.Now())})
		}
	}
	ours := map[string]string{clustermanager.LabelManagedBy: clustermanager.ManagedBy}
	configured := func(facts *clustermanager.NodePoolRemovalSurvey) {
		facts.Configs = clustermanager.Known([]clustermanager.ObjectReference{{Kind: "LLMInferenceServiceConfig", Namespace: "agent-platform", Name: "a"}})
		facts.Serving.Configs = clustermanager.Known(clustermanager.ServingConfigs{ControllerRuns: clustermanager.Known(true)})
	}
	served := func(facts *clustermanager.NodePoolRemovalSurvey) { configured(facts); serveModels(qwen)(facts) }
	unread := func(facts *clustermanager.NodePoolRemovalSurvey) {
		facts.Configs = clustermanager.Unknown[[]clustermanager.ObjectReference]("no way in")
	}
	const waits = "await teardown every Deployment in  control-plane=llmisvc-controller-manager @target\n"
	const purged = waits + "remove teardown every LLMInferenceServiceConfig in agent-platform  @target\nawait teardown HelmRelease org-acme/wc1-agent-platform"
	for _, test := range []struct {
		name  string
		facts clustermanager.NodePoolRemovalSurvey
		want  string
	}{
		{"with nothing left on the cluster", plainRemoval(going(ours)), waits + "await teardown HelmRelease org-acme/wc1-agent-platform"},
		{"with configurations, under its controller", plainRemoval(going(ours), configured), purged},
		{"with a model", plainRemoval(going(ours), served), waits + "remove teardown every LLMInferenceService in model-serving app.kubernetes.io/managed-by=model-manager @target\n" + purged[len(waits):]},
		{"somebody else's", plainRemoval(going(nil), configured), ""},
		{"on a cluster that cannot be read", plainRemoval(going(ours), unread), ""},
	} {
		removal, err := RemoveNodePool(clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "gpu-l4"}, test.facts)
		if got := stepsText(removal.Plan); got != test.want {
			t.Errorf("%s: %v:\n%s\nwant\n%s", test.name, err, got, test.want)
		}
	}
}
