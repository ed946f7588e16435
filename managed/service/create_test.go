package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

func TestC01Create(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	got := s.create(alice)
	equal(t, "state", managed.StatePending, got.State)
	equal(t, "channel", managed.ChannelRegular, got.ReleaseChannel)
	equal(t, "private, spot", []bool{false, false}, []bool{got.PrivateNodes, got.NodePools[0].Spot})
	equal(t, "events", []string{"created"}, s.store.told())
	equal(t, "provider calls", 0, len(s.provider.asked))
	equal(t, "owner", alice.ID, s.store.rows[got.ClusterID].Owner)
}

func TestC02C03C04C08C13C15C16C42C50WhatIsTaken(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]fields{
		"C02 a short name": {"name": "a"}, "C02 a long name": {"name": strings.Repeat("a", 40)},
		"C04 autopilot": {"mode": "autopilot", "location": "europe-west1", "nodePools": nil},
		"C08 a zone":    {"location": "us-east1-b"}, "C08 a region": {"location": "us-east1"},
		"C15 extended": {"releaseChannel": "extended"}, "C16 a version": {"version": "1.33.5-gke.1162000"},
		"C17 a network": {"networkId": network}, "C41 the own account": {"poolId": poolT}, "C50 any project": {"projectId": project},
	} {
		s := newScene(t)
		if got := s.create(alice, change); len(s.store.rows) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestC09C10C11C12WhatIsRefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change fields
		want   managed.Code
	}{
		"C03 a name":           {fields{"name": "A"}, managed.InvalidInput},
		"C05 autopilot, pools": {fields{"mode": "autopilot", "location": "us-east1"}, managed.InvalidInput},
		"C06 standard, none":   {fields{"nodePools": []any{}}, managed.InvalidInput},
		"C09 a location":       {fields{"location": "asia-east1-a"}, managed.InvalidInput},
		"C10 not offered":      {fields{"poolId": poolPX}, managed.NotFound},
		"C10 unknown":          {fields{"poolId": id("pool_", "0")}, managed.NotFound},
		"C11 no Kubernetes":    {fields{"poolId": poolZ}, managed.Unsupported},
		"C12 a host pool":      {fields{"poolId": poolH}, managed.Unsupported},
		"C49 a network":        {fields{"networkId": id("net_", "0")}, managed.InvalidInput},
		"C19 no subnet":        {fields{"networkId": network, "location": "us-east1"}, managed.InvalidState},
	} {
		s := newScene(t)
		s.untouched(func() {
			if s.call(alice, "create", ok(test.change), test.want); t.Failed() {
				t.Log(name)
			}
		})
	}
	s := newScene(t)
	s.call(otto, "create", ok(fields{"tenantId": "other", "poolId": poolT}), managed.NotFound)
}

func TestC20C21Names(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first := s.create(alice)
	fault := s.fault(alice, "create", ok(fields{"idempotencyKey": "key-2"}), managed.Conflict)
	equal(t, "details", managed.Details{Field: "name"}, fault.Details)
	s.create(otto, fields{"tenantId": "other"})
	s.call(alice, "delete", of(first.ClusterID), "")
	s.call(alice, "create", ok(fields{"idempotencyKey": "key-2"}), managed.Conflict)
	s.gone(first.ClusterID)
	s.create(alice, fields{"idempotencyKey": "key-2"}) // D03
}

func TestC22S05Quota(t *testing.T) {
	t.Parallel()
	for limit, set := range map[int]func(*Settings){10: func(*Settings) {}, 3: func(s *Settings) { s.MaxClusters = 3 }} {
		s := newScene(t, set)
		var last string
		for i := range limit {
			last = s.create(alice, fields{"name": fmt.Sprint("c", i), "idempotencyKey": fmt.Sprint("key-", i)}).ClusterID
		}
		s.call(alice, "delete", of(last), "")
		more := ok(fields{"name": "more", "idempotencyKey": "more"})
		fault := s.fault(alice, "create", more, managed.QuotaExceeded)
		equal(t, "details", managed.Details{Limit: limit}, fault.Details)
		s.gone(last)
		s.call(alice, "create", more, "")
	}
}

func TestC23C24C25Retries(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first := s.create(alice)
	s.now = s.now.Add(time.Hour)
	again := s.create(alice, fields{"releaseChannel": "regular", "description": ""})
	equal(t, "again", first, again)
	equal(t, "events", []string{"created"}, s.store.told())
	equal(t, "records", 1, len(s.store.rows))

	pools := fields{"nodePools": []any{fields{"name": "a", "machineType": "e2-standard-4", "nodeCount": 2}}}
	fault := s.fault(alice, "create", ok(pools), managed.Conflict)
	equal(t, "details", managed.Details{Field: "idempotencyKey"}, fault.Details)

	fault = s.fault(bob, "create", ok(), managed.Conflict)
	equal(t, "another caller", managed.Details{Field: "name"}, fault.Details)
	if other := s.create(bob, fields{"name": "two"}); other.ClusterID == first.ClusterID {
		t.Error("another caller has the same id")
	}
}

func TestC23TwoAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var first managed.ClusterAnswer
	s.store.before = func() {
		s.store.before = nil
		first = s.create(alice)
	}
	second := s.create(alice)
	equal(t, "the second", first, second)
	equal(t, "events", []string{"created"}, s.store.told())

	s = newScene(t)
	s.store.before = func() {
		s.store.before = nil
		s.create(alice)
	}
	s.call(alice, "create", ok(fields{"version": "1.33"}), managed.Conflict)
}

