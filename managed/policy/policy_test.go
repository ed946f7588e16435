package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustermanager/cluster-manager/managed"
)

const issuer = "https://id.example.com|"

// people of the scene; carl may create by a policy of his own.
var (
	alice = managed.Principal{ID: issuer + "alice"}
	vera  = managed.Principal{ID: issuer + "vera", Groups: []string{"viewers"}}
	carl  = managed.Principal{ID: issuer + "carl"}
	nina  = managed.Principal{ID: issuer + "nina", Groups: []string{"acme/operator"}}
)

const carlCreates = `@id("carl-creates")
permit (principal == User::"https://id.example.com|carl", action == Action::"compute:kubernetes:create", resource in ComputeTenant::"acme");`

func roles(principal managed.Principal) []string {
	catalogue := managed.Catalogue{Bindings: []managed.Binding{
		{Tenant: "acme", Role: managed.TenantOperator, Users: []string{alice.ID}},
		{Tenant: "acme", Role: managed.TenantViewer, Groups: []string{"viewers"}},
	}}
	return catalogue.RolesOf(principal)
}

func set(t *testing.T, more ...string) *Set {
	t.Helper()
	documents := []Document{Default(), {Name: "carl.cedar", Text: []byte(carlCreates)}}
	for _, text := range more {
		documents = append(documents, Document{Name: "more.cedar", Text: []byte(text)})
	}
	set, err := New(roles, documents...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func cluster(tenant, owner string) managed.Resource {
	return managed.Resource{
		Type: managed.ResourceCluster, ID: "kcl_x", Tenant: tenant, Owner: owner, AccountID: "PA", PoolID: "pool_p", ProjectID: "prj_x",
		Mode: managed.ModeStandard, Location: "europe-west1-b",
	}
}

// letters are the actions that are allowed, by their first letters but connect's, which is k.
func letters(of *Set, principal managed.Principal, resource managed.Resource) string {
	var text strings.Builder
	for _, action := range managed.Actions() {
		if of.Decide(managed.Query{Principal: principal, Action: action, Resource: resource}).Allowed {
			text.WriteString(map[managed.Action]string{
				managed.ActionCreate: "c", managed.ActionRead: "r", managed.ActionUpdate: "u", managed.ActionDelete: "d", managed.ActionConnect: "k",
			}[action])
		}
	}
	return text.String()
}

func TestWhoMayWhat(t *testing.T) {
	t.Parallel()
	tenant := managed.TenantResource("acme")
	for name, test := range map[string]struct {
		principal managed.Principal
		resource  managed.Resource
		want      string
	}{
		"the operator, the tenant":                {alice, tenant, "crudk"},
		"the operator, a cluster":                 {alice, cluster("acme", carl.ID), "crudk"},
		"the operator, another tenant's cluster":  {alice, cluster("other", "x"), ""},
		"the operator, another tenant":            {alice, managed.TenantResource("other"), ""},
		"C26 D07 U09 the viewer, a cluster":       {vera, cluster("acme", alice.ID), "rk"},
		"the viewer, the tenant":                  {vera, tenant, "rk"},
		"C44 the owner, his own":                  {carl, cluster("acme", carl.ID), "crudk"},
		"C44 the owner, another's":                {carl, cluster("acme", alice.ID), "c"},
		"L04 the owner, the tenant":               {carl, tenant, "c"},
		"C46 an owner who lost create":            {nina, cluster("acme", nina.ID), "rudk"},
		"V03 K14 nobody, a cluster":               {nina, cluster("acme", alice.ID), ""},
		"nobody, the tenant":                      {nina, tenant, ""},
		"nobody by an empty id, an ownerless one": {managed.Principal{}, tenant, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := letters(set(t), test.principal, test.resource); got != test.want {
				t.Errorf("allowed %q, want %q", got, test.want)
			}
		})
	}
}

func TestC27AllFiveAttributesReachTheDecision(t *testing.T) {
	t.Parallel()
	for attribute, change := range map[string]struct {
		value string
		other func(*managed.Resource)
	}{
		"providerAccountId": {"PA", func(r *managed.Resource) { r.AccountID = "TA" }},
		"poolId":            {"pool_p", func(r *managed.Resource) { r.PoolID = "pool_t" }},
		"projectId":         {"prj_x", func(r *managed.Resource) { r.ProjectID = "" }},
		"mode":              {"standard", func(r *managed.Resource) { r.Mode = managed.ModeAutopilot }},
		"location":          {"europe-west1-b", func(r *managed.Resource) { r.Location = "us-east1" }},
	} {
		t.Run(attribute, func(t *testing.T) {
			t.Parallel()
			set := set(t, `@id("not-that") forbid (principal, action, resource) when { resource.`+attribute+` == "`+change.value+`" };`)
			query := managed.Query{Principal: alice, Action: managed.ActionCreate, Resource: cluster("acme", alice.ID)}
			want := managed.Decision{Forbidden: true, Policies: []string{"not-that"}}
			if diff := cmp.Diff(want, set.Decide(query)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			change.other(&query.Resource)
			want = managed.Decision{Allowed: true, Policies: []string{"operator"}}
			if diff := cmp.Diff(want, set.Decide(query)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			query.Resource = managed.TenantResource("acme")
			if decision := set.Decide(query); !decision.Allowed {
				t.Errorf("the tenant, where it is \"\": %+v", decision)
			}
		})
	}
}

func TestAPolicyThatCannotBeEvaluatedRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a forbid": `@id("broken") forbid (principal, action, resource) unless { resource.region == "europe" };`,
		"a permit": `@id("broken") permit (principal, action, resource) when { resource.region == "europe" };`,
	} {
		decision := set(t, text).Decide(managed.Query{Principal: alice, Action: managed.ActionRead, Resource: cluster("acme", "")})
		if decision.Allowed || len(decision.Faults) != 1 || !strings.HasPrefix(decision.Faults[0], "broken: ") {
			t.Errorf("%s: %+v", name, decision)
		}
	}
}

func TestADecisionWithoutAPermit(t *testing.T) {
	t.Parallel()
	decision := set(t).Decide(managed.Query{Principal: nina, Action: managed.ActionRead, Resource: cluster("acme", "")})
	if diff := cmp.Diff(managed.Decision{}, decision); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
}

func TestPoliciesThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"no Cedar":             {`permit everything;`, "policies x.cedar: reading"},
		"an unknown action":    {`@id("a") forbid (principal, action == Action::"compute:kubernetes:reed", resource);`, `policy a: there is no action "compute:kubernetes:reed"`},
		"one among actions":    {`forbid (principal, action in [Action::"compute:kubernetes:read", Action::"read"], resource);`, `policy x.cedar#1: there is no action "read"`},
		"an action in a when":  {`forbid (principal, action, resource) when { action == Action::"x" };`, `there is no action "x"`},
		"an unknown type":      {`forbid (principal, action, resource is ComputeCluster);`, "there are no entities of type ComputeCluster"},
		"a type in a when":     {`forbid (principal, action, resource) when { principal is Person };`, "there are no entities of type Person"},
		"an unknown principal": {`forbid (principal in Team::"a", action, resource);`, "there are no entities of type Team"},
		"two of one id":        {`@id("a") permit (principal, action, resource); @id("a") forbid (principal, action, resource);`, "there are two of that name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if set, err := New(roles, Document{Name: "x.cedar", Text: []byte(test.text)}); err == nil || !strings.Contains(err.Error(), test.want) || set != nil {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	set, err := New(roles, Default())
	if err != nil {
		b.Fatal(err)
	}
	query := managed.Query{Principal: vera, Action: managed.ActionRead, Resource: cluster("acme", alice.ID)}
	for b.Loop() {
		set.Decide(query)
	}
}
