package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const labelClusterName = "cluster.x-k8s.io/cluster-name"

var machinePoolNoun = noun{"MachinePool", clustermanager.ClusterAPI.WithResource("machinepools")}

// NodePools reads the pools of a cluster and what their lifecycle is told from. The errors are those of FindCluster, the
// context's, and that neither of the two lists that pools are found in could be read; whatever else could not be read
// stands in the survey with its reason.
func (r *Reader) NodePools(ctx context.Context, namespace, name string) (clustermanager.NodePoolsSurvey, error) {
	cluster, err := r.FindCluster(ctx, namespace, name)
	if err != nil {
		return clustermanager.NodePoolsSurvey{}, err
	}
	made := clustermanager.NodePoolsSurvey{Now: r.options.Now, Settings: r.options.Settings, Cluster: cluster}
	var reads errgroup.Group
	reads.Go(func() (err error) {
		made.Pools, made.Unread, err = r.nodePools(ctx, cluster)
		return err
	})
	for _, read := range []func(){
		func() {
			made.ControlPlaneVersion = clustermanager.Read(r.specifiedControlPlaneVersion(ctx, cluster))
		},
		func() { made.Network = clustermanager.Read(r.network(ctx, cluster)) },
		func() { made.Backends = clustermanager.Read(r.backends(ctx, cluster)) },
		func() { made.Parts.Operator = r.standing(ctx, clustermanager.OperatorObjects(cluster).Release) },
	} {
		reads.Go(func() error { read(); return nil })
	}
	err = reads.Wait()
	if ended := ctx.Err(); ended != nil {
		return clustermanager.NodePoolsSurvey{}, fmt.Errorf("Cluster %s/%s: reading its node pools: %w", cluster.Namespace, cluster.Name, ended)
	}
	if err != nil {
		return clustermanager.NodePoolsSurvey{}, err
	}
	r.readRemains(ctx, &made)
	return made, nil
}

// specifiedControlPlaneVersion is the version that the control plane object asks for, else the one of the cluster's
// Release, with a leading v.
func (r *Reader) specifiedControlPlaneVersion(ctx context.Context, cluster clustermanager.Cluster) (string, error) {
	object, err := r.referenced(ctx, cluster, "controlPlaneRef")
	if err == nil {
		if version := textAt(object.Object, "spec", "version"); version != "" {
			return version, nil
		}
		err = fmt.Errorf("%s: reading its version: it names none", clustermanager.ReferenceTo(object))
	}
	pins, pinsErr := r.pins(ctx, cluster)
	switch {
	case pinsErr != nil:
		return "", fmt.Errorf("%w; %w", err, pinsErr)
	case pins.Kubernetes == "":
		return "", err
	}
	return "v" + pins.Kubernetes, nil
}

// nodePools are the cluster's pools, found in its MachinePools and its releases of the pool chart, with everything of
// theirs. The strings say which of the two could not be read.
func (r *Reader) nodePools(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.NodePoolFacts, []string, error) {
	var machines, releases []unstructured.Unstructured
	var machinesErr, releasesErr error
	var reads errgroup.Group
	reads.Go(func() error {
		machines, machinesErr = r.machinePools(ctx, cluster)
		return nil
	})
	reads.Go(func() error {
		releases, releasesErr = r.poolReleases(ctx, cluster)
		return nil
	})
	// The endpoint of the cluster is found meanwhile; whoever needs it hears why it cannot be read.
	reads.Go(func() error { _, _ = r.target(ctx, cluster); return nil })
	_ = reads.Wait()
	if machinesErr != nil && releasesErr != nil {
		return nil, nil, fmt.Errorf("%w; %w", machinesErr, releasesErr)
	}
	var unread []string
	for _, err := range []error{machinesErr, releasesErr} {
		if err != nil {
			unread = append(unread, err.Error())
		}
	}
	pools := r.matchPools(cluster, machines, machinesErr, releases, releasesErr)
	r.readNodePools(ctx, cluster, pools)
	found := make([]clustermanager.NodePoolFacts, 0, len(pools))
	for _, pool := range pools {
		found = append(found, pool.facts)
	}
	return found, unread, nil
}

// poolReleases are the cluster's releases of the pool chart.
func (r *Reader) poolReleases(ctx context.Context, cluster clustermanager.Cluster) ([]unstructured.Unstructured, error) {
	return r.listAny(ctx, helmReleaseNoun, cluster.Namespace, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{
		clustermanager.LabelChart: clustermanager.ChartGPUNodePool, clustermanager.LabelCluster: cluster.Name,
	}).String()})
}

// listedPool is a pool while its facts are read.
type listedPool struct {
	facts clustermanager.NodePoolFacts
	// machinePool is nil when there is none.
	machinePool *unstructured.Unstructured
}

