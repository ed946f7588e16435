package managed

// The input structs are the inputs of the methods. Their tags are the bounds, in the words of Huma's tags, so that one
// struct gives validation, schema and reference: maxLength, pattern, enum, default, minItems, maxItems, minimum,
// maximum. A field with omitempty may be absent. A pointer tells what update does not name from what it names empty.

// CreateInput is the input of kubernetesClusters.create.
type CreateInput struct {
	TenantID           string          `json:"tenantId" maxLength:"128" pattern:"^[A-Za-z0-9._:-]{1,128}$"`
	ProjectID          string          `json:"projectId,omitempty" maxLength:"56" pattern:"^prj_[0-9a-hjkmnp-tv-z]{26,52}$"`
	PoolID             string          `json:"poolId" maxLength:"57" pattern:"^pool_[0-9a-hjkmnp-tv-z]{26,52}$"`
	Name               string          `json:"name" maxLength:"40" pattern:"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$"`
	Mode               Mode            `json:"mode" enum:"standard,autopilot"`
	Location           string          `json:"location" maxLength:"40" pattern:"^[a-z][a-z0-9-]{1,38}[a-z0-9]$"`
	ReleaseChannel     Channel         `json:"releaseChannel,omitempty" enum:"rapid,regular,stable,extended" default:"regular"`
	Version            string          `json:"version,omitempty" maxLength:"64" pattern:"^[0-9]{1,3}\\.[0-9]{1,3}(\\.[0-9]{1,3})?(-[a-z0-9.]{1,40})?$"`
	NetworkID          string          `json:"networkId,omitempty" maxLength:"56" pattern:"^net_[0-9a-hjkmnp-tv-z]{26,52}$"`
	AuthorizedNetworks []string        `json:"authorizedNetworks,omitempty" minItems:"0" maxItems:"50"`
	PrivateNodes       bool            `json:"privateNodes,omitempty" default:"false"`
	Description        string          `json:"description,omitempty" maxLength:"256"`
	NodePools          []NodePoolInput `json:"nodePools,omitempty" minItems:"0" maxItems:"10"`
	IdempotencyKey     string          `json:"idempotencyKey" maxLength:"128" pattern:"^[A-Za-z0-9._:-]{1,128}$"`
}

// NodePoolInput is a node pool as a caller wants it.
type NodePoolInput struct {
	Name         string            `json:"name" maxLength:"40" pattern:"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$"`
	MachineType  string            `json:"machineType" maxLength:"63" pattern:"^[a-z0-9][a-z0-9.-]{0,62}$"`
	NodeCount    int               `json:"nodeCount" minimum:"0" maximum:"1000"`
	Autoscaling  *Autoscaling      `json:"autoscaling,omitempty"`
	DiskGiB      int               `json:"diskGiB,omitempty" minimum:"10" maximum:"65536"`
	DiskType     string            `json:"diskType,omitempty" pattern:"^[a-z][a-z0-9-]{1,40}$"`
	Spot         bool              `json:"spot,omitempty" default:"false"`
	Accelerators *Accelerators     `json:"accelerators,omitempty"`
	Zones        []string          `json:"zones,omitempty" minItems:"0" maxItems:"10"`
	Labels       map[string]string `json:"labels,omitempty"`
	Taints       []Taint           `json:"taints,omitempty" minItems:"0" maxItems:"32"`
}

// Autoscaling are a pool's bounds per zone.
type Autoscaling struct {
	MinNodes int `json:"minNodes" minimum:"0" maximum:"1000"`
	MaxNodes int `json:"maxNodes" minimum:"1" maximum:"1000"`
}

// Accelerators are the GPUs of each node.
type Accelerators struct {
	Type  string `json:"type" pattern:"^[a-z0-9][a-z0-9-]{0,62}$"`
	Count int    `json:"count" minimum:"1" maximum:"16"`
}

// Taint keeps pods off a pool's nodes. The value is "" when there is none.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty" maxLength:"63"`
	Effect string `json:"effect" enum:"NoSchedule,PreferNoSchedule,NoExecute"`
}

// ListInput is the input of kubernetesClusters.list.
type ListInput struct {
	TenantID       string `json:"tenantId" maxLength:"128" pattern:"^[A-Za-z0-9._:-]{1,128}$"`
	PoolID         string `json:"poolId,omitempty" maxLength:"57" pattern:"^pool_[0-9a-hjkmnp-tv-z]{26,52}$"`
	ProjectID      string `json:"projectId,omitempty" maxLength:"56" pattern:"^prj_[0-9a-hjkmnp-tv-z]{26,52}$"`
	IncludeDeleted bool   `json:"includeDeleted,omitempty" default:"false"`
}

