package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/policy"
)

// start is when every test begins.
var start = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

const issuer = "https://id.example.com|"

// people of the scene.
var (
	alice = Caller{Principal: managed.Principal{ID: issuer + "alice"}, RequestID: "request-1"}
	vera  = Caller{Principal: managed.Principal{ID: issuer + "vera"}, RequestID: "request-2"}
	carl  = Caller{Principal: managed.Principal{ID: issuer + "carl"}, RequestID: "request-3"}
	nina  = Caller{Principal: managed.Principal{ID: issuer + "nina"}, RequestID: "request-4"}
	// otto is the operator of the tenant other, both of both tenants.
	otto = Caller{Principal: managed.Principal{ID: issuer + "otto"}, RequestID: "request-5"}
	both = Caller{Principal: managed.Principal{ID: issuer + "both"}, RequestID: "request-6"}
	// ute connects and updates, dora connects and deletes.
	ute  = Caller{Principal: managed.Principal{ID: issuer + "ute"}, RequestID: "request-7"}
	dora = Caller{Principal: managed.Principal{ID: issuer + "dora"}, RequestID: "request-8"}
	// bob is a second operator of acme.
	bob = Caller{Principal: managed.Principal{ID: issuer + "bob"}, RequestID: "request-9"}
)

const ownPolicies = `
@id("carl") permit (principal == User::"https://id.example.com|carl", action == Action::"compute:kubernetes:create", resource in ComputeTenant::"acme");
@id("ute") permit (principal == User::"https://id.example.com|ute", action in [Action::"compute:kubernetes:connect", Action::"compute:kubernetes:update"], resource);
@id("dora") permit (principal == User::"https://id.example.com|dora", action in [Action::"compute:kubernetes:connect", Action::"compute:kubernetes:delete"], resource);
`

func id(prefix, letter string) string { return prefix + strings.Repeat(letter, 26) }

var (
	poolP, poolPN, poolPX = id("pool_", "p"), id("pool_", "n"), id("pool_", "x")
	poolT, poolZ, poolH   = id("pool_", "t"), id("pool_", "z"), id("pool_", "h")
	network               = id("net_", "1")
	project               = id("prj_", "0")
)

// scene is the service with the catalogue that the checks assume, a provider and a control plane of its own.
type scene struct {
	*Service
	t         *testing.T
	now       time.Time
	store     *memory
	catalogue *managed.Catalogue
	log       bytes.Buffer
	endpoints map[string]Endpoint
	plane     plane
	provider  provider
}

func (s *scene) Current() *managed.Catalogue { return s.catalogue }

// plane is the control plane of every cluster.
type plane struct {
	minted []string
	ttls   []time.Duration
	fails  error
	now    func() time.Time
}

const madeToken = "token-made-for-the-test"

func (p *plane) Token(
	_ context.Context, account managed.Account, cluster managed.Cluster, name string, _ managed.Role, ttl time.Duration,
) (managed.Token, error) {
	if p.fails != nil && !account.DNSEndpoint {
		return managed.Token{}, p.fails
	}
	p.minted = append(p.minted, account.ID+" "+cluster.Name+" "+name)
	p.ttls = append(p.ttls, ttl)
	return managed.Token{Secret: clustermanager.NewSecret(madeToken), Expires: p.now().Add(ttl)}, nil
}

// provider has managed Kubernetes.
type provider struct {
	asked []string
	fails error
}

func (*provider) Capabilities() managed.Capabilities {
	return managed.Capabilities{ManagedKubernetes: true}
}

func (p *provider) Versions(_ context.Context, account managed.Account, location string) (managed.VersionsAnswer, error) {
	p.asked = append(p.asked, account.Project+" "+location)
	return managed.VersionsAnswer{DefaultVersion: "1.33.5-gke.1", ValidVersions: []string{"1.33.5-gke.1"}, Channels: map[managed.Channel]managed.ChannelVersion{}}, p.fails
}

// metal is a provider without it.
type metal struct{ provider }

func (*metal) Capabilities() managed.Capabilities { return managed.Capabilities{} }

func newScene(t *testing.T, change ...func(*Settings)) *scene {
	t.Helper()
	s := &scene{t: t, now: start, store: newMemory(), catalogue: catalogue(), endpoints: map[string]Endpoint{}}
	s.plane.now = func() time.Time { return s.now }
	s.policies()
	var settings Settings
	for _, set := range change {
		set(&settings)
	}
	s.build(settings)
	return s
}

