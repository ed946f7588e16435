package survey

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	labelKarpenterPool = "karpenter.sh/nodepool"
	// eventNamespace is where Karpenter's events on NodeClaims go, which are in no namespace themselves.
	eventNamespace = "default"
)

var (
	nodeClaimNoun = noun{"NodeClaim", schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}}
	eventNoun     = noun{"Event", schema.GroupVersionResource{Version: "v1", Resource: "events"}}
	podNoun       = noun{"Pod", schema.GroupVersionResource{Version: "v1", Resource: "pods"}}
)

// launchReasons are the reasons of Karpenter's warnings that a claim could not be launched.
var launchReasons = []string{"InsufficientCapacityError", "NodeClassNotReady"}

// Of which pools the pods of each node are read.
var (
	everyPool = func(*listedPool) bool { return true }
	gpuPools  = func(pool *listedPool) bool { return pool.facts.Release.Or(nil) != nil }
)

// readNodes reads the NodeClaims, Nodes and launch failures of all pools from the cluster, one list each, and the pods
// of each node of the pools that pods are wanted of.
func (r *Reader) readNodes(ctx context.Context, cluster clustermanager.Cluster, pools []*listedPool, pods func(*listedPool) bool) {
	if len(pools) == 0 {
		return
	}
	target, err := r.target(ctx, cluster)
	var claims, nodes, events []unstructured.Unstructured
	claimsErr, nodesErr, eventsErr := err, err, err
	if err == nil {
		var names []string
		for _, pool := range pools {
			names = append(names, pool.facts.NodePool())
		}
		chosen := " in (" + strings.Join(names, ",") + ")"
		var reads errgroup.Group
		reads.Go(func() error {
			claims, claimsErr = target.list(ctx, nodeClaimNoun, "", metav1.ListOptions{LabelSelector: labelKarpenterPool + chosen})
			return nil
		})
		reads.Go(func() error {
			nodes, nodesErr = target.list(ctx, nodeNoun, "", metav1.ListOptions{LabelSelector: clustermanager.LabelMachinePool + chosen})
			return nil
		})
		reads.Go(func() error {
			events, eventsErr = target.list(ctx, eventNoun, eventNamespace, metav1.ListOptions{FieldSelector: fields.Set{
				"involvedObject.kind": nodeClaimNoun.kind, "type": "Warning",
			}.String()})
			return nil
		})
		_ = reads.Wait()
	}
	for _, pool := range pools {
		pool.facts.Claims = clustermanager.Read(nodeClaimsOf(pool.facts.NodePool(), claims), claimsErr)
		pool.facts.Nodes = clustermanager.Read(nodesOf(pool.facts.NodePool(), nodes), nodesErr)
		pool.facts.Events = clustermanager.Read(launchEventsOf(pool.facts.NodePool(), events), eventsErr)
	}
	readPods(ctx, target, slices.DeleteFunc(slices.Clone(pools), func(pool *listedPool) bool { return !pods(pool) }))
}

// readPods reads the pods of each registered node, one list a node.
func readPods(ctx context.Context, target *Reader, pools []*listedPool) {
	var reads errgroup.Group
	reads.SetLimit(maxParallel)
	var mu sync.Mutex
	for _, pool := range pools {
		nodes := slices.Clone(pool.facts.Nodes.Or(nil))
		for index := range nodes {
			reads.Go(func() error {
				found, err := target.list(ctx, podNoun, "", metav1.ListOptions{FieldSelector: fields.Set{"spec.nodeName": nodes[index].Name}.String()})
				mu.Lock()
				defer mu.Unlock()
				nodes[index].Pods = clustermanager.Read(nodePods(found), err)
				return nil
			})
		}
		if pool.facts.Nodes.Err() == nil {
			pool.facts.Nodes = clustermanager.Known(nodes)
		}
	}
	_ = reads.Wait()
}

