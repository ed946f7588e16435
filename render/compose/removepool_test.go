package compose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// plainRemoval is wc1's only pool gpu-l4, without operator, serving and registration, on a Kustomization that prunes.
func plainRemoval(changes ...func(*clustermanager.NodePoolRemovalSurvey)) clustermanager.NodePoolRemovalSurvey {
	facts := guarded(poolOf(0, withRelease(func(release *clustermanager.PoolReleaseFacts) {
		release.Name, release.Pool, release.Finalized, release.Generation, release.ObservedGeneration = "wc1-gpu-l4", "gpu-l4", true, 2, 2
	})))
	facts.Pools = clustermanager.Known([]clustermanager.PoolRelease{{Name: "wc1-gpu-l4", Pool: "gpu-l4", Owned: true}})
	facts.Nodes = clustermanager.Known([]clustermanager.Node{})
	facts.Target = clustermanager.Known(clustermanager.Target{Kustomization: clustermanager.NamespacedName{Namespace: "flux", Name: "wc1"}, Prune: true})
	facts.Serving.Component = clustermanager.Component{Status: clustermanager.ComponentAbsent}
	facts.Serving.Slice = clustermanager.Known[*clustermanager.Slice](nil)
	facts.Serving.Backends = clustermanager.Known([]clustermanager.Backend{})
	facts.Serving.Namespace = clustermanager.Known[*clustermanager.ServingNamespace](nil)
	facts.Serving.Configs = clustermanager.Known(clustermanager.ServingConfigs{Namespace: "org-acme", ControllerRuns: clustermanager.Known(false)})
	facts.Serving.GatewayAPI = clustermanager.Known(clustermanager.GatewayAPI{Installed: true})
	facts.Serving.Endpoint = clustermanager.Known(clustermanager.Endpoint{Server: "https://api.wc1", CABundle: "PEM"})
	facts.Configs = clustermanager.Known([]clustermanager.ObjectReference{})
	facts.Live = map[string]clustermanager.Reading[*clustermanager.LiveObject]{}
	for _, reference := range clustermanager.NodePool(facts.Cluster, "gpu-l4").References() {
		facts.Live[clustermanager.LiveKey(reference)] = clustermanager.Known(poolObject(reference))
	}
	for _, reference := range append(clustermanager.OperatorObjects(facts.Cluster).References(), clustermanager.SliceObjects(facts.Cluster).References()...) {
		facts.Live[clustermanager.LiveKey(reference)] = clustermanager.Known[*clustermanager.LiveObject](nil)
	}
	for _, change := range changes {
		change(&facts)
	}
	return facts
}

func poolObject(reference clustermanager.ObjectReference) *clustermanager.LiveObject {
	return &clustermanager.LiveObject{Reference: reference, Labels: map[string]string{
		clustermanager.LabelManagedBy: clustermanager.ManagedBy, clustermanager.LabelChart: clustermanager.ChartGPUNodePool,
		clustermanager.LabelCluster: "wc1", clustermanager.LabelNodePool: "gpu-l4",
	}}
}

