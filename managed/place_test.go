package managed

import (
	"errors"
	"strings"
	"testing"
)

func TestPlace(t *testing.T) {
	t.Parallel()
	zones, regions := []string{"europe-west1-b", "europe-west1-c", "us-east1-b"}, []string{"europe-west1", "us-east1"}
	badLocation := Details{Fields: []FieldFault{{Field: "location"}}, Zones: zones, Regions: regions}
	badZone := func() Details {
		return Details{Fields: []FieldFault{{Field: "nodePools[0].zones[0]"}}, Zones: zones[:2], Regions: regions}
	}
	field := func(name string) Details { return Details{Fields: []FieldFault{{Field: name}}} }
	autopilot := func(in *CreateInput) { in.Mode, in.NodePools = ModeAutopilot, nil }
	for name, test := range map[string]struct {
		change    func(*CreateInput)
		placement Placement
		code      Code
		details   Details
	}{
		"C01 zonal":                    {func(*CreateInput) {}, Placement{Region: "europe-west1"}, "", Details{}},
		"C08 another zone":             {func(in *CreateInput) { in.Location = "us-east1-b" }, Placement{Region: "us-east1"}, "", Details{}},
		"C08 another region":           {func(in *CreateInput) { in.Location = "us-east1" }, Placement{Region: "us-east1", Zones: zones[2:]}, "", Details{}},
		"C59 regional":                 {func(in *CreateInput) { in.Location = "europe-west1" }, Placement{Region: "europe-west1", Zones: zones[:2]}, "", Details{}},
		"C04 autopilot":                {func(in *CreateInput) { autopilot(in); in.Location = "europe-west1" }, Placement{Region: "europe-west1"}, "", Details{}},
		"autopilot in a zone":          {autopilot, Placement{}, InvalidInput, badLocation},
		"C05 autopilot with a pool":    {func(in *CreateInput) { in.Mode, in.Location = ModeAutopilot, "us-east1" }, Placement{}, InvalidInput, field("nodePools")},
		"C06 standard without a pool":  {func(in *CreateInput) { in.NodePools = nil }, Placement{}, InvalidInput, field("nodePools")},
		"C09 not the account's region": {func(in *CreateInput) { in.Location = "europe-west4" }, Placement{}, InvalidInput, badLocation},
		"C09 not the account's zone":   {func(in *CreateInput) { in.Location = "asia-east1-a" }, Placement{}, InvalidInput, badLocation},
		"C10 not offered":              {func(in *CreateInput) { in.PoolID = poolPX }, Placement{}, NotFound, Details{ResourceType: ResourcePool}},
		"C10 another tenant's":         {func(in *CreateInput) { in.PoolID, in.TenantID = poolT, "other" }, Placement{}, NotFound, Details{ResourceType: ResourcePool}},
		"C10 unknown":                  {func(in *CreateInput) { in.PoolID = "pool_" + strings.Repeat("0", 26) }, Placement{}, NotFound, Details{ResourceType: ResourcePool}},
		"C11 another provider":         {func(in *CreateInput) { in.PoolID = poolZ }, Placement{}, Unsupported, Details{Provider: "metal"}},
		"C12 a host pool":              {func(in *CreateInput) { in.PoolID = poolH }, Placement{}, Unsupported, Details{Provider: "gcp"}},
		"C17 the first subnet by name": {func(in *CreateInput) { in.NetworkID = networkN1 },
			Placement{Region: "europe-west1", Network: "n1", Subnetwork: "s-a"}, "", Details{}},
		"C18 not provisioned":      {func(in *CreateInput) { in.NetworkID = networkN2 }, Placement{}, InvalidState, Details{Network: networkN2, Region: "europe-west1"}},
		"C18 another tenant's":     {func(in *CreateInput) { in.NetworkID = networkN3 }, Placement{}, InvalidInput, field("networkId")},
		"C18 on another account":   {func(in *CreateInput) { in.NetworkID = networkN4 }, Placement{}, InvalidInput, field("networkId")},
		"C49 an unknown network":   {func(in *CreateInput) { in.NetworkID = "net_" + strings.Repeat("0", 26) }, Placement{}, InvalidInput, field("networkId")},
		"C19 no subnet there":      {func(in *CreateInput) { in.NetworkID, in.Location = networkN1, "us-east1-b" }, Placement{}, InvalidState, Details{Network: networkN1, Region: "us-east1"}},
		"C30 a zone of the region": {func(in *CreateInput) { in.NodePools[0].Zones = []string{"europe-west1-c"} }, Placement{Region: "europe-west1"}, "", Details{}},
		"C30 of another region":    {func(in *CreateInput) { in.NodePools[0].Zones = []string{"us-east1-b"} }, Placement{}, InvalidInput, badZone()},
		"C30 not the account's":    {func(in *CreateInput) { in.NodePools[0].Zones = []string{"europe-west1-d"} }, Placement{}, InvalidInput, badZone()},
		"C41 the tenant's own":     {func(in *CreateInput) { in.PoolID = poolT }, Placement{Region: "europe-west1"}, "", Details{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := okInput()
			test.change(&in)
			_, placement, err := scene().Place(in, onlyGCP)
			equal(t, "code", test.code, CodeOf(err))
			var fault *Error
			if errors.As(err, &fault) {
				for i := range fault.Details.Fields {
					fault.Details.Fields[i].Message = ""
				}
				equal(t, "details", test.details, fault.Details)
				return
			}
			equal(t, "placement", test.placement, placement)
		})
	}
}

