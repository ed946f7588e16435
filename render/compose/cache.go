package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// chooseCache takes the effective setting: what the call asks for, else what the slice has, else off. Switching it off
// under models that are served on every pool is refused.
func (s *slice) chooseCache() error {
	was := s.cacheWasOn()
	s.cacheOn = was
	if s.cacheArgument != nil {
		s.cacheOn = *s.cacheArgument
	}
	if !was || s.cacheOn {
		return nil
	}
	name := s.existing.CacheClaim()
	claims, _ := s.survey.Serving.CacheClaims.Get()
	claim := named(claims, name)
	remedies := []string{"leave the cache on: call without cache, or with cache true", "remove the cache with remove_model_cache, which switches it off and deletes the claim"}
	message := fmt.Sprintf("%s: cache false is refused, since its slice runs with the model cache on: models on every pool would lose it while claim %s/%s stays and costs on: %s",
		s.cluster(), s.survey.Settings.ServingNamespace, name, wayOut(remedies...))
	return refuseCache(message, remedies, func(block *clustermanager.RefusalBlock) {
		block.CacheOn = &clustermanager.CacheOnBlock{Claim: claim, ClaimName: name, Remedies: remedies}
	})
}

// placeCache decides the zones of the nodes and the claim. Where serving is not composed, zones pin and no claim is
// asked for.
func (d *decision) placeCache() error {
	if d.slice == nil || !d.slice.composed {
		d.zonesNote = d.unboundNote()
		return nil
	}
	if err := d.slice.chooseCache(); err != nil {
		return err
	}
	settings := d.survey.Settings
	place, err := placeCache(cacheQuestion{
		enabled: d.slice.cacheOn, running: d.slice.cacheWasOn(), zones: d.request.Zones, claims: d.survey.Serving.CacheClaims,
		namespace: settings.ServingNamespace, base: settings.ServingCacheClaim,
	})
	if err != nil {
		return err
	}
	d.slice.cache, d.zones, d.zonesNote = place, place.zones, place.note
	if place.warning != "" {
		d.warn("%s", place.warning)
	}
	d.slice.warnMove()
	d.dropUnknownZones()
	d.warnStranded()
	return nil
}

// warnStranded tells that the model cache is in a zone where the cluster has no node. Its claim pins the nodes all the
// same: they come where the volume is, or nowhere.
func (d *decision) warnStranded() {
	network, known := d.survey.Network.Get()
	if len(d.request.Zones) > 0 || len(d.zones) == 0 || !known || len(network.Zones) == 0 || slices.Contains(network.Zones, d.zones[0]) {
		return
	}
	d.warn("the model cache (claim %s/%s) lives in %s, where the cluster has no node subnet, so no node of the pool can be launched: %s",
		d.survey.Settings.ServingNamespace, d.slice.cache.claim, d.zones[0],
		wayOut("name one of "+strings.Join(network.Zones, ", ")+" in zones, which has a claim of its own", "remove the claim with remove_model_cache, which loses what it holds"))
}

// cacheWasOn says whether there is a slice that runs with the cache.
func (s *slice) cacheWasOn() bool {
	return s.existing != nil && s.existing.CacheOn()
}

// warnMove tells that a slice mounts another claim than before: there is one claim for all pools.
func (s *slice) warnMove() {
	if !s.cacheOn || !s.cacheWasOn() {
		return
	}
	namespace, before := s.survey.Settings.ServingNamespace, s.existing.CacheClaim()
	if before != s.cache.claim {
		s.warn("the slice mounts claim %s/%s instead of %s/%s from now on, for every pool of the cluster: predictors elsewhere than that claim's zone wait, the models are downloaded into it anew, and claim %s/%s stays and is billed every month until remove_model_cache removes it",
			namespace, s.cache.claim, namespace, before, namespace, before)
	}
}

// dropUnknownZones leaves zones that follow from a claim out of a chart that does not take them. Those that the call
// names are refused with the other keys.
func (d *decision) dropUnknownZones() {
	since := d.chart.Since("pool.zones")
	if len(d.request.Zones) > 0 || len(d.zones) == 0 || !catalog.Before(d.source.Version(), since) {
		return
	}
	d.warn("chart %s takes zones from %s on, and %s is asked for: the nodes are not pinned to %s, where the model cache is, and a predictor on a node elsewhere waits",
		clustermanager.ChartGPUNodePool, since, d.source.Version(), strings.Join(d.zones, ", "))
	d.zones, d.zonesNote = nil, "nodes not pinned to a zone: the chart's version takes none"
}

