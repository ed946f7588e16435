package managed

import (
	"errors"
	"slices"
	"strconv"
)

// Capable says whether a provider has managed Kubernetes.
type Capable func(provider string) bool

// Place checks what the catalogue says of a create, in the order of the reference, and makes its placement: the pool is
// visible, it is a provider's with managed Kubernetes, the location is the account's, mode and pools fit, the network is
// usable. Offer and budget come after the decision: [Catalogue.Admit].
func (c *Catalogue) Place(in CreateInput, capable Capable) (Pool, Placement, error) {
	pool, account, err := c.ClusterPool(in.PoolID, in.TenantID, capable)
	if err != nil {
		return Pool{}, Placement{}, err
	}
	region, err := account.Locate(Create.Method, in.Location)
	if err != nil {
		return Pool{}, Placement{}, err
	}
	placement := Placement{Region: region}
	regional := in.Location == region
	if regional && in.Mode == ModeStandard {
		placement.Zones = account.ZonesIn(region)
	}
	if err := account.fits(in, region, regional); err != nil {
		return Pool{}, Placement{}, err
	}
	if in.NetworkID != "" {
		placement.Network, placement.Subnetwork, err = c.attach(in, account, region)
	}
	return pool, placement, err
}

// ClusterPool finds a pool that clusters can be made in: NOT_FOUND when the tenant cannot see it, UNSUPPORTED when it is
// no provider's, or its provider has no managed Kubernetes.
func (c *Catalogue) ClusterPool(id, tenant string, capable Capable) (Pool, Account, error) {
	pool, account, visible := c.Pool(id, tenant)
	switch {
	case !visible:
		return pool, account, Fault(NotFound, "pool %s: not found: name a pool of the tenant's own, or one offered to it", id).
			With(Details{ResourceType: ResourcePool})
	case pool.Kind != PoolProvider:
		return pool, account, Fault(Unsupported, "pool %s: it is no provider pool: clusters need one", id).
			With(Details{Provider: account.Provider})
	case !capable(account.Provider):
		return pool, account, Fault(Unsupported, "pool %s: %s has no managed Kubernetes: name a pool on another provider", id, account.Provider).
			With(Details{Provider: account.Provider})
	}
	return pool, account, nil
}

// Locate is the region of a location: a zone that the account is configured with, or the region of one. Any other is
// INVALID_INPUT with the allowed ones.
func (a Account) Locate(method Method, location string) (string, error) {
	switch {
	case slices.Contains(a.Zones, location):
		return zoneRegion(location), nil
	case slices.Contains(a.Regions(), location):
		return location, nil
	}
	return "", a.misplaced(method, []FieldFault{{Field: "location", Message: "is no zone or region of the pool's account"}})
}

// misplaced is INVALID_INPUT with the account's zones and regions.
func (a Account) misplaced(method Method, found []FieldFault) error {
	return allowing(Faulty(method.String(), found), slices.Sorted(slices.Values(a.Zones)), a.Regions())
}

// allowing adds what is allowed to an INVALID_INPUT; nil stays nil.
func allowing(err error, zones, regions []string) error {
	var fault *Error
	if errors.As(err, &fault) {
		fault.Details.Zones, fault.Details.Regions = zones, regions
	}
	return err
}

// fits checks mode, location and node pools against each other.
func (a Account) fits(in CreateInput, region string, regional bool) error {
	var found faults
	switch {
	case in.Mode == ModeAutopilot && !regional:
		return a.misplaced(Create.Method, []FieldFault{{Field: "location", Message: "an autopilot cluster needs a region"}})
	case in.Mode == ModeAutopilot && len(in.NodePools) > 0:
		found.add("nodePools", "an autopilot cluster takes none")
	case in.Mode == ModeStandard && len(in.NodePools) == 0:
		found.add("nodePools", "a standard cluster takes 1 to 10")
	}
	if len(found) > 0 {
		return Faulty(Create.String(), found)
	}
	allowed := a.ZonesIn(region)
	for i, pool := range in.NodePools {
		for j, zone := range pool.Zones {
			if !slices.Contains(allowed, zone) {
				found.add("nodePools["+strconv.Itoa(i)+"].zones["+strconv.Itoa(j)+"]", "is no zone of the account in %s", region)
			}
		}
	}
	return allowing(Faulty(Create.String(), found), allowed, a.Regions())
}

// attach finds the network's names at the provider.
func (c *Catalogue) attach(in CreateInput, account Account, region string) (network, subnetwork string, err error) {
	of, known := c.Network(in.NetworkID)
	details := Details{Network: in.NetworkID, Region: region}
	switch {
	case !known || of.Tenant != in.TenantID || of.Account != account.ID:
		return "", "", Faulty(Create.String(), []FieldFault{{Field: "networkId", Message: "is no network of the tenant's on the pool's account"}})
	case !of.Provisioned:
		return "", "", Fault(InvalidState, "network %s: it is not provisioned yet: call again when it is", in.NetworkID).With(details)
	}
	subnetwork, ready := of.ReadySubnet(region)
	if !ready {
		return "", "", Fault(InvalidState, "network %s: it has no ready subnet in %s: add one, or name another location", in.NetworkID, region).
			With(details)
	}
	return of.Network, subnetwork, nil
}

// Admit checks the tenant's offer and its budget. A pool on the tenant's own account needs no offer, one with billing
// none no budget.
func (c *Catalogue) Admit(pool Pool, tenant, region string) error {
	if account, _ := c.Account(pool.Account); account.Tenant == "" {
		offer, _ := c.Offer(pool.ID, tenant)
		switch {
		case offer.Suspended:
			return Fault(AccessDenied, "pool %s: its offer to %s is suspended: ask who runs the platform", pool.ID, tenant).
				With(Details{Reason: ReasonOfferSuspended})
		case slices.Contains(offer.ExcludedRegions, region):
			return Fault(AccessDenied, "pool %s: its offer to %s leaves out %s: name another region", pool.ID, tenant, region).
				With(Details{Reason: ReasonRegionExcluded, Region: region})
		}
	}
	if pool.Billing != BillingNone && c.BudgetUsedUp(tenant) {
		return Fault(QuotaExceeded, "tenant %s: its budget is used up: raise it and call again", tenant).
			With(Details{Reason: ReasonBudgetUsedUp})
	}
	return nil
}

// NameTaken is CONFLICT of a name that another cluster of the tenant has.
func NameTaken(name string) *Error {
	return Fault(Conflict, "cluster %s: the tenant has one of that name: choose another name, or delete that one", name).
		With(Details{Field: "name"})
}

// KeyTaken is CONFLICT of an idempotency key that was used with another body.
func KeyTaken(method Method) *Error {
	return Fault(Conflict, "%s: the idempotencyKey was used with another input: send the first input again, or take a new key", method).
		With(Details{Field: "idempotencyKey"})
}

// TooMany is QUOTA_EXCEEDED of a tenant that has as many clusters as it may.
func TooMany(tenant string, limit int) *Error {
	return Fault(QuotaExceeded, "tenant %s: it has %d clusters, as many as it may: delete one first", tenant, limit).
		With(Details{Limit: limit})
}

// NoCluster is NOT_FOUND of a cluster that is not the tenant's.
func NoCluster(id string) *Error {
	return Fault(NotFound, "cluster %s: not found: list the tenant's clusters", id).With(Details{ResourceType: ResourceCluster})
}

// Unreached is UNAVAILABLE, with what could not be reached in words that tell no credential.
func Unreached(what string) *Error {
	return Fault(Unavailable, "%s: call again later", what)
}
