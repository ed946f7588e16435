package catalog

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clustermanager/cluster-manager/managed"
)

const scene = "testdata/scene.yaml"

func read(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(scene)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := Parse([]byte(read(t)))
	if err != nil {
		t.Fatal(err)
	}
	want := &managed.Catalogue{
		Accounts: []managed.Account{
			{
				ID: "PA", Provider: "gcp", Project: "platform", Zones: []string{"europe-west1-b", "europe-west1-c", "us-east1-b"},
				Credentials: managed.AccountCredentials{Kind: managed.CredentialsKey, SecretFile: "/secrets/pa.json"}, Egress: []string{"192.0.2.0/24"},
			},
			{
				ID: "TA", Tenant: "acme", Provider: "gcp", Project: "acme-own", Zones: []string{"europe-west1-b"},
				Credentials: managed.AccountCredentials{Kind: managed.CredentialsDefault}, DNSEndpoint: true,
			},
			{ID: "HZ", Provider: "metal"},
		},
		Pools: []managed.Pool{
			{ID: "pool_00000000000000000000000000", Account: "PA", Kind: managed.PoolProvider, Billing: managed.BillingMetered},
			{ID: "pool_11111111111111111111111111", Account: "TA", Kind: managed.PoolProvider, Billing: managed.BillingNone},
			{ID: "pool_22222222222222222222222222", Account: "HZ", Kind: managed.PoolHost, Billing: managed.BillingPlatformFee},
		},
		Offers: []managed.Offer{{Pool: "pool_00000000000000000000000000", Tenant: "acme", Suspended: true, ExcludedRegions: []string{"us-east1"}}},
		Networks: []managed.Network{{
			ID: "net_00000000000000000000000000", Tenant: "acme", Account: "PA", Provisioned: true, Network: "n1",
			Subnets: []managed.Subnet{{Name: "s-a", Region: "europe-west1", Ready: true}},
		}},
		Budgets:  []managed.Budget{{Tenant: "acme", UsedUp: true}},
		Bindings: []managed.Binding{{Tenant: "acme", Role: managed.TenantOperator, Users: []string{"https://id.example.com|alice"}, Groups: []string{"operators"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("catalogue (-want +got):\n%s", diff)
	}
	for _, empty := range []string{"", "# nothing\n", "null\n", "---\n"} {
		if _, err := Parse([]byte(empty)); err == nil {
			t.Errorf("%q, as a file half written, is a catalogue", empty)
		}
	}
	if _, err := Parse([]byte("{}")); err != nil {
		t.Errorf("a catalogue of nothing: %v", err)
	}
}

func TestFaultyCatalogues(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ old, new, want string }{
		"unknown field":           {"usedUp", "used", `unknown field "used"`},
		"doubled key":             {"    project: platform\n", "    project: platform\n    project: other\n", "already set"},
		"second document":         {"accounts:", "---\nx: 1\n---\naccounts:", "a second document"},
		"no YAML":                 {"accounts:", "accounts: [", "decoding"},
		"wrong type":              {"usedUp: true", "usedUp: yes please", "decoding"},
		"account twice":           {"id: TA", "id: PA", "accounts[1].id: PA is there twice"},
		"account without zones":   {"    zones: [europe-west1-b]\n", "", "accounts[1].zones: is empty"},
		"account without project": {"    project: platform\n", "", "accounts[0].project"},
		"a region as a zone":      {"us-east1-b]", "us-east1]", `accounts[0].zones[2]: "us-east1"`},
		"zone twice":              {"us-east1-b]", "europe-west1-b]", "accounts[0].zones[2]: europe-west1-b is there twice"},
		"egress":                  {"192.0.2.0/24", "192.0.2.0", "accounts[0].egress[0]"},
		"credentials kind":        {"kind: key", "kind: password", "accounts[0].credentials.kind"},
		"credentials no file":     {", secretFile: /secrets/pa.json", "", "accounts[0].credentials.secretFile: is required"},
		"credentials spare file":  {"kind: default", "kind: default, secretFile: /x", "accounts[1].credentials.secretFile: has no use"},
		"pool's id":               {"pool_1111111111", "pool_i111111111", "pools[1].id"},
		"pool's account":          {"account: TA", "account: XX", `pools[1].account: "XX" is none of the accounts`},
		"pool's kind":             {"kind: host", "kind: guest", "pools[2].kind"},
		"pool's billing":          {"billing: none", "billing: free", "pools[1].billing"},
		"offer's pool":            {"pool: pool_0", "pool: pool_3", "offers[0].pool"},
		"offer of an own pool":    {"pool: pool_00000000000000000000000000", "pool: pool_11111111111111111111111111", "only a platform account's pool is offered"},
		"offer's region":          {"[us-east1]", "[EUROPE]", "offers[0].excludedRegions[0]"},
		"network's id":            {"net_0", "nat_0", "networks[0].id"},
		"network's name":          {"    network: n1\n", "", "networks[0].network"},
		"subnet's region":         {"region: europe-west1,", "region: Europe,", "networks[0].subnets[0].region"},
		"budget's tenant":         {"tenant: acme, usedUp", "tenant: a b, usedUp", "budgets[0].tenant"},
		"binding's role":          {"role: operator", "role: owner", "bindings[0].role"},
		"binding's user":          {"https://id.example.com|alice", "alice", "bindings[0].users[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := read(t)
			if !strings.Contains(text, test.old) {
				t.Fatalf("the scene has no %q", test.old)
			}
			got, err := Parse([]byte(strings.Replace(text, test.old, test.new, 1)))
			if err == nil || !strings.Contains(err.Error(), test.want) || got != nil {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("kind: host", "kind: guest", "role: operator", "role: owner").Replace(read(t))
	_, err := Parse([]byte(text))
	if err == nil || !strings.Contains(err.Error(), "pools[2].kind") || !strings.Contains(err.Error(), "bindings[0].role") {
		t.Errorf("%v", err)
	}
}

func TestS06AFaultyFileKeepsTheOldOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalogue.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(read(t))
	file, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	reload := func(news bool, fault string, usedUp bool) {
		t.Helper()
		got, err := file.Reload()
		if got != news || (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("news %t, %v, want %t, %q", got, err, news, fault)
		}
		if (file.Fault() == nil) != (fault == "") {
			t.Errorf("fault %v", file.Fault())
		}
		if file.Current().BudgetUsedUp("acme") != usedUp {
			t.Errorf("budget used up: %t", !usedUp)
		}
	}
	reload(false, "", true)
	write(strings.Replace(read(t), "usedUp: true", "usedUp: false", 1))
	reload(true, "", false)
	write("accounts: 5")
	reload(true, "decoding", false)
	reload(false, "decoding", false)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	reload(true, "no such file", false)
	reload(false, "no such file", false)
	write(read(t))
	reload(true, "", true)
}

func TestS06FollowReportsWhatIsNew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalogue.yaml")
	if err := os.WriteFile(path, []byte(read(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		file, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var reports []error
		go file.Follow(ctx, time.Second, func(err error) { reports = append(reports, err) })
		// Between two readings, so that none sees a file half written.
		time.Sleep(5500 * time.Millisecond)
		if err := os.WriteFile(path, []byte("accounts: 5"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if err := os.WriteFile(path, []byte("accounts: []"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		cancel()
		synctest.Wait()
		if len(reports) != 2 || reports[0] == nil || reports[1] != nil {
			t.Errorf("reports %v", reports)
		}
	})
}

func TestAFaultyFileDoesNotOpen(t *testing.T) {
	t.Parallel()
	if file, err := Open(filepath.Join(t.TempDir(), "none.yaml")); err == nil || file != nil {
		t.Errorf("%v", err)
	}
}
