package compose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// guardOwnership lets a step touch what does not exist or is ours. What is written and belongs to someone else is
// refused. What only would be removed is left alone then, and kept as a step when it could not be read: git may still
// hold its file. A step that asks for labels alone is the engine's to judge.
func (b *base) guardOwnership(steps []clustermanager.Step) ([]clustermanager.Step, error) {
	var kept []clustermanager.Step
	for _, step := range steps {
		err := b.guard(step)
		switch {
		case err == nil || step.Ownership != clustermanager.Composed:
			kept = append(kept, step)
		case step.Verb != clustermanager.Remove:
			return nil, err
		default:
			b.warn("%s: it exists and is not %s to remove, so it is left as it is; %s", step.Reference(), owners(step), unused(step))
		}
	}
	return kept, nil
}

// removePart is the removal of a release's objects where this product made them. What a Kustomization applies is
// refused.
func (b *base) removePart(chart string, references ...clustermanager.ObjectReference) ([]clustermanager.Step, error) {
	var steps []clustermanager.Step
	for _, reference := range references {
		step := clustermanager.Step{Verb: clustermanager.Remove, Lane: clustermanager.Declared, Object: owned(clustermanager.Cluster{}, reference, b.labels(chart))}
		if live := b.survey.Live[clustermanager.LiveKey(reference)].Or(nil); live != nil && live.Labels[clustermanager.LabelManagedBy] != clustermanager.ManagedBy {
			b.warn("%s: cluster-manager did not create it, so it stays", reference)
			continue
		}
		if err := b.guard(step); err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// checkReconciled waits for helm-controller: a release that it has not taken up as it stands would go without its
// uninstall. What is on its way out already goes on.
func checkReconciled(release clustermanager.ObjectReference, uptake clustermanager.ReleaseUptake, going bool) error {
	if going || !uptake.Pending() {
		return nil
	}
	return clustermanager.Refuse("%s: helm-controller has not taken it up yet as it stands, so deleting it now would leave what it installs: wait until it has, then call again", release)
}

// sliceGone says that the slice went before the call.
func (b *base) sliceGone() bool {
	live, known := b.survey.Live[clustermanager.LiveKey(clustermanager.SliceReference(b.survey.Cluster))].Get()
	return known && live == nil
}

func (b *base) guard(step clustermanager.Step) error {
	reference := step.Reference()
	reading := b.survey.Live[clustermanager.LiveKey(reference)]
	live, known := reading.Get()
	switch {
	case !known && step.Verb == clustermanager.Remove, known && live == nil:
		return nil
	case !known:
		return clustermanager.Refuse("%s: whether it exists and whose it is could not be read: %s; see to that, then call again", reference, reading.Reason())
	case live.Labels[clustermanager.LabelManagedBy] != clustermanager.ManagedBy:
		return foreign(step, *live)
	}
	if theirs := otherLabels(step.Object.GetLabels(), live.Labels); len(theirs) > 0 {
		return clustermanager.Refuse("%s: it exists and belongs to another release of ours (%s): %s", reference, strings.Join(theirs, ", "), cmp.Or(rename(step), "remove it there"))
	}
	return b.guardInventory(step, live.InInventoryOf)
}

// rename is the way out that only a pool's objects have, since their names come from the pool's.
func rename(step clustermanager.Step) string {
	if step.Object.GetLabels()[clustermanager.LabelNodePool] == "" {
		return ""
	}
	return "choose another pool name"
}

// wayOut joins ways out; empty ones are none.
func wayOut(ways ...string) string {
	return strings.Join(slices.DeleteFunc(ways, func(way string) bool { return way == "" }), ", or ")
}

func owners(step clustermanager.Step) string {
	if rename(step) == "" {
		return "ours"
	}
	return "this pool's"
}

func unused(step clustermanager.Step) string {
	if rename(step) == "" {
		return "see whether it is still needed"
	}
	return "the pool does not use it"
}

// foreign names the owner as far as the labels tell.
func foreign(step clustermanager.Step, live clustermanager.LiveObject) error {
	reference := step.Reference()
	kustomization := clustermanager.NamespacedName{
		Namespace: live.Labels[clustermanager.LabelKustomizationNamespace], Name: live.Labels[clustermanager.LabelKustomizationName],
	}
	if live.InInventoryOf != nil {
		kustomization = *live.InInventoryOf
	}
	switch manager := live.Labels[clustermanager.LabelManagedBy]; {
	case kustomization.Name != "":
		return clustermanager.Refuse("%s: it exists and belongs to Kustomization %s: %s", reference, kustomization,
			wayOut("change it in the repository behind that", rename(step)))
	case manager != "":
		return clustermanager.Refuse("%s: it exists and is managed by %s: %s", reference, manager, wayOut(rename(step), "remove it there"))
	}
	return clustermanager.Refuse("%s: it exists and its owner is unknown: %s", reference, wayOut(rename(step), "remove it"))
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
func (b *base) guardInventory(step clustermanager.Step, inventory *clustermanager.NamespacedName) error {
	reference, commit := step.Reference(), b.mode == clustermanager.ModeCommit
	target, known := b.survey.Target.Get()
	switch {
	case inventory == nil:
		return nil
	case step.Lane == clustermanager.Runtime:
		return clustermanager.Refuse("%s: Kustomization %s applies it from git, and it is written to the installation alone: take it out there first", reference, inventory)
	case commit && target.Kustomization == *inventory:
		return nil
	case !commit:
		return clustermanager.Refuse("%s: Kustomization %s applies it from git: use mode %s", reference, inventory, clustermanager.ModeCommit)
	case !known:
		// Nothing can be committed, and why is what the caller has to hear.
		return nil
	default:
		return clustermanager.Refuse("%s: Kustomization %s applies it, and the cluster's files go to Kustomization %s: %s",
			reference, inventory, target.Kustomization, wayOut("take it out there first", rename(step)))
	}
}
