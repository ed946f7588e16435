package compose

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// guarded is the survey of a pool's removal over a cluster that serves nothing.
func guarded(pool clustermanager.NodePoolFacts, changes ...func(*clustermanager.NodePoolRemovalSurvey)) clustermanager.NodePoolRemovalSurvey {
	survey := clustermanager.NodePoolRemovalSurvey{Pool: pool, Predictors: clustermanager.Known([]clustermanager.Predictor{})}
	survey.Settings = clustermanager.DefaultSettings()
	survey.Cluster = clustermanager.Cluster{Namespace: "org-acme", Name: "wc1", Organization: "acme"}
	survey.Serving.Models = clustermanager.Known([]clustermanager.ServedModel{})
	for _, change := range changes {
		change(&survey)
	}
	return survey
}

func predictors(pods ...clustermanager.Predictor) func(*clustermanager.NodePoolRemovalSurvey) {
	return func(survey *clustermanager.NodePoolRemovalSurvey) { survey.Predictors = clustermanager.Known(pods) }
}

var (
	qwen     = clustermanager.ServedModel{Kind: "LLMInferenceService", Namespace: "model-serving", Name: "qwen", Model: "Qwen/Qwen3-8B", Managed: true}
	handMade = clustermanager.ServedModel{Kind: "InferenceService", Namespace: "other", Name: "bert"}
	waitsFor = clustermanager.Predictor{Namespace: "model-serving", Name: "qwen-kserve-xnkd2", Kind: "LLMInferenceService", Model: "qwen", Phase: "Pending"}
)

