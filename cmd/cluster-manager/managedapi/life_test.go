package managedapi

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	double "github.com/clustermanager/cluster-manager/fixtures/gke"
	"github.com/clustermanager/cluster-manager/managed"
)

// TestC01R09AClustersLifeOverHTTP is the whole way of a standard cluster: HTTP, records, passes, provider, events, hours.
func TestC01R09AClustersLifeOverHTTP(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	got := s.call("alice", "create", ok())
	id, _ := got.body["clusterId"].(string)
	equal(t, "create", []any{200, "pending", "regular", false, 1.0}, []any{got.status, got.body["state"], got.body["releaseChannel"], got.body["privateNodes"], got.body["version"]})
	if !regexp.MustCompile(`^kcl_[0-9a-hjkmnp-tv-z]{26,52}$`).MatchString(id) {
		t.Fatalf("id %q", id)
	}
	equal(t, "requests before a pass", 0, len(s.cloud.Requests()))
	again := s.call("alice", "create", ok())
	equal(t, "C23 a retry", got.body, again.body)

	s.wait(10 * time.Second)
	equal(t, "accepted", any("provisioning"), s.get(id)["state"])
	s.wait(2 * time.Minute)
	ready := s.get(id)
	equal(t, "G01 ready", []any{"ready", "203.0.113.10", "1.33.5-gke.1162000", "1.33.5-gke.1162000"}, []any{ready["state"], ready["endpoint"], ready["kubernetesVersion"], ready["nodeVersion"]})

	changed := s.call("alice", "update", of(id, fields{"releaseChannel": "rapid", "version": "1.34"}))
	equal(t, "U03 update", []any{200, "updating", 2.0}, []any{changed.status, changed.body["state"], changed.body["version"]})
	s.wait(4 * time.Minute)
	equal(t, "U04 updated", []any{"ready", "1.34.3-gke.1200000"}, []any{s.get(id)["state"], s.get(id)["kubernetesVersion"]})

	gone := s.call("alice", "delete", of(id))
	equal(t, "D01 delete", []any{200, "deleting"}, []any{gone.status, gone.body["state"]})
	equal(t, "D02 again", any("deleting"), s.call("alice", "delete", of(id)).body["state"])
	s.wait(3 * time.Minute)
	equal(t, "D03 deleted", any("deleted"), s.get(id)["state"])
	equal(t, "events", []string{"created", "ready", "updated", "deleting", "deleted"}, s.events(id))
	equal(t, "writes", []string{"clusters.create", "clusters.update", "clusters.update", "clusters.delete"}, s.writes())
	equal(t, "D03 the name is free", 200, s.call("alice", "create", ok(fields{"idempotencyKey": "key-2"})).status)
}

func TestC04AnAutopilotClusterOverHTTP(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.create(fields{"mode": "autopilot", "location": "europe-west1", "nodePools": nil, "releaseChannel": "stable"})
	s.wait(3 * time.Minute)
	got := s.get(id)
	equal(t, "ready", []any{"ready", []any{}, "1.33.5-gke.1162000"}, []any{got["state"], got["nodePools"], got["nodeVersion"]})
}

// TestR03ReadyClustersAreLookedAtByOneCall: an account's, every five minutes, whatever their number.
func TestR03ReadyClustersAreLookedAtByOneCall(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for i := range 3 {
		s.create(fields{"name": fmt.Sprintf("c%d", i), "idempotencyKey": fmt.Sprintf("key-%d", i)})
	}
	s.wait(6 * time.Minute)
	before := len(s.cloud.Requests())
	s.wait(20 * time.Minute)
	lists := 0
	for _, request := range s.cloud.Requests()[before:] {
		if request.Call != "clusters.list" {
			t.Errorf("%s", request.Call)
		}
		lists++
	}
	if lists < 4 || lists > 5 {
		t.Errorf("%d lists in 20 minutes", lists)
	}
}

func TestM01HoursOfAClusterThatWasDeleted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.create()
	s.wait(3*time.Hour + 20*time.Minute)
	s.call("alice", "delete", of(id))
	s.wait(20 * time.Minute)
	equal(t, "state", any("deleted"), s.get(id)["state"])
	var sum float64
	var rows []float64
	for hour, err := range s.Store.Hours(t.Context(), managed.HoursFilter{Tenant: "acme"}) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, hour.Quantity)
		sum += hour.Quantity
	}
	if len(rows) != 4 || rows[0] != 1 || rows[2] != 1 || sum < 3.3 || sum > 3.4 {
		t.Errorf("hours %v", rows)
	}
}

func TestFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(options *Options, _ *double.Options) { options.MaxClusters = 1 })
	id := s.create()
	zones := fields{"zones": []any{"europe-west1-b", "europe-west1-c", "us-east1-b"}, "regions": []any{"europe-west1", "us-east1"}}
	more := func(of fields, name string, value any) fields {
		all := fields{name: value}
		for key, value := range of {
			all[key] = value
		}
		return all
	}
	for name, test := range map[string]struct {
		person, method string
		body           fields
		want           []any
	}{
		"C40 nobody":                {"", "get", of(id), []any{401, "UNAUTHENTICATED", fields{}}},
		"C26 vera may not create":   {"vera", "create", ok(), []any{403, "ACCESS_DENIED", fields{"action": "compute:kubernetes:create", "resourceType": "compute-kubernetes-cluster"}}},
		"S05 the quota":             {"alice", "create", ok(fields{"name": "two", "idempotencyKey": "key-2"}), []any{429, "QUOTA_EXCEEDED", fields{"limit": 1.0}}},
		"C20 the name":              {"alice", "create", ok(fields{"idempotencyKey": "key-2"}), []any{409, "CONFLICT", fields{"field": "name"}}},
		"C24 the key":               {"alice", "create", ok(fields{"description": "x"}), []any{409, "CONFLICT", fields{"field": "idempotencyKey"}}},
		"C12 no managed Kubernetes": {"alice", "create", ok(fields{"poolId": poolZ, "idempotencyKey": "key-2"}), []any{422, "UNSUPPORTED", fields{"provider": "metal"}}},
		"C08 a location":            {"alice", "create", ok(fields{"location": "asia-east1-a", "idempotencyKey": "key-2"}), []any{400, "INVALID_INPUT", more(zones, "fields", []any{fields{"field": "location", "message": "is no zone or region of the pool's account"}})}},
		"C37 an unknown field":      {"alice", "get", of(id, fields{"nodepools": 1}), []any{400, "INVALID_INPUT", fields{"fields": []any{fields{"field": "nodepools", "message": "is no field of this input"}}}}},
		"X01 an extension's field":  {"alice", "get", of(id, fields{"dryRun": true}), []any{400, "INVALID_INPUT", fields{"fields": []any{fields{"field": "dryRun", "message": "is no field of this input"}}}}},
		"G02 another tenant's":      {"otto", "get", of(id), []any{403, "ACCESS_DENIED", fields{"action": "compute:kubernetes:read", "resourceType": "compute-kubernetes-cluster"}}},
		"G03 unknown":               {"alice", "get", of("kcl_" + strings.Repeat("0", 26)), []any{404, "NOT_FOUND", fields{"resourceType": "compute-kubernetes-cluster"}}},
		"K05 credentials pending":   {"alice", "credentials", of(id), []any{409, "INVALID_STATE", fields{"state": "pending"}}},
		"V03 nina asks versions":    {"nina", "versions", fields{"tenantId": "acme", "poolId": poolP, "location": "europe-west1-b"}, []any{403, "ACCESS_DENIED", fields{"action": "compute:kubernetes:read", "resourceType": "compute-tenant"}}},
	} {
		equal(t, name, test.want, s.call(test.person, test.method, test.body).fault())
	}
	equal(t, "V01 versions", 200, s.call("vera", "versions", fields{"tenantId": "acme", "poolId": poolP, "location": "europe-west1"}).status)
}

func TestS05ReadOnly(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(options *Options, _ *double.Options) { options.ReadOnly = true })
	equal(t, "create", []any{403, "ACCESS_DENIED", fields{"reason": "read-only"}}, s.call("alice", "create", ok()).fault())
	equal(t, "list", 200, s.call("alice", "list", fields{"tenantId": "acme"}).status)
}

func TestS06ATenantOverItsRateAndAnotherCatalogue(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(options *Options, _ *double.Options) { options.TenantRate = 2 })
	list := fields{"tenantId": "acme"}
	for range 5 {
		equal(t, "nina", 403, s.call("nina", "list", list).status)
	}
	equal(t, "first", 200, s.call("alice", "list", list).status)
	equal(t, "second", 200, s.call("vera", "list", list).status)
	third := s.call("alice", "list", list)
	equal(t, "third", []any{429, "RATE_LIMITED", "1"}, []any{third.status, third.fault()[1], third.header.Get("Retry-After")})
	equal(t, "another tenant", 200, s.call("otto", "list", fields{"tenantId": "other"}).status)
	s.clock.Advance(time.Second)
	equal(t, "a second later", 200, s.call("alice", "list", list).status)

	s.writeCatalogue(strings.ReplaceAll(catalogue, "|nina", "|nobody") + "- {tenant: acme, role: viewer, users: [\"https://id.example.com|nina\"]}\n")
	s.Reread()
	equal(t, "nina by the new catalogue", 200, s.call("nina", "list", list).status)
	s.writeCatalogue("accounts: [")
	s.Reread()
	s.clock.Advance(time.Second)
	equal(t, "nina by the last one that was right", 200, s.call("nina", "list", list).status)
	if !strings.Contains(s.log.String(), "the catalogue as it is now is not used") {
		t.Errorf("the log does not say why: %s", s.log.String())
	}
}

func TestS02ASecondProcessOnTheFile(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var options Options
	newScene(t, func(of *Options, _ *double.Options) { options = *of })
	options.Database, options.Catalog = s.databaseSetting(), s.folder+"/catalog.yaml"
	if second, err := Open(t.Context(), options); err == nil {
		_ = second.Close()
		t.Error("a second one opens the file")
	}
}

// TestRunTakesUpAndEnds: the loops work by themselves, and end with their context.
func TestRunTakesUpAndEnds(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.create()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	deadline := time.Now().Add(time.Minute)
	for s.get(id)["state"] != "provisioning" && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond) // the loops run by the machine's clock
	}
	stop()
	<-ended
	equal(t, "state", any("provisioning"), s.get(id)["state"])
	equal(t, "status", http.StatusOK, s.call("alice", "get", of(id)).status)
}
