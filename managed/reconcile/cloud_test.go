package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// operationTime is how long the cloud works on a write.
const operationTime = 45 * time.Second

// cloud is a provider with the rules that the reconciler counts on: a name is taken once, a cluster works on one write at
// a time, what is accepted may fail later.
type cloud struct {
	now func() time.Time

	mu       sync.Mutex
	clusters map[managed.Spot]*managed.ProviderCluster
	running  map[managed.Spot]*operation
	finished map[string]managed.OperationStatus
	made     int

	// accepted are the writes that it took, as "<name> <kind> <what>"; asked all that were sent.
	accepted, asked []string
	// looks are the times of looks by name, lists of lists by account.
	looks, lists map[string][]time.Time
	// down is that it cannot be asked; missing are zones that it cannot look into; refuse says why it refuses a write.
	down    bool
	missing []string
	refuse  func(managed.Cluster, managed.Write) string
}

type operation struct {
	name  string
	write managed.Write
	row   managed.Cluster
	until time.Time
}

func newCloud(now func() time.Time) *cloud {
	return &cloud{
		now: now, clusters: map[managed.Spot]*managed.ProviderCluster{}, running: map[managed.Spot]*operation{},
		finished: map[string]managed.OperationStatus{}, looks: map[string][]time.Time{}, lists: map[string][]time.Time{},
	}
}

func (c *cloud) Capabilities() managed.Capabilities {
	return managed.Capabilities{ManagedKubernetes: true}
}

func (c *cloud) Look(_ context.Context, _ managed.Account, row managed.Cluster) managed.Observed {
	c.mu.Lock()
	defer c.mu.Unlock()
	spot := row.Spot()
	c.looks[row.Name] = append(c.looks[row.Name], c.now())
	if c.down {
		return managed.Unreachable("503")
	}
	c.settle(spot)
	var status *managed.OperationStatus
	if row.Operation != nil {
		if of := c.running[spot]; of != nil && of.name == row.Operation.Name {
			status = &managed.OperationStatus{Name: of.name, Running: true}
		} else {
			status = new(c.finished[row.Operation.Name])
		}
	}
	return managed.Seen(c.show(spot), status)
}

func (c *cloud) List(_ context.Context, account managed.Account) (managed.Listing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists[account.ID] = append(c.lists[account.ID], c.now())
	if c.down {
		return managed.Listing{}, errors.New("503")
	}
	listing := managed.Listing{Clusters: map[managed.Spot]*managed.ProviderCluster{}, Missing: c.missing}
	for spot := range maps.Clone(c.clusters) {
		c.settle(spot)
		if seen := c.show(spot); seen != nil && !slices.Contains(c.missing, spot.Location) {
			listing.Clusters[spot] = seen
		}
	}
	return listing, nil
}

func (c *cloud) show(spot managed.Spot) *managed.ProviderCluster {
	if c.clusters[spot] == nil {
		return nil
	}
	shown := *c.clusters[spot]
	shown.NodePools = slices.Clone(shown.NodePools)
	return &shown
}

func (c *cloud) Send(_ context.Context, _ managed.Account, row managed.Cluster, write managed.Write) managed.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	spot := row.Spot()
	c.settle(spot)
	called := fmt.Sprintf("%s %s", row.Name, write.Kind)
	for _, pool := range row.NodePools {
		if pool.ID == write.Pool {
			called += " " + pool.Name
		}
	}
	if what := string(write.Change) + write.Name; what != "" {
		called += " " + what
	}
	c.asked = append(c.asked, called)
	answer := managed.Answer{Write: write, Verdict: managed.Later}
	there := c.clusters[spot] != nil
	switch {
	case c.down, c.running[spot] != nil, there == (write.Kind == managed.CreateCluster):
		return answer
	case c.refuse != nil && c.refuse(row, write) != "":
		answer.Verdict, answer.Message = managed.Refused, c.refuse(row, write)
		return answer
	}
	c.accepted = append(c.accepted, called)
	c.made++
	of := &operation{name: fmt.Sprintf("operation-%d", c.made), write: write, row: row, until: c.now().Add(operationTime)}
	c.running[spot] = of
	c.begin(spot, of)
	answer.Verdict, answer.Operation = managed.Accepted, of.name
	return answer
}

func (c *cloud) begin(spot managed.Spot, of *operation) {
	if of.write.Kind == managed.CreateCluster {
		c.clusters[spot] = &managed.ProviderCluster{Label: of.row.ID, CreatedAt: c.now()}
	}
	cluster := c.clusters[spot]
	cluster.Status = map[managed.WriteKind]managed.ProviderStatus{
		managed.CreateCluster: managed.StatusProvisioning, managed.DeleteCluster: managed.StatusStopping,
	}[of.write.Kind]
	if cluster.Status == "" {
		cluster.Status = managed.StatusReconciling
	}
	if of.write.Kind == managed.CreateCluster || of.write.Kind == managed.CreatePool {
		pool := managed.ProviderPool{Name: managed.ThrowawayPoolName(nil), ClusterLabel: of.row.ID, PoolLabel: of.write.Pool, Status: managed.StatusProvisioning}
		for _, wanted := range of.row.NodePools {
			if wanted.ID == of.write.Pool {
				pool.Name = wanted.Name
			}
		}
		cluster.NodePools = append(cluster.NodePools, pool)
	}
}

// settle ends the operation of a cluster whose time is over.
func (c *cloud) settle(spot managed.Spot) {
	of, cluster := c.running[spot], c.clusters[spot]
	if of == nil || c.now().Before(of.until) {
		return
	}
	delete(c.running, spot)
	c.finished[of.name] = managed.OperationStatus{Name: of.name}
	switch of.write.Kind {
	case managed.DeleteCluster:
		delete(c.clusters, spot)
		return
	case managed.CreateCluster:
		cluster.Channel, cluster.Version, cluster.AuthorizedNetworks = of.row.Channel, "1.33.5-gke.1", of.row.AuthorizedNetworks
		cluster.Endpoint, cluster.Authority = "203.0.113.10", "made for the test"
	case managed.DeleteThrowaway:
		cluster.NodePools = slices.DeleteFunc(cluster.NodePools, func(pool managed.ProviderPool) bool { return pool.Name == of.write.Name })
	case managed.UpdateCluster:
		switch of.write.Change {
		case managed.ChangeChannel:
			cluster.Channel = of.row.Channel
		case managed.ChangeNetworks:
			cluster.AuthorizedNetworks = of.row.AuthorizedNetworks
		case managed.ChangeVersion:
			cluster.Version = of.row.Pin + ".1-gke.1"
		}
	}
	cluster.Status = managed.StatusRunning
	for i := range cluster.NodePools {
		cluster.NodePools[i].Status, cluster.NodePools[i].Version = managed.StatusRunning, cluster.Version
	}
}

// at is the cluster of a record at the provider, to be changed by hand.
func (c *cloud) at(row managed.Cluster, change func(*managed.ProviderCluster)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c.clusters[row.Spot()])
}
