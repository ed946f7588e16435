package survey

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// reasonNominated is the reason of Karpenter's event on a pod that it makes a node for.
const reasonNominated = "Nominated"

// NodePoolRemoval reads the facts that a pool's removal is decided from. The errors are those of FindCluster and the
// context's; whatever else could not be read stands in the survey with its reason.
func (r *Reader) NodePoolRemoval(ctx context.Context, request clustermanager.DeleteNodePoolRequest) (clustermanager.NodePoolRemovalSurvey, error) {
	cluster, err := r.FindCluster(ctx, request.Namespace, request.Cluster)
	if err != nil {
		return clustermanager.NodePoolRemovalSurvey{}, err
	}
	made := clustermanager.NodePoolRemovalSurvey{
		Survey: clustermanager.Survey{Now: r.options.Now, Settings: r.options.Settings, Cluster: cluster},
	}
	serving := &made.Serving
	var reads errgroup.Group
	start := func(read func()) {
		reads.Go(func() error { read(); return nil })
	}
	for _, read := range []func(){
		func() { made.Pools = clustermanager.Read(r.pools(ctx, cluster)) },
		func() { made.Nodes = clustermanager.Read(r.nodes(ctx, cluster)) },
		func() { made.Live = r.liveRemoval(ctx, cluster, request.Name) },
		func() { made.Target = clustermanager.Read(r.Target(ctx, cluster)) },
		func() { made.Pool = r.onePool(ctx, cluster, clustermanager.ReleaseName(cluster, request.Name)) },
		func() { made.Parts = r.parts(ctx, cluster) },
		func() { made.Predictors = clustermanager.Read(r.predictors(ctx, cluster)) },
		func() { made.Configs = clustermanager.Read(r.everyConfig(ctx, cluster)) },
		func() { serving.Platform = clustermanager.Read(r.platform(ctx)) },
	} {
		start(read)
	}
	r.startServing(ctx, cluster, serving, start)
	_ = reads.Wait()
	if err := ctx.Err(); err != nil {
		return clustermanager.NodePoolRemovalSurvey{}, fmt.Errorf("Cluster %s/%s: reading what goes with a pool: %w", cluster.Namespace, cluster.Name, err)
	}
	return made, nil
}

// liveRemoval reads what is there under the names of everything that a removal may take.
func (r *Reader) liveRemoval(ctx context.Context, cluster clustermanager.Cluster, pool string) map[string]clustermanager.Reading[*clustermanager.LiveObject] {
	settings := r.options.Settings
	return r.liveObjects(ctx, slices.Concat(
		clustermanager.NodePool(cluster, pool).References(),
		clustermanager.OperatorObjects(cluster).References(), clustermanager.SliceObjects(cluster).References(),
		[]clustermanager.ObjectReference{clustermanager.BackendReference(cluster, settings), clustermanager.SharedBackendReference(settings)},
	))
}

// onePool is the pool of a release, as far as it stands.
func (r *Reader) onePool(ctx context.Context, cluster clustermanager.Cluster, release string) clustermanager.NodePoolFacts {
	var machines, releases []unstructured.Unstructured
	var machinesErr, releasesErr error
	var reads errgroup.Group
	reads.Go(func() error {
		machines, machinesErr = r.machinePools(ctx, cluster)
		return nil
	})
	reads.Go(func() error {
		releases, releasesErr = r.poolReleases(ctx, cluster)
		return nil
	})
	_ = reads.Wait()
	pools := r.matchPools(cluster, machines, machinesErr, releases, releasesErr)
	pools = slices.DeleteFunc(pools, func(pool *listedPool) bool { return pool.facts.NodePool() != release })
	if len(pools) == 0 {
		pools = []*listedPool{{facts: clustermanager.NodePoolFacts{
			Name: release, Release: clustermanager.Read[*clustermanager.PoolReleaseFacts](nil, releasesErr),
			MachinePool: clustermanager.Read[*clustermanager.MachinePoolFacts](nil, machinesErr),
		}}}
	}
	pool := pools[0]
	reads.Go(func() error { r.readNodes(ctx, cluster, pools[:1], everyPool); return nil })
	reads.Go(func() error { r.readMachines(ctx, pool); return nil })
	_ = reads.Wait()
	return pool.facts
}