func TestC28C29Admit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pool   string
		change func(*Catalogue)
		code   Code
		reason string
	}{
		"ok":                                   {poolP, func(*Catalogue) {}, "", ""},
		"C28 suspended":                        {poolP, func(c *Catalogue) { c.Offers[0].Suspended = true }, AccessDenied, ReasonOfferSuspended},
		"C28 the region excluded":              {poolP, func(c *Catalogue) { c.Offers[0].ExcludedRegions = []string{"europe-west1"} }, AccessDenied, ReasonRegionExcluded},
		"C28 another region excluded":          {poolP, func(c *Catalogue) { c.Offers[0].ExcludedRegions = []string{"us-east1"} }, "", ""},
		"C29 used up":                          {poolP, func(c *Catalogue) { c.Budgets = []Budget{{Tenant: "acme", UsedUp: true}} }, QuotaExceeded, ReasonBudgetUsedUp},
		"C29 used up, billing none":            {poolPN, func(c *Catalogue) { c.Budgets = []Budget{{Tenant: "acme", UsedUp: true}} }, "", ""},
		"C29 another tenant's used up":         {poolP, func(c *Catalogue) { c.Budgets = []Budget{{Tenant: "other", UsedUp: true}} }, "", ""},
		"C28 the own account needs no offer":   {poolT, func(c *Catalogue) { c.Offers = nil }, "", ""},
		"C28 an offer of the own is not asked": {poolT, func(c *Catalogue) { c.Offers = []Offer{{Pool: poolT, Tenant: "acme", Suspended: true}} }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			catalogue := scene()
			test.change(catalogue)
			pool, _, visible := catalogue.Pool(test.pool, "acme")
			if !visible {
				t.Fatal("the pool is not seen")
			}
			err := catalogue.Admit(pool, "acme", "europe-west1")
			equal(t, "code", test.code, CodeOf(err))
			var fault *Error
			if errors.As(err, &fault) {
				equal(t, "reason", test.reason, fault.Details.Reason)
			}
		})
	}
}

func TestRolesOfAPerson(t *testing.T) {
	t.Parallel()
	equal(t, "by name", []string{"acme/operator"}, scene().RolesOf(alice))
	equal(t, "by group", []string{"acme/viewer"}, scene().RolesOf(Principal{ID: "x", Groups: []string{"viewers", "others"}}))
	equal(t, "nobody", nil, scene().RolesOf(Principal{ID: "x"}))
}

func TestAListingShowsWhatItCouldLookInto(t *testing.T) {
	t.Parallel()
	here := &ProviderCluster{Label: "kcl_" + strings.Repeat("0", 52)}
	row := Cluster{ID: here.Label, Location: "europe-west1-b"}
	for name, test := range map[string]struct {
		location string
		listing  Listing
		seen     *ProviderCluster
		known    bool
	}{
		"there":                       {"europe-west1-b", Listing{Clusters: map[Spot]*ProviderCluster{row.Spot(): here}}, here, true},
		"gone":                        {"europe-west1-b", Listing{Missing: []string{"europe-west1-c", "us-east1"}}, nil, true},
		"its name in another zone":    {"europe-west1-c", Listing{Clusters: map[Spot]*ProviderCluster{row.Spot(): here}}, nil, true},
		"its zone is missing":         {"europe-west1-b", Listing{Missing: []string{"europe-west1-b"}}, nil, false},
		"a zone of its region is":     {"europe-west1", Listing{Missing: []string{"europe-west1-b"}}, nil, false},
		"there, though a zone is not": {"europe-west1", Listing{Clusters: map[Spot]*ProviderCluster{{"europe-west1", row.Spot().Name}: here}, Missing: []string{"europe-west1-b"}}, here, true},
	} {
		of := Cluster{ID: row.ID, Location: test.location}
		seen, known := test.listing.Look(&of).Get()
		if seen != test.seen || known != test.known {
			t.Errorf("%s: %v, %v", name, seen, known)
		}
	}
}
