package service

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// calls are a body for each method, about a cluster.
func calls(cluster string) map[string]fields {
	return map[string]fields{
		"create": ok(), "list": tenant(), "get": of(cluster), "update": of(cluster, fields{"description": "x"}), "delete": of(cluster),
		"credentials": of(cluster), "versions": tenant(fields{"poolId": poolP, "location": "europe-west1"}),
	}
}

func TestS05Settings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings Settings
		want     string
	}{
		"ttl 599":       {Settings{CredentialTTL: 599 * time.Second}, "credentialTtlSeconds: 599"},
		"ttl 86401":     {Settings{CredentialTTL: 86401 * time.Second}, "credentialTtlSeconds: 86401"},
		"clusters -1":   {Settings{MaxClusters: -1}, "maxClustersPerTenant"},
		"rate -1":       {Settings{TenantRate: -1}, "tenant rate"},
		"right ones":    {Settings{CredentialTTL: 600 * time.Second, MaxClusters: 1, TenantRate: 1}, ""},
		"none is right": {Settings{}, ""},
	} {
		_, err := New(test.settings, Rooms{})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestS05ReadOnly(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.ready(alice)
	s.build(Settings{ReadOnly: true})
	for _, endpoint := range s.Endpoints() {
		body := calls(cluster)[endpoint.Name]
		if endpoint.Kind == managed.Read {
			s.call(alice, endpoint.Name, body, "")
			continue
		}
		s.untouched(func() {
			fault := s.fault(alice, endpoint.Name, body, managed.AccessDenied)
			equal(t, endpoint.Name, managed.ReasonReadOnly, fault.Details.Reason)
		})
	}
}

func TestS06TheRateIsTheTenantsAndNoStrangerUsesItUp(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(set *Settings) { set.TenantRate = 5 })
	for range 50 {
		s.call(nina, "list", tenant(), managed.AccessDenied)
	}
	for range 5 {
		s.call(alice, "list", tenant(), "")
	}
	fault := s.fault(vera, "list", tenant(), managed.RateLimited)
	equal(t, "wait", time.Second/5, fault.RetryAfter)
	s.call(nina, "list", tenant(), managed.AccessDenied)
	s.call(otto, "list", tenant(fields{"tenantId": "other"}), "")
	s.untouched(func() { s.call(alice, "create", ok(), managed.RateLimited) })
	s.now = s.now.Add(fault.RetryAfter)
	s.call(alice, "list", tenant(), "")
	s.call(alice, "list", tenant(), managed.RateLimited)
	s.now = s.now.Add(time.Hour)
	for range 5 {
		s.call(alice, "list", tenant(), "")
	}
	s.call(alice, "list", tenant(), managed.RateLimited)
}

func TestACallWithTwoDecisionsCountsOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.ready(alice)
	s.build(Settings{TenantRate: 1})
	s.call(alice, "credentials", of(cluster, fields{"role": "admin"}), "")
	s.call(alice, "credentials", of(cluster, fields{"role": "admin"}), managed.RateLimited)
}

func TestTheLimiterForgets(t *testing.T) {
	t.Parallel()
	limiter := newLimiter(1)
	for i := range 3 * manyTenants {
		limiter.take(fmt.Sprint(i), start.Add(time.Duration(i)*time.Second))
	}
	if len(limiter.tenants) > manyTenants {
		t.Errorf("%d tenants", len(limiter.tenants))
	}
}

func TestAStoreThatIsGone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.ready(alice)
	for method, body := range calls(cluster) {
		if method == "versions" {
			continue // It asks no store.
		}
		s.store.down = true
		fault := s.fault(alice, method, body, managed.Unavailable)
		if strings.Contains(fault.Message, "192.0.2.1") {
			t.Errorf("%s: %q", method, fault.Message)
		}
		s.store.down, s.store.broken = false, true
		fault = s.fault(alice, method, body, managed.Internal)
		equal(t, method, managed.Details{RequestID: alice.RequestID}, fault.Details)
		if strings.Contains(fault.Message, "syntax") {
			t.Errorf("%s: %q", method, fault.Message)
		}
		s.store.broken = false
	}
	for _, cause := range []string{"192.0.2.1:5432", "syntax error in statement 7", "request-1"} {
		if !strings.Contains(s.log.String(), cause) {
			t.Errorf("no %q in the log", cause)
		}
	}
}

func TestABrokenOffCall(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.ready(alice)
	s.plane.fails = context.Canceled
	s.call(alice, "credentials", of(cluster), managed.Unavailable)
}

func TestAudit(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.create(alice).ClusterID
	s.call(vera, "get", of(cluster), "")
	s.call(vera, "delete", of(cluster), managed.AccessDenied)
	equal(t, "audit", []managed.Audit{
		{
			At: start, RequestID: "request-1", Principal: alice.ID, Method: "kubernetesClusters.create", Tenant: "acme", Resource: cluster,
			Decisions: []managed.Decided{{Action: managed.ActionCreate, ResourceType: managed.ResourceCluster, Resource: cluster, Allowed: true, Policies: []string{"operator"}}},
		},
		{
			At: start, RequestID: "request-2", Principal: vera.ID, Method: "kubernetesClusters.delete", Tenant: "acme", Resource: cluster,
			Decisions: []managed.Decided{{Action: managed.ActionDelete, ResourceType: managed.ResourceCluster, Resource: cluster}}, Code: managed.AccessDenied,
		},
	}, s.store.audits)
	if !strings.Contains(s.log.String(), `"method":"kubernetesClusters.get"`) {
		t.Error("a read is not in the log")
	}
}

func TestAFaultyPolicyRefusesAndIsLogged(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.create(alice).ClusterID
	s.policies(`@id("broken") forbid (principal, action, resource is ComputeKubernetesCluster) when { resource.region == "x" };`)
	s.call(alice, "get", of(cluster), managed.AccessDenied)
	equal(t, "list", []string{}, names(s.call(alice, "list", tenant(), "")))
	if !strings.Contains(s.log.String(), "broken") {
		t.Error("the policy is not named in the log")
	}
}