func TestTheRetryOfADeletedOne(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first := s.create(alice)
	s.call(alice, "delete", of(first.ClusterID), "")
	s.gone(first.ClusterID)
	equal(t, "state", managed.StateDeleted, s.create(alice).State)
	equal(t, "records", 1, len(s.store.rows))
}

func TestC26C45TheDecisionIsBeforeTheRest(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*scene){
		"C26":                 func(*scene) {},
		"C45 suspended":       func(s *scene) { s.catalogue.Offers[0].Suspended = true },
		"C45 region excluded": func(s *scene) { s.catalogue.Offers[0].ExcludedRegions = []string{"europe-west1"} },
		"C45 budget":          func(s *scene) { s.catalogue.Budgets = []managed.Budget{{Tenant: "acme", UsedUp: true}} },
		"C45 name taken":      func(s *scene) { s.create(alice) },
		"C45 quota full": func(s *scene) {
			for i := range 10 {
				s.create(alice, fields{"name": fmt.Sprint("c", i), "idempotencyKey": fmt.Sprint("key-", i)})
			}
		},
	} {
		for _, caller := range []Caller{vera, nina} {
			s := newScene(t)
			prepare(s)
			s.untouched(func() {
				fault := s.fault(caller, "create", ok(), managed.AccessDenied)
				equal(t, name, managed.Details{Action: managed.ActionCreate, ResourceType: managed.ResourceCluster}, fault.Details)
			})
		}
	}
}

func TestC27AttributesOfCreate(t *testing.T) {
	t.Parallel()
	for attribute, test := range map[string]struct {
		value string
		other fields
	}{
		"mode":              {"standard", fields{"mode": "autopilot", "location": "europe-west1", "nodePools": nil}},
		"location":          {"europe-west1-b", fields{"location": "us-east1"}},
		"poolId":            {poolP, fields{"poolId": poolPN}},
		"projectId":         {project, fields{"projectId": id("prj_", "1")}},
		"providerAccountId": {"PA", fields{"poolId": poolT}},
	} {
		s := newScene(t)
		s.policies(`forbid (principal, action == Action::"compute:kubernetes:create", resource) when { resource.` + attribute + ` == "` + test.value + `" };`)
		matching := fields{"projectId": project}
		s.untouched(func() { s.call(alice, "create", ok(matching), managed.AccessDenied) })
		s.create(alice, matching, test.other)
	}
}

func TestC28C29OfferAndBudget(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.catalogue.Offers[0].Suspended = true
	equal(t, "suspended", managed.ReasonOfferSuspended, s.fault(alice, "create", ok(), managed.AccessDenied).Details.Reason)
	s.catalogue.Offers[0].Suspended, s.catalogue.Offers[0].ExcludedRegions = false, []string{"europe-west1"}
	equal(t, "excluded", managed.ReasonRegionExcluded, s.fault(alice, "create", ok(), managed.AccessDenied).Details.Reason)
	s.create(alice, fields{"location": "us-east1-b", "name": "two", "idempotencyKey": "key-2"})
	s.catalogue.Offers[0].ExcludedRegions = nil
	s.catalogue.Budgets = []managed.Budget{{Tenant: "acme", UsedUp: true}}
	equal(t, "used up", managed.ReasonBudgetUsedUp, s.fault(alice, "create", ok(), managed.QuotaExceeded).Details.Reason)
	s.create(alice, fields{"poolId": poolPN})
}

func TestC44TheOwner(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	own := s.ready(carl, fields{"name": "own"})
	alices := s.ready(alice)
	for _, method := range []string{"get", "update", "credentials", "delete"} {
		change := fields{}
		if method == "update" {
			change["description"] = "x"
		}
		s.call(carl, method, of(own, change), "")
		s.untouched(func() { s.call(carl, method, of(alices, change), managed.AccessDenied) })
	}
	s.gone(own)
	s.call(carl, "get", of(own), managed.AccessDenied) // D03: its authorization went with it
}

func TestC46ARetryIsNotHeldAgainstTheCatalogue(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first := s.create(alice, fields{"networkId": network})
	for name, change := range map[string]func(*managed.Catalogue){
		"pool withdrawn": func(c *managed.Catalogue) { c.Offers = nil },
		"pool gone":      func(c *managed.Catalogue) { c.Pools = nil },
		"zone gone":      func(c *managed.Catalogue) { c.Accounts[0].Zones = []string{"us-east1-b"} },
		"network gone":   func(c *managed.Catalogue) { c.Networks = nil },
		"budget used up": func(c *managed.Catalogue) { c.Budgets = []managed.Budget{{Tenant: "acme", UsedUp: true}} },
	} {
		s.catalogue = catalogue()
		change(s.catalogue)
		equal(t, name, first, s.create(alice, fields{"networkId": network}))
	}
	s.call(alice, "create", ok(fields{"poolId": poolPX, "networkId": network}), managed.Conflict)
	s.catalogue = catalogue()
	s.catalogue.Bindings = nil
	s.call(alice, "create", ok(fields{"networkId": network}), managed.AccessDenied)
	s.call(alice, "create", ok(fields{"poolId": poolPX, "networkId": network}), managed.AccessDenied)
}

func TestEveryEndpointRefusesAnUnknownField(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, endpoint := range s.Endpoints() {
		s.untouched(func() { s.call(alice, endpoint.Name, fields{"dryRun": true}, managed.InvalidInput) })
	}
	var served []string
	for _, endpoint := range s.Endpoints() {
		served = append(served, endpoint.String())
	}
	var table []string
	for _, method := range managed.Methods() {
		table = append(table, method.String())
	}
	equal(t, "endpoints", table, served)
}