// matchPools joins MachinePools and releases: a MachinePool belongs to the release of its own name, or to the one that
// Flux labels as its owner. Whose counterpart could not be listed has an unknown one, and so is what is malformed.
func (r *Reader) matchPools(cluster clustermanager.Cluster, machines []unstructured.Unstructured, machinesErr error, releases []unstructured.Unstructured, releasesErr error) []*listedPool {
	var pools []*listedPool
	matched := map[string]bool{}
	for index := range machines {
		object := &machines[index]
		labels := object.GetLabels()
		pool := &listedPool{machinePool: object, facts: clustermanager.NodePoolFacts{
			Name: object.GetName(), MachinePool: clustermanager.Read(new(machinePoolFacts(object)), r.malformed(object)),
		}}
		owner := clustermanager.NamespacedName{
			Namespace: cmp.Or(labels[clustermanager.LabelHelmReleaseNamespace], object.GetNamespace()), Name: labels[clustermanager.LabelHelmReleaseName],
		}
		if owner.Name != "" {
			pool.facts.Owner = &owner
		}
		release := matchedRelease(object, owner, releases)
		if release != nil {
			matched[release.GetName()] = true
		}
		pool.take(cluster, release, r.orMalformed(release, releasesErr))
		pools = append(pools, pool)
	}
	for index := range releases {
		if release := &releases[index]; !matched[release.GetName()] {
			pool := &listedPool{facts: clustermanager.NodePoolFacts{
				Name: release.GetName(), MachinePool: clustermanager.Read[*clustermanager.MachinePoolFacts](nil, machinesErr),
			}}
			pool.take(cluster, release, r.malformed(release))
			pools = append(pools, pool)
		}
	}
	slices.SortFunc(pools, func(a, b *listedPool) int { return cmp.Compare(a.facts.Name, b.facts.Name) })
	return pools
}

func matchedRelease(machinePool *unstructured.Unstructured, owner clustermanager.NamespacedName, releases []unstructured.Unstructured) *unstructured.Unstructured {
	for _, name := range []string{machinePool.GetName(), owner.Name} {
		for index := range releases {
			if releases[index].GetName() == name {
				return &releases[index]
			}
		}
	}
	return nil
}

// orMalformed says why a release is not known, where it is not.
func (r *Reader) orMalformed(release *unstructured.Unstructured, err error) error {
	if release == nil {
		return err
	}
	return r.malformed(release)
}

// take notes the pool's release; nil: it has none, or it is not known.
func (p *listedPool) take(cluster clustermanager.Cluster, release *unstructured.Unstructured, err error) {
	var facts *clustermanager.PoolReleaseFacts
	if release != nil {
		p.facts.Owner = &clustermanager.NamespacedName{Namespace: release.GetNamespace(), Name: release.GetName()}
		facts = new(poolReleaseFacts(cluster, release))
	}
	p.facts.Release = clustermanager.Read(facts, err)
}

// readNodePools reads what stands behind each pool: on the installation pool by pool, on the cluster for all together.
func (r *Reader) readNodePools(ctx context.Context, cluster clustermanager.Cluster, pools []*listedPool) {
	var reads errgroup.Group
	reads.Go(func() error { r.readNodes(ctx, cluster, pools, gpuPools); return nil })
	for _, pool := range pools {
		reads.Go(func() error { r.readMachines(ctx, pool); return nil })
		release := pool.facts.Release.Or(nil)
		if release == nil {
			continue
		}
		if release.Prewarm {
			reads.Go(func() error { pool.facts.Prewarm = clustermanager.Read(r.prewarm(ctx, *release)); return nil })
		}
		if release.Owned {
			objects := clustermanager.NodePool(cluster, release.Pool)
			reads.Go(func() error { pool.facts.Source = r.standing(ctx, objects.Source); return nil })
			reads.Go(func() error { pool.facts.Secret = r.standing(ctx, objects.Values); return nil })
		}
	}
	_ = reads.Wait()
	r.readCacheClaims(ctx, cluster, pools)
}

// errNoMachinePool says that there is no MachinePool that could name its infrastructure.
var errNoMachinePool = errors.New("the pool has no MachinePool")

// readCacheClaims reads the cluster's model cache claims for the pools that are pinned to zones and whose launches fail.
func (r *Reader) readCacheClaims(ctx context.Context, cluster clustermanager.Cluster, pools []*listedPool) {
	for _, pool := range pools {
		if release := pool.facts.Release.Or(nil); release != nil && len(release.Zones) > 0 && len(pool.facts.LaunchFailures()) > 0 {
			pool.facts.CacheClaims = clustermanager.Read(r.mountedClaims(ctx, cluster))
		}
	}
}