// The table of what refuses, and what the block holds then.
func TestNodesGuard(t *testing.T) {
	t.Parallel()
	idleNode := []func(*clustermanager.NodePoolFacts){withClaims(readyClaim("wc1-gpu-aaaaa", "ip-1", "")), withNodes(emptyNode("ip-1", ""))}
	both := poolOf(2, withClaims(readyClaim("wc1-gpu-aaaaa", "ip-1", ""), readyClaim("wc1-gpu-bbbbb", "ip-2", ""), clustermanager.NodeClaim{Name: "wc1-gpu-ccccc"}), withNodes(emptyNode("ip-1", ""), busyNode("ip-2", "")))
	hidden := emptyNode("ip-1", "")
	hidden.Pods = clustermanager.Unknown[[]clustermanager.NodePod]("forbidden")
	noMachinePool := func(facts *clustermanager.NodePoolFacts) {
		facts.MachinePool = clustermanager.Known[*clustermanager.MachinePoolFacts](nil)
		facts.Machines = clustermanager.Unknown[clustermanager.MachineFacts]("none")
	}
	onNode, onOther, named := waitsFor, waitsFor, waitsFor
	onNode.NodeName = "ip-9"
	onOther.Pools, named.Pools = []string{"wc1-other"}, []string{"wc1-other", "wc1-gpu"}
	phaseless, unnamed := onOther, waitsFor
	phaseless.Phase, unnamed.Name = "Unknown", "qwen-kserve-xnkd3"
	ended := waitsFor
	ended.Phase = "Failed"
	models, all := []string{qwen.String()}, []string{handMade.String(), qwen.String()}
	block := func(nodes, idle, models, unscheduled []string, readFrom string) *clustermanager.RefusalBlock {
		hint := hintCluster
		if readFrom == readFromMachinePool {
			hint = hintMachinePool
		}
		return &clustermanager.RefusalBlock{Nodes: nodes, Idle: idle, Models: models, Unscheduled: unscheduled, Hint: hint, ReadFrom: readFrom}
	}
	none := []string{}
	for _, test := range []struct {
		name   string
		survey clustermanager.NodePoolRemovalSurvey
		last   bool
		want   *clustermanager.RefusalBlock
		words  []string
		passes bool
	}{
		{name: "nothing busy", survey: guarded(poolOf(1, idleNode...)), passes: true},
		{name: "no claim and no node, whatever the MachinePool lists", survey: guarded(poolOf(2)), last: true, passes: true},
		{name: "busy", survey: guarded(both, serveModels(qwen, handMade), predictors(onNode)), want: block([]string{"ip-2", "wc1-gpu-ccccc"}, []string{"ip-1"}, all, nil, "cluster"),
			words: []string{"node ip-2 runs model-serving/qwen (1 GPU)", "node wc1-gpu-ccccc is a NodeClaim still launching", qwen.String(), "force"}},
		{name: "busy without a MachinePool", survey: guarded(poolOf(0, noMachinePool, withClaims(readyClaim("wc1-gpu-aaaaa", "ip-1", "")), withNodes(busyNode("ip-1", "")))), want: block([]string{"ip-1"}, nil, none, nil, "cluster")},
		{name: "busy, models unread", survey: guarded(both, func(survey *clustermanager.NodePoolRemovalSurvey) {
			survey.Serving.Models = clustermanager.Unknown[[]clustermanager.ServedModel]("forbidden")
		}), want: block([]string{"ip-2", "wc1-gpu-ccccc"}, []string{"ip-1"}, none, nil, "cluster")},
		{name: "pods of a node unread", survey: guarded(poolOf(1, withClaims(readyClaim("wc1-gpu-aaaaa", "ip-1", "")), withNodes(hidden))), want: block([]string{"ip-1"}, nil, none, nil, "cluster"), words: []string{"its pods could not be read: forbidden"}},
		{name: "a model waits", survey: guarded(poolOf(1, idleNode...), serveModels(handMade, qwen), predictors(waitsFor)), want: block(none, []string{"ip-1"}, all, models, "cluster"),
			words: []string{"LLMInferenceService model-serving/qwen (Qwen/Qwen3-8B): pod model-serving/qwen-kserve-xnkd2 Pending on no node", "ip-1"}},
		{name: "a model without a pod", survey: guarded(poolOf(0), serveModels(qwen), predictors(ended)), want: block(none, nil, models, models, "cluster"), words: []string{"no predictor pod yet"}},
		{name: "served elsewhere", survey: guarded(poolOf(0), serveModels(qwen), predictors(waitsFor, onNode)), passes: true},
		{name: "waits for another pool", survey: guarded(poolOf(0), serveModels(qwen), predictors(onOther)), passes: true},
		{name: "waits for another pool, and this is the last", survey: guarded(poolOf(0), serveModels(qwen), predictors(onOther)), last: true, want: block(none, nil, models, models, "cluster")},
		{name: "waits for any of two pools", survey: guarded(poolOf(0), serveModels(qwen), predictors(named)), want: block(none, nil, models, models, "cluster")},
		{name: "names another pool, and is not pending", survey: guarded(poolOf(0), serveModels(qwen), predictors(phaseless)), want: block(none, nil, models, models, "cluster")},
		{name: "one of its pods names no pool", survey: guarded(poolOf(0), serveModels(qwen), predictors(onOther, unnamed)), want: block(none, nil, models, models, "cluster")},
		{name: "made by hand", survey: guarded(poolOf(0), serveModels(handMade)), last: true, passes: true},
		{name: "cluster unreadable", survey: guarded(poolOf(2, unreadable), func(survey *clustermanager.NodePoolRemovalSurvey) {
			survey.Serving.Models = clustermanager.Unknown[[]clustermanager.ServedModel]("no way in")
		}), want: block([]string{"aws:///a/i-1", "aws:///b/i-2"}, nil, none, nil, "machinePool"), words: []string{"2 replica(s) (aws:///a/i-1, aws:///b/i-2)", "no way in"}},
		{name: "neither list readable", survey: guarded(poolOf(0, unreadable), serveModels(qwen)), want: block([]string{"aws:///a/i-1", "aws:///b/i-2"}, nil, models, nil, "machinePool")},
		{name: "unreadable, no MachinePool", survey: guarded(poolOf(0, unreadable, noMachinePool)), want: block(none, nil, none, nil, "machinePool"), words: []string{"it has no MachinePool"}},
		{name: "models unread", survey: guarded(poolOf(0), func(survey *clustermanager.NodePoolRemovalSurvey) {
			survey.Serving.Models = clustermanager.Unknown[[]clustermanager.ServedModel]("forbidden")
		}), words: []string{"the models served on the cluster could not be read: forbidden"}},
		{name: "pods unread", survey: guarded(poolOf(0), serveModels(qwen), func(survey *clustermanager.NodePoolRemovalSurvey) {
			survey.Predictors = clustermanager.Unknown[[]clustermanager.Predictor]("forbidden")
		}), words: []string{"the pods of the serving namespace could not be read: forbidden"}},
	} {
		err := GuardNodePool(test.survey, test.last)
		var refusal *clustermanager.Refusal
		if errors.As(err, &refusal) == test.passes {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if test.passes {
			continue
		}
		if diff := cmp.Diff(test.want, refusal.Block); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		for _, word := range test.words {
			if !strings.Contains(refusal.Message, word) {
				t.Errorf("%s: %q lacks %q", test.name, refusal.Message, word)
			}
		}
	}
}
