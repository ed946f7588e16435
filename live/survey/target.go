package survey

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	decrypterSOPS = "sops"
	// fromGit is the way out of what no repository that Flux follows holds.
	fromGit = "let a Flux Kustomization apply the cluster's HelmRelease from a GitRepository, then call again"
)

// Target finds where in git the cluster's files go. What git or Flux cannot do is a *clustermanager.Refusal, and so is
// an object on the way that does not exist or that the caller may not read; any other failed read is its own error.
func (r *Reader) Target(ctx context.Context, cluster clustermanager.Cluster) (clustermanager.Target, error) {
	owner, err := r.owner(ctx, cluster)
	if err != nil {
		return clustermanager.Target{}, err
	}
	return r.targetOf(ctx, owner, func(*clustermanager.Target) {})
}

// targetOf is the target of the Kustomization that owns what is written, after its place in the tree was set.
func (r *Reader) targetOf(ctx context.Context, owner clustermanager.NamespacedName, place func(*clustermanager.Target)) (clustermanager.Target, error) {
	object, err := r.onTheWay(ctx, kustomizationNoun, owner.Namespace, owner.Name)
	if err != nil {
		return clustermanager.Target{}, err
	}
	target, err := readKustomization(object)
	if err != nil {
		return clustermanager.Target{}, err
	}
	place(&target)
	source, err := r.source(ctx, object)
	if err != nil {
		return clustermanager.Target{}, err
	}
	if target.Repository, err = r.repositoryOf(source); err != nil {
		return clustermanager.Target{}, err
	}
	if err := checkout(source, target); err != nil {
		return clustermanager.Target{}, err
	}
	if err := checkOwner(object); err != nil {
		return clustermanager.Target{}, err
	}
	target.Warnings = effects(target, object, source)
	return target, r.substitute(ctx, owner.Namespace, &target)
}

// owner is the Kustomization that the labels of the cluster's HelmRelease name, or when there is none those of its App,
// or else those of the Cluster itself.
func (r *Reader) owner(ctx context.Context, cluster clustermanager.Cluster) (clustermanager.NamespacedName, error) {
	labelled, err := r.labelled(ctx, cluster)
	if err != nil {
		return clustermanager.NamespacedName{}, err
	}
	owner := kustomizationOf(labelled)
	if owner.Name == "" || owner.Namespace == "" {
		return owner, clustermanager.Refuse(
			"Cluster %s/%s: no Kustomization owns it, %s has no labels %s and %s: %s",
			cluster.Namespace, cluster.Name, clustermanager.ReferenceTo(labelled),
			clustermanager.LabelKustomizationName, clustermanager.LabelKustomizationNamespace, fromGit)
	}
	return owner, nil
}

// labelled is the object whose labels say which Kustomization owns the cluster.
func (r *Reader) labelled(ctx context.Context, cluster clustermanager.Cluster) (*unstructured.Unstructured, error) {
	for _, noun := range []noun{helmReleaseNoun, appNoun, clusterNoun} {
		object, err := r.get(ctx, noun, cluster.Namespace, cluster.Name)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case apierrors.IsForbidden(err):
			return nil, clustermanager.Refuse(
				"%s: you may not read it, and its labels say which Kustomization owns the cluster: ask for the right to get %s",
				noun.reference(cluster.Namespace, cluster.Name), noun.resource.GroupResource())
		}
		return object, err
	}
	return nil, clusterNotFound(clustermanager.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name})
}

// kustomizationOf is the Kustomization that an object's labels name.
func kustomizationOf(object *unstructured.Unstructured) clustermanager.NamespacedName {
	return clustermanager.NamespacedName{
		Namespace: object.GetLabels()[clustermanager.LabelKustomizationNamespace],
		Name:      object.GetLabels()[clustermanager.LabelKustomizationName],
	}
}

// onTheWay reads an object that the target cannot be found without.
func (r *Reader) onTheWay(ctx context.Context, of noun, namespace, name string) (*unstructured.Unstructured, error) {
	object, err := r.get(ctx, of, namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, clustermanager.Refuse("%s: it does not exist, though the cluster's objects lead to it: restore it",
			of.reference(namespace, name))
	case apierrors.IsForbidden(err):
		return nil, clustermanager.Refuse("%s: you may not read it, and it says where in git the cluster is: ask for the right to get %s in namespace %s",
			of.reference(namespace, name), of.resource.GroupResource(), namespace)
	}
	return object, err
}

// readKustomization is what the Kustomization says of the target.
func readKustomization(object *unstructured.Unstructured) (clustermanager.Target, error) {
	spec := mapAt(object.Object, "spec")
	owner := clustermanager.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
	folder, err := cleanPath(textAt(spec, "path"))
	if err != nil {
		return clustermanager.Target{}, clustermanager.Refuse("Kustomization %s: spec.path %q %s: correct it",
			owner, textAt(spec, "path"), err)
	}
	interval, _ := time.ParseDuration(textAt(spec, "interval"))
	return clustermanager.Target{
		Kustomization: owner, Path: folder,
		Prune: isTrueAt(spec, "prune"), Suspended: isTrueAt(spec, "suspend"),
		DeletionPolicy: textAt(spec, "deletionPolicy"), Interval: interval,
		Decrypts:    textAt(spec, "decryption", "provider") == decrypterSOPS,
		Substitutes: spec["postBuild"] != nil,
		Spec:        runtime.DeepCopyJSON(spec),
	}, nil
}

// cleanPath is a path from the root of a tree as Flux takes it: "", ".", "./" and "/" are the root, and "./x/" and "/x"
// are x.
func cleanPath(raw string) (string, error) {
	cleaned := path.Clean(strings.TrimLeft(raw, "/"))
	switch {
	case strings.ContainsFunc(raw, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }):
		return "", errors.New("holds a backslash or a control character")
	case cleaned == "..", strings.HasPrefix(cleaned, "../"):
		return "", errors.New("leaves the repository")
	case cleaned == ".":
		return "", nil
	}
	return cleaned, nil
}

// covers says whether the folder is the path or above it. Both are clean; "" is the root.
func covers(folder, of string) bool {
	return folder == "" || folder == of || strings.HasPrefix(of, folder+"/")
}

// source reads the GitRepository that the Kustomization follows.
func (r *Reader) source(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	reference := mapAt(object.Object, "spec", "sourceRef")
	if kind := textAt(reference, "kind"); kind != gitRepositoryNoun.kind {
		return nil, clustermanager.Refuse("%s: its source is of kind %q, and a pull request needs a GitRepository: %s",
			clustermanager.ReferenceTo(object), kind, fromGit)
	}
	in := textAt(reference, "namespace")
	if in == "" {
		in = object.GetNamespace()
	}
	return r.onTheWay(ctx, gitRepositoryNoun, in, textAt(reference, "name"))
}