func withSlice(values map[string]any) func(*clustermanager.NodePoolRemovalSurvey) {
	return func(facts *clustermanager.NodePoolRemovalSurvey) {
		facts.Serving.Slice = clustermanager.Known(&clustermanager.Slice{
			Cluster: "wc1", Owned: true, Release: clustermanager.NamespacedName{Namespace: "org-acme", Name: "wc1-agent-platform"},
			Values: clustermanager.NewValues(values), Deployed: "4.90.0", Range: ">=4.90.0 <5.0.0",
		})
		ours := func(chart string) map[string]string {
			return map[string]string{clustermanager.LabelManagedBy: clustermanager.ManagedBy, clustermanager.LabelChart: chart, clustermanager.LabelCluster: "wc1"}
		}
		for chart, objects := range map[string]clustermanager.ReleaseObjects{
			clustermanager.ChartAgentPlatform: clustermanager.SliceObjects(facts.Cluster), clustermanager.ChartGPUOperator: clustermanager.OperatorObjects(facts.Cluster),
		} {
			for _, reference := range objects.References() {
				facts.Live[clustermanager.LiveKey(reference)] = clustermanager.Known(&clustermanager.LiveObject{Reference: reference, Labels: ours(chart)})
			}
		}
		facts.Parts.Children = clustermanager.Known([]clustermanager.SliceChild{
			{Name: "wc1-agent-platform-connectivity", Chart: chartConnectivity}, {Name: "wc1-agentgateway", Chart: chartAgentGateway},
			{Name: "wc1-kserve-llmisvc-resources", Chart: chartController}, {Name: "wc1-kserve-runtime-configs", Chart: chartConfigs},
		})
		facts.Serving.Backends = clustermanager.Known([]clustermanager.Backend{
			{ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: "model-backend-kserve-wc1"}, Cluster: "wc1", Owned: true},
		})
		facts.Serving.Namespace = clustermanager.Known(&clustermanager.ServingNamespace{
			Name: "model-serving", RenderedBy: clustermanager.NamespacedName{Namespace: "org-acme", Name: "wc1-agent-platform-connectivity"},
		})
	}
}

func another(name string, owned bool) func(*clustermanager.NodePoolRemovalSurvey) {
	return func(facts *clustermanager.NodePoolRemovalSurvey) {
		facts.Pools = clustermanager.Known(append(facts.Pools.Or(nil), clustermanager.PoolRelease{Name: name, Owned: owned, Accelerator: "nvidia-l4", Sizes: []string{"xlarge"}}))
	}
}

var serves = map[string]any{
	"components": map[string]any{"modelServing": map[string]any{"enabled": true}},
	"gitops":     map[string]any{"targetNamespace": "agent-platform"},
}

