package gke

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	double "github.com/clustermanager/cluster-manager/fixtures/gke"
	"github.com/clustermanager/cluster-manager/managed"
)

var start = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

var alice = managed.Principal{ID: "https://id.example.com|alice"}

var (
	poolP    = "pool_" + strings.Repeat("p", 26)
	poolT    = "pool_" + strings.Repeat("t", 26)
	networkN = "net_" + strings.Repeat("1", 26)
)

// catalogue has a platform account PA and a tenant's own account TA.
func catalogue() *managed.Catalogue {
	zones := []string{"europe-west1-b", "europe-west1-c", "us-east1-b"}
	return &managed.Catalogue{
		Accounts: []managed.Account{
			{ID: "PA", Provider: managed.ProviderGCP, Project: "platform", Zones: zones},
			{ID: "TA", Tenant: "acme", Provider: managed.ProviderGCP, Project: "acme-own", Zones: zones},
		},
		Pools: []managed.Pool{
			{ID: poolP, Account: "PA", Kind: managed.PoolProvider, Billing: managed.BillingMetered},
			{ID: poolT, Account: "TA", Kind: managed.PoolProvider, Billing: managed.BillingNone},
		},
		Offers: []managed.Offer{{Pool: poolP, Tenant: "acme"}},
		Networks: []managed.Network{{ID: networkN, Tenant: "acme", Account: "PA", Provisioned: true, Network: "n1", Subnets: []managed.Subnet{
			{Name: "s-b", Region: "europe-west1", Ready: true}, {Name: "s-a", Region: "europe-west1", Ready: true},
		}}},
	}
}

type fields = map[string]any

// wanted is the minimal valid create, with changes; a nil value takes a field away.
func wanted(changes ...fields) fields {
	body := fields{
		"tenantId": "acme", "poolId": poolP, "name": "one", "mode": "standard", "location": "europe-west1-b", "idempotencyKey": "key-1",
		"nodePools": []any{pool("a")},
	}
	for _, change := range changes {
		for name, value := range change {
			body[name] = value
		}
	}
	return body
}

func pool(name string, changes ...fields) fields {
	body := fields{"name": name, "machineType": "e2-standard-4", "nodeCount": 1}
	for _, change := range changes {
		for name, value := range change {
			body[name] = value
		}
	}
	return body
}

func pools(all ...any) fields { return fields{"nodePools": all} }

var autopilot = fields{"mode": "autopilot", "location": "europe-west1", "nodePools": nil}

// world is one record, the provider, and its double with a clock.
type world struct {
	*Provider
	t       *testing.T
	clock   *double.Clock
	cloud   *double.Server
	account managed.Account
	row     managed.Cluster
	events  []string
	// lost are the writes whose answers a crash took.
	crash bool
}

var checker = sync.OnceValues(func() (*double.Checker, error) { return double.LoadChecker(context.Background()) })

const madeToken = "access-token-made-for-the-test"

// signedIn are credentials that need no token endpoint.
var signedIn = Given(clustermanager.NewSecret(madeToken))

func newWorld(t *testing.T, change func(*double.Options, *managed.Account), changes ...fields) *world {
	t.Helper()
	check, err := checker()
	if err != nil {
		t.Fatal(err)
	}
	clock := double.NewClock(start)
	options := double.Options{
		Clock: clock.Now, Checker: check, Authority: "made for the test",
		Authorize: func(_, bearer string) bool { return bearer == madeToken },
	}
	row, account := record(t, changes...)
	if change != nil {
		change(&options, &account)
	}
	cloud := double.New(options)
	web := httptest.NewServer(cloud)
	t.Cleanup(web.Close)
	t.Cleanup(func() {
		for _, finding := range cloud.Findings() {
			t.Errorf("the discovery document has another word: %s", finding)
		}
	})
	return &world{
		Provider: New(Options{Endpoint: web.URL, Credentials: signedIn, PlaneTimeout: time.Minute}), t: t, clock: clock, cloud: cloud, account: account, row: row,
	}
}

// record is what create makes of an input.
func record(t *testing.T, changes ...fields) (managed.Cluster, managed.Account) {
	t.Helper()
	body, err := json.Marshal(wanted(changes...))
	if err != nil {
		t.Fatal(err)
	}
	in, err := managed.Decode(managed.Create, body)
	if err != nil {
		t.Fatal(err)
	}
	pool, placement, err := catalogue().Place(in, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	row, _, err := managed.NewCluster(in, alice, pool, placement, start)
	if err != nil {
		t.Fatal(err)
	}
	account, _ := catalogue().Account(row.AccountID)
	return row, account
}

// pass is one pass of a reconciler over the record.
func (w *world) pass() {
	now := w.clock.Now()
	result := managed.Step(w.row, w.Look(w.t.Context(), w.account, w.row), now)
	w.save(result)
	if result.Write == nil {
		return
	}
	answer := w.Send(w.t.Context(), w.account, w.row, *result.Write)
	if !w.crash {
		w.save(managed.Step(w.row, managed.Observed{Answer: &answer}, now))
	}
}

func (w *world) save(result managed.Result) {
	w.row = result.Row
	for _, event := range result.Events {
		w.events = append(w.events, strings.TrimPrefix(string(event.Type), "kubernetes.cluster."))
	}
}

// until makes passes as they are due, up to a time after the start.
func (w *world) until(after time.Duration) {
	end := start.Add(after)
	for !w.row.NextLook.IsZero() && !w.row.NextLook.After(end) {
		if w.row.NextLook.After(w.clock.Now()) {
			w.clock.Set(w.row.NextLook)
		}
		w.pass()
	}
	w.clock.Set(end)
}

// sent are the writes so far, each by its call and its answer's code.
func (w *world) sent() []string {
	var all []string
	for _, request := range w.cloud.Requests() {
		if request.Method != http.MethodGet {
			all = append(all, request.Call)
		}
	}
	return all
}

// bodies are those of a call so far.
func (w *world) bodies(call string) []fields {
	w.t.Helper()
	var all []fields
	for _, request := range w.cloud.Requests() {
		if request.Call != call {
			continue
		}
		var body fields
		if err := json.Unmarshal(request.Body, &body); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, body)
	}
	return all
}

func (w *world) state(want managed.State) {
	w.t.Helper()
	if w.row.State != want {
		w.t.Errorf("state %s (%s), want %s", w.row.State, w.row.Message, want)
	}
}

func (w *world) told(want ...string) {
	w.t.Helper()
	equal(w.t, "events", want, w.events)
	w.events = nil
}

func (w *world) update(in managed.UpdateInput) {
	w.t.Helper()
	row, err := w.row.Update(in, w.clock.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	w.row = row
}

func (w *world) delete() {
	row, event, unchanged := w.row.Delete(w.clock.Now())
	if !unchanged {
		w.events = append(w.events, strings.TrimPrefix(string(event.Type), "kubernetes.cluster."))
	}
	w.row = row
}

// ready is a world whose cluster is ready.
func ready(t *testing.T, changes ...fields) *world {
	t.Helper()
	w := newWorld(t, nil, changes...)
	w.until(10 * time.Minute)
	w.state(managed.StateReady)
	w.events = nil
	return w
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
