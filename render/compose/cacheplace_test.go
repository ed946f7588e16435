package compose

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Claims of the model cache, by how they stand.
func boundClaim(name, zone string) clustermanager.CacheClaim {
	return clustermanager.CacheClaim{Namespace: "model-serving", Name: name, Phase: "Bound", Volume: "pvc-" + name, Zone: zone}
}

func pendingClaim(name string) clustermanager.CacheClaim {
	return clustermanager.CacheClaim{Namespace: "model-serving", Name: name, Phase: "Pending"}
}

func unreadClaim(name string) clustermanager.CacheClaim {
	return clustermanager.CacheClaim{Namespace: "model-serving", Name: name, Phase: "Bound", Volume: "pvc-" + name, Error: "forbidden"}
}

func claims(list ...clustermanager.CacheClaim) clustermanager.Reading[[]clustermanager.CacheClaim] {
	return clustermanager.Known(list)
}

// Rows of the decision: what the call names and what claims there are, against pin, claim, and what is said.
func TestPlaceCache(t *testing.T) {
	unlisted := clustermanager.Unknown[[]clustermanager.CacheClaim]("forbidden")
	two := []string{"a", "b"}
	for name, test := range map[string]struct {
		off    bool
		zones  []string
		claims clustermanager.Reading[[]clustermanager.CacheClaim]

		pin             []string
		claim           string
		read            bool
		note, warning   string
		refused, listed string
	}{
		"off":                   {off: true, claims: claims(boundClaim("hf-cache", "c")), note: "nodes not pinned to a zone; the model cache is off, so no claim's zone binds them"},
		"off, several zones":    {off: true, zones: two, claims: claims(boundClaim("hf-cache", "c")), pin: two, note: "nodes pinned to a, b, as named; the model cache is off"},
		"none: not listable":    {claims: unlisted, claim: "hf-cache", warning: "could not be listed"},
		"none: no claim":        {claims: claims(), claim: "hf-cache"},
		"none: unreadable":      {claims: claims(unreadClaim("hf-cache-x")), claim: "hf-cache-x", read: true, note: "nodes not pinned", warning: "whose volume could not be read: forbidden"},
		"none: not bound":       {claims: claims(pendingClaim("hf-cache")), claim: "hf-cache", read: true, note: "not bound yet (Pending)"},
		"none: bound, no vol":   {claims: claims(clustermanager.CacheClaim{Name: "hf-cache", Phase: "Bound"}), claim: "hf-cache", read: true, note: "not bound yet (Bound)"},
		"none: no zone":         {claims: claims(boundClaim("hf-cache", "")), claim: "hf-cache", read: true, note: "whose volume pvc-hf-cache names no zone"},
		"none: bound in a zone": {claims: claims(boundClaim("hf-cache", "b")), pin: []string{"b"}, claim: "hf-cache", read: true, note: "nodes pinned to b: the model cache (claim model-serving/hf-cache, volume pvc-hf-cache) lives there"},
		"none: several":         {claims: claims(boundClaim("hf-cache", "b"), pendingClaim("hf-cache-a")), refused: "claims", listed: "hf-cache hf-cache-a"},

		"one: not listable":             {zones: []string{"a"}, claims: unlisted, pin: []string{"a"}, claim: "hf-cache-a", note: "nodes pinned to a, as named", warning: "could not be listed"},
		"one: no claim":                 {zones: []string{"a"}, claims: claims(), pin: []string{"a"}, claim: "hf-cache-a", note: "nodes pinned to a, the zone named on create; the slice mounts the zone's model cache claim model-serving/hf-cache-a, which does not exist yet: "},
		"one: elsewhere":                {zones: []string{"a"}, claims: claims(boundClaim("hf-cache", "b")), pin: []string{"a"}, claim: "hf-cache-a", note: "does not exist yet"},
		"one: unreadable":               {zones: []string{"a"}, claims: claims(unreadClaim("hf-cache-a")), pin: []string{"a"}, claim: "hf-cache-a", read: true, note: "could not be read", warning: "could not be read"},
		"one: not bound":                {zones: []string{"a"}, claims: claims(pendingClaim("hf-cache-a")), pin: []string{"a"}, claim: "hf-cache-a", read: true, note: "not bound yet"},
		"one: no zone":                  {zones: []string{"a"}, claims: claims(boundClaim("hf-cache-a", "")), pin: []string{"a"}, claim: "hf-cache-a", read: true, note: "names no zone"},
		"one: bound there":              {zones: []string{"a"}, claims: claims(boundClaim("hf-cache-a", "a")), pin: []string{"a"}, claim: "hf-cache-a", read: true, note: "volume pvc-hf-cache-a in a"},
		"one: base there":               {zones: []string{"a"}, claims: claims(boundClaim("hf-cache", "a")), pin: []string{"a"}, claim: "hf-cache", read: true, note: "claim model-serving/hf-cache, volume"},
		"one: zone's first":             {zones: []string{"a"}, claims: claims(boundClaim("hf-cache", "a"), boundClaim("hf-cache-a", "a"), boundClaim("hf-cache-z", "a")), pin: []string{"a"}, claim: "hf-cache-a", read: true, note: "hf-cache-a"},
		"one: first by name":            {zones: []string{"a"}, claims: claims(boundClaim("hf-cache", "a"), boundClaim("hf-cache-z", "a")), pin: []string{"a"}, claim: "hf-cache", read: true, note: "hf-cache, volume"},
		"one: bound in another":         {zones: []string{"a"}, claims: claims(boundClaim("hf-cache-a", "b")), refused: "zone b", listed: "hf-cache-a"},
		"one: moved, and another there": {zones: []string{"a"}, claims: claims(boundClaim("hf-cache", "a"), boundClaim("hf-cache-a", "b")), pin: []string{"a"}, claim: "hf-cache", read: true, note: "hf-cache, volume"},

		"several: not listable":  {zones: two, claims: unlisted, pin: two, claim: "hf-cache", note: "nodes pinned to a, b, as named", warning: "could not be listed"},
		"several: two bound":     {zones: two, claims: claims(boundClaim("hf-cache-a", "a"), boundClaim("hf-cache-b", "b"), boundClaim("hf-cache-c", "c")), refused: "claims", listed: "hf-cache-a hf-cache-b"},
		"several: one bound":     {zones: two, claims: claims(boundClaim("hf-cache", "c"), boundClaim("hf-cache-b", "b")), pin: []string{"b"}, claim: "hf-cache-b", read: true, note: "zones a, b named, and nodes pinned to b: "},
		"several: two in one":    {zones: two, claims: claims(boundClaim("hf-cache", "b"), boundClaim("hf-cache-b", "b")), pin: []string{"b"}, claim: "hf-cache-b", read: true, note: "left as they are: model-serving/hf-cache (Bound, b)"},
		"several: base missing":  {zones: two, claims: claims(boundClaim("hf-cache-c", "c")), pin: two, claim: "hf-cache", note: "the pool follows its cache"},
		"several: unreadable":    {zones: two, claims: claims(unreadClaim("hf-cache")), pin: two, claim: "hf-cache", read: true, note: "could not be read", warning: "could not be read"},
		"several: not bound":     {zones: two, claims: claims(pendingClaim("hf-cache")), pin: two, claim: "hf-cache", read: true, note: "not bound yet"},
		"several: no zone":       {zones: two, claims: claims(boundClaim("hf-cache", "")), pin: two, claim: "hf-cache", read: true, note: "names no zone"},
		"several: base outside":  {zones: two, claims: claims(boundClaim("hf-cache", "c")), refused: "zone c", listed: "hf-cache"},
		"several: others beside": {zones: two, claims: claims(pendingClaim("hf-cache"), boundClaim("hf-cache-c", "c"), boundClaim("hf-cache-d", "d")), pin: two, claim: "hf-cache", read: true, note: "left as they are: model-serving/hf-cache-c (Bound, c), model-serving/hf-cache-d (Bound, d)"},
	} {
		t.Run(name, func(t *testing.T) {
			place, err := placeCache(cacheQuestion{enabled: !test.off, zones: test.zones, claims: test.claims, namespace: "model-serving", base: "hf-cache"})
			if test.refused != "" {
				checkCacheRefusal(t, err, test.refused, test.listed)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{test.pin, test.claim, test.read}, []any{place.zones, place.claim, place.read != nil}); diff != "" {
				t.Error(diff)
			}
			if place.read != nil && place.read.Name != place.claim {
				t.Errorf("claim %s, read %s", place.claim, place.read.Name)
			}
			for _, said := range []struct{ want, got string }{{test.note, place.note}, {test.warning, place.warning}} {
				if !strings.Contains(said.got, said.want) || said.want == "" && said.got != "" {
					t.Errorf("%q, want %q", said.got, said.want)
				}
			}
		})
	}
}

// checkCacheRefusal wants the block of several claims, or that of a claim in another zone.
func checkCacheRefusal(t *testing.T, err error, kind, listed string) {
	t.Helper()
	var refusal *clustermanager.Refusal
	if !errors.As(err, &refusal) || refusal.Block == nil {
		t.Fatalf("no refusal with a block: %v", err)
	}
	block := refusal.Block
	var names, remedies []string
	switch {
	case block.CacheClaims != nil && kind == "claims":
		for _, claim := range block.CacheClaims.Claims {
			names = append(names, claim.Name)
		}
		remedies = block.CacheClaims.Remedies
	case block.CacheZone != nil && kind == "zone "+block.CacheZone.ClaimZone:
		names, remedies = []string{block.CacheZone.Claim.Name}, block.CacheZone.Remedies
	}
	if strings.Join(names, " ") != listed || len(remedies) < 2 || block.Hint != remedies[0] || !strings.Contains(err.Error(), remedies[0]) {
		t.Errorf("%s: %s, remedies %q, hint %q: %v", kind, names, remedies, block.Hint, err)
	}
	if block.Nodes == nil || block.Models == nil || block.ReadFrom != "cluster" {
		t.Errorf("%+v", block)
	}
}