// stepsText are the steps of a plan, one a line.
func stepsText(plan clustermanager.Plan) string {
	var lines []string
	for _, step := range plan.Steps {
		line := string(step.Verb) + " " + string(step.Lane) + " " + step.Reference().String()
		if step.Select != nil {
			line = string(step.Verb) + " " + string(step.Lane) + " every " + step.Select.Kind + " in " + step.Select.Namespace + " " + step.Select.Labels
		}
		if step.At == clustermanager.AtTarget {
			line += " @target"
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

const poolSteps = `remove declared OCIRepository org-acme/wc1-gpu-l4
remove declared Secret org-acme/wc1-gpu-l4-values
remove declared HelmRelease org-acme/wc1-gpu-l4`

// operatorSteps are part of every last pool's removal: what is absent is done.
const operatorSteps = `remove declared HelmRelease org-acme/wc1-gpu-operator
remove declared OCIRepository org-acme/wc1-gpu-operator
`

const lastSteps = `remove teardown HelmRelease org-acme/wc1-kserve-llmisvc-resources
await teardown every Deployment in  control-plane=llmisvc-controller-manager @target
remove teardown every LLMInferenceService in model-serving app.kubernetes.io/managed-by=model-manager @target
remove teardown every LLMInferenceServiceConfig in agent-platform  @target
remove teardown HelmRelease org-acme/wc1-kserve-runtime-configs
remove declared HelmRelease org-acme/wc1-gpu-operator
remove declared OCIRepository org-acme/wc1-gpu-operator
remove runtime ConfigMap agent-platform/model-backend-kserve-wc1
remove declared OCIRepository org-acme/wc1-agent-platform
remove declared HelmRelease org-acme/wc1-agent-platform
` + poolSteps + `
await teardown HelmRelease org-acme/wc1-agent-platform-connectivity
retire teardown Namespace model-serving @target`

func TestRemovalSteps(t *testing.T) {
	t.Parallel()
	composesGateway := map[string]any{"components": map[string]any{"gateway-api-crds": map[string]any{"enabled": true}}}
	for _, test := range []struct {
		name       string
		facts      clustermanager.NodePoolRemovalSurvey
		want       string
		last, kept bool
		warnings   []string
	}{
		{name: "a pool alone", facts: plainRemoval(), want: operatorSteps + poolSteps, last: true},
		{name: "idle nodes first", facts: plainRemoval(func(facts *clustermanager.NodePoolRemovalSurvey) {
			withClaims(readyClaim("wc1-gpu-l4-aaaaa", "ip-1", ""))(&facts.Pool)
			withNodes(emptyNode("ip-1", ""))(&facts.Pool)
		}), want: "remove teardown NodeClaim wc1-gpu-l4-aaaaa @target\n" + operatorSteps + poolSteps, last: true},
		{name: "the last pool", facts: plainRemoval(withSlice(serves)), want: lastSteps, last: true},
		{name: "the last pool, served by hand too", facts: plainRemoval(withSlice(serves), serveModels(handMade)), want: lastSteps, last: true,
			warnings: []string{"Cluster org-acme/wc1: not model-manager's, so they are left, and lose what serves them: InferenceService other/bert"}},
		{name: "another pool remains", facts: plainRemoval(withSlice(serves), another("wc1-gpu-x", true)), want: "ensure runtime ConfigMap agent-platform/model-backend-kserve-wc1\n" + poolSteps},
		{name: "another pool, no registration", facts: plainRemoval(another("wc1-gpu-x", true)), want: poolSteps},
		{name: "somebody else's pool remains", facts: plainRemoval(withSlice(serves), another("wc1-gpu-x", false)), want: "ensure runtime ConfigMap agent-platform/model-backend-kserve-wc1\n" + poolSteps},
		{name: "a pool without a release has GPUs", facts: plainRemoval(withSlice(serves), func(facts *clustermanager.NodePoolRemovalSurvey) {
			facts.Nodes = clustermanager.Known([]clustermanager.Node{{Name: "ip-5", GPUs: 1, Labels: map[string]string{clustermanager.LabelMachinePool: "wc1-byhand"}}})
		}), want: "ensure runtime ConfigMap agent-platform/model-backend-kserve-wc1\n" + poolSteps},
		{name: "its own nodes are no other pool's", facts: plainRemoval(func(facts *clustermanager.NodePoolRemovalSurvey) {
			facts.Nodes = clustermanager.Known([]clustermanager.Node{{Name: "ip-5", GPUs: 1, Labels: map[string]string{clustermanager.LabelMachinePool: "wc1-gpu-l4"}}, {Name: "ip-6", GPUs: 1}})
		}), want: operatorSteps + poolSteps, last: true},
		{name: "another slice is on", facts: plainRemoval(withSlice(map[string]any{"components": map[string]any{"kagent": map[string]any{"enabled": true}}})), last: true, kept: true,
			want:     "remove declared HelmRelease org-acme/wc1-gpu-operator\nremove declared OCIRepository org-acme/wc1-gpu-operator\n" + poolSteps,
			warnings: []string{"HelmRelease org-acme/wc1-agent-platform: the release stays, since it carries another slice too (kagent)"}},
		{name: "an operator of somebody else", facts: plainRemoval(func(facts *clustermanager.NodePoolRemovalSurvey) {
			reference := clustermanager.OperatorObjects(facts.Cluster).Release
			facts.Live[clustermanager.LiveKey(reference)] = clustermanager.Known(&clustermanager.LiveObject{Reference: reference, Labels: map[string]string{}})
		}), want: "remove declared OCIRepository org-acme/wc1-gpu-operator\n" + poolSteps, last: true,
			warnings: []string{"HelmRelease org-acme/wc1-gpu-operator: cluster-manager did not create it, so it stays"}},
		{name: "the slice went before", facts: plainRemoval(func(facts *clustermanager.NodePoolRemovalSurvey) {
			facts.Serving.Namespace = clustermanager.Known(&clustermanager.ServingNamespace{Name: "model-serving", RenderedBy: clustermanager.NamespacedName{Namespace: "org-acme", Name: "agent-platform-connectivity"}})
		}), want: operatorSteps + poolSteps + "\nawait teardown HelmRelease org-acme/agent-platform-connectivity\nretire teardown Namespace model-serving @target", last: true},
		{name: "the Gateway API came with the slice", facts: plainRemoval(withSlice(composesGateway), func(facts *clustermanager.NodePoolRemovalSurvey) {
			facts.Serving.Namespace = clustermanager.Known[*clustermanager.ServingNamespace](nil)
		}), last: true, want: strings.NewReplacer("in agent-platform", "in org-acme",
			"remove declared OCIRepository org-acme/wc1-agent-platform", "annotate teardown CustomResourceDefinition gateways.gateway.networking.k8s.io @target\nremove declared OCIRepository org-acme/wc1-agent-platform",
			"\nretire teardown Namespace model-serving @target", `
await teardown HelmRelease org-acme/wc1-agentgateway
remove teardown CustomResourceDefinition backendtlspolicies.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition gatewayclasses.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition grpcroutes.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition httproutes.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition listenersets.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition referencegrants.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition tcproutes.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition tlsroutes.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition udproutes.gateway.networking.k8s.io @target
remove teardown CustomResourceDefinition gateways.gateway.networking.k8s.io @target`).Replace(lastSteps)},
	} {
		for _, mode := range []clustermanager.Mode{clustermanager.ModeApply, clustermanager.ModeCommit} {
			removal, err := RemoveNodePool(clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "gpu-l4", Mode: mode}, test.facts)
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			if diff := cmp.Diff(test.want, stepsText(removal.Plan)); diff != "" || removal.LastPool != test.last || removal.SliceKept != test.kept {
				t.Errorf("%s: last %v, kept %v: %s", test.name, removal.LastPool, removal.SliceKept, diff)
			}
			if diff := cmp.Diff(test.warnings, removal.Plan.Warnings); diff != "" {
				t.Errorf("%s: %s", test.name, diff)
			}
		}
	}
}

func serveModels(models ...clustermanager.ServedModel) func(*clustermanager.NodePoolRemovalSurvey) {
	return func(facts *clustermanager.NodePoolRemovalSurvey) { facts.Serving.Models = clustermanager.Known(models) }
}

func TestARewrittenBackendNamesThePoolsThatRemain(t *testing.T) {
	t.Parallel()
	composed := func(facts clustermanager.NodePoolRemovalSurvey) string {
		removal, err := RemoveNodePool(clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "gpu-l4"}, facts)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range removal.Plan.In(clustermanager.Runtime) {
			return lookup(step.Object.Object, "data", backendKey).(string)
		}
		return ""
	}
	one := composed(plainRemoval(withSlice(serves), another("wc1-gpu-x", true)))
	for _, want := range []string{"gpuPool:", "instanceType: g6.xlarge", "namespace: agent-platform", "apiServer: https://api.wc1"} {
		if !strings.Contains(one, want) {
			t.Errorf("lacks %q:\n%s", want, one)
		}
	}
	if two := composed(plainRemoval(withSlice(serves), another("wc1-gpu-x", true), another("wc1-gpu-y", true))); !strings.Contains(two, "gpuPools:") || !strings.Contains(two, "wc1-gpu-y:") || strings.Contains(two, "wc1-gpu-l4") {
		t.Error(two)
	}
	if none := composed(plainRemoval(withSlice(serves), another("wc1-gpu-x", false))); none == "" || strings.Contains(none, "gpuPool") {
		t.Error(none)
	}
	same := composed(plainRemoval(withSlice(serves), another("wc1-gpu-x", true), func(facts *clustermanager.NodePoolRemovalSurvey) {
		facts.Serving.Backends.Or(nil)[0].Document = one
	}))
	if same != "" {
		t.Errorf("a document that stands is written: %s", same)
	}
}

func TestLiveStepsOfARemoval(t *testing.T) {
	t.Parallel()
	keeps := func(facts *clustermanager.NodePoolRemovalSurvey) {
		target, _ := facts.Target.Get()
		target.Prune = false
		facts.Target = clustermanager.Known(target)
	}
	for _, test := range []struct {
		name  string
		facts clustermanager.NodePoolRemovalSurvey
		want  []string
	}{
		{"prunes, a pool alone", plainRemoval(), nil},
		{"prunes, with serving", plainRemoval(withSlice(serves)), []string{"the merge removes the releases as Flux deletes them", "closed unmerged"}},
		{"does not prune", plainRemoval(keeps), []string{"Kustomization flux/wc1 does not prune, so the merge removes no release: after it call delete_node_pool in mode apply with the same arguments"}},
		{"does not prune, with serving", plainRemoval(keeps, withSlice(serves)), []string{"does not prune", "closed unmerged"}},
	} {
		removal, err := RemoveNodePool(clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "gpu-l4", Mode: clustermanager.ModeCommit}, test.facts)
		if err != nil || len(removal.LiveSteps) != len(test.want) {
			t.Errorf("%s: %q, %v", test.name, removal.LiveSteps, err)
			continue
		}
		for index, want := range test.want {
			if !strings.Contains(removal.LiveSteps[index], want) {
				t.Errorf("%s: %q lacks %q", test.name, removal.LiveSteps[index], want)
			}
		}
	}
}