func nodeClaimsOf(pool string, objects []unstructured.Unstructured) []clustermanager.NodeClaim {
	found := []clustermanager.NodeClaim{}
	for index := range objects {
		object := &objects[index]
		if object.GetLabels()[labelKarpenterPool] != pool {
			continue
		}
		found = append(found, clustermanager.NodeClaim{
			Name: object.GetName(), Created: object.GetCreationTimestamp().UTC(), DeletedAt: deletedAt(object), Conditions: conditionsOf(object),
			NodeName: textAt(object.Object, "status", "nodeName"), ProviderID: textAt(object.Object, "status", "providerID"),
			LastPodEvent: momentAt(object.Object, "status", "lastPodEventTime"),
		})
	}
	slices.SortFunc(found, func(a, b clustermanager.NodeClaim) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

func nodesOf(pool string, objects []unstructured.Unstructured) []clustermanager.PoolNode {
	found := []clustermanager.PoolNode{}
	for index := range objects {
		object := &objects[index]
		if object.GetLabels()[clustermanager.LabelMachinePool] != pool {
			continue
		}
		ready := clustermanager.ConditionOf(conditionsOf(object), "Ready")
		found = append(found, clustermanager.PoolNode{
			Name: object.GetName(), Created: object.GetCreationTimestamp().UTC(), ProviderID: textAt(object.Object, "spec", "providerID"),
			Ready: ready != nil && ready.Status == "True", GPUs: int64(quantity(mapAt(object.Object, "status", "allocatable")[gpuResource])),
		})
	}
	slices.SortFunc(found, func(a, b clustermanager.PoolNode) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// launchEventsOf are the warnings about NodeClaims that Karpenter named after the pool: <pool>-<five characters>.
func launchEventsOf(pool string, objects []unstructured.Unstructured) []clustermanager.LaunchEvent {
	named := regexp.MustCompile("^" + regexp.QuoteMeta(pool) + "-[a-z0-9]{5}$")
	found := []clustermanager.LaunchEvent{}
	for index := range objects {
		object := &objects[index]
		claim, reason := textAt(object.Object, "involvedObject", "name"), textAt(object.Object, "reason")
		if !named.MatchString(claim) || !slices.Contains(launchReasons, reason) {
			continue
		}
		found = append(found, clustermanager.LaunchEvent{Claim: claim, Time: eventTime(object), Reason: reason, Message: textAt(object.Object, "message")})
	}
	slices.SortFunc(found, func(a, b clustermanager.LaunchEvent) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Claim, b.Claim))
	})
	return found
}

// eventTime is when an event was seen last, else when it happened, else when it was made.
func eventTime(event *unstructured.Unstructured) time.Time {
	for _, field := range []string{"lastTimestamp", "eventTime"} {
		if moment := momentAt(event.Object, field); moment != nil {
			return *moment
		}
	}
	return event.GetCreationTimestamp().UTC()
}

// nodePods are the pods of a list, as far as they may hold their node.
func nodePods(objects []unstructured.Unstructured) []clustermanager.NodePod {
	found := []clustermanager.NodePod{}
	for index := range objects {
		object := &objects[index]
		_, predictor := predictorOf(object)
		found = append(found, clustermanager.NodePod{
			Namespace: object.GetNamespace(), Name: object.GetName(), NodeName: textAt(object.Object, "spec", "nodeName"),
			Phase: textAt(object.Object, "status", "phase"), Priority: numberAt(object.Object, "spec", "priority"),
			DaemonSet: slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.Kind == "DaemonSet" }),
			GPUs:      podGPUs(object), Predictor: predictor,
		})
	}
	slices.SortFunc(found, func(a, b clustermanager.NodePod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found
}

// podGPUs are the GPUs that a pod's containers ask for; those of its init containers only where they ask for none.
func podGPUs(object *unstructured.Unstructured) int64 {
	for _, field := range []string{"containers", "initContainers"} {
		var sum int64
		for _, container := range mapsAt(object.Object, "spec", field) {
			asked := int64(quantity(mapAt(container, "resources", "limits")[gpuResource]))
			if asked == 0 {
				asked = int64(quantity(mapAt(container, "resources", "requests")[gpuResource]))
			}
			sum += asked
		}
		if sum > 0 {
			return sum
		}
	}
	return 0
}

const (
	labelInferenceService = "serving.kserve.io/inferenceservice"
	labelPartOf           = "app.kubernetes.io/part-of"
	partOfLLM             = "llminferenceservice"
)

// predictorOf is the served object whose predictor a pod is by its labels, and whether it is one.
func predictorOf(object *unstructured.Unstructured) (clustermanager.ServedModel, bool) {
	labels := object.GetLabels()
	if name := labels[labelInferenceService]; name != "" {
		return clustermanager.ServedModel{Kind: "InferenceService", Namespace: object.GetNamespace(), Name: name}, true
	}
	if labels[labelPartOf] == partOfLLM {
		return clustermanager.ServedModel{Kind: "LLMInferenceService", Namespace: object.GetNamespace(), Name: labels[clustermanager.LabelChart]}, true
	}
	return clustermanager.ServedModel{}, false
}
