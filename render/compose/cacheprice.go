package compose

import clustermanager "github.com/clustermanager/cluster-manager"

// priced is the claim with its list price, or a note why there is none.
func (b *base) priced(claim clustermanager.CacheClaim) clustermanager.CacheClaim {
	return claim
}
