package survey

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// NewCluster reads the facts that a new cluster is composed from; creator is the caller's e-mail, "" where they have
// none. The error says that the installation serves no Cluster API, or that this could not be found out, or that the
// context ended; whatever else could not be read stands in the survey with its reason.
func (r *Reader) NewCluster(ctx context.Context, request clustermanager.CreateClusterRequest, creator string) (clustermanager.NewClusterSurvey, error) {
	request = request.WithDefaults()
	cluster := r.named(request.Organization, request.Name)
	if err := r.clusterAPIServed(ctx, cluster); err != nil {
		return clustermanager.NewClusterSurvey{}, err
	}
	made := clustermanager.NewClusterSurvey{Now: r.options.Now, Settings: r.options.Settings, Creator: creator, Cluster: cluster}
	objects := clustermanager.ClusterRelease(cluster)
	var reads errgroup.Group
	start := func(read func()) {
		reads.Go(func() error { read(); return nil })
	}
	start(func() {
		var err error
		made.SameName, made.UnreadNamespaces, err = r.sameName(ctx, cluster.Name)
		if err != nil {
			made.SameName = clustermanager.Read[[]clustermanager.Cluster](nil, err)
		}
	})
	start(func() {
		made.Target = clustermanager.Read(r.OrganizationTarget(ctx, cluster))
		references := objects.References()
		if target, known := made.Target.Get(); known {
			references = append(references, target.Brought())
		}
		made.Live = r.liveObjects(ctx, references)
	})
	start(func() { made.OwnValues = clustermanager.Read(r.clusterValues(ctx, objects.Values, true)) })
	start(func() {
		made.InstallationValues = clustermanager.Read(r.clusterValues(ctx, configMapNoun.reference(cluster.Namespace, clustermanager.InstallationValues), false))
	})
	start(func() { made.TenantBound = clustermanager.Read(r.tenantBound(ctx, cluster.Namespace)) })
	start(func() { made.Admins = clustermanager.Read(r.organizationAdmins(ctx, cluster.Namespace)) })
	start(func() { made.Tags = clustermanager.Read(r.tags(ctx, request.Provider)) })
	start(func() { made.Tag = clustermanager.Read(r.sourceTag(ctx, objects.Source)) })
	start(func() {
		releases, _, err := r.releases(ctx)
		made.Releases = clustermanager.Read(releases, err)
	})
	_ = reads.Wait()
	// Which chart is meant is known now.
	made.Chart = clustermanager.Read(r.releaseChart(ctx, request.Provider, made.MeantRelease(request)))
	if err := ctx.Err(); err != nil {
		return clustermanager.NewClusterSurvey{}, fmt.Errorf("Cluster %s/%s: reading what a cluster is composed from: %w", cluster.Namespace, cluster.Name, err)
	}
	return made, nil
}

// named is a cluster by its organization and name, whether it exists or not.
func (r *Reader) named(organization, name string) clustermanager.Cluster {
	return clustermanager.Cluster{
		Namespace: clustermanager.OrganizationPrefix + organization, Name: name, Organization: organization,
		Own: name == r.options.Settings.Installation,
	}
}

// sameName are the clusters of the name in every namespace, and the namespaces that may not be read.
func (r *Reader) sameName(ctx context.Context, name string) (clustermanager.Reading[[]clustermanager.Cluster], []string, error) {
	found, err := r.list(ctx, clusterNoun, "", metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(),
	})
	var unread []string
	if apierrors.IsForbidden(err) {
		found, unread, err = r.findPerNamespace(ctx, name)
	}
	if err != nil {
		return clustermanager.Reading[[]clustermanager.Cluster]{}, nil, err
	}
	clusters := []clustermanager.Cluster{}
	for index := range found {
		clusters = append(clusters, r.clusterOf(&found[index]))
	}
	return clustermanager.Known(clusters), unread, nil
}

// clusterValues are the values of a ConfigMap. One that is absent has none where it may be, else it is not found.
func (r *Reader) clusterValues(ctx context.Context, reference clustermanager.ObjectReference, optional bool) (clustermanager.Values, error) {
	values, err := r.readLayer(ctx, layer{namespace: reference.Namespace, name: reference.Name, key: clustermanager.ValuesKey, optional: optional})
	if apierrors.IsNotFound(err) {
		return clustermanager.Values{}, &clustermanager.NotFound{What: reference.String()}
	}
	return clustermanager.NewValues(values), err
}

// sourceTag is the tag that an OCIRepository follows; "" where there is none.
func (r *Reader) sourceTag(ctx context.Context, reference clustermanager.ObjectReference) (string, error) {
	object, err := r.get(ctx, nounOf(reference), reference.Namespace, reference.Name)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return textAt(object.Object, "spec", "ref", "tag"), nil
}