// GetInput is the input of kubernetesClusters.get.
type GetInput struct {
	TenantID  string `json:"tenantId" maxLength:"128" pattern:"^[A-Za-z0-9._:-]{1,128}$"`
	ClusterID string `json:"clusterId" maxLength:"56" pattern:"^kcl_[0-9a-hjkmnp-tv-z]{26,52}$"`
}

// UpdateInput is the input of kubernetesClusters.update. A nil field is not named.
type UpdateInput struct {
	TenantID           string    `json:"tenantId" maxLength:"128" pattern:"^[A-Za-z0-9._:-]{1,128}$"`
	ClusterID          string    `json:"clusterId" maxLength:"56" pattern:"^kcl_[0-9a-hjkmnp-tv-z]{26,52}$"`
	Version            *string   `json:"version,omitempty" maxLength:"64" pattern:"^[0-9]{1,3}\\.[0-9]{1,3}(\\.[0-9]{1,3})?(-[a-z0-9.]{1,40})?$"`
	ReleaseChannel     *Channel  `json:"releaseChannel,omitempty" enum:"rapid,regular,stable,extended"`
	AuthorizedNetworks *[]string `json:"authorizedNetworks,omitempty" minItems:"0" maxItems:"50"`
	Description        *string   `json:"description,omitempty" maxLength:"256"`
}

// DeleteInput is the input of kubernetesClusters.delete.
type DeleteInput struct {
	TenantID  string `json:"tenantId" maxLength:"128" pattern:"^[A-Za-z0-9._:-]{1,128}$"`
	ClusterID string `json:"clusterId" maxLength:"56" pattern:"^kcl_[0-9a-hjkmnp-tv-z]{26,52}$"`
}

// CredentialsInput is the input of kubernetesClusters.credentials. Without TTLSeconds the setting's time holds.
type CredentialsInput struct {
	TenantID   string `json:"tenantId" maxLength:"128" pattern:"^[A-Za-z0-9._:-]{1,128}$"`
	ClusterID  string `json:"clusterId" maxLength:"56" pattern:"^kcl_[0-9a-hjkmnp-tv-z]{26,52}$"`
	Role       Role   `json:"role,omitempty" enum:"view,edit,admin" default:"view"`
	TTLSeconds *int   `json:"ttlSeconds,omitempty" minimum:"600" maximum:"86400"`
}

// VersionsInput is the input of kubernetesClusters.versions.
type VersionsInput struct {
	TenantID string `json:"tenantId" maxLength:"128" pattern:"^[A-Za-z0-9._:-]{1,128}$"`
	PoolID   string `json:"poolId" maxLength:"57" pattern:"^pool_[0-9a-hjkmnp-tv-z]{26,52}$"`
	Location string `json:"location" maxLength:"40" pattern:"^[a-z][a-z0-9-]{1,38}[a-z0-9]$"`
}

// Mode is who runs a cluster's nodes.
type Mode string

const (
	// ModeStandard has node pools of its own, ModeAutopilot none: the provider runs its nodes.
	ModeStandard  Mode = "standard"
	ModeAutopilot Mode = "autopilot"
)

// Channel is a release channel.
type Channel string

const (
	ChannelRapid    Channel = "rapid"
	ChannelRegular  Channel = "regular"
	ChannelStable   Channel = "stable"
	ChannelExtended Channel = "extended"
)

// Channels are all release channels, in the order of the reference.
func Channels() []Channel {
	return []Channel{ChannelRapid, ChannelRegular, ChannelStable, ChannelExtended}
}

// Role is what credentials may do on the cluster.
type Role string

const (
	RoleView  Role = "view"
	RoleEdit  Role = "edit"
	RoleAdmin Role = "admin"
)

// Roles are all roles.
func Roles() []Role { return []Role{RoleView, RoleEdit, RoleAdmin} }

// ClusterRole is Kubernetes' built-in role that the role is bound to.
func (r Role) ClusterRole() string {
	if r == RoleAdmin {
		return "cluster-admin"
	}
	return string(r)
}

// Needs is the action that a role needs beside connect; "" for view.
func (r Role) Needs() Action {
	return map[Role]Action{RoleEdit: ActionUpdate, RoleAdmin: ActionDelete}[r]
}
