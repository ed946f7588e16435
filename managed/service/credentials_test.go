package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

func (s *scene) credentials(caller Caller, cluster string, change fields) managed.CredentialsAnswer {
	s.t.Helper()
	answer, _ := s.call(caller, "credentials", of(cluster, change), "").(managed.CredentialsAnswer)
	return answer
}

func TestK01K04K09Credentials(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.ready(alice)
	got := s.credentials(vera, cluster, nil)
	equal(t, "K01 role", managed.RoleView, got.Role)
	equal(t, "K01 time", start.Add(time.Hour), got.ExpiresAt)
	if !strings.Contains(got.Kubeconfig.Reveal(), madeToken) {
		t.Error("K01: no token in the kubeconfig")
	}
	s.credentials(vera, cluster, fields{"ttlSeconds": 600})
	s.credentials(vera, cluster, fields{"ttlSeconds": 86400})
	equal(t, "K04", []time.Duration{time.Hour, 600 * time.Second, 24 * time.Hour}, s.plane.ttls)
	s.untouched(func() {
		for _, ttl := range []any{599, 86401, "600"} {
			s.call(vera, "credentials", of(cluster, fields{"ttlSeconds": ttl}), managed.InvalidInput)
		}
	})
	s = newScene(t, func(set *Settings) { set.CredentialTTL = 1800 * time.Second })
	equal(t, "K09", start.Add(30*time.Minute), s.credentials(vera, s.ready(alice), nil).ExpiresAt)
}

func TestK02K03K11K14Roles(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.ready(alice)
	for _, test := range []struct {
		caller Caller
		role   string
		denied managed.Action
	}{
		{alice, "admin", ""}, {vera, "view", ""}, {vera, "edit", managed.ActionUpdate}, {vera, "admin", managed.ActionDelete},
		{ute, "edit", ""}, {ute, "admin", managed.ActionDelete}, {dora, "admin", ""}, {dora, "edit", managed.ActionUpdate},
		{nina, "view", managed.ActionConnect}, {nina, "admin", managed.ActionConnect},
	} {
		body := of(cluster, fields{"role": test.role})
		if test.denied == "" {
			s.call(test.caller, "credentials", body, "")
			continue
		}
		s.untouched(func() {
			fault := s.fault(test.caller, "credentials", body, managed.AccessDenied)
			equal(t, test.caller.ID+" "+test.role, test.denied, fault.Details.Action)
		})
	}
	audit := s.store.audits[len(s.store.audits)-3] // K11: dora's edit
	equal(t, "K11 who", dora.ID, audit.Principal)
	equal(t, "K11 outcome", managed.AccessDenied, audit.Code)
	equal(t, "K11 decisions", []managed.Decided{
		{Action: managed.ActionConnect, ResourceType: managed.ResourceCluster, Resource: cluster, Allowed: true, Policies: []string{"dora"}},
		{Action: managed.ActionUpdate, ResourceType: managed.ResourceCluster, Resource: cluster},
	}, audit.Decisions)
}

func TestK05K06States(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.create(alice).ClusterID
	refused := func(want managed.State) {
		t.Helper()
		equal(t, "state", want, s.store.rows[cluster].State)
		s.untouched(func() {
			fault := s.fault(alice, "credentials", of(cluster), managed.InvalidState)
			equal(t, "details", want, fault.Details.State)
		})
	}
	refused(managed.StatePending)
	s.step(cluster, managed.Seen(nil, nil))
	refused(managed.StateProvisioning)
	shown := s.shown(cluster)
	shown.Status, shown.Message = managed.StatusDegraded, "no capacity"
	s.step(cluster, managed.Seen(shown, nil))
	refused(managed.StateError)
	s.call(alice, "update", of(cluster, fields{"releaseChannel": "rapid"}), "")
	refused(managed.StateUpdating)
	s.step(cluster, managed.Seen(s.shown(cluster), nil))
	s.credentials(alice, cluster, nil)
	s.call(alice, "update", of(cluster, fields{"releaseChannel": "stable"}), "")
	equal(t, "state", managed.StateUpdating, s.store.rows[cluster].State)
	s.credentials(alice, cluster, nil) // K06
	s.step(cluster, managed.Seen(shown, nil))
	refused(managed.StateError)
	s.call(alice, "delete", of(cluster), "")
	refused(managed.StateDeleting)
	s.gone(cluster)
	refused(managed.StateDeleted)
}

