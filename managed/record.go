package managed

import (
	"maps"
	"slices"
	"time"
)

// State is where a record is.
type State string

const (
	StatePending      State = "pending"
	StateProvisioning State = "provisioning"
	StateReady        State = "ready"
	StateUpdating     State = "updating"
	StateDeleting     State = "deleting"
	StateDeleted      State = "deleted"
	StateError        State = "error"
)

// States are all states.
func States() []State {
	return []State{StatePending, StateProvisioning, StateReady, StateUpdating, StateDeleting, StateDeleted, StateError}
}

// Cluster is the record of a cluster: what the tenant wants, what the provider last showed, and what [Step] remembers.
// It needs nothing of the catalogue any more, so that a withdrawn pool or network changes nothing of it but who can
// speak for the account. Empty texts and zero times are what is not known, or not yet.
type Cluster struct {
	ID        string `json:"id"`
	TenantID  string `json:"tenantId"`
	PoolID    string `json:"poolId"`
	AccountID string `json:"accountId"`
	ProjectID string `json:"projectId,omitempty"`
	NetworkID string `json:"networkId,omitempty"`
	// Owner is the identity of who made it; InputHash the hash of the input, for a retry.
	Owner     string `json:"owner"`
	InputHash string `json:"inputHash"`

	Name               string   `json:"name"`
	Mode               Mode     `json:"mode"`
	Location           string   `json:"location"`
	Channel            Channel  `json:"channel"`
	Pin                string   `json:"pin,omitempty"`
	AuthorizedNetworks []string `json:"authorizedNetworks,omitempty"`
	PrivateNodes       bool     `json:"privateNodes,omitempty"`
	Description        string   `json:"description,omitempty"`
	Placement
	NodePools []NodePool `json:"nodePools,omitempty"`

	// Version is the answered revision.
	Version int    `json:"version"`
	State   State  `json:"state"`
	Message string `json:"message,omitempty"`

	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	NodeVersion       string `json:"nodeVersion,omitempty"`
	// Endpoint is a host or address, Authority the PEM of the control plane's CA.
	Endpoint  string `json:"endpoint,omitempty"`
	Authority string `json:"authority,omitempty"`

	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// AcceptedAt is when the provider first took it, from where its hours count.
	AcceptedAt time.Time `json:"acceptedAt,omitzero"`
	ReadyAt    time.Time `json:"readyAt,omitzero"`
	DeletedAt  time.Time `json:"deletedAt,omitzero"`
	// NextLook is when the reconciler comes by for it alone; zero: never again, or with all of its account.
	NextLook time.Time `json:"nextLook,omitzero"`

	ControlPlane Part `json:"controlPlane,omitzero"`
	// Changes are to be sent, in the order of sending.
	Changes   []Change   `json:"changes,omitempty"`
	Operation *Operation `json:"operation,omitempty"`
	// Deleting says that the tenant deleted it; Refusals counts the provider's refusals to do so.
	Deleting bool `json:"deleting,omitempty"`
	Refusals int  `json:"refusals,omitempty"`
	// Changed says that there is something to tell when it is ready again; Retouched that a failed cluster was updated
	// before it was ever ready; SaidError is the message of the last error event.
	Changed   bool   `json:"changed,omitempty"`
	Retouched bool   `json:"retouched,omitempty"`
	SaidError string `json:"saidError,omitempty"`
}

// Placement is what the catalogue made of a location and a network, once and for all.
type Placement struct {
	// Region is the location's; Zones are the account's in it, for a regional standard cluster alone.
	Region string   `json:"region"`
	Zones  []string `json:"zones,omitempty"`
	// Network and Subnetwork are names at the provider, both or none.
	Network    string `json:"network,omitempty"`
	Subnetwork string `json:"subnetwork,omitempty"`
	// Metered says that hours are recorded.
	Metered bool `json:"metered,omitempty"`
}

