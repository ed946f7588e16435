package compose

import (
	"slices"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Charts of the slice's children that its removal knows by what they are.
const (
	chartController   = "kserve-llmisvc-resources"
	chartConfigs      = "kserve-runtime-configs"
	chartConnectivity = "agent-platform-connectivity"
	chartAgentGateway = "agentgateway"
)

// departure says whether a pool is on its way out, and what of it is still there.
type departure struct {
	removing bool
	pending  []clustermanager.Change
	notes    []string
}

// departureOf lists, for a release of ownMark, what delete_node_pool removes on the installation, in its order.
func departureOf(survey clustermanager.NodePoolsSurvey, pool clustermanager.NodePoolFacts) departure {
	last := isLastRelease(survey, pool)
	parts := clustermanager.ClusterParts{}
	if last {
		parts = survey.Parts
	}
	found := departure{removing: pool.Removing(parts)}
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
func (d *departure) addParts(survey clustermanager.NodePoolsSurvey) {
	cluster, parts := survey.Cluster, survey.Parts
	operator, slice := clustermanager.OperatorObjects(cluster), clustermanager.SliceObjects(cluster)
	goes := sliceGoes(parts.Slice.Or(nil))
	if goes {
		d.addChild(cluster, parts, chartController)
		d.addChild(cluster, parts, chartConfigs)
	}
	d.add(operator.Release, parts.Operator)
	d.add(operator.Source, parts.OperatorSource)
	for _, backend := range survey.Backends.Or(nil) {
		if goes && backend.Owned && backend.Of(cluster) {
			reference := clustermanager.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: backend.ConfigMap.Namespace, Name: backend.ConfigMap.Name}
			d.add(reference, clustermanager.Known(&clustermanager.LiveObject{Reference: reference, Labels: ownMark}))
		}
	}
	if goes {
		d.add(slice.Source, parts.SliceSource)
		d.add(slice.Release, parts.SliceRelease)
	}
}

func (d *departure) addChild(cluster clustermanager.Cluster, parts clustermanager.ClusterParts, chart string) {
	for _, child := range parts.Children.Or(nil) {
		if child.Chart == chart {
			reference := childReference(cluster, child.Name)
			d.add(reference, clustermanager.Known(&clustermanager.LiveObject{Reference: reference, DeletedAt: child.DeletedAt, Labels: ownMark}))
		}
	}
}

func childReference(cluster clustermanager.Cluster, name string) clustermanager.ObjectReference {
	reference := clustermanager.SliceReference(cluster)
	reference.Name = name
	return reference
}

// add lists an object of ownMark that is there; one that could not be read is a note.
func (d *departure) add(reference clustermanager.ObjectReference, reading clustermanager.Reading[*clustermanager.LiveObject]) {
	live, known := reading.Get()
	switch {
	case !known:
		d.notes = append(d.notes, reference.String()+": whether it is still there is not known: "+reading.Reason())
		return
	case live == nil || live.Labels[clustermanager.LabelManagedBy] != clustermanager.ManagedBy:
		return
	}
	action := clustermanager.ActionPending
	if live.DeletedAt != nil {
		action = clustermanager.ActionTerminating
	}
	d.pending = append(d.pending, clustermanager.Change{ObjectReference: reference, Action: action})
}

// sliceGoes says whether a slice goes with the last pool: it is there, and no other slice is on in its release.
func sliceGoes(slice *clustermanager.Slice) bool {
	return slice != nil && slice.Owned && len(otherComponents(slice.Values.Reveal())) == 0
}