func TestK07K08K10WhatIsMinted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.ready(alice)
	s.credentials(alice, cluster, fields{"role": "admin"})
	s.credentials(alice, cluster, fields{"role": "view"})
	admin, view := managed.ServiceAccountName(alice.ID, "admin"), managed.ServiceAccountName(alice.ID, "view")
	equal(t, "K10 accounts", []string{"PA one " + admin, "PA one " + view}, s.plane.minted)

	event := s.store.events[len(s.store.events)-2]
	equal(t, "K08 type", managed.EventCredentialsIssued, event.Type)
	equal[any](t, "K08 data", managed.CredentialsIssued{
		ClusterID: cluster, TenantID: "acme", Role: managed.RoleAdmin, Subject: admin, Identity: alice.ID, TTLSeconds: 3600, ExpiresAt: start.Add(time.Hour),
	}, event.Data)
	kept, err := json.Marshal([]any{s.store.rows, s.store.events, s.store.audits})
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the store": string(kept), "the log": s.log.String(), "the store, printed": fmt.Sprintf("%+v", s.store.events)} {
		if strings.Contains(text, madeToken) {
			t.Errorf("K08: the token is in %s", where)
		}
	}
}

func TestK08ATokenWithoutItsEventIsNotHandedOut(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.ready(alice)
	s.store.lost = true
	s.call(alice, "credentials", of(cluster), managed.Unavailable)
}

func TestK12AControlPlaneThatCannotBeReached(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.plane.fails = fmt.Errorf("dial tcp 203.0.113.10:443: %w", managed.ErrUnreachable)
	narrow := s.ready(alice, fields{"authorizedNetworks": []any{"10.0.0.0/8"}})
	open := s.ready(alice, fields{"name": "two", "idempotencyKey": "key-2"})
	s.untouched(func() {
		fault := s.fault(alice, "credentials", of(narrow), managed.Unavailable)
		for _, word := range []string{"authorizedNetworks", "192.0.2.0/24", "dnsEndpoint", "PA"} {
			if !strings.Contains(fault.Message, word) {
				t.Errorf("no %s in %q", word, fault.Message)
			}
		}
		fault = s.fault(alice, "credentials", of(open), managed.Unavailable)
		if strings.Contains(fault.Message, "authorizedNetworks") || strings.Contains(fault.Message, "203.0.113.10:443") {
			t.Errorf("message %q", fault.Message)
		}
	})
	s.catalogue.Accounts[0].DNSEndpoint = true
	got := s.credentials(alice, narrow, nil)
	if !strings.Contains(got.Kubeconfig.Reveal(), "https://203.0.113.10\n") {
		t.Errorf("the kubeconfig does not name the IP endpoint")
	}
	s.catalogue.Accounts[0].DNSEndpoint = false
	s.plane.fails = errors.New("serviceaccounts is forbidden, with a token: " + madeToken)
	if fault := s.fault(alice, "credentials", of(open), managed.Unavailable); strings.Contains(fault.Message, "forbidden") {
		t.Errorf("message %q", fault.Message)
	}
	s.catalogue.Accounts = nil
	s.call(alice, "credentials", of(open), managed.Unavailable)
}

func TestK13Inputs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.ready(alice)
	s.untouched(func() {
		s.call(alice, "credentials", of(cluster, fields{"role": "owner"}), managed.InvalidInput)
		s.call(alice, "credentials", tenant(), managed.InvalidInput)
		s.call(alice, "credentials", of(id("kcl_", "0")), managed.NotFound)
	})
}
