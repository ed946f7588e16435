package survey

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var roleBindingNoun = noun{"RoleBinding", schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}}

// OrganizationTarget finds where in git an organization's clusters are listed: the tree of the Kustomization that
// reconciles the Organization. Its Placement names the cluster's directory and Flux Kustomization. Errors are as those
// of [Reader.Target].
func (r *Reader) OrganizationTarget(ctx context.Context, cluster clustermanager.Cluster) (clustermanager.Target, error) {
	object, err := r.get(ctx, organizationNoun, "", cluster.Organization)
	reference := organizationNoun.reference("", cluster.Organization)
	switch {
	case apierrors.IsNotFound(err):
		return clustermanager.Target{}, clustermanager.Refuse("%s: it does not exist: create the organization first, or correct the name", reference)
	case apierrors.IsForbidden(err):
		return clustermanager.Target{}, clustermanager.Refuse("%s: you may not read it, and its labels say which Kustomization reconciles it: ask for the right to get %s",
			reference, organizationNoun.resource.GroupResource())
	case err != nil:
		return clustermanager.Target{}, err
	}
	owner := kustomizationOf(object)
	if owner.Name == "" || owner.Namespace == "" {
		return clustermanager.Target{}, clustermanager.Refuse("%s: no Kustomization reconciles it, it has no labels %s and %s: let one apply it from a GitRepository, or use mode %s",
			reference, clustermanager.LabelKustomizationName, clustermanager.LabelKustomizationNamespace, clustermanager.ModeApply)
	}
	return r.targetOf(ctx, owner, func(target *clustermanager.Target) {
		target.Placement = &clustermanager.Placement{
			Directory: clustermanager.ClusterDirectory(target.Path, cluster),
			Required:  clustermanager.OrganizationDirectory(target.Path, cluster.Organization),
			Name: clustermanager.NamespacedName{
				Namespace: owner.Namespace, Name: clustermanager.ClusterKustomization(r.options.Settings.Installation, cluster.Name),
			},
		}
	})
}

// tenantBound says whether the tenant ServiceAccount is bound in the namespace.
func (r *Reader) tenantBound(ctx context.Context, namespace string) (bool, error) {
	object, err := r.get(ctx, roleBindingNoun, namespace, clustermanager.TenantBinding)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(mapsAt(object.Object, "subjects"), func(subject map[string]any) bool {
		return textAt(subject, "kind") == "ServiceAccount" && textAt(subject, "name") == r.options.Settings.TenantServiceAccount
	}), nil
}

// organizationAdmins are the users and groups that RoleBindings of the namespace bind to the ClusterRole cluster-admin.
func (r *Reader) organizationAdmins(ctx context.Context, namespace string) (clustermanager.Admins, error) {
	bindings, err := r.list(ctx, roleBindingNoun, namespace, metav1.ListOptions{})
	if err != nil {
		return clustermanager.Admins{}, err
	}
	var admins clustermanager.Admins
	for _, binding := range bindings {
		if textAt(binding.Object, "roleRef", "kind") != "ClusterRole" || textAt(binding.Object, "roleRef", "name") != clustermanager.ClusterAdmin {
			continue
		}
		for _, subject := range mapsAt(binding.Object, "subjects") {
			switch name := textAt(subject, "name"); textAt(subject, "kind") {
			case "User":
				admins.Users = append(admins.Users, name)
			case "Group":
				admins.Groups = append(admins.Groups, name)
			}
		}
	}
	return clustermanager.Admins{Users: clustermanager.SortedOnce(admins.Users), Groups: clustermanager.SortedOnce(admins.Groups)}, nil
}
