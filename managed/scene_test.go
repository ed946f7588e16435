package managed

import "strings"

// Ids of the scene.
var (
	poolP  = "pool_" + strings.Repeat("p", 26)
	poolPF = "pool_" + strings.Repeat("f", 26)
	poolPN = "pool_" + strings.Repeat("n", 26)
	poolPX = "pool_" + strings.Repeat("x", 26)
	poolT  = "pool_" + strings.Repeat("t", 26)
	poolZ  = "pool_" + strings.Repeat("z", 26)
	poolH  = "pool_" + strings.Repeat("h", 26)

	networkN1 = "net_" + strings.Repeat("1", 26)
	networkN2 = "net_" + strings.Repeat("2", 26)
	networkN3 = "net_" + strings.Repeat("3", 26)
	networkN4 = "net_" + strings.Repeat("4", 26)
)

// scene is the catalogue that the checks assume.
func scene() *Catalogue {
	zones := []string{"europe-west1-b", "europe-west1-c", "us-east1-b"}
	ready := []Subnet{
		{Name: "s-b", Region: "europe-west1", Ready: true},
		{Name: "s-a", Region: "europe-west1", Ready: true},
		{Name: "r", Region: "europe-west1"},
	}
	return &Catalogue{
		Accounts: []Account{
			{ID: "PA", Provider: ProviderGCP, Project: "platform", Zones: zones},
			{ID: "TA", Tenant: "acme", Provider: ProviderGCP, Project: "acme-own", Zones: zones},
			{ID: "HZ", Provider: "metal", Zones: zones},
		},
		Pools: []Pool{
			{ID: poolP, Account: "PA", Kind: PoolProvider, Billing: BillingMetered},
			{ID: poolPF, Account: "PA", Kind: PoolProvider, Billing: BillingPlatformFee},
			{ID: poolPN, Account: "PA", Kind: PoolProvider, Billing: BillingNone},
			{ID: poolPX, Account: "PA", Kind: PoolProvider, Billing: BillingMetered},
			{ID: poolT, Account: "TA", Kind: PoolProvider, Billing: BillingMetered},
			{ID: poolZ, Account: "HZ", Kind: PoolProvider, Billing: BillingMetered},
			{ID: poolH, Account: "PA", Kind: PoolHost, Billing: BillingMetered},
		},
		Offers: []Offer{
			{Pool: poolP, Tenant: "acme"}, {Pool: poolPF, Tenant: "acme"}, {Pool: poolPN, Tenant: "acme"},
			{Pool: poolZ, Tenant: "acme"}, {Pool: poolH, Tenant: "acme"}, {Pool: poolP, Tenant: "other"},
		},
		Networks: []Network{
			{ID: networkN1, Tenant: "acme", Account: "PA", Provisioned: true, Network: "n1", Subnets: ready},
			{ID: networkN2, Tenant: "acme", Account: "PA"},
			{ID: networkN3, Tenant: "other", Account: "PA", Provisioned: true, Network: "n3", Subnets: ready},
			{ID: networkN4, Tenant: "acme", Account: "TA", Provisioned: true, Network: "n4", Subnets: ready},
		},
		Bindings: []Binding{
			{Tenant: "acme", Role: TenantOperator, Users: []string{alice.ID}},
			{Tenant: "acme", Role: TenantViewer, Groups: []string{"viewers"}},
		},
	}
}

func onlyGCP(provider string) bool { return provider == ProviderGCP }
