package managed

// Principal is who a decision is made for.
type Principal struct {
	// ID is the identity, "issuer|subject"; over stdio "local|<kubeconfig user>".
	ID string
	// Groups are the identity provider's.
	Groups []string
}

// Resource is what a decision is about. All five attributes of a cluster always reach the policies, "" when absent.
type Resource struct {
	Type   ResourceType
	ID     string
	Tenant string
	// Owner is the identity of who made the cluster; empty for a tenant.
	Owner string

	AccountID, PoolID, ProjectID, Location string
	Mode                                   Mode
}

// Query is a question to the policies.
type Query struct {
	Principal Principal
	Action    Action
	Resource  Resource
}

// Decision is the answer, with what the audit keeps of it.
type Decision struct {
	Allowed bool
	// Forbidden says that a policy forbids it, not only that none permits it.
	Forbidden bool
	// Policies are the names of the policies that decided.
	Policies []string
	// Faults are policies that could not be evaluated, each with its name. Such a decision is a refusal.
	Faults []string
}

// TenantResource is the tenant itself.
func TenantResource(tenant string) Resource {
	return Resource{Type: ResourceTenant, ID: tenant, Tenant: tenant}
}

// Resource is the cluster as decisions see it.
func (c *Cluster) Resource() Resource {
	return Resource{
		Type: ResourceCluster, ID: c.ID, Tenant: c.TenantID, Owner: c.Owner,
		AccountID: c.AccountID, PoolID: c.PoolID, ProjectID: c.ProjectID, Location: c.Location, Mode: c.Mode,
	}
}
