package survey

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// clusterAdmins says in words whom a caller can ask who lacks a right on a cluster: the subjects that its
// ClusterRoleBindings and the values that we composed bind as cluster-admin, or that nobody could be read.
func (r *Reader) clusterAdmins(ctx context.Context, target *Reader, cluster clustermanager.Cluster) string {
	var bound, composed []string
	var boundErr, composedErr error
	var reads errgroup.Group
	reads.Go(func() error { bound, boundErr = target.boundAdmins(ctx); return nil })
	reads.Go(func() error { composed, composedErr = r.composedAdmins(ctx, cluster); return nil })
	_ = reads.Wait()
	subjects := slices.Concat(bound, composed)
	slices.Sort(subjects)
	subjects = slices.Compact(subjects)
	switch {
	case len(subjects) > 0:
		return "someone whom the cluster binds as cluster-admin (" + strings.Join(subjects, ", ") + ")"
	case boundErr != nil || composedErr != nil:
		var unread []string
		for _, err := range []error{boundErr, composedErr} {
			if err != nil {
				unread = append(unread, err.Error())
			}
		}
		return "someone whom the cluster binds as cluster-admin (who that is could not be read: " + strings.Join(unread, "; ") + ")"
	}
	return "someone who administers the cluster (nobody is bound as cluster-admin where it was looked for)"
}

// boundAdmins are the subjects of the ClusterRoleBindings to cluster-admin.
func (r *Reader) boundAdmins(ctx context.Context) ([]string, error) {
	bindings, err := r.list(ctx, clusterRoleBindingNoun, "", metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var found []string
	for _, binding := range bindings {
		if textAt(binding.Object, "roleRef", "kind") != "ClusterRole" || textAt(binding.Object, "roleRef", "name") != clustermanager.ClusterAdmin {
			continue
		}
		for _, subject := range mapsAt(binding.Object, "subjects") {
			found = append(found, textAt(subject, "kind")+" "+
				clustermanager.NamespacedName{Namespace: textAt(subject, "namespace"), Name: textAt(subject, "name")}.String())
		}
	}
	return found, nil
}

// composedAdmins are the users and groups that the values which we composed for a cluster bind as cluster-admin in all
// of it. A cluster that we did not compose has none.
func (r *Reader) composedAdmins(ctx context.Context, cluster clustermanager.Cluster) ([]string, error) {
	object, err := r.get(ctx, configMapNoun, cluster.Namespace, cluster.Name+"-values")
	if err != nil {
		return nil, err
	}
	if !owned(object) {
		return nil, nil
	}
	admins, err := adminsIn(object)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range admins.Users {
		found = append(found, "User "+name)
	}
	for _, name := range admins.Groups {
		found = append(found, "Group "+name)
	}
	return found, nil
}