func (s *scene) build(settings Settings) {
	s.t.Helper()
	service, err := New(settings, Rooms{
		Store: s.store, Policy: s.policy(), Catalogue: s, ControlPlane: &s.plane,
		Providers: map[string]Provider{"gcp": &s.provider, "metal": &metal{}},
		Clock:     func() time.Time { return s.now }, Log: slog.New(slog.NewJSONHandler(&s.log, nil)),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Service = service
	for _, of := range service.Endpoints() {
		s.endpoints[of.Name] = of
	}
}

func (s *scene) policy(texts ...string) Policy {
	s.t.Helper()
	documents := []policy.Document{policy.Default(), {Name: "own.cedar", Text: []byte(ownPolicies)}}
	for _, text := range texts {
		documents = append(documents, policy.Document{Name: "more.cedar", Text: []byte(text)})
	}
	set, err := policy.New(func(of managed.Principal) []string { return s.catalogue.RolesOf(of) }, documents...)
	if err != nil {
		s.t.Fatal(err)
	}
	return set
}

// policies puts more policies beside the scene's.
func (s *scene) policies(texts ...string) {
	if s.Service != nil {
		s.rooms.Policy = s.policy(texts...)
	}
}

func catalogue() *managed.Catalogue {
	zones := []string{"europe-west1-b", "europe-west1-c", "us-east1-b"}
	return &managed.Catalogue{
		Accounts: []managed.Account{
			{ID: "PA", Provider: "gcp", Project: "platform", Zones: zones, Egress: []string{"192.0.2.0/24"}},
			{ID: "TA", Tenant: "acme", Provider: "gcp", Project: "acme-own", Zones: zones},
			{ID: "HZ", Provider: "metal", Zones: zones},
		},
		Pools: []managed.Pool{
			{ID: poolP, Account: "PA", Kind: managed.PoolProvider, Billing: managed.BillingMetered},
			{ID: poolPN, Account: "PA", Kind: managed.PoolProvider, Billing: managed.BillingNone},
			{ID: poolPX, Account: "PA", Kind: managed.PoolProvider, Billing: managed.BillingMetered},
			{ID: poolT, Account: "TA", Kind: managed.PoolProvider, Billing: managed.BillingMetered},
			{ID: poolZ, Account: "HZ", Kind: managed.PoolProvider, Billing: managed.BillingMetered},
			{ID: poolH, Account: "PA", Kind: managed.PoolHost, Billing: managed.BillingMetered},
		},
		Offers: []managed.Offer{
			{Pool: poolP, Tenant: "acme"}, {Pool: poolPN, Tenant: "acme"}, {Pool: poolZ, Tenant: "acme"}, {Pool: poolH, Tenant: "acme"},
			{Pool: poolP, Tenant: "other"},
		},
		Networks: []managed.Network{{
			ID: network, Tenant: "acme", Account: "PA", Provisioned: true, Network: "n1",
			Subnets: []managed.Subnet{{Name: "s-a", Region: "europe-west1", Ready: true}},
		}},
		Bindings: []managed.Binding{
			{Tenant: "acme", Role: managed.TenantOperator, Users: []string{alice.ID, both.ID, bob.ID}},
			{Tenant: "acme", Role: managed.TenantViewer, Users: []string{vera.ID}},
			{Tenant: "other", Role: managed.TenantOperator, Users: []string{otto.ID, both.ID}},
		},
	}
}

type fields = map[string]any

// ok is the minimal valid create, with changes.
func ok(changes ...fields) fields {
	body := fields{
		"tenantId": "acme", "poolId": poolP, "name": "one", "mode": "standard", "location": "europe-west1-b", "idempotencyKey": "key-1",
		"nodePools": []any{fields{"name": "a", "machineType": "e2-standard-4", "nodeCount": 1}},
	}
	for _, change := range changes {
		maps.Copy(body, change)
	}
	return body
}

// call makes a call by its endpoint and wants an outcome, "" for an answer.
func (s *scene) call(caller Caller, method string, body fields, want managed.Code) any {
	s.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := s.endpoints[method].Serve(s.t.Context(), caller, data)
	if got := managed.CodeOf(err); got != want {
		s.t.Errorf("%s by %s: %q (%v), want %q", method, strings.TrimPrefix(caller.ID, issuer), got, err, want)
	}
	if err != nil {
		var fault *managed.Error
		if answer != nil || !errors.As(err, &fault) {
			s.t.Errorf("%s: answer %v beside error %T", method, answer, err)
			return nil
		}
		return fault
	}
	return answer
}

// create makes a cluster that must be answered.
func (s *scene) create(caller Caller, changes ...fields) managed.ClusterAnswer {
	s.t.Helper()
	answer, is := s.call(caller, "create", ok(changes...), "").(managed.ClusterAnswer)
	if !is {
		s.t.FailNow()
	}
	return answer
}

func (s *scene) fault(caller Caller, method string, body fields, want managed.Code) *managed.Error {
	s.t.Helper()
	fault, is := s.call(caller, method, body, want).(*managed.Error)
	if !is {
		s.t.FailNow()
	}
	return fault
}

// of is the body of a call about a cluster.
func of(cluster string, changes ...fields) fields {
	body := fields{"tenantId": "acme", "clusterId": cluster}
	for _, change := range changes {
		maps.Copy(body, change)
	}
	return body
}

// step moves a record by what was observed, as a reconciler does.
func (s *scene) step(cluster string, observed managed.Observed) {
	row := s.store.rows[cluster]
	result := managed.Step(row, observed, s.now)
	s.store.rows[cluster] = result.Row
	s.store.events = append(s.store.events, result.Events...)
	if result.Write != nil {
		s.step(cluster, managed.Observed{Answer: &managed.Answer{Write: *result.Write, Verdict: managed.Accepted}})
	}
}

// shown is a cluster in working order.
func (s *scene) shown(cluster string) *managed.ProviderCluster {
	row := s.store.rows[cluster]
	shown := &managed.ProviderCluster{
		Label: cluster, Status: managed.StatusRunning, Channel: row.Channel, Version: "1.33.5-gke.1", NodeVersion: "1.33.5-gke.1",
		Endpoint: "203.0.113.10", Authority: "made for the test", AuthorizedNetworks: row.AuthorizedNetworks,
	}
	for _, pool := range row.NodePools {
		shown.NodePools = append(shown.NodePools, managed.ProviderPool{
			Name: pool.Name, ClusterLabel: cluster, PoolLabel: pool.ID, Status: managed.StatusRunning, Version: "1.33.5-gke.1",
		})
	}
	return shown
}

// ready makes a cluster that is ready.
func (s *scene) ready(caller Caller, changes ...fields) string {
	s.t.Helper()
	cluster := s.create(caller, changes...).ClusterID
	s.step(cluster, managed.Seen(nil, nil))
	s.step(cluster, managed.Seen(s.shown(cluster), nil))
	if state := s.store.rows[cluster].State; state != managed.StateReady {
		s.t.Fatalf("state %s", state)
	}
	return cluster
}

// gone lets a cluster's delete come to its end.
func (s *scene) gone(cluster string) {
	s.t.Helper()
	s.now = s.now.Add(time.Minute)
	s.step(cluster, managed.Seen(nil, nil))
	if state := s.store.rows[cluster].State; state != managed.StateDeleted {
		s.t.Fatalf("state %s", state)
	}
}

// untouched runs a call that must leave no record, no event and nothing at the provider or a control plane.
func (s *scene) untouched(do func()) {
	s.t.Helper()
	rows, events, minted, asked := maps.Clone(s.store.rows), len(s.store.events), len(s.plane.minted), len(s.provider.asked)
	do()
	if diff := cmp.Diff(rows, s.store.rows); diff != "" {
		s.t.Errorf("records changed:\n%s", diff)
	}
	if len(s.store.events) != events || len(s.plane.minted) != minted || len(s.provider.asked) != asked {
		s.t.Errorf("events %v, accounts %v, provider %v", s.store.told()[events:], s.plane.minted, s.provider.asked)
	}
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// names are those of listed clusters.
func names(answer any) []string {
	list := []string{}
	of, _ := answer.(managed.ListAnswer)
	for _, cluster := range of.Clusters {
		list = append(list, cluster.Name)
	}
	return list
}
