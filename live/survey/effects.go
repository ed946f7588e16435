package survey

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// ours are the labels that a Kustomization must leave alone on what is composed.
var ours = []string{
	clustermanager.LabelManagedBy, clustermanager.LabelChart, clustermanager.LabelCluster, clustermanager.LabelNodePool,
}

// fluxAnnotations begin the annotations that tell Flux how to treat an object.
const fluxAnnotations = "kustomize.toolkit.fluxcd.io/"

// checkOwner refuses a Kustomization that would make other objects of the files, or apply them elsewhere.
func checkOwner(object *unstructured.Unstructured) error {
	spec, reference := mapAt(object.Object, "spec"), clustermanager.ReferenceTo(object)
	if spec["kubeConfig"] != nil {
		return clustermanager.Refuse("%s: it applies to another API server (spec.kubeConfig), and a cluster's releases belong on the installation's: %s", reference, fromGit)
	}
	for _, label := range slices.Sorted(maps.Keys(mapAt(spec, "commonMetadata", "labels"))) {
		if slices.Contains(ours, label) {
			return clustermanager.Refuse("%s: its spec.commonMetadata sets the label %s on everything, and that label tells the objects of one pool from another's: take it out there", reference, label)
		}
	}
	return nil
}

// effects are the warnings of a target that would take a merge, but not as one expects.
func effects(target clustermanager.Target, owner, source *unstructured.Unstructured) []string {
	var warnings []string
	for _, object := range []*unstructured.Unstructured{owner, source} {
		if object.GetDeletionTimestamp() != nil {
			warnings = append(warnings, clustermanager.ReferenceTo(object).String()+" is being deleted: a merge has no effect once it is gone")
		}
	}
	if target.Suspended {
		warnings = append(warnings, "Kustomization "+target.Kustomization.String()+" is suspended: a merge has no effect until it is resumed")
	}
	reference := clustermanager.ReferenceTo(source).String()
	if target.Repository.Suspended {
		warnings = append(warnings, reference+" is suspended: a merge has no effect until it is resumed")
	}
	for key, value := range mapAt(target.Spec, "commonMetadata", "annotations") {
		if strings.HasPrefix(key, fluxAnnotations) && (value == "disabled" || value == "Ignore") {
			warnings = append(warnings, fmt.Sprintf("Kustomization %s sets the annotation %s: %v on everything, so Flux leaves it alone: a merge has no effect", target.Kustomization, key, value))
		}
	}
	if mapAt(source.Object, "spec", "verify") != nil {
		warnings = append(warnings, reference+" verifies signatures (spec.verify): Flux takes the merge only when a key that it trusts has signed it")
	}
	return warnings
}
