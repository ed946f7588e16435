package managed

import (
	"slices"
	"strings"
)

// Catalogue is what the service may hand out and to whom: accounts, pools, offers, networks, budgets and bindings. It is
// a value; a new one replaces it whole.
type Catalogue struct {
	Accounts []Account `json:"accounts,omitempty"`
	Pools    []Pool    `json:"pools,omitempty"`
	Offers   []Offer   `json:"offers,omitempty"`
	Networks []Network `json:"networks,omitempty"`
	Budgets  []Budget  `json:"budgets,omitempty"`
	Bindings []Binding `json:"bindings,omitempty"`
}

// ProviderGCP is the provider that has managed Kubernetes.
const ProviderGCP = "gcp"

// Account is a provider account.
type Account struct {
	ID string `json:"id"`
	// Tenant owns the account; empty: the platform.
	Tenant   string `json:"tenant,omitempty"`
	Provider string `json:"provider"`
	// Project is the cloud project that clusters of the account live in.
	Project string `json:"project,omitempty"`
	// Zones are those that the account is configured with; its regions follow from them.
	Zones       []string           `json:"zones,omitempty"`
	Credentials AccountCredentials `json:"credentials,omitzero"`
	// DNSEndpoint lets our own calls to a cluster go by its DNS endpoint, around the authorized networks.
	DNSEndpoint bool `json:"dnsEndpoint,omitempty"`
	// Egress are the service's own ranges, for messages.
	Egress []string `json:"egress,omitempty"`
}

// AccountCredentials say how to speak as an account. The secret itself is a mounted file.
type AccountCredentials struct {
	Kind       CredentialsKind `json:"kind"`
	SecretFile string          `json:"secretFile,omitempty"`
}

// CredentialsKind is how an account's credentials are had.
type CredentialsKind string

const (
	CredentialsDefault     CredentialsKind = "default"
	CredentialsKey         CredentialsKind = "key"
	CredentialsImpersonate CredentialsKind = "impersonate"
)

// Pool is where clusters are made: an account's, for the tenant that owns the account or for those it is offered to.
type Pool struct {
	ID      string   `json:"id"`
	Account string   `json:"account"`
	Kind    PoolKind `json:"kind"`
	Billing Billing  `json:"billing"`
}

// PoolKind is what a pool consists of; clusters need a provider's.
type PoolKind string

const (
	PoolProvider PoolKind = "provider"
	PoolHost     PoolKind = "host"
)

// Billing is how a pool's use is charged.
type Billing string

const (
	BillingNone        Billing = "none"
	BillingMetered     Billing = "metered"
	BillingPlatformFee Billing = "platform-fee"
)

// Metered says whether hours are recorded.
func (b Billing) Metered() bool { return b == BillingMetered || b == BillingPlatformFee }

// Offer lets a tenant use a platform account's pool.
type Offer struct {
	Pool            string   `json:"pool"`
	Tenant          string   `json:"tenant"`
	Suspended       bool     `json:"suspended,omitempty"`
	ExcludedRegions []string `json:"excludedRegions,omitempty"`
}

// Network is a tenant's network on an account.
type Network struct {
	ID          string `json:"id"`
	Tenant      string `json:"tenant"`
	Account     string `json:"account"`
	Provisioned bool   `json:"provisioned,omitempty"`
	// Network is its name at the provider.
	Network string   `json:"network,omitempty"`
	Subnets []Subnet `json:"subnets,omitempty"`
}

// Subnet is a network's part in a region.
type Subnet struct {
	Name   string `json:"name"`
	Region string `json:"region"`
	Ready  bool   `json:"ready,omitempty"`
}

// Budget is a tenant's.
type Budget struct {
	Tenant string `json:"tenant"`
	UsedUp bool   `json:"usedUp,omitempty"`
}

// Binding gives people a role in a tenant.
type Binding struct {
	Tenant string     `json:"tenant"`
	Role   TenantRole `json:"role"`
	// Users are identities, "issuer|subject"; Groups the identity provider's.
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// TenantRole is a role of the default policy set.
type TenantRole string

const (
	// TenantViewer reads and connects, TenantOperator does all.
	TenantViewer   TenantRole = "viewer"
	TenantOperator TenantRole = "operator"
)

// Account finds an account by id.
func (c *Catalogue) Account(id string) (Account, bool) {
	return find(c.Accounts, func(account Account) bool { return account.ID == id })
}

// Pool finds a pool by id, with its account; false when the tenant cannot see it: it is neither the tenant's own nor
// offered to it. A suspended offer is seen.
func (c *Catalogue) Pool(id, tenant string) (Pool, Account, bool) {
	pool, found := find(c.Pools, func(pool Pool) bool { return pool.ID == id })
	account, known := c.Account(pool.Account)
	if !found || !known {
		return Pool{}, Account{}, false
	}
	_, offered := c.Offer(id, tenant)
	return pool, account, account.Tenant == tenant || account.Tenant == "" && offered
}

// Offer finds the offer of a pool to a tenant.
func (c *Catalogue) Offer(pool, tenant string) (Offer, bool) {
	return find(c.Offers, func(offer Offer) bool { return offer.Pool == pool && offer.Tenant == tenant })
}

// Network finds a network by id.
func (c *Catalogue) Network(id string) (Network, bool) {
	return find(c.Networks, func(network Network) bool { return network.ID == id })
}

// BudgetUsedUp says whether a tenant has no budget left. A tenant without one is not limited.
func (c *Catalogue) BudgetUsedUp(tenant string) bool {
	return slices.ContainsFunc(c.Budgets, func(budget Budget) bool { return budget.Tenant == tenant && budget.UsedUp })
}

// RolesOf are the roles that bindings give a person, each as "tenant/role".
func (c *Catalogue) RolesOf(principal Principal) []string {
	var roles []string
	for _, binding := range c.Bindings {
		bound := slices.Contains(binding.Users, principal.ID) ||
			slices.ContainsFunc(binding.Groups, func(group string) bool { return slices.Contains(principal.Groups, group) })
		if name := binding.Tenant + "/" + string(binding.Role); bound && !slices.Contains(roles, name) {
			roles = append(roles, name)
		}
	}
	return roles
}

// Regions are the regions of the account's zones, sorted.
func (a Account) Regions() []string {
	var regions []string
	for _, zone := range a.Zones {
		regions = append(regions, zoneRegion(zone))
	}
	slices.Sort(regions)
	return slices.Compact(regions)
}

// ZonesIn are the account's zones in a region, sorted.
func (a Account) ZonesIn(region string) []string {
	zones := []string{}
	for _, zone := range a.Zones {
		if zoneRegion(zone) == region {
			zones = append(zones, zone)
		}
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// ReadySubnet is the network's subnet in a region that nodes use: of the ready ones the first by name.
func (n Network) ReadySubnet(region string) (string, bool) {
	var names []string
	for _, subnet := range n.Subnets {
		if subnet.Ready && subnet.Region == region {
			names = append(names, subnet.Name)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	return slices.Min(names), true
}

// zoneRegion is the region of a zone: what stands before the last hyphen.
func zoneRegion(zone string) string {
	region := zone
	if at := strings.LastIndexByte(zone, '-'); at > 0 {
		region = zone[:at]
	}
	return region
}

func find[T any](values []T, matches func(T) bool) (T, bool) {
	if at := slices.IndexFunc(values, matches); at >= 0 {
		return values[at], true
	}
	var none T
	return none, false
}
