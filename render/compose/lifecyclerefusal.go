package compose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// insufficientCapacity is Karpenter's reason once every offering of a claim was refused.
const insufficientCapacity = "InsufficientCapacityError"

var (
	capacityError = regexp.MustCompile(`(\w+): We currently do not have sufficient (\S+) capacity in the Availability Zone you requested \(([^)]+)\)`)
	capacityHint  = regexp.MustCompile(`or choosing ([a-z0-9-]+(?:, [a-z0-9-]+)*)`)
)

// launchRefusal is the last launch that failed, with what was refused of what the pool may use.
type launchRefusal struct {
	clustermanager.LaunchFailure
	// codes, types and zones are what the provider refused, each once; no codes: the message names none.
	codes, types, zones []string
	// everySize and everyZone say that nothing else is left to the pool; atLeast that which zones it may use is not known.
	everySize, everyZone, atLeast bool
	// pin are the zones that the pool is pinned to, all those of the cluster's node subnets.
	pin []string
	all clustermanager.Reading[[]string]
	// hint are zones that the provider says have capacity, none of which it refused.
	hint []string
}

// lastRefusal reads the pool's last failure; call it only with one.
func (l *lifecycle) lastRefusal() launchRefusal {
	refusal := launchRefusal{LaunchFailure: l.failures[len(l.failures)-1], all: l.nodeZones()}
	if l.release != nil {
		refusal.pin = l.release.Zones
	}
	for _, found := range capacityError.FindAllStringSubmatch(refusal.Message, -1) {
		refusal.codes, refusal.types, refusal.zones = append(refusal.codes, found[1]), append(refusal.types, found[2]), append(refusal.zones, found[3])
	}
	refusal.codes, refusal.types, refusal.zones = distinct(refusal.codes), distinct(refusal.types), distinct(refusal.zones)
	if refusal.Reason == insufficientCapacity && len(refusal.codes) > 0 {
		refusal.complete(l.sizes())
	}
	for _, found := range capacityHint.FindAllStringSubmatch(refusal.Message, -1) {
		for _, zone := range strings.Split(found[1], ", ") {
			if !slices.Contains(refusal.zones, zone) {
				refusal.hint = append(refusal.hint, zone)
			}
		}
	}
	slices.Sort(refusal.hint)
	refusal.hint = slices.Compact(refusal.hint)
	return refusal
}

// nodeZones are the zones of the cluster's node subnets; unknown where none is named, or whether the pool is pinned to
// some of them.
func (l *lifecycle) nodeZones() clustermanager.Reading[[]string] {
	network, known := l.survey.Network.Get()
	switch {
	case l.release != nil && l.release.Fault != "":
		return clustermanager.Unknown[[]string](l.release.Fault)
	case !known:
		return clustermanager.Unknown[[]string](l.survey.Network.Reason())
	case len(network.Zones) == 0:
		return clustermanager.Unknown[[]string]("the cluster names no zone with a node subnet")
	}
	return clustermanager.Known(network.Zones)
}

// complete adds what the message leaves out: Karpenter gives a claim up for capacity only once every offering that it
// may use was refused, and cuts its event after the first error.
func (r *launchRefusal) complete(sizes []clustermanager.InstanceSize) {
	if len(sizes) > 0 {
		var types []string
		for _, size := range sizes {
			types = append(types, size.InstanceType)
		}
		r.types, r.everySize = distinct(slices.Concat(types, r.types)), true
	}
	allowed := r.pin
	if len(allowed) == 0 {
		allowed = r.all.Or(nil)
	}
	if len(allowed) == 0 {
		r.atLeast = true
		return
	}
	r.zones, r.everyZone = distinct(slices.Concat(allowed, r.zones)), true
	slices.Sort(r.zones)
}

// line is the refusal in a line: <codes> for <types> in <zones>, or the reason alone.
func (r launchRefusal) line() string {
	if len(r.codes) == 0 {
		return r.Reason
	}
	types, zones := strings.Join(r.types, ", "), strings.Join(r.zones, ", ")
	if r.everySize {
		types = "every size of the pool (" + types + ")"
	}
	switch {
	case r.everyZone && len(r.pin) == 1:
		zones += ", the zone the pool is pinned to"
	case r.everyZone && len(r.pin) > 1:
		zones += ", the zones the pool is pinned to"
	case r.everyZone:
		zones = "every zone the pool may use (" + zones + " — the cluster's node-subnet zones; the pool has no pin)"
	case r.atLeast:
		zones = "at least " + zones + " (which zones the pool may use is not known: " + r.all.Reason() + ")"
	}
	return strings.Join(r.codes, ", ") + " for " + types + " in " + zones
}

