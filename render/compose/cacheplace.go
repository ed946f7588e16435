package compose

import (
	"fmt"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// cacheQuestion is what the place of the model cache is decided from.
type cacheQuestion struct {
	// enabled is the effective setting, zones are those that the call names.
	enabled bool
	// running says that a slice runs with the cache on, so that switching it off is no way out.
	running bool
	zones   []string
	// claims are those of the model cache on the target, sorted by name.
	claims clustermanager.Reading[[]clustermanager.CacheClaim]
	// namespace is the serving namespace, base the base name of the claims.
	namespace, base string
}

// cachePlace is where the model cache is, and where the nodes have to be for it.
type cachePlace struct {
	// zones are those that the nodes are pinned to; none: not pinned.
	zones []string
	// claim is the name of the claim that the slice mounts; "" with the cache off.
	claim string
	// read is the claim as read; nil while it does not exist or is not known.
	read *clustermanager.CacheClaim
	// note and warning are for a person; "" where there is nothing to say.
	note, warning string
}

// placeCache decides zones and claim. One claim is one volume, bound in one zone by the first predictor that mounts it:
// nodes elsewhere would leave the next predictor without a place. An error is a *clustermanager.Refusal.
func placeCache(q cacheQuestion) (cachePlace, error) {
	switch {
	case !q.enabled:
		return q.off(), nil
	case len(q.zones) == 0:
		return q.byClaims()
	case len(q.zones) == 1:
		return q.inZone(q.zones[0])
	}
	return q.amongZones()
}

func (q cacheQuestion) reference(claim string) string { return q.namespace + "/" + claim }

// off follows no claim.
func (q cacheQuestion) off() cachePlace {
	note := "nodes not pinned to a zone"
	if len(q.zones) > 0 {
		note = "nodes pinned to " + strings.Join(q.zones, ", ") + ", as named"
	}
	return cachePlace{zones: q.zones, note: note + "; the model cache is off, so no claim's zone binds them"}
}

// standing is how a claim stands to the zones of a pool.
type standing int

const (
	claimMissing standing = iota
	claimUnreadable
	claimUnbound
	claimWithoutZone
	claimBound
)

// stand tells how a claim stands; nil is a missing one.
func stand(claim *clustermanager.CacheClaim) standing {
	switch {
	case claim == nil:
		return claimMissing
	case claim.Error != "":
		return claimUnreadable
	case !claim.Bound():
		return claimUnbound
	case claim.Zone == "":
		return claimWithoutZone
	}
	return claimBound
}

// remark says how a claim stands, as the end of a note; the warning is "" unless its volume could not be read.
func (q cacheQuestion) remark(name string, claim *clustermanager.CacheClaim) (note, warning string) {
	reference := q.reference(name)
	switch stand(claim) {
	case claimMissing:
		return fmt.Sprintf("claim %s, which does not exist yet: the chart creates it and the first predictor binds it to a volume in its node's zone", reference), ""
	case claimUnreadable:
		note := fmt.Sprintf("claim %s, whose volume could not be read: %s", reference, claim.Error)
		return note, "the zone of the model cache is not known: " + note
	case claimUnbound:
		return fmt.Sprintf("claim %s, which is not bound yet (%s): the first predictor binds it to a volume in its node's zone", reference, claim.Phase), ""
	case claimWithoutZone:
		return fmt.Sprintf("claim %s, whose volume %s names no zone", reference, claim.Volume), ""
	}
	return fmt.Sprintf("claim %s, volume %s in %s", reference, claim.Volume, claim.Zone), ""
}

// unlisted is the place where the claims could not be listed.
func (q cacheQuestion) unlisted(claim string) cachePlace {
	place := cachePlace{
		zones: q.zones, claim: claim,
		warning: fmt.Sprintf("the model cache claims of namespace %s could not be listed, so no zone follows from them: %s", q.namespace, q.claims.Reason()),
	}
	if len(q.zones) > 0 {
		place.note = fmt.Sprintf("nodes pinned to %s, as named; the slice mounts claim %s, and where it stands is not known", strings.Join(q.zones, ", "), q.reference(claim))
	}
	return place
}

// byClaims: without zones the one claim that there is decides.
func (q cacheQuestion) byClaims() (cachePlace, error) {
	claims, known := q.claims.Get()
	switch {
	case !known:
		return q.unlisted(q.base), nil
	case len(claims) == 0:
		return cachePlace{claim: q.base}, nil
	case len(claims) > 1:
		return cachePlace{}, q.refuseClaims(claims, "the model cache has several claims and the slice mounts one",
			"name the zone of the claim to serve from: zones")
	}
	claim := claims[0]
	place := cachePlace{claim: claim.Name, read: &claim}
	if stand(&claim) == claimBound {
		place.zones = []string{claim.Zone}
		place.note = fmt.Sprintf("nodes pinned to %s: the model cache (claim %s, volume %s) lives there", claim.Zone, q.reference(claim.Name), claim.Volume)
		return place, nil
	}
	place.note, place.warning = q.remark(claim.Name, &claim)
	place.note = "nodes not pinned to a zone: the slice mounts " + place.note
	return place, nil
}

// inZone: a zone brings its own claim.
func (q cacheQuestion) inZone(zone string) (cachePlace, error) {
	name := q.base + "-" + zone
	claims, known := q.claims.Get()
	if !known {
		return q.unlisted(name), nil
	}
	claim := boundIn(claims, zone, name)
	if claim == nil {
		claim = named(claims, name)
	}
	if stand(claim) == claimBound && claim.Zone != zone {
		return cachePlace{}, q.refuseZone(*claim, "the claim called after zone "+zone,
			"name zone "+claim.Zone, "remove the claim with remove_model_cache, which loses what it holds")
	}
	place := cachePlace{zones: q.zones, claim: name, read: claim}
	if claim != nil {
		place.claim = claim.Name
	}
	place.note, place.warning = q.remark(place.claim, claim)
	place.note = fmt.Sprintf("nodes pinned to %s, the zone named on create; the slice mounts the zone's model cache %s", zone, place.note)
	return place, nil
}

// amongZones: of several zones the one with a claim stands, and without one the pool follows the base claim.
func (q cacheQuestion) amongZones() (cachePlace, error) {
	claims, known := q.claims.Get()
	if !known {
		return q.unlisted(q.base), nil
	}
	var inNamed []clustermanager.CacheClaim
	var zones []string
	for _, claim := range claims {
		if stand(&claim) == claimBound && slices.Contains(q.zones, claim.Zone) {
			inNamed, zones = append(inNamed, claim), append(zones, claim.Zone)
		}
	}
	switch zones = distinct(zones); len(zones) {
	case 0:
		return q.followBase(claims)
	case 1:
		return q.settle(zones[0], claims), nil
	}
	return cachePlace{}, q.refuseClaims(inNamed, "claims of the model cache are bound in several of the zones "+strings.Join(q.zones, ", ")+" and the slice mounts one",
		"name one zone alone")
}

// settle pins the nodes to the one named zone that has a claim.
func (q cacheQuestion) settle(zone string, claims []clustermanager.CacheClaim) cachePlace {
	claim := boundIn(claims, zone, q.base+"-"+zone)
	across := "to run across the zones call with cache false, "
	if q.running {
		across = ""
	}
	return cachePlace{
		zones: []string{zone}, claim: claim.Name, read: claim,
		note: fmt.Sprintf("zones %s named, and nodes pinned to %s: the model cache (claim %s, volume %s) lives there; %sto serve from another zone name it alone, with a claim of its own%s",
			strings.Join(q.zones, ", "), zone, q.reference(claim.Name), claim.Volume, across, q.others(claims, claim.Name)),
	}
}

// followBase lets the pool follow the claim that the first predictor binds.
func (q cacheQuestion) followBase(claims []clustermanager.CacheClaim) (cachePlace, error) {
	claim := named(claims, q.base)
	if stand(claim) == claimBound {
		return cachePlace{}, q.refuseZone(*claim, "the claim that the slice mounts for several zones",
			"name its zone "+claim.Zone+" among the zones", "name one zone alone")
	}
	place := cachePlace{zones: q.zones, claim: q.base, read: claim}
	place.note, place.warning = q.remark(q.base, claim)
	place.note = fmt.Sprintf("nodes pinned to %s, as named, and the pool follows its cache: the slice mounts %s; once it is bound there, the same call pins the nodes to its zone%s",
		strings.Join(q.zones, ", "), place.note, q.others(claims, q.base))
	return place, nil
}

// others names the claims that the slice does not mount.
func (q cacheQuestion) others(claims []clustermanager.CacheClaim, mounted string) string {
	var names []string
	for _, claim := range claims {
		if claim.Name != mounted {
			names = append(names, describe(claim))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; left as they are: " + strings.Join(names, ", ")
}

// describe names a claim with where it stands.
func describe(claim clustermanager.CacheClaim) string {
	where := claim.Zone
	if where == "" {
		where = "no zone"
	}
	return fmt.Sprintf("%s (%s, %s)", clustermanager.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}, claim.Phase, where)
}

// boundIn is the claim bound in a zone: of several the one of the name, else the first.
func boundIn(claims []clustermanager.CacheClaim, zone, name string) *clustermanager.CacheClaim {
	var found *clustermanager.CacheClaim
	for _, claim := range claims {
		if stand(&claim) == claimBound && claim.Zone == zone && (found == nil || claim.Name == name) {
			found = &claim
		}
	}
	return found
}

func named(claims []clustermanager.CacheClaim, name string) *clustermanager.CacheClaim {
	for _, claim := range claims {
		if claim.Name == name {
			return &claim
		}
	}
	return nil
}

// remedies are the ways out of a refusal: besides its own to serve without a cache, where none runs with it.
func (q cacheQuestion) remedies(own ...string) []string {
	if q.running {
		return own
	}
	return append(own, "call with cache false, so that the pool serves without a cache")
}

func (q cacheQuestion) refuseClaims(claims []clustermanager.CacheClaim, why, remedy string) error {
	var listed []string
	for _, claim := range claims {
		listed = append(listed, describe(claim))
	}
	remedies := q.remedies(remedy)
	return refuseCache(fmt.Sprintf("%s: %s: %s", why, strings.Join(listed, ", "), wayOut(remedies...)), remedies, func(block *clustermanager.RefusalBlock) {
		block.CacheClaims = &clustermanager.CacheClaimsBlock{Claims: claims, Remedies: remedies}
	})
}

func (q cacheQuestion) refuseZone(claim clustermanager.CacheClaim, what string, remedies ...string) error {
	remedies = q.remedies(remedies...)
	message := fmt.Sprintf("%s, %s (volume %s), is bound in zone %s and not in %s: %s", what, q.reference(claim.Name), claim.Volume, claim.Zone, strings.Join(q.zones, ", "), wayOut(remedies...))
	return refuseCache(message, remedies, func(block *clustermanager.RefusalBlock) {
		block.CacheZone = &clustermanager.CacheZoneBlock{Claim: &claim, ClaimZone: claim.Zone, Zones: q.zones, Remedies: remedies}
	})
}

// refuseCache has nothing to do with nodes or models, whose lists a refusal's block always has.
func refuseCache(message string, remedies []string, fill func(*clustermanager.RefusalBlock)) error {
	block := &clustermanager.RefusalBlock{Nodes: []string{}, Models: []string{}, Hint: remedies[0], ReadFrom: "cluster"}
	fill(block)
	return &clustermanager.Refusal{Message: message, Block: block}
}