// keepClaim is the claim of a call that names no zones and moves none.
func (s *slice) keepClaim() {
	if !s.cacheOn {
		return
	}
	s.cache.claim = s.survey.Settings.ServingCacheClaim
	if s.existing != nil {
		s.cache.claim = cmp.Or(s.existing.KeptCacheClaim(), s.cache.claim)
	}
	claims, known := s.survey.Serving.CacheClaims.Get()
	if !known {
		s.warn("the model cache claims of namespace %s could not be listed: %s", s.survey.Settings.ServingNamespace, s.survey.Serving.CacheClaims.Reason())
	}
	s.cache.read = named(claims, s.cache.claim)
}

// cacheSetting is the answer's block about the model cache.
func (s *slice) cacheSetting() *clustermanager.CacheSetting {
	if !s.cacheOn {
		return &clustermanager.CacheSetting{Note: "the model cache is off: each predictor downloads its weights into its pod's own storage" + s.standing()}
	}
	setting := &clustermanager.CacheSetting{
		Enabled: true, Claim: s.survey.Settings.ServingNamespace + "/" + s.cache.claim,
		Note: "claim " + s.survey.Settings.ServingNamespace + "/" + s.cache.claim + " is billed every month until remove_model_cache removes it",
	}
	if s.existing != nil && !s.existing.CacheOn() {
		setting.Note += "; the slice ran without the cache, and every pool of the cluster is switched to it"
	}
	switch claim := s.cache.read; {
	case claim != nil:
		setting.Exists, setting.Since = new(true), claim.Created
		show(setting, *claim)
	case s.survey.Serving.CacheClaims.Err() == nil:
		setting.Exists = new(false)
		s.showNewClaim(setting)
	default:
		setting.PriceNote = "no price: the claims could not be listed: " + s.survey.Serving.CacheClaims.Reason()
	}
	return setting
}

// standing names the claims that stay and cost on while the cache is off.
func (s *slice) standing() string {
	claims, known := s.survey.Serving.CacheClaims.Get()
	switch {
	case !known:
		return "; whether claims of it exist, which would cost on, could not be read: " + s.survey.Serving.CacheClaims.Reason()
	case len(claims) == 0:
		return ""
	}
	var names []string
	for _, claim := range claims {
		names = append(names, describe(claim))
	}
	return "; these claims stay and are billed every month until remove_model_cache removes them: " + strings.Join(names, ", ")
}

// show puts a claim's size and price into the answer's block.
func show(setting *clustermanager.CacheSetting, claim clustermanager.CacheClaim) {
	setting.Capacity, setting.PriceNote = claim.Capacity, claim.PriceNote
	if claim.Tier != nil {
		setting.Tier = catalog.TierWords(*claim.Tier)
	}
	if claim.Price != nil {
		setting.MonthlyPriceUSD, setting.PriceSource, setting.PriceAsOf = new(claim.Price.MonthlyUSD), claim.Price.Source, claim.Price.AsOf
	}
}

// showNewClaim shows the claim that the chart makes by its own values.
func (s *slice) showNewClaim(setting *clustermanager.CacheSetting) {
	chart, err := s.connectivity()
	if err == nil {
		var claim clustermanager.CacheClaim
		if claim, err = chartClaim(chart); err == nil {
			show(setting, s.priced(claim))
			return
		}
	}
	setting.PriceNote = "no price: what the chart creates could not be read: " + err.Error()
}

// chartClaim is the claim of the chart's values: size, and the volume's tier where the chart makes the StorageClass.
func chartClaim(chart clustermanager.ConnectivityChart) (clustermanager.CacheClaim, error) {
	size := text(chart.Values, "modelServing", "cache", "pvc", "size")
	gib, err := gibibytes(size)
	if err != nil {
		return clustermanager.CacheClaim{}, fmt.Errorf("chart agent-platform-connectivity %s: reading modelServing.cache.pvc.size: %w", chart.Version, err)
	}
	claim := clustermanager.CacheClaim{Capacity: size, CapacityGiB: gib}
	if create, _ := lookup(chart.Values, "modelServing", "cache", "storageClass", "create").(bool); create {
		parameters, _ := lookup(chart.Values, "modelServing", "cache", "storageClass", "parameters").(map[string]any)
		claim.Tier = &clustermanager.VolumeTier{
			Type: text(parameters, "type"), IOPS: number(parameters["iops"]), ThroughputMiBs: number(parameters["throughput"]),
		}
	}
	return claim, nil
}

// number reads a parameter of a StorageClass; one that is no number is 0, the type's baseline.
func number(value any) int {
	parsed, _ := strconv.Atoi(fmt.Sprint(value))
	return parsed
}
