package live

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

type ownerReference = metav1.OwnerReference

// sameOwner leaves controller and blockOwnerDeletion to whoever set them.
func sameOwner(a, b ownerReference) bool {
	return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID
}

// identityLabels tell one composed object from another of the same name: the names of cluster a-b with pool c and of
// cluster a with pool b-c are the same.
var identityLabels = []string{clustermanager.LabelChart, clustermanager.LabelCluster, clustermanager.LabelNodePool}

// owned says whether the step may touch the live object; false without an error: it counts as absent.
func (s *servers) owned(ctx context.Context, step clustermanager.Step, live *unstructured.Unstructured) (bool, error) {
	labels, reference := live.GetLabels(), clustermanager.ReferenceTo(live)
	owner := clustermanager.NamespacedName{
		Namespace: labels[clustermanager.LabelKustomizationNamespace], Name: labels[clustermanager.LabelKustomizationName],
	}
	switch {
	case step.Ownership == clustermanager.Labelled && !carries(labels, step.Object.GetLabels()):
		return false, nil
	case step.Ownership == clustermanager.Labelled:
	case labels[clustermanager.LabelManagedBy] != clustermanager.ManagedBy:
		return false, foreign(step, reference, owner, labels[clustermanager.LabelManagedBy])
	default:
		if other := otherIdentity(step, labels); len(other) > 0 {
			return false, clustermanager.Refuse("%s: it exists and belongs to another release of ours (%s), so it is not %s: name what that belongs to",
				reference, strings.Join(other, ", "), done(step))
		}
	}
	if owner.Name == "" || owner.Namespace == "" || step.At != clustermanager.AtInstallation {
		return true, nil
	}
	listed, err := s.inInventory(ctx, owner, reference.InventoryID())
	switch {
	case err != nil:
		return false, clustermanager.Refuse("%s: whether Kustomization %s applies it could not be read: %v; see to that, then call again", reference, owner, err)
	case listed:
		return false, clustermanager.Refuse("%s: Kustomization %s applies it from git, so it is not %s here: use mode %s", reference, owner, done(step), clustermanager.ModeCommit)
	}
	return true, nil
}

// otherIdentity are the labels in which a live object of ours is another one than the step's.
func otherIdentity(step clustermanager.Step, labels map[string]string) []string {
	var other []string
	for _, key := range identityLabels {
		if labels[key] != step.Object.GetLabels()[key] {
			other = append(other, fmt.Sprintf("%s=%q", key, labels[key]))
		}
	}
	return other
}

func foreign(step clustermanager.Step, reference clustermanager.ObjectReference, kustomization clustermanager.NamespacedName, manager string) error {
	switch {
	case kustomization.Name != "":
		return clustermanager.Refuse("%s: it exists and belongs to Kustomization %s, so it is not %s: change it in the repository behind that", reference, kustomization, done(step))
	case manager != "":
		return clustermanager.Refuse("%s: it exists and is managed by %s, so it is not %s: change it there, or remove it there and call again", reference, manager, done(step))
	}
	return clustermanager.Refuse("%s: it exists and its owner is unknown, so it is not %s: choose another name, or remove it yourself and call again", reference, done(step))
}

// done is what the step would have made of its object.
func done(step clustermanager.Step) string {
	if step.Verb == clustermanager.Remove {
		return "deleted"
	}
	return "changed"
}