func TestRemovalsThatAreRefused(t *testing.T) {
	t.Parallel()
	release := func(change func(*clustermanager.LiveObject)) func(*clustermanager.NodePoolRemovalSurvey) {
		return func(facts *clustermanager.NodePoolRemovalSurvey) {
			reference := clustermanager.NodePool(facts.Cluster, "gpu-l4").Release
			live := poolObject(reference)
			change(live)
			facts.Live[clustermanager.LiveKey(reference)] = clustermanager.Known(live)
		}
	}
	facts := func(change func(*clustermanager.PoolReleaseFacts)) func(*clustermanager.NodePoolRemovalSurvey) {
		return func(survey *clustermanager.NodePoolRemovalSurvey) { withRelease(change)(&survey.Pool) }
	}
	inGit := release(func(live *clustermanager.LiveObject) {
		live.InInventoryOf = &clustermanager.NamespacedName{Namespace: "flux", Name: "wc1"}
	})
	unfinalized := facts(func(release *clustermanager.PoolReleaseFacts) { release.Finalized = false })
	busy := func(survey *clustermanager.NodePoolRemovalSurvey) {
		withClaims(readyClaim("wc1-gpu-l4-aaaaa", "ip-1", ""))(&survey.Pool)
		withNodes(busyNode("ip-1", ""))(&survey.Pool)
	}
	noNodes := func(survey *clustermanager.NodePoolRemovalSurvey) {
		survey.Nodes = clustermanager.Unknown[[]clustermanager.Node]("forbidden")
	}
	for _, test := range []struct {
		name   string
		facts  clustermanager.NodePoolRemovalSurvey
		mode   clustermanager.Mode
		force  bool
		want   string
		reason clustermanager.Reason
	}{
		{name: "somebody else's", facts: plainRemoval(release(func(live *clustermanager.LiveObject) { delete(live.Labels, clustermanager.LabelManagedBy) }), busy), want: "cluster-manager did not create it"},
		{name: "another cluster's pool", facts: plainRemoval(release(func(live *clustermanager.LiveObject) { live.Labels[clustermanager.LabelCluster] = "wc1-gpu" })), want: "belongs to another release of ours"},
		{name: "unread", facts: plainRemoval(func(survey *clustermanager.NodePoolRemovalSurvey) {
			survey.Live[clustermanager.LiveKey(clustermanager.NodePool(survey.Cluster, "gpu-l4").Release)] = clustermanager.Unknown[*clustermanager.LiveObject]("forbidden")
		}), want: "whose it is could not be read: forbidden"},
		{name: "busy before unreconciled", facts: plainRemoval(busy, unfinalized), want: "its nodes are busy"},
		{name: "nodes unread", facts: plainRemoval(noNodes), want: "whether another pool has nodes with GPUs could not be read"},
		{name: "no finalizer", facts: plainRemoval(unfinalized), want: "helm-controller has not taken it up yet"},
		{name: "no finalizer, by force", facts: plainRemoval(unfinalized), force: true, want: "helm-controller has not taken it up yet"},
		{name: "an unseen generation", facts: plainRemoval(facts(func(release *clustermanager.PoolReleaseFacts) { release.Generation = 3 })), want: "helm-controller has not taken it up yet"},
		{name: "in git", facts: plainRemoval(inGit), want: "Kustomization flux/wc1 applies it from git: use mode commit"},
		{name: "in git of another", facts: plainRemoval(release(func(live *clustermanager.LiveObject) {
			live.InInventoryOf = &clustermanager.NamespacedName{Namespace: "flux", Name: "other"}
		})), mode: clustermanager.ModeCommit, want: "the cluster's files go to Kustomization flux/wc1"},
		{name: "no target", facts: plainRemoval(func(survey *clustermanager.NodePoolRemovalSurvey) {
			survey.Target = clustermanager.Read(clustermanager.Target{}, clustermanager.Refuse("no Kustomization owns it"))
		}), mode: clustermanager.ModeCommit, want: "no Kustomization owns it"},
		{name: "a foreign source", facts: plainRemoval(func(survey *clustermanager.NodePoolRemovalSurvey) {
			reference := clustermanager.NodePool(survey.Cluster, "gpu-l4").Source
			survey.Live[clustermanager.LiveKey(reference)] = clustermanager.Known(&clustermanager.LiveObject{Reference: reference})
		}), want: "OCIRepository org-acme/wc1-gpu-l4: cluster-manager did not create it"},
		{name: "slice unread", facts: plainRemoval(func(survey *clustermanager.NodePoolRemovalSurvey) {
			survey.Serving.Slice = clustermanager.Unknown[*clustermanager.Slice]("forbidden")
		}), force: true, want: "its serving slice could not be read: forbidden"},
		{name: "children unread", facts: plainRemoval(withSlice(serves), func(survey *clustermanager.NodePoolRemovalSurvey) {
			survey.Parts.Children = clustermanager.Unknown[[]clustermanager.SliceChild]("forbidden")
		}), force: true, want: "which releases its serving slice rendered could not be read: forbidden"},
	} {
		mode := test.mode
		if mode == "" {
			mode = clustermanager.ModeApply
		}
		removal, err := RemoveNodePool(clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "gpu-l4", Mode: mode, Force: test.force}, test.facts)
		if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.Contains(err.Error(), test.want) || len(removal.Plan.Steps) > 0 {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := RemoveNodePool(clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "gpu-l4", Mode: clustermanager.ModeCommit}, plainRemoval(inGit)); err != nil {
		t.Errorf("what the proposal's own Kustomization applies: %v", err)
	}
	forced, err := RemoveNodePool(clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "gpu-l4", Force: true}, plainRemoval(busy, noNodes))
	if err != nil || len(forced.Plan.Warnings) != 2 || !strings.Contains(forced.Plan.Warnings[1], "node ip-1 runs model-serving/qwen (1 GPU)") {
		t.Errorf("%v %q", err, forced.Plan.Warnings)
	}
	seen := plainRemoval(facts(func(release *clustermanager.PoolReleaseFacts) { release.ObservedGeneration = -1 }))
	if _, err := RemoveNodePool(clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "gpu-l4"}, seen); err != nil {
		t.Errorf("an observedGeneration that is not set: %v", err)
	}
}
