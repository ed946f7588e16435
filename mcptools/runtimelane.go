package mcptools

import (
	clustermanager "github.com/clustermanager/cluster-manager"
)

// runtimeNotBuilt says that the objects of an answer were not written to the installation.
const runtimeNotBuilt = "this build writes nothing to the installation: the objects listed as would-… (the registration with model-manager, and what makes room for a slice) are not written; every file of the pull request stands without them"

// runtimeChanges lists what the runtime steps of a plan would do on the installation, in their order.
func runtimeChanges(plan clustermanager.Plan, survey clustermanager.Survey) []clustermanager.Change {
	changes := []clustermanager.Change{}
	for _, step := range plan.In(clustermanager.Runtime) {
		live, known := survey.Live[clustermanager.LiveKey(step.Reference())].Get()
		absent := known && live == nil
		action := clustermanager.ActionUpdate
		switch {
		case step.Verb == clustermanager.Remove && absent:
			continue
		case step.Verb == clustermanager.Remove:
			action = clustermanager.ActionDelete
		case step.Verb == clustermanager.Ensure && absent:
			action = clustermanager.ActionCreate
		}
		changes = append(changes, clustermanager.Change{ObjectReference: step.Reference(), Action: action.Would()})
	}
	return changes
}

// manifests are the objects that a plan composes, in its order: the declared ones as they stand in files, and those that
// go to the installation.
func manifests(plan clustermanager.Plan, declared map[clustermanager.ObjectReference]map[string]any) []map[string]any {
	var objects []map[string]any
	for _, step := range plan.Steps {
		switch object, inFile := declared[step.Reference()]; {
		case step.Verb != clustermanager.Ensure:
		case inFile:
			objects = append(objects, object)
		case step.Lane == clustermanager.Runtime:
			objects = append(objects, step.Object.Object)
		}
	}
	return objects
}
