package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// defaultWorkloadBudget is the time that the reads of one workload cluster take at most where a whole fleet is read. A
// caller's aggregator gives up at about ten seconds, and what comes before and after needs some of them.
const defaultWorkloadBudget = 5 * time.Second

// Page chooses the clusters of an answer.
type Page struct {
	// Limit is how many; 0: all.
	Limit int
	// After is the last cluster of the page before; nil: the first page.
	After *clustermanager.NamespacedName
}

// Clusters reads every cluster of the installation, all at the same time. What the installation knows of every cluster
// is listed once; each cluster costs a request for its kubeconfig, and those to its own API server, which share a
// budget. The error says that the clusters themselves could not be listed; whatever else could not be read stands in its
// place with its reason.
func (r *Reader) Clusters(ctx context.Context, page Page) (clustermanager.Fleet, error) {
	if r.options.WorkloadBudget == 0 {
		r.options.WorkloadBudget = defaultWorkloadBudget
	}
	var fleet clustermanager.Fleet
	var found []unstructured.Unstructured
	var failed error
	together(
		func() { fleet.ClusterAPI = r.ClusterAPI(ctx) },
		func() { found, fleet.Note, failed = r.everyCluster(ctx) },
		func() { r.hold(ctx, helmReleaseNoun) },
		func() { r.hold(ctx, appNoun) },
		func() { _, _ = r.backends(ctx, clustermanager.Cluster{}) },
		func() { _, _ = r.ownedConfigMaps(ctx) },
	)
	switch fleet.ClusterAPI.State {
	case clustermanager.APIAbsent:
		return clustermanager.Fleet{ClusterAPI: fleet.ClusterAPI, Clusters: []clustermanager.ClusterStatus{}}, nil
	case clustermanager.APIUnknown:
		return fleet, fmt.Errorf("every Cluster: listing: discovering %s/%s: %s", fleet.ClusterAPI.Group, fleet.ClusterAPI.Version, fleet.ClusterAPI.Note)
	}
	if failed != nil {
		return fleet, failed
	}
	chosen, more := page.of(sortedByName(found))
	if len(chosen) == 0 && page.After != nil {
		fleet.Note = strings.TrimPrefix(fleet.Note+"; "+noneAfter, "; ")
	}
	fleet.More, fleet.Clusters = more, make([]clustermanager.ClusterStatus, len(chosen))
	infrastructure := func() {
		_, _ = once(r, "infrastructure", func() (struct{}, error) {
			r.holdInfrastructure(ctx, chosen)
			return struct{}{}, nil
		})
	}
	var reads errgroup.Group
	for index := range chosen {
		reads.Go(func() error {
			fleet.Clusters[index] = r.status(ctx, r.clusterOf(&chosen[index]), infrastructure)
			return nil
		})
	}
	_ = reads.Wait()
	if err := ctx.Err(); err != nil {
		return clustermanager.Fleet{}, fmt.Errorf("every Cluster: reading: %w", err)
	}
	return fleet, nil
}

// noneAfter says that a page is empty since it comes after the last cluster, such as one that was removed meanwhile.
const noneAfter = "no cluster follows the cursor: leave it out for the first page"

// of are the objects of the page, of all in their order, and whether more follow.
func (p Page) of(all []unstructured.Unstructured) (chosen []unstructured.Unstructured, more bool) {
	if p.After != nil {
		all = all[upTo(all, *p.After):]
	}
	if p.Limit > 0 && len(all) > p.Limit {
		return all[:p.Limit], true
	}
	return all, false
}

// upTo is how many of the objects come up to the name.
func upTo(all []unstructured.Unstructured, name clustermanager.NamespacedName) int {
	at, there := slices.BinarySearchFunc(all, name, func(object unstructured.Unstructured, name clustermanager.NamespacedName) int {
		return cmp.Or(cmp.Compare(object.GetNamespace(), name.Namespace), cmp.Compare(object.GetName(), name.Name))
	})
	if there {
		at++
	}
	return at
}

// together runs reads at the same time.
func together(reads ...func()) {
	var group errgroup.Group
	for _, read := range reads {
		group.Go(func() error { read(); return nil })
	}
	_ = group.Wait()
}

// everyCluster are the Clusters that the caller may list: over all namespaces, else of each namespace of an
// organization, and then what the note says.
func (r *Reader) everyCluster(ctx context.Context) (found []unstructured.Unstructured, note string, err error) {
	found, err = r.list(ctx, clusterNoun, "", metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		found, note, err = r.everyClusterPerNamespace(ctx)
	}
	for index := range found {
		r.know(clusterNoun, &found[index])
	}
	return found, note, err
}

func (r *Reader) everyClusterPerNamespace(ctx context.Context) (found []unstructured.Unstructured, note string, err error) {
	namespaces, err := r.organizationNamespaces(ctx)
	if apierrors.IsForbidden(err) {
		return nil, "", errors.New("every Cluster: listing: you may list neither clusters over all namespaces " +
			"(clusters.cluster.x-k8s.io) nor organizations nor namespaces: ask for the right to list one of them")
	}
	if err != nil {
		return nil, "", err
	}
	var mu sync.Mutex
	var read, failed []string
	var reads errgroup.Group
	reads.SetLimit(maxParallel)
	for _, namespace := range namespaces {
		reads.Go(func() error {
			objects, err := r.list(ctx, clusterNoun, namespace, metav1.ListOptions{})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				found, read = append(found, objects...), append(read, namespace)
			case !apierrors.IsForbidden(err):
				failed = append(failed, err.Error())
			}
			return nil
		})
	}
	_ = reads.Wait()
	if len(read) == 0 && len(failed) == 0 {
		return nil, "", errors.New("every Cluster: listing: you may list clusters (clusters.cluster.x-k8s.io) in no namespace of an organization: ask for the right to list them in yours")
	}
	if len(read) == 0 {
		return nil, "", errors.New(strings.Join(slices.Sorted(slices.Values(failed)), "; "))
	}
	slices.Sort(read)
	note = "clusters were read in " + strings.Join(read, ", ") + " alone; you may not list them over all namespaces, and other namespaces could not be read"
	slices.Sort(failed)
	return found, strings.Join(append([]string{note}, failed...), "; "), nil
}

// holdInfrastructure lists the infrastructure objects of the Clusters that tell of a network.
func (r *Reader) holdInfrastructure(ctx context.Context, clusters []unstructured.Unstructured) {
	nouns := map[noun]bool{}
	for _, cluster := range clusters {
		reference := mapAt(cluster.Object, "spec", "infrastructureRef")
		of := nounOf(clustermanager.ObjectReference{APIVersion: textAt(reference, "apiVersion"), Kind: textAt(reference, "kind")})
		if of.kind == awsCluster && of.resource.Version != "" {
			nouns[of] = true
		}
	}
	var reads []func()
	for of := range nouns {
		reads = append(reads, func() { r.hold(ctx, of) })
	}
	together(reads...)
}
