package compose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// guardOwnership lets a step touch what does not exist or is ours. What is written and belongs to someone else is
// refused. A Secret that only would be removed is left alone then, and kept as a step when it could not be read: git
// may still hold its file.
func (d *decision) guardOwnership(steps []clustermanager.Step) ([]clustermanager.Step, error) {
	var kept []clustermanager.Step
	for _, step := range steps {
		err := d.guard(step)
		switch {
		case err == nil:
			kept = append(kept, step)
		case step.Verb != clustermanager.Remove:
			return nil, err
		default:
			d.warnings = append(d.warnings, step.Reference().String()+": it exists and is not this pool's to remove, so it is left as it is; the pool does not use it")
		}
	}
	return kept, nil
}

func (d *decision) guard(step clustermanager.Step) error {
	reference := step.Reference()
	reading := d.survey.Live[clustermanager.LiveKey(reference)]
	live, known := reading.Get()
	switch {
	case !known && step.Verb == clustermanager.Remove, known && live == nil:
		return nil
	case !known:
		return clustermanager.Refuse("%s: whether it exists and whose it is could not be read: %s; see to that, then call again", reference, reading.Reason())
	case live.Labels[clustermanager.LabelManagedBy] != clustermanager.ManagedBy:
		return foreign(reference, *live)
	}
	if theirs := otherLabels(step.Object.GetLabels(), live.Labels); len(theirs) > 0 {
		return clustermanager.Refuse("%s: it exists and belongs to another release of ours (%s): choose another pool name", reference, strings.Join(theirs, ", "))
	}
	return d.guardInventory(reference, live.InInventoryOf)
}

// foreign names the owner as far as the labels tell.
func foreign(reference clustermanager.ObjectReference, live clustermanager.LiveObject) error {
	kustomization := clustermanager.NamespacedName{
		Namespace: live.Labels[clustermanager.LabelKustomizationNamespace], Name: live.Labels[clustermanager.LabelKustomizationName],
	}
	if live.InInventoryOf != nil {
		kustomization = *live.InInventoryOf
	}
	switch manager := live.Labels[clustermanager.LabelManagedBy]; {
	case kustomization.Name != "":
		return clustermanager.Refuse("%s: it exists and belongs to Kustomization %s: change it in the repository behind that, or choose another pool name", reference, kustomization)
	case manager != "":
		return clustermanager.Refuse("%s: it exists and is managed by %s: choose another pool name, or remove it there", reference, manager)
	}
	return clustermanager.Refuse("%s: it exists and its owner is unknown: choose another pool name, or remove it", reference)
}

// otherLabels are the composed labels that the live object has with another value, sorted.
func otherLabels(composed, live map[string]string) []string {
	var other []string
	for _, key := range slices.Sorted(maps.Keys(composed)) {
		if live[key] != composed[key] {
			other = append(other, fmt.Sprintf("%s=%q", key, live[key]))
		}
	}
	return other
}

// guardInventory: what a Kustomization applies is changed in its repository alone. The one that the proposal goes to is
// the exception in mode commit.
func (d *decision) guardInventory(reference clustermanager.ObjectReference, inventory *clustermanager.NamespacedName) error {
	commit := d.request.Mode == clustermanager.ModeCommit
	target, known := d.survey.Target.Get()
	switch {
	case inventory == nil, commit && target.Kustomization == *inventory:
		return nil
	case !commit:
		return clustermanager.Refuse("%s: Kustomization %s applies it from git: use mode %s", reference, inventory, clustermanager.ModeCommit)
	case !known:
		// Nothing can be committed, and why is what the caller has to hear.
		return nil
	default:
		return clustermanager.Refuse("%s: Kustomization %s applies it, and the cluster's files go to Kustomization %s: take it out there first, or choose another pool name",
			reference, inventory, target.Kustomization)
	}
}
