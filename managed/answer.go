package managed

import (
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// ClusterAnswer is a cluster as it is answered and published. Every field is always there; what is unknown or not yet
// is null, lists and maps are never null.
type ClusterAnswer struct {
	ClusterID          string           `json:"clusterId"`
	TenantID           string           `json:"tenantId"`
	PoolID             string           `json:"poolId"`
	ProviderAccountID  string           `json:"providerAccountId"`
	ProjectID          *string          `json:"projectId"`
	NetworkID          *string          `json:"networkId"`
	Name               string           `json:"name"`
	Location           string           `json:"location"`
	Mode               Mode             `json:"mode" enum:"standard,autopilot"`
	ReleaseChannel     Channel          `json:"releaseChannel" enum:"rapid,regular,stable,extended"`
	ControlPlane       *string          `json:"controlPlaneVersion"`
	KubernetesVersion  *string          `json:"kubernetesVersion"`
	NodeVersion        *string          `json:"nodeVersion"`
	Endpoint           *string          `json:"endpoint"`
	AuthorizedNetworks []string         `json:"authorizedNetworks"`
	PrivateNodes       bool             `json:"privateNodes"`
	Description        string           `json:"description"`
	State              State            `json:"state" enum:"pending,provisioning,ready,updating,deleting,deleted,error"`
	Message            *string          `json:"message"`
	Version            int              `json:"version"`
	NodePools          []NodePoolAnswer `json:"nodePools"`
	CreatedAt          time.Time        `json:"createdAt"`
	UpdatedAt          time.Time        `json:"updatedAt"`
	ReadyAt            *time.Time       `json:"readyAt"`
	DeletedAt          *time.Time       `json:"deletedAt"`
	Extensions         Extensions       `json:"extensions"`
}

// Extensions are what a cluster has beside the reference's fields.
type Extensions struct {
	// Source is api or git; Repository and Path are null unless git.
	Source             string             `json:"source" enum:"api,git"`
	Repository         *string            `json:"repository"`
	Path               *string            `json:"path"`
	DeletionProtection bool               `json:"deletionProtection"`
	MaintenanceWindow  *MaintenanceWindow `json:"maintenanceWindow"`
	Paused             bool               `json:"paused"`
}

// MaintenanceWindow is when the provider may upgrade on its own; Recurrence is of RFC 5545.
type MaintenanceWindow struct {
	Start      time.Time `json:"start"`
	End        time.Time `json:"end"`
	Recurrence string    `json:"recurrence"`
}

// NodePoolAnswer is a node pool as it is answered. NodeCount and the bounds of autoscaling are per zone, Nodes is the
// count of all zones.
type NodePoolAnswer struct {
	NodePoolID   string            `json:"nodePoolId"`
	ClusterID    string            `json:"clusterId"`
	Name         string            `json:"name"`
	MachineType  string            `json:"machineType"`
	NodeCount    int               `json:"nodeCount"`
	Autoscaling  *Autoscaling      `json:"autoscaling"`
	Nodes        int               `json:"nodes"`
	DiskGiB      *int              `json:"diskGiB"`
	DiskType     *string           `json:"diskType"`
	Spot         bool              `json:"spot"`
	Accelerators *Accelerators     `json:"accelerators"`
	Zones        []string          `json:"zones"`
	Labels       map[string]string `json:"labels"`
	Taints       []TaintAnswer     `json:"taints"`
	NodeVersion  *string           `json:"nodeVersion"`
	State        State             `json:"state" enum:"pending,provisioning,ready,updating,deleting,deleted,error"`
	Message      *string           `json:"message"`
	Version      int               `json:"version"`
	CreatedAt    time.Time         `json:"createdAt"`
	UpdatedAt    time.Time         `json:"updatedAt"`
	ReadyAt      *time.Time        `json:"readyAt"`
	DeletedAt    *time.Time        `json:"deletedAt"`
}

// TaintAnswer is a taint with its value always there, "" when none.
type TaintAnswer struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect" enum:"NoSchedule,PreferNoSchedule,NoExecute"`
}

// ListAnswer is the answer of list: oldest first, Truncated when there were more.
type ListAnswer struct {
	Clusters  []ClusterAnswer `json:"clusters"`
	Truncated bool            `json:"truncated"`
}