// NodePool is the record of a node pool. What the tenant wants is in the embedded input.
type NodePool struct {
	ID        string `json:"id"`
	ClusterID string `json:"clusterId"`
	NodePoolInput
	Part Part `json:"part,omitzero"`

	Version     int       `json:"version"`
	State       State     `json:"state"`
	Message     string    `json:"message,omitempty"`
	NodeVersion string    `json:"nodeVersion,omitempty"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	ReadyAt     time.Time `json:"readyAt,omitzero"`
	DeletedAt   time.Time `json:"deletedAt,omitzero"`
}

// Change is a field of a cluster that is set at the provider, one a request.
type Change string

const (
	ChangeNetworks Change = "authorizedNetworks"
	ChangeChannel  Change = "releaseChannel"
	ChangeVersion  Change = "version"
)

// changeOrder is the order of sending: a version is only valid inside its channel.
var changeOrder = []Change{ChangeNetworks, ChangeChannel, ChangeVersion}

// Part is what a record follows of one thing at the provider: the control plane, or a node pool.
type Part struct {
	// Attempt is when a create was last sent, written before it goes out; zero: never.
	Attempt time.Time `json:"attempt,omitzero"`
	// Accepted says that the provider took the create, so that what stands there under our name is ours.
	Accepted bool `json:"accepted,omitempty"`
	// Running says that the provider last showed it in working order.
	Running bool `json:"running,omitempty"`
	// Failure is why it does not work, in the provider's words; empty: it works, or is on its way. Failed is what failed.
	Failure string       `json:"failure,omitempty"`
	Failed  FailurePoint `json:"failed,omitempty"`
	// RetryAt is when a failed part is due again; zero: at the next pass.
	RetryAt time.Time `json:"retryAt,omitzero"`
}

// FailurePoint is what a failure is of; it decides what ends it.
type FailurePoint string

const (
	// FailedCreate, FailedChange and FailedDelete are refusals of what was sent; FailedStatus is what a look showed.
	FailedCreate FailurePoint = "create"
	FailedChange FailurePoint = "change"
	FailedDelete FailurePoint = "delete"
	FailedStatus FailurePoint = "status"
)

// mend ends a failure.
func (p *Part) mend() { p.Failure, p.Failed, p.RetryAt = "", "", time.Time{} }

// due says whether the part may be worked on: it has not failed, or its wait is over.
func (p *Part) due(now time.Time) bool { return p.Failure == "" || !now.Before(p.RetryAt) }

// Operation is a write that the provider took and still works on. A cluster has one at a time.
type Operation struct {
	// Name is the provider's.
	Name  string `json:"name"`
	Write Write  `json:"write"`
	// Stale says that a call changed the field again since it was sent.
	Stale bool `json:"stale,omitempty"`
}

// NewCluster makes the record that create inserts, with its pools and its event. The id is that of [ClusterID].
func NewCluster(in CreateInput, owner Principal, pool Pool, placement Placement, now time.Time) (Cluster, Event, error) {
	hash, err := in.Hash()
	if err != nil {
		return Cluster{}, Event{}, err
	}
	placement.Metered = pool.Billing.Metered()
	row := Cluster{
		ID: ClusterID(in.TenantID, owner.ID, in.IdempotencyKey), TenantID: in.TenantID,
		PoolID: pool.ID, AccountID: pool.Account, ProjectID: in.ProjectID, NetworkID: in.NetworkID,
		Owner: owner.ID, InputHash: hash,
		Name: in.Name, Mode: in.Mode, Location: in.Location, Channel: in.ReleaseChannel, Pin: in.Version,
		AuthorizedNetworks: slices.Clone(in.AuthorizedNetworks), PrivateNodes: in.PrivateNodes,
		Description: in.Description, Placement: placement,
		Version: 1, State: StatePending, CreatedAt: now, UpdatedAt: now, NextLook: now,
	}
	for _, wanted := range in.NodePools {
		row.NodePools = append(row.NodePools, NodePool{
			ID: FirstNodePoolID(row.ID, wanted.Name), ClusterID: row.ID, NodePoolInput: wanted.clone(),
			Version: 1, State: StatePending, CreatedAt: now, UpdatedAt: now,
		})
	}
	return row, clusterEvent(EventCreated, &row, now), nil
}

// clone is a copy that shares nothing with the record.
func (c *Cluster) clone() Cluster {
	row := *c
	row.AuthorizedNetworks = slices.Clone(c.AuthorizedNetworks)
	row.Zones = slices.Clone(c.Zones)
	row.Changes = slices.Clone(c.Changes)
	row.NodePools = slices.Clone(c.NodePools)
	for i := range row.NodePools {
		row.NodePools[i].NodePoolInput = row.NodePools[i].clone()
	}
	if c.Operation != nil {
		row.Operation = new(*c.Operation)
	}
	return row
}

func (in NodePoolInput) clone() NodePoolInput {
	if in.Autoscaling != nil {
		in.Autoscaling = new(*in.Autoscaling)
	}
	if in.Accelerators != nil {
		in.Accelerators = new(*in.Accelerators)
	}
	in.Zones, in.Labels, in.Taints = slices.Clone(in.Zones), maps.Clone(in.Labels), slices.Clone(in.Taints)
	return in
}

// ZonesOf are the zones of a pool that are in effect: as given, else the cluster's zone or zones.
func (c *Cluster) ZonesOf(pool NodePoolInput) []string {
	switch {
	case len(pool.Zones) > 0:
		return slices.Clone(pool.Zones)
	case len(c.Zones) > 0:
		return slices.Clone(c.Zones)
	}
	return []string{c.Location}
}

// FirstPool is the id of the pool that goes out with the cluster, the first with a node: the provider makes no standard
// cluster without nodes. Empty: none has one, so a throwaway pool opens the cluster; or the cluster is Autopilot.
func (c *Cluster) FirstPool() string {
	for _, pool := range c.NodePools {
		if pool.NodeCount > 0 {
			return pool.ID
		}
	}
	return ""
}

// pool finds a node pool by id.
func (c *Cluster) pool(id string) (*NodePool, bool) {
	for i := range c.NodePools {
		if c.NodePools[i].ID == id {
			return &c.NodePools[i], true
		}
	}
	return nil, false
}
