package compose

import (
	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// priced is the claim with its list price, or a note why there is none.
func (b *base) priced(claim clustermanager.CacheClaim) clustermanager.CacheClaim {
	catalog.PriceClaim(&claim, b.region())
	return claim
}

// priceClaims prices the claims that were read, for whatever is told of them later; the survey's own stay as they are.
func (b *base) priceClaims() {
	claims, known := b.survey.Serving.CacheClaims.Get()
	if !known {
		return
	}
	priced := make([]clustermanager.CacheClaim, 0, len(claims))
	for _, claim := range claims {
		priced = append(priced, b.priced(claim))
	}
	b.survey.Serving.CacheClaims = clustermanager.Known(priced)
}
