package compose

import (
	"fmt"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Where a refusal of the nodes guard was read from.
const (
	readFromCluster     = "cluster"
	readFromMachinePool = "machinePool"
)

const (
	hintCluster     = "unload the models of the cluster and call again: delete_node_pool takes the pool's idle nodes itself and finishes in one call"
	hintMachinePool = "unload the models of the cluster first; an empty node goes about ten minutes after its last pod, and the MachinePool's list follows minutes later; once the cluster can be read as you, delete_node_pool takes idle nodes itself"
	forceWayOut     = "force removes the pool all the same"
)

// GuardNodePool refuses to remove a pool whose nodes are busy or cannot be read, or that a model waits for. With the
// cluster's last pool serving goes too, so every waiting model counts then. The error is a *clustermanager.Refusal.
func GuardNodePool(survey clustermanager.NodePoolRemovalSurvey, last bool) error {
	if found := findInUse(survey, last); found != nil {
		return found.refusal
	}
	return nil
}

// inUse is what stands against the removal of a pool: in words, and as the refusal that it is without force.
type inUse struct {
	text    string
	refusal *clustermanager.Refusal
}

// findInUse is what stands against the removal; nil: nothing does.
func findInUse(survey clustermanager.NodePoolRemovalSurvey, last bool) *inUse {
	g := nodesGuard{survey: survey, last: last, states: nodeStates(survey.Pool)}
	if !survey.Pool.Readable() {
		return g.unreadable()
	}
	if busy := g.busy(); len(busy) > 0 {
		return g.refuse(busy, nil, "its nodes are busy: "+g.holders())
	}
	waiting, untold := g.waiting()
	if untold != nil || len(waiting) == 0 {
		return untold
	}
	var names, texts []string
	for _, model := range waiting {
		names, texts = append(names, model.String()), append(texts, model.String()+": "+g.podsOf(model))
	}
	text := "no node of it is busy, and a model waits for a node: " + strings.Join(texts, "; ")
	if idle := g.idle(); len(idle) > 0 {
		text += "; its idle nodes go with it once the model is unloaded: " + strings.Join(idle, ", ")
	}
	return g.refuse(nil, names, text)
}

// nodesGuard is one judgement of a pool.
type nodesGuard struct {
	survey clustermanager.NodePoolRemovalSurvey
	last   bool
	states []nodeState
}

// pool names the pool as refusals do.
func (g nodesGuard) pool() string {
	return fmt.Sprintf("node pool %s of cluster %s/%s", g.survey.Pool.NodePool(), g.survey.Cluster.Namespace, g.survey.Cluster.Name)
}

func (g nodesGuard) busy() []string {
	var names []string
	for _, state := range g.states {
		if state.busy != "" {
			names = append(names, state.name)
		}
	}
	return names
}

func (g nodesGuard) idle() []string {
	var names []string
	for _, state := range g.states {
		if state.idle {
			names = append(names, state.name)
		}
	}
	return names
}

// holders says of each busy node what holds it.
func (g nodesGuard) holders() string {
	var texts []string
	for _, state := range g.states {
		if state.busy != "" {
			texts = append(texts, "node "+state.name+" "+state.busy)
		}
	}
	return strings.Join(texts, "; ")
}

// models are all that the cluster serves; none when that cannot be told.
func (g nodesGuard) models() []string {
	names := []string{}
	for _, model := range g.survey.Serving.Models.Or(nil) {
		names = append(names, model.String())
	}
	slices.Sort(names)
	return names
}

// refuse makes the refusal of a cluster that could be read.
func (g nodesGuard) refuse(busy, unscheduled []string, text string) *inUse {
	models := g.models()
	if len(models) > 0 {
		text += "; models served on the cluster: " + strings.Join(models, ", ")
	}
	return g.found(text, &clustermanager.RefusalBlock{
		Nodes: append([]string{}, busy...), Idle: g.idle(), Models: models, Unscheduled: unscheduled,
		Hint: hintCluster, ReadFrom: readFromCluster,
	})
}

func (g nodesGuard) found(text string, block *clustermanager.RefusalBlock) *inUse {
	text = g.pool() + ": " + text
	return &inUse{text, &clustermanager.Refusal{Message: text + ": " + block.Hint + "; " + forceWayOut, Block: block}}
}

// unreadable refuses where the MachinePool alone tells of nodes, which lags what is there.
func (g nodesGuard) unreadable() *inUse {
	pool := g.survey.Pool
	ids := append([]string{}, pool.Machines.Or(clustermanager.MachineFacts{}).ProviderIDs...)
	replicas := "its MachinePool could not be read either: " + pool.MachinePool.Reason()
	switch machinePool, known := pool.MachinePool.Get(); {
	case known && machinePool == nil:
		replicas = "it has no MachinePool"
	case known:
		replicas = fmt.Sprintf("its MachinePool counts %d replica(s)%s", machinePool.Replicas, inBrackets(ids))
	}
	reason := pool.Claims.Reason()
	if nodes := pool.Nodes.Reason(); nodes != reason {
		reason += "; " + nodes
	}
	return g.found(fmt.Sprintf("which of its nodes are busy could not be read on the cluster (%s), so the MachinePool had to decide, and %s", reason, replicas),
		&clustermanager.RefusalBlock{Nodes: ids, Models: g.models(), Hint: hintMachinePool, ReadFrom: readFromMachinePool})
}

// waiting are the models that model-manager serves, whose predictor is on no node and may wait for this pool.
func (g nodesGuard) waiting() ([]clustermanager.ServedModel, *inUse) {
	models, known := g.survey.Serving.Models.Get()
	if !known {
		return nil, g.untold("the models served on the cluster could not be read: " + g.survey.Serving.Models.Reason())
	}
	if err := g.survey.Predictors.Err(); err != nil {
		return nil, g.untold("the pods of the serving namespace could not be read: " + err.Error())
	}
	var waiting []clustermanager.ServedModel
	for _, model := range models {
		if model.Managed && g.waits(g.predictors(model)) {
			waiting = append(waiting, model)
		}
	}
	return waiting, nil
}

func (g nodesGuard) untold(what string) *inUse {
	text := g.pool() + ": " + what + ", so whether a model waits for one of its nodes cannot be told"
	return &inUse{text, clustermanager.Refuse("%s: see to that and call again; %s", text, forceWayOut)}
}

// predictors are the model's pods that have not ended.
func (g nodesGuard) predictors(model clustermanager.ServedModel) []clustermanager.Predictor {
	var pods []clustermanager.Predictor
	for _, pod := range g.survey.Predictors.Or(nil) {
		if pod.Kind == model.Kind && pod.Model == model.Name && pod.Namespace == model.Namespace && !pod.Finished() {
			pods = append(pods, pod)
		}
	}
	return pods
}

// waits says whether a model with these pods may wait for a node of this pool. One without a pod may; one that has a pod
// on a node does not; one whose pods all name other pools does only while this is the last pool.
func (g nodesGuard) waits(pods []clustermanager.Predictor) bool {
	release := g.survey.Pool.NodePool()
	elsewhere := len(pods) > 0
	for _, pod := range pods {
		if pod.NodeName != "" {
			return false
		}
		elsewhere = elsewhere && pod.Phase == "Pending" && len(pod.Pools) > 0 && !slices.Contains(pod.Pools, release)
	}
	return g.last || !elsewhere
}

func (g nodesGuard) podsOf(model clustermanager.ServedModel) string {
	var texts []string
	for _, pod := range g.predictors(model) {
		texts = append(texts, fmt.Sprintf("pod %s/%s %s on no node", pod.Namespace, pod.Name, pod.Phase))
	}
	if len(texts) == 0 {
		return "no predictor pod yet"
	}
	return strings.Join(texts, ", ")
}
