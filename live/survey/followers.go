package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Followers are the Kustomizations that apply a branch of a Git repository, sorted by namespace and name, as far as the
// caller may list them and their sources: over all namespaces, else in those of organizations. The notes say what of
// them could not be read, or is in no repository that is spoken to.
func (r *Reader) Followers(ctx context.Context) (followers []clustermanager.Follower, notes []string, err error) {
	var kustomizations, sources []unstructured.Unstructured
	var unlisted, unlistedSources []string
	var reads errgroup.Group
	reads.Go(func() (err error) {
		kustomizations, unlisted, err = r.everywhere(ctx, kustomizationNoun)
		return err
	})
	reads.Go(func() (err error) {
		sources, unlistedSources, err = r.everywhere(ctx, gitRepositoryNoun)
		return err
	})
	if err := reads.Wait(); err != nil {
		return nil, nil, err
	}
	notes = slices.Concat(unlisted, unlistedSources)
	repositories := map[clustermanager.NamespacedName]clustermanager.GitRepository{}
	var left []string
	for index := range sources {
		repository, err := r.repositoryOf(&sources[index])
		if err != nil {
			left = append(left, nameOf(&sources[index]).String())
			continue
		}
		repositories[nameOf(&sources[index])] = repository
	}
	if len(left) > 0 {
		notes = append(notes, fmt.Sprintf("%d GitRepositories were left out, since they follow no branch or their host is none of the setting git-hosts: %s", len(left), firstOf(left)))
	}
	for index := range kustomizations {
		if follower, is := followerOf(&kustomizations[index], repositories); is {
			followers = append(followers, follower)
		}
	}
	slices.SortFunc(followers, func(a, b clustermanager.Follower) int {
		return strings.Compare(a.Kustomization.String(), b.Kustomization.String())
	})
	return followers, notes, nil
}

// mostNamed is how many names a note holds.
const mostNamed = 5

func firstOf(names []string) string {
	slices.Sort(names)
	if len(names) > mostNamed {
		names = append(names[:mostNamed:mostNamed], "…")
	}
	return strings.Join(names, ", ")
}

// CreatedAt is when an object was made; zero: it is not there, or is being deleted.
func (r *Reader) CreatedAt(ctx context.Context, reference clustermanager.ObjectReference) (time.Time, error) {
	object, err := r.get(ctx, nounOf(reference), reference.Namespace, reference.Name)
	if apierrors.IsNotFound(err) {
		return time.Time{}, nil
	}
	if err != nil || deleting(object) {
		return time.Time{}, err
	}
	return object.GetCreationTimestamp().UTC(), nil
}

// everywhere lists a kind over all namespaces, else in each namespace of an organization, and then says so.
func (r *Reader) everywhere(ctx context.Context, of noun) (found []unstructured.Unstructured, notes []string, err error) {
	found, err = r.list(ctx, of, "", metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		return found, nil, err
	}
	namespaces, failed := r.organizationNamespaces(ctx)
	if failed != nil {
		return nil, nil, err
	}
	for _, namespace := range namespaces {
		objects, failed := r.list(ctx, of, namespace, metav1.ListOptions{})
		if failed == nil {
			found, err = append(found, objects...), nil
		}
	}
	note := "you may not list " + of.resource.GroupResource().String() + " over all namespaces: those of your organizations alone were read"
	return found, []string{note}, err
}

// followerOf reads a Kustomization; false: its source is none of the repositories, or its path is none.
func followerOf(object *unstructured.Unstructured, repositories map[clustermanager.NamespacedName]clustermanager.GitRepository) (clustermanager.Follower, bool) {
	reference := mapAt(object.Object, "spec", "sourceRef")
	source := clustermanager.NamespacedName{Namespace: textAt(reference, "namespace"), Name: textAt(reference, "name")}
	if source.Namespace == "" {
		source.Namespace = object.GetNamespace()
	}
	repository, known := repositories[source]
	target, err := readKustomization(object)
	if textAt(reference, "kind") != gitRepositoryNoun.kind || !known || err != nil {
		return clustermanager.Follower{}, false
	}
	target.Repository, target.UnreadSubstitutes = repository, unreadSubstitutes(object)
	made := clustermanager.Follower{Target: target, Commit: commitOf(textAt(object.Object, "status", "lastAppliedRevision"))}
	for _, condition := range mapsAt(object.Object, "status", "conditions") {
		switch {
		case textAt(condition, "type") != "Ready":
		case textAt(condition, "status") == string(metav1.ConditionTrue):
			made.ReadyAt, _ = time.Parse(time.RFC3339, textAt(condition, "lastTransitionTime"))
		default:
			made.NotReady = strings.TrimPrefix(textAt(condition, "reason")+": "+textAt(condition, "message"), ": ")
		}
	}
	return made, true
}

// unreadSubstitutes are the sources of a Kustomization's variables, which are not read here.
func unreadSubstitutes(object *unstructured.Unstructured) []string {
	var unread []string
	for _, source := range mapsAt(object.Object, "spec", "postBuild", "substituteFrom") {
		unread = append(unread, textAt(source, "kind")+" "+textAt(source, "name")+": not read for this")
	}
	return unread
}

// commitOf is the commit of a revision as Flux writes it: main@sha1:<hash>, before Flux 2.0 main/<hash>.
func commitOf(revision string) string {
	if at := strings.LastIndexAny(revision, ":/"); at >= 0 {
		return revision[at+1:]
	}
	return revision
}
