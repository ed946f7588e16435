// Package survey reads, as the caller, everything that a decision needs, once and concurrently.
//
// It promises that a [Reader] asks for each object once, however many facts come from it; that a read that failed is an
// unknown Reading with its reason, never an empty value; that no value of a Secret stands in an error; and that a whole
// fleet costs the installation as many requests as one cluster, and one more for each, while no workload cluster waits
// for another. Secrets are looked at through their metadata alone, with two exceptions: those that a Kustomization
// substitutes from, since the proof of a change needs them, and a workload cluster's kubeconfig, of which the address
// and the authority are taken. What something is, such as who runs GPU nodes on a cluster and how far, is a pure function
// of what was read. It leaves out every decision on a change (the composer's), every write, and the making of clients, of
// the chart reader and of the resolver, which are handed in.
package survey

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Client holds the caller's clients of one API server.
type Client struct {
	Dynamic   dynamic.Interface
	Discovery discovery.DiscoveryInterface
	Metadata  metadata.Interface
}

// Options are what a survey depends on besides the installation.
type Options struct {
	// Settings are the server's settings.
	Settings clustermanager.Settings
	// Now is the time of the call.
	Now time.Time
	// Resolve finds the repository of a GitRepository's URL; nil: HostResolver over the settings. Its errors must hold
	// no part of a URL that may be secret.
	Resolve func(url string) (clustermanager.GitRepository, error)
	// Workload makes the caller's clients of a workload cluster; nil: no workload cluster can be read.
	Workload Workload
	// WorkloadBudget is the time that all reads of one workload cluster may take together, so that one that does not
	// answer delays no other; zero: each request has its own timeout alone.
	WorkloadBudget time.Duration
	// Charts reads charts from the registry; nil: no registry is read, and what depends on one is unknown.
	Charts Charts
	// Resolver asks the DNS for zones; nil: an issuer that needs one is refused.
	Resolver Resolver
}

// Reader reads for one call. What it read it remembers until it is dropped, so one Reader must never serve two callers
// or two calls. It is safe for concurrent use.
type Reader struct {
	client  Client
	options Options
	// where says in errors which API server is read; "": the installation's.
	where string
	// deadline ends the reads of a workload cluster; zero: each request has its own timeout alone.
	deadline time.Time

	mu    sync.Mutex
	reads map[string]any
	// core is the first read of the core API; nil: there was none.
	core *remembered[struct{}]
	// held are the kinds that were listed whole.
	held map[schema.GroupVersionResource]*held
}

// New makes the reader of one call.
func New(client Client, options Options) *Reader {
	if options.Resolve == nil {
		options.Resolve = HostResolver(options.Settings)
	}
	return &Reader{client: client, options: options, reads: map[string]any{}, held: map[schema.GroupVersionResource]*held{}}
}

// NodePool reads the facts that a node pool is composed from, and with serving those of its model serving. The error
// says that the cluster was not found, or not unambiguously, or that the context ended; whatever else could not be read
// stands in the survey with its reason.
func (r *Reader) NodePool(ctx context.Context, request clustermanager.CreateNodePoolRequest) (clustermanager.Survey, error) {
	request = request.WithDefaults()
	return r.survey(ctx, request.Namespace, request.Cluster, func(made *clustermanager.Survey, values func() effectiveValues, start func(func())) {
		cluster := made.Cluster
		start(func() { made.Pins = clustermanager.Read(r.pins(ctx, cluster)) })
		start(func() { made.ControlPlaneVersion = clustermanager.Read(r.controlPlaneVersion(ctx, cluster)) })
		start(func() { made.Nodes = clustermanager.Read(r.nodes(ctx, cluster)) })
		start(func() { made.GPUOperator = r.gpuOperator(ctx, cluster) })
		start(func() { made.Live = r.liveObjects(ctx, r.objectsOfPool(cluster, request.Name, *request.Serving)) })
		if *request.Serving {
			start(func() { made.Serving = r.servingSurvey(ctx, cluster, values) })
		}
	})
}

// Serving reads the facts that a cluster's model serving is composed from. Its errors are NodePool's.
func (r *Reader) Serving(ctx context.Context, namespace, cluster string) (clustermanager.Survey, error) {
	return r.survey(ctx, namespace, cluster, func(made *clustermanager.Survey, values func() effectiveValues, start func(func())) {
		cluster := made.Cluster
		start(func() { made.Live = r.liveObjects(ctx, r.objectsOfServing(cluster)) })
		start(func() { made.Serving = r.servingSurvey(ctx, cluster, values) })
	})
}

// effectiveValues is what was read of a cluster's values.
type effectiveValues = clustermanager.Reading[clustermanager.EffectiveValues]

// survey finds the cluster and reads, at the same time, what every decision about its parts needs and what fill starts
// besides. Who needs the cluster's values for another read gets them from the function, which waits for them.
func (r *Reader) survey(ctx context.Context, namespace, name string, fill func(made *clustermanager.Survey, values func() effectiveValues, start func(func()))) (clustermanager.Survey, error) {
	cluster, err := r.FindCluster(ctx, namespace, name)
	if err != nil {
		return clustermanager.Survey{}, err
	}
	made := clustermanager.Survey{Now: r.options.Now, Settings: r.options.Settings, Cluster: cluster}
	var reads errgroup.Group
	start := func(read func()) {
		reads.Go(func() error { read(); return nil })
	}
	values := sync.OnceValue(func() effectiveValues { return clustermanager.Read(r.values(ctx, cluster)) })
	start(func() { made.Values = values() })
	start(func() { made.Network = clustermanager.Read(r.network(ctx, cluster)) })
	start(func() { made.Pools = clustermanager.Read(r.pools(ctx, cluster)) })
	start(func() { made.Target = clustermanager.Read(r.Target(ctx, cluster)) })
	fill(&made, values, start)
	_ = reads.Wait()
	if err := ctx.Err(); err != nil {
		return clustermanager.Survey{}, fmt.Errorf("Cluster %s/%s: reading the facts of the call: %w", cluster.Namespace, cluster.Name, err)
	}
	return made, nil
}