// launchesFail tells of nodes that Karpenter could not launch, and of the way around it.
func (l *lifecycle) launchesFail() clustermanager.LifecycleStep {
	refusal := l.lastRefusal()
	noun := "NodeClaim"
	if len(l.failures) > 1 {
		noun = "NodeClaims"
	}
	message := fmt.Sprintf("%d %s could not launch, the last (%s) at %s", len(l.failures), noun, refusal.Claim, stamp(refusal.Time))
	if line := refusal.line(); line != "" {
		message += " — " + line
	}
	if len(refusal.codes) > 0 && refusal.Reason != "" {
		message += " (" + refusal.Reason + ")"
	}
	if len(refusal.hint) > 0 {
		message += "; the provider names capacity in " + strings.Join(refusal.hint, ", ")
	}
	if refusal.Message != "" {
		message += "; Karpenter: \"" + refusal.Message + "\""
	}
	message += "; it retries while a pod waits" + l.remedy(refusal)
	if len(l.counts.launching)+len(l.counts.ready)+len(l.counts.terminating) > 0 {
		message += "; beside it " + l.counts.String()
	}
	return clustermanager.LifecycleStep{State: clustermanager.StepInProgress, Since: &refusal.Time, Message: message}
}

const (
	widen    = "wider sizes or another accelerator (a re-run of create_node_pool) give it more to choose from"
	noZone   = "every zone the pool may use was refused in the same answer, so there is no zone to move to (zones on a re-run would only pin the pool to one of them); Karpenter retries every few minutes (its unavailable-offering cache is three minutes) and the pool launches its node on its own once the family has capacity again; "
	promised = "the cluster's other node-subnet zones; capacity there is not promised"
)

// remedy is the way around a refusal for want of capacity, after a dash; "" for another one, which Karpenter's message
// explains.
func (l *lifecycle) remedy(refusal launchRefusal) string {
	if refusal.Reason != insufficientCapacity && len(refusal.codes) == 0 {
		return ""
	}
	if len(refusal.pin) == 0 {
		if refusal.everyZone {
			return " — " + noZone + widen
		}
		return " — " + widen
	}
	text := " — the pool is pinned to " + strings.Join(refusal.pin, ", ") + l.claimInPin(refusal.pin)
	var candidates []string
	for _, zone := range refusal.all.Or(nil) {
		if !slices.Contains(refusal.zones, zone) && !slices.Contains(refusal.pin, zone) {
			candidates = append(candidates, zone)
		}
	}
	switch {
	case refusal.all.Err() != nil:
		text += ": re-run create_node_pool on the pool with zones naming one zone with capacity — which zones have node subnets is not known: " + refusal.all.Reason()
	case len(candidates) == 0:
		return text + ": " + noZone + widen
	default:
		text += ": re-run create_node_pool on the pool with zones naming one zone with capacity — not refused in this answer: " + strings.Join(candidates, ", ") + " (" + promised + ")"
	}
	return text + l.cacheConsequences() + "; " + widen
}

// claimInPin names the model cache claim that keeps the pool in its zones.
func (l *lifecycle) claimInPin(pin []string) string {
	claims, known := l.pool.CacheClaims.Get()
	if !known {
		return " — whether a model cache claim lives there is not known: " + l.pool.CacheClaims.Reason()
	}
	var unread []string
	for _, claim := range claims {
		if claim.Error != "" {
			unread = append(unread, claim.Error)
		}
		if !claim.Bound() || !slices.Contains(pin, claim.Zone) {
			continue
		}
		text := fmt.Sprintf(" — the model cache claim %s/%s (volume %s) lives in %s", claim.Namespace, claim.Name, claim.Volume, claim.Zone)
		if claim.Mounted != nil && *claim.Mounted {
			text += " and the pool's slice mounts it"
		}
		return text
	}
	if len(unread) > 0 {
		return " — whether a model cache claim lives there is not known: " + strings.Join(unread, "; ")
	}
	return ""
}

// cacheConsequences says what another zone means for the model cache.
func (l *lifecycle) cacheConsequences() string {
	return fmt.Sprintf(" — with the cache on its slice then mounts that zone's model cache claim (the one Bound there, else %s-<zone>, created there and kept; the weights downloaded once more), with cache false it serves from the node's local disk", l.survey.Settings.ServingCacheClaim)
}