// CredentialsAnswer is the answer of credentials. The kubeconfig holds a token: it shows as masked, in JSON too, except in
// what [CredentialsAnswer.Reveal] gives.
type CredentialsAnswer struct {
	Kubeconfig clustermanager.Secret `json:"kubeconfig"`
	ExpiresAt  time.Time             `json:"expiresAt"`
	Role       Role                  `json:"role" enum:"view,edit,admin"`
}

// Reveal is the body that goes to the caller, with the token. Whoever writes the answer calls it, and nobody else.
func (a CredentialsAnswer) Reveal() any {
	return struct {
		Kubeconfig string    `json:"kubeconfig"`
		ExpiresAt  time.Time `json:"expiresAt"`
		Role       Role      `json:"role"`
	}{a.Kubeconfig.Reveal(), a.ExpiresAt, a.Role}
}

// VersionsAnswer are the versions that a provider offers in a location, newest first. Channels has those it offers.
type VersionsAnswer struct {
	DefaultVersion string                     `json:"defaultVersion"`
	ValidVersions  []string                   `json:"validVersions"`
	Channels       map[Channel]ChannelVersion `json:"channels"`
}

// ChannelVersion are the versions of a release channel.
type ChannelVersion struct {
	DefaultVersion string   `json:"defaultVersion"`
	ValidVersions  []string `json:"validVersions"`
}

// Answer is the cluster as it is answered.
func (c *Cluster) Answer() ClusterAnswer {
	answer := ClusterAnswer{
		ClusterID: c.ID, TenantID: c.TenantID, PoolID: c.PoolID, ProviderAccountID: c.AccountID,
		ProjectID: orNull(c.ProjectID), NetworkID: orNull(c.NetworkID), Name: c.Name, Location: c.Location, Mode: c.Mode,
		ReleaseChannel: c.Channel, ControlPlane: orNull(c.Pin), KubernetesVersion: orNull(c.KubernetesVersion),
		NodeVersion: orNull(c.NodeVersion), Endpoint: orNull(c.Endpoint),
		AuthorizedNetworks: append([]string{}, c.AuthorizedNetworks...), PrivateNodes: c.PrivateNodes,
		Description: c.Description, State: c.State, Message: orNull(c.Message), Version: c.Version,
		NodePools: []NodePoolAnswer{}, CreatedAt: clock(c.CreatedAt), UpdatedAt: clock(c.UpdatedAt),
		ReadyAt: orNullTime(c.ReadyAt), DeletedAt: orNullTime(c.DeletedAt), Extensions: Extensions{Source: "api"},
	}
	for i := range c.NodePools {
		if c.NodePools[i].State != StateDeleted || c.NodePools[i].DeletedAt.Equal(c.DeletedAt) {
			answer.NodePools = append(answer.NodePools, c.poolAnswer(&c.NodePools[i]))
		}
	}
	return answer
}

func (c *Cluster) poolAnswer(pool *NodePool) NodePoolAnswer {
	zones := c.ZonesOf(pool.NodePoolInput)
	wanted := pool.clone()
	answer := NodePoolAnswer{
		NodePoolID: pool.ID, ClusterID: pool.ClusterID, Name: pool.Name, MachineType: pool.MachineType,
		NodeCount: pool.NodeCount, Autoscaling: wanted.Autoscaling, Nodes: pool.NodeCount * len(zones),
		DiskGiB: orNull(pool.DiskGiB), DiskType: orNull(pool.DiskType), Spot: pool.Spot, Accelerators: wanted.Accelerators,
		Zones: zones, Labels: wanted.Labels, Taints: []TaintAnswer{}, NodeVersion: orNull(pool.NodeVersion),
		State: pool.State, Message: orNull(pool.Message), Version: pool.Version,
		CreatedAt: clock(pool.CreatedAt), UpdatedAt: clock(pool.UpdatedAt),
		ReadyAt: orNullTime(pool.ReadyAt), DeletedAt: orNullTime(pool.DeletedAt),
	}
	if answer.Labels == nil {
		answer.Labels = map[string]string{}
	}
	for _, taint := range pool.Taints {
		answer.Taints = append(answer.Taints, TaintAnswer(taint))
	}
	return answer
}

// orNull is null for the zero value.
func orNull[T comparable](value T) *T {
	var none T
	if value == none {
		return nil
	}
	return new(value)
}

func orNullTime(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return new(clock(at))
}

// clock is a time as it is answered: UTC, to the microsecond.
func clock(at time.Time) time.Time { return at.UTC().Truncate(time.Microsecond) }