// predictors are the pods of the serving namespace that serve models, each with the pools that it names.
func (r *Reader) predictors(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.Predictor, error) {
	target, err := r.target(ctx, cluster)
	if err != nil {
		return nil, err
	}
	namespace := r.options.Settings.ServingNamespace
	var pods, events []unstructured.Unstructured
	var reads errgroup.Group
	reads.Go(func() (err error) {
		pods, err = target.list(ctx, podNoun, namespace, metav1.ListOptions{})
		return err
	})
	reads.Go(func() error {
		// Without the events a pod names fewer pools, so the removal is refused rather than not.
		events, _ = target.list(ctx, eventNoun, namespace, metav1.ListOptions{FieldSelector: fields.Set{"reason": reasonNominated}.String()})
		return nil
	})
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	found := []clustermanager.Predictor{}
	for index := range pods {
		pod := &pods[index]
		model, is := predictorOf(pod)
		if !is {
			continue
		}
		found = append(found, clustermanager.Predictor{
			Namespace: pod.GetNamespace(), Name: pod.GetName(), Kind: model.Kind, Model: model.Name,
			Phase: textAt(pod.Object, "status", "phase"), NodeName: textAt(pod.Object, "spec", "nodeName"), Pools: poolsNamedBy(pod, events),
		})
	}
	slices.SortFunc(found, func(a, b clustermanager.Predictor) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// poolsNamedBy are the pools that a pod may run on: by its node selector, else by a required node affinity every term of
// which names some, else the one that Karpenter nominated last.
func poolsNamedBy(pod *unstructured.Unstructured, events []unstructured.Unstructured) []string {
	if pool := textAt(mapAt(pod.Object, "spec", "nodeSelector"), clustermanager.LabelMachinePool); pool != "" {
		return []string{pool}
	}
	if pools := poolsOfAffinity(pod); len(pools) > 0 {
		return pools
	}
	var last time.Time
	var nominated []string
	for index := range events {
		event := events[index].Object
		if textAt(event, "reason") != reasonNominated || textAt(event, "involvedObject", "name") != pod.GetName() {
			continue
		}
		_, after, is := strings.Cut(textAt(event, "message"), "nodeclaim/")
		claim, _, _ := strings.Cut(after, ",")
		end := strings.LastIndex(strings.TrimSpace(claim), "-")
		if moment := eventTime(&events[index]); is && end > 0 && !moment.Before(last) {
			last, nominated = moment, []string{strings.TrimSpace(claim)[:end]}
		}
	}
	return nominated
}

func poolsOfAffinity(pod *unstructured.Unstructured) []string {
	var pools []string
	for _, term := range mapsAt(pod.Object, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms") {
		var named []string
		for _, expression := range mapsAt(term, "matchExpressions") {
			if textAt(expression, "key") == clustermanager.LabelMachinePool && textAt(expression, "operator") == "In" {
				named = append(named, textsAt(expression, "values")...)
			}
		}
		if len(named) == 0 {
			return nil
		}
		pools = append(pools, named...)
	}
	slices.Sort(pools)
	return slices.Compact(pools)
}

// everyConfig are the serving configurations of every namespace, at the version that they are stored in.
func (r *Reader) everyConfig(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.ObjectReference, error) {
	target, err := r.target(ctx, cluster)
	if err != nil {
		return nil, err
	}
	version, err := target.storageVersion(ctx, llmConfigs)
	if err != nil || version == "" {
		return []clustermanager.ObjectReference{}, err
	}
	of := noun{"LLMInferenceServiceConfig", kserve(version, llmConfigs)}
	objects, err := target.list(ctx, of, "", metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	found := []clustermanager.ObjectReference{}
	for index := range objects {
		found = append(found, of.reference(objects[index].GetNamespace(), objects[index].GetName()))
	}
	slices.SortFunc(found, func(a, b clustermanager.ObjectReference) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found, nil
}

// machinePools are the cluster's MachinePools.
func (r *Reader) machinePools(ctx context.Context, cluster clustermanager.Cluster) ([]unstructured.Unstructured, error) {
	return r.listAny(ctx, machinePoolNoun, cluster.Namespace, metav1.ListOptions{LabelSelector: labels.Set{labelClusterName: cluster.Name}.String()})
}
