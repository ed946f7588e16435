package compose

import (
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// Charts of the slice's children that its removal knows by what they are.
const (
	chartController   = "kserve-llmisvc-resources"
	chartConfigs      = "kserve-runtime-configs"
	chartConnectivity = "agent-platform-connectivity"
	chartAgentGateway = "agentgateway"
)

// removal says whether a pool is on its way out, and what of it is still there.
type removal struct {
	removing bool
	pending  []clustermanager.Change
	notes    []string
}

// removalOf lists, for a release of ownMark, what delete_node_pool removes on the installation, in its order.
func removalOf(survey clustermanager.NodePoolsSurvey, pool clustermanager.NodePoolFacts) removal {
	last := isLastRelease(survey, pool)
	parts := clustermanager.ClusterParts{}
	if last {
		parts = survey.Parts
	}
	found := removal{removing: pool.Removing(parts)}
	release := pool.Release.Or(nil)
	if !found.removing || release == nil || !release.Owned {
		return found
	}
	if last {
		found.addParts(survey)
	}
	objects := clustermanager.NodePool(survey.Cluster, release.Pool)
	found.add(objects.Source, pool.Source)
	found.add(objects.Values, pool.Secret)
	found.add(objects.Release, clustermanager.Known(&clustermanager.LiveObject{
		Reference: objects.Release, DeletedAt: release.DeletedAt, Labels: ownMark,
	}))
	return found
}

// ownMark is the mark of what this product made.
var ownMark = map[string]string{clustermanager.LabelManagedBy: clustermanager.ManagedBy}

// isLastRelease says whether no other pool of the cluster has a release, as far as pools are known.
func isLastRelease(survey clustermanager.NodePoolsSurvey, pool clustermanager.NodePoolFacts) bool {
	return !slices.ContainsFunc(survey.Pools, func(other clustermanager.NodePoolFacts) bool {
		release := other.Release.Or(nil)
		return other.Name != pool.Name && (release != nil || other.Release.Err() != nil)
	})
}

// addParts adds what goes with the last pool, before the pool's own objects.
func (r *removal) addParts(survey clustermanager.NodePoolsSurvey) {
	cluster, parts := survey.Cluster, survey.Parts
	operator, slice := clustermanager.OperatorObjects(cluster), clustermanager.SliceObjects(cluster)
	goes := sliceGoes(parts.Slice.Or(nil))
	if goes {
		r.addChild(cluster, parts, chartController)
		r.addChild(cluster, parts, chartConfigs)
	}
	r.add(operator.Release, parts.Operator)
	r.add(operator.Source, parts.OperatorSource)
	for _, backend := range survey.Backends.Or(nil) {
		if goes && backend.Owned && backend.Cluster == cluster.Name {
			reference := clustermanager.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: backend.ConfigMap.Namespace, Name: backend.ConfigMap.Name}
			r.add(reference, clustermanager.Known(&clustermanager.LiveObject{Reference: reference, Labels: ownMark}))
		}
	}
	if goes {
		r.add(slice.Source, parts.SliceSource)
		r.add(slice.Release, parts.SliceRelease)
	}
}

func (r *removal) addChild(cluster clustermanager.Cluster, parts clustermanager.ClusterParts, chart string) {
	for _, child := range parts.Children.Or(nil) {
		if child.Chart == chart {
			reference := childReference(cluster, child.Name)
			r.add(reference, clustermanager.Known(&clustermanager.LiveObject{Reference: reference, DeletedAt: child.DeletedAt, Labels: ownMark}))
		}
	}
}

func childReference(cluster clustermanager.Cluster, name string) clustermanager.ObjectReference {
	reference := clustermanager.SliceReference(cluster)
	reference.Name = name
	return reference
}

// add lists an object of ownMark that is there; one that could not be read is a note.
func (r *removal) add(reference clustermanager.ObjectReference, reading clustermanager.Reading[*clustermanager.LiveObject]) {
	live, known := reading.Get()
	switch {
	case !known:
		r.notes = append(r.notes, reference.String()+": whether it is still there is not known: "+reading.Reason())
		return
	case live == nil || live.Labels[clustermanager.LabelManagedBy] != clustermanager.ManagedBy:
		return
	}
	action := clustermanager.ActionPending
	if live.DeletedAt != nil {
		action = clustermanager.ActionTerminating
	}
	r.pending = append(r.pending, clustermanager.Change{ObjectReference: reference, Action: action})
}

// sliceGoes says whether a slice goes with the last pool: it is there, and no other slice is on in its release.
func sliceGoes(slice *clustermanager.Slice) bool {
	return slice != nil && slice.Owned && len(otherComponents(*slice)) == 0
}

// otherComponents are the components that a slice's release has on beside model serving, sorted.
func otherComponents(slice clustermanager.Slice) []string {
	serving := map[string]bool{}
	for _, component := range catalog.SliceComponents() {
		serving[component.Name] = component.Serving
	}
	components, _ := slice.Values.Reveal()["components"].(map[string]any)
	var others []string
	for name, value := range components {
		settings, _ := value.(map[string]any)
		if enabled, is := settings["enabled"].(bool); is && enabled && !serving[name] {
			others = append(others, strings.TrimSpace(name))
		}
	}
	slices.Sort(others)
	return others
}
