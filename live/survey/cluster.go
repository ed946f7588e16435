package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// maxParallel bounds the reads of one namespace after the other.
	maxParallel = 16
)

// ClusterAPIAbsent says that the installation does not serve the Cluster API, so it has no clusters.
type ClusterAPIAbsent struct {
	// Cluster is the cluster that was looked for, as it was named.
	Cluster string
	// API is the state that was found.
	API clustermanager.APIState
}

// Error names the cluster and the group.
func (e *ClusterAPIAbsent) Error() string {
	return fmt.Sprintf("Cluster %s: finding it: the installation does not serve the API %s/%s, so it has no clusters",
		e.Cluster, e.API.Group, e.API.Version)
}

// ClusterAPI says with one discovery request whether the installation serves the Cluster API.
func (r *Reader) ClusterAPI(ctx context.Context) clustermanager.APIState {
	version := clustermanager.ClusterAPI
	state, _ := once(r, "discovery", func() (clustermanager.APIState, error) {
		state := clustermanager.APIState{Group: version.Group, Version: version.Version, State: clustermanager.APIAbsent}
		found, err := discovery.ToDiscoveryInterfaceWithContext(r.client.Discovery).
			ServerResourcesForGroupVersionWithContext(ctx, version.String())
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			state.State, state.Note = clustermanager.APIUnknown, err.Error()
		case slices.ContainsFunc(found.APIResources, func(served metav1.APIResource) bool {
			return served.Name == clusterNoun.resource.Resource
		}):
			state.State = clustermanager.APIServed
		}
		return state, nil
	})
	return state
}

// clusterAPIServed is an error unless the installation serves the Cluster API.
func (r *Reader) clusterAPIServed(ctx context.Context, cluster clustermanager.Cluster) error {
	named := clustermanager.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
	switch state := r.ClusterAPI(ctx); state.State {
	case clustermanager.APIAbsent:
		return &ClusterAPIAbsent{Cluster: named.String(), API: state}
	case clustermanager.APIUnknown:
		return fmt.Errorf("Cluster %s: finding it: discovering %s/%s: %s", named, state.Group, state.Version, state.Note)
	}
	return nil
}

// FindCluster finds a cluster by its name and, when it is not "", its namespace. The errors: *ClusterAPIAbsent,
// *clustermanager.NotFound, *clustermanager.Refusal for a name that several clusters have, else what could not be read.
func (r *Reader) FindCluster(ctx context.Context, namespace, name string) (clustermanager.Cluster, error) {
	named := clustermanager.NamespacedName{Namespace: namespace, Name: name}
	if err := r.clusterAPIServed(ctx, clustermanager.Cluster{Namespace: namespace, Name: name}); err != nil {
		return clustermanager.Cluster{}, err
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 || (namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0) {
		return clustermanager.Cluster{}, clusterNotFound(named)
	}
	if namespace == "" {
		return r.findInEveryNamespace(ctx, name)
	}
	object, err := r.get(ctx, clusterNoun, namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return clustermanager.Cluster{}, clusterNotFound(named)
	case err != nil:
		return clustermanager.Cluster{}, err
	}
	return r.clusterOf(object), nil
}

func clusterNotFound(named clustermanager.NamespacedName) *clustermanager.NotFound {
	return &clustermanager.NotFound{What: "cluster " + named.String(), Suffix: "correct the name or the namespace"}
}

// clusterOf is what a Cluster object says of itself.
func (r *Reader) clusterOf(object *unstructured.Unstructured) clustermanager.Cluster {
	labels := object.GetLabels()
	found := clustermanager.Cluster{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: string(object.GetUID()),
		Organization: labels[clustermanager.LabelOrganization], Release: labels[clustermanager.LabelRelease],
		Own:      object.GetName() == r.options.Settings.Installation,
		Deleting: object.GetDeletionTimestamp() != nil,
	}
	if found.Organization == "" {
		found.Organization = strings.TrimPrefix(object.GetNamespace(), clustermanager.OrganizationPrefix)
	}
	return found
}

func (r *Reader) findInEveryNamespace(ctx context.Context, name string) (clustermanager.Cluster, error) {
	found, err := r.list(ctx, clusterNoun, "", metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(),
	})
	var unread []string
	if apierrors.IsForbidden(err) {
		found, unread, err = r.findPerNamespace(ctx, name)
	}
	if err != nil {
		return clustermanager.Cluster{}, err
	}
	switch len(found) {
	case 0:
		absent := clusterNotFound(clustermanager.NamespacedName{Name: name})
		if len(unread) > 0 {
			absent.Suffix += "; you may not read clusters in " + strings.Join(unread, ", ")
		}
		return clustermanager.Cluster{}, absent
	case 1:
		r.know(clusterNoun, &found[0])
		return r.clusterOf(&found[0]), nil
	}
	var namespaces []string
	for _, object := range found {
		namespaces = append(namespaces, object.GetNamespace())
	}
	slices.Sort(namespaces)
	return clustermanager.Cluster{}, clustermanager.Refuse(
		"Cluster %s is ambiguous, it exists in %s: name the namespace", name, strings.Join(namespaces, ", "))
}

// findPerNamespace looks for the name in each namespace of an organization, and says which of them may not be read.
func (r *Reader) findPerNamespace(ctx context.Context, name string) (found []unstructured.Unstructured, unread []string, err error) {
	namespaces, err := r.organizationNamespaces(ctx)
	if apierrors.IsForbidden(err) {
		return nil, nil, fmt.Errorf("Cluster %s: finding it: you may list neither clusters over all namespaces "+
			"(clusters.cluster.x-k8s.io) nor organizations nor namespaces: name the namespace, or ask for the right to list one of them", name)
	}
	if err != nil {
		return nil, nil, err
	}
	var mu sync.Mutex
	var reads errgroup.Group
	reads.SetLimit(maxParallel)
	for _, namespace := range namespaces {
		reads.Go(func() error {
			object, err := r.get(ctx, clusterNoun, namespace, name)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case apierrors.IsForbidden(err):
				unread = append(unread, namespace)
			case apierrors.IsNotFound(err):
			case err != nil:
				return err
			default:
				found = append(found, *object)
			}
			return nil
		})
	}
	err = reads.Wait()
	slices.Sort(unread)
	return found, unread, err
}

// organizationNamespaces are the namespaces of the organizations that the caller may list, else the org-… ones of the
// namespaces that they may list.
func (r *Reader) organizationNamespaces(ctx context.Context) ([]string, error) {
	var found []string
	organizations, err := r.list(ctx, organizationNoun, "", metav1.ListOptions{})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	if len(organizations) > 0 {
		for _, object := range organizations {
			name := textAt(object.Object, "status", "namespace")
			if name == "" {
				name = clustermanager.OrganizationPrefix + object.GetName()
			}
			found = append(found, name)
		}
		return found, nil
	}
	namespaces, err := r.list(ctx, namespaceNoun, "", metav1.ListOptions{})
	for _, object := range namespaces {
		if strings.HasPrefix(object.GetName(), clustermanager.OrganizationPrefix) {
			found = append(found, object.GetName())
		}
	}
	return found, err
}
