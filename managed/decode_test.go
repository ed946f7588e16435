package managed

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// okBody is the scene's minimal create, as a body.
func okBody() map[string]any {
	return map[string]any{
		"tenantId": "acme", "poolId": poolP, "name": "one", "mode": "standard", "location": "europe-west1-b", "idempotencyKey": "key-1",
		"nodePools": []any{map[string]any{"name": "a", "machineType": "e2-standard-4", "nodeCount": 1}},
	}
}

func encode(t *testing.T, body any) []byte {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// fields are the paths of an INVALID_INPUT; nil without an error.
func fields(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	if CodeOf(err) != InvalidInput {
		t.Fatalf("%v", err)
	}
	var paths []string
	for _, fault := range details(err).Fields {
		paths = append(paths, fault.Field)
	}
	return paths
}

func TestC01TheMinimalCreate(t *testing.T) {
	t.Parallel()
	got, err := Decode(Create, encode(t, okBody()))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "input", okInput(), got)
}

// TestShapesOfCreate has the checks of create that the input stage decides and [TestS04EveryBoundOfTheReference] does not.
func TestShapesOfCreate(t *testing.T) {
	t.Parallel()
	manyTimes := func(count int, item func(int) any) []any {
		items := []any{}
		for i := range count {
			items = append(items, item(i))
		}
		return items
	}
	network := func(int) any { return "10.0.0.0/8" }
	pool := func(i int) any {
		return map[string]any{"name": "p" + string(rune('a'+i)), "machineType": "m", "nodeCount": 1}
	}
	for name, test := range map[string]struct {
		path  string
		value any
		want  []string
	}{
		"C07 ten pools":                 {"nodePools", manyTimes(10, pool), nil},
		"C07 eleven pools":              {"nodePools", manyTimes(11, pool), []string{"nodePools"}},
		"C13 fifty networks":            {"authorizedNetworks", manyTimes(50, network), nil},
		"C13 fifty-one networks":        {"authorizedNetworks", manyTimes(51, network), []string{"authorizedNetworks"}},
		"C14 too long a prefix":         {"authorizedNetworks", []any{"10.0.0.0/33"}, []string{"authorizedNetworks[0]"}},
		"C14 an address":                {"authorizedNetworks", []any{"10.0.0.1"}, []string{"authorizedNetworks[0]"}},
		"C14 version 6":                 {"authorizedNetworks", []any{"10.0.0.0/8", "2001:db8::/32"}, []string{"authorizedNetworks[1]"}},
		"C14 host bits":                 {"authorizedNetworks", []any{"10.0.0.5/8"}, []string{"authorizedNetworks[0]"}},
		"C14 not a string":              {"authorizedNetworks", []any{5, "10.0.0.5/8"}, []string{"authorizedNetworks[0]", "authorizedNetworks[1]"}},
		"C32 bounds that cross":         {"nodePools[].autoscaling", map[string]any{"minNodes": 5, "maxNodes": 3}, []string{"nodePools[0].autoscaling.minNodes"}},
		"C32 bounds alike":              {"nodePools[].autoscaling", map[string]any{"minNodes": 1000, "maxNodes": 1000}, nil},
		"C36 a pool's name twice":       {"nodePools", []any{pool(0), pool(1), pool(0)}, []string{"nodePools[2].name"}},
		"C37 an unknown field":          {"nodepools", []any{}, []string{"nodepools"}},
		"C37 an unknown field inside":   {"nodePools[].spots", true, []string{"nodePools[0].spots"}},
		"C47 a taint's effect missing":  {"nodePools[].taints", []any{map[string]any{"key": "k"}}, []string{"nodePools[0].taints[0].effect"}},
		"C47 two at once":               {"nodePools[].accelerators", map[string]any{}, []string{"nodePools[0].accelerators.type", "nodePools[0].accelerators.count"}},
		"C48 pools as an object":        {"nodePools", map[string]any{}, []string{"nodePools"}},
		"C48 labels as a list":          {"nodePools[].labels", []any{}, []string{"nodePools[0].labels"}},
		"C48 a label that is no string": {"nodePools[].labels", map[string]any{"a": 5}, []string{"nodePools[0].labels.a"}},
		"C48 a null label":              {"nodePools[].labels", map[string]any{"a": nil}, []string{"nodePools[0].labels.a"}},
		"C56 no zones":                  {"nodePools[].zones", []any{}, nil},
		"C56 a zone twice":              {"nodePools[].zones", []any{"z-a", "z-b", "z-a"}, []string{"nodePools[0].zones[2]"}},
		"X01 dryRun":                    {"dryRun", true, []string{"dryRun"}},
		"a whole number with a point":   {"nodePools[].nodeCount", json.Number("2.0"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := okBody()
			set(body, test.path, test.value)
			_, err := Decode(Create, encode(t, body))
			equal(t, "fields", test.want, fields(t, err))
		})
	}
}

func TestC14TheMessageGivesTheNetwork(t *testing.T) {
	t.Parallel()
	body := okBody()
	body["authorizedNetworks"] = []any{"10.0.0.5/8"}
	_, err := Decode(Create, encode(t, body))
	if err == nil || !strings.Contains(err.Error(), "10.0.0.0/8") {
		t.Errorf("%v", err)
	}
}

func TestC47AllFaultsInOneAnswer(t *testing.T) {
	t.Parallel()
	body := okBody()
	delete(body, "tenantId")
	set(body, "nodePools[].machineType", absent)
	set(body, "name", "A")
	_, err := Decode(Create, encode(t, body))
	equal(t, "fields", []string{"tenantId", "name", "nodePools[0].machineType"}, fields(t, err))
	if !strings.HasPrefix(err.Error(), "kubernetesClusters.create: tenantId is required; ") {
		t.Errorf("message %q", err)
	}
}

func TestOneFaultAField(t *testing.T) {
	t.Parallel()
	body := okBody()
	body["name"] = strings.Repeat("A", 41)
	_, err := Decode(Create, encode(t, body))
	want := []FieldFault{{Field: "name", Message: "has 41 characters, at most 40 are allowed"}}
	equal(t, "faults", want, details(err).Fields)
	if strings.Contains(err.Error(), "AAAA") {
		t.Error("the message has the caller's value")
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	const get = `"tenantId":"acme","clusterId":"kcl_00000000000000000000000000"`
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"right":               {`{` + get + `}`, nil},
		"empty":               {``, []string{""}},
		"null":                {`null`, []string{""}},
		"a list":              {`[]`, []string{""}},
		"cut":                 {`{` + get, []string{""}},
		"something behind it": {`{` + get + `} {}`, []string{""}},
		"no JSON":             {`tenantId: acme`, []string{""}},
		"a doubled key":       {`{` + get + `,"tenantId":"other"}`, []string{"tenantId"}},
		"a doubled null":      {`{` + get + `,"tenantId":null}`, []string{"tenantId"}},
		"another case":        {`{"TenantId":"acme","clusterId":"kcl_00000000000000000000000000"}`, []string{"TenantId", "tenantId"}},
		"too deep":            {`{` + get + `,"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Decode(Get, []byte(test.body))
			equal(t, "fields", test.want, fields(t, err))
		})
	}
}

func TestADoubledKeyInsideAPool(t *testing.T) {
	t.Parallel()
	body := strings.Replace(string(encode(t, okBody())), `"nodeCount":1`, `"nodeCount":1,"nodeCount":2`, 1)
	_, err := Decode(Create, []byte(body))
	equal(t, "fields", []string{"nodePools[0].nodeCount"}, fields(t, err))
}

func TestU01U12WhatUpdateNames(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fields map[string]any
		want   []string
	}{
		"U01 nothing":             {nil, []string{""}},
		"U01 null":                {map[string]any{"version": nil, "description": nil}, []string{""}},
		"U05 no networks":         {map[string]any{"authorizedNetworks": []any{}}, nil},
		"U12 an empty text":       {map[string]any{"description": ""}, nil},
		"U12 a version":           {map[string]any{"version": "1.34.1-gke.1"}, nil},
		"U12 latest":              {map[string]any{"version": "latest"}, []string{"version"}},
		"U12 a number":            {map[string]any{"version": 5}, []string{"version"}},
		"U12 a bad network":       {map[string]any{"authorizedNetworks": []any{"10.0.0.1/8"}}, []string{"authorizedNetworks[0]"}},
		"U12 name":                {map[string]any{"name": "two", "description": "x"}, []string{"name"}},
		"U12 an unknown one only": {map[string]any{"name": "two"}, []string{"name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := map[string]any{"tenantId": "acme", "clusterId": "kcl_" + strings.Repeat("0", 26)}
			for field, value := range test.fields {
				body[field] = value
			}
			in, err := Decode(Update, encode(t, body))
			equal(t, "fields", test.want, fields(t, err))
			if _, cleared := test.fields["authorizedNetworks"]; cleared && err == nil && in.AuthorizedNetworks == nil {
				t.Error("an empty list is not named")
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	body := map[string]any{"tenantId": "acme", "clusterId": "kcl_" + strings.Repeat("0", 26), "role": nil}
	in, err := Decode(Credentials, encode(t, body))
	if err != nil || in.Role != RoleView || in.TTLSeconds != nil {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestC23C24TheCanonicalInput(t *testing.T) {
	t.Parallel()
	hash := func(path string, value any) string {
		t.Helper()
		body := okBody()
		if path != "" {
			set(body, path, value)
		}
		in, err := Decode(Create, encode(t, body))
		if err != nil {
			t.Fatal(err)
		}
		sum, err := in.Hash()
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	first := hash("", nil)
	// The hash stands in records: another one breaks every retry across a release.
	equal(t, "hash", "b013aecf8f9f0c7f533418d3a89af07375ee53d31161af0ef683e00086f4501c", first)
	for _, same := range []struct {
		path  string
		value any
	}{
		{"releaseChannel", "regular"}, {"releaseChannel", nil}, {"description", ""}, {"description", nil}, {"privateNodes", false},
		{"authorizedNetworks", []any{}}, {"nodePools[].spot", false}, {"nodePools[].zones", []any{}}, {"nodePools[].labels", map[string]any{}},
		{"nodePools[].taints", nil}, {"nodePools[].nodeCount", json.Number("1.0")},
	} {
		if hash(same.path, same.value) != first {
			t.Errorf("%s = %v changes the hash", same.path, same.value)
		}
	}
	seen := map[string]string{first: "the first"}
	for path, value := range map[string]any{
		"projectId": "prj_" + strings.Repeat("0", 26), "poolId": poolPX, "name": "two", "location": "us-east1-b",
		"releaseChannel": "rapid", "version": "1.33", "networkId": networkN1, "authorizedNetworks": []any{"10.0.0.0/8"},
		"privateNodes": true, "description": "x", "nodePools[].nodeCount": 2, "nodePools[].spot": true,
		"nodePools[].autoscaling": map[string]any{"minNodes": 0, "maxNodes": 1}, "nodePools[].labels": map[string]any{"a": "b"},
		"nodePools[].taints": []any{map[string]any{"key": "k", "effect": "NoSchedule"}},
	} {
		sum := hash(path, value)
		if other, twice := seen[sum]; twice {
			t.Errorf("%s has the hash of %s", path, other)
		}
		seen[sum] = path
	}
}

func TestErrorsAsTheyAreAnswered(t *testing.T) {
	t.Parallel()
	got := string(encode(t, Envelope{Denied(ActionCreate, ResourceCluster)}))
	want := `{"error":{"code":"ACCESS_DENIED","message":"compute-kubernetes-cluster: compute:kubernetes:create is not allowed to you here: ` +
		`ask the tenant's operator for the right","details":{"action":"compute:kubernetes:create","resourceType":"compute-kubernetes-cluster"}}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("envelope (-want +got):\n%s", diff)
	}
	equal(t, "no details", `{"error":{"code":"UNAUTHENTICATED","message":"m","details":{}}}`, string(encode(t, Envelope{Fault(Unauthenticated, "m")})))
	for code, status := range map[Code]int{
		InvalidInput: 400, Unauthenticated: 401, AccessDenied: 403, NotFound: 404, Conflict: 409, InvalidState: 409, Unsupported: 422,
		QuotaExceeded: 429, RateLimited: 429, Unavailable: 503, Internal: 500, "SOMETHING": 500,
	} {
		equal(t, string(code), status, code.Status())
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"tenantId":"acme","nodePools":[{"name":"a","taints":[{}],"labels":{"a":null}}],"authorizedNetworks":["10.0.0.5/8"]}`))
	f.Add([]byte(`{"tenantId":"\u0000","nodePools":[null,1,"x",[],{"autoscaling":{"minNodes":1e400}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := Decode(Create, body)
		if err != nil && CodeOf(err) != InvalidInput {
			t.Errorf("%v", err)
		}
		if err == nil {
			if _, err := in.Hash(); err != nil {
				t.Error(err)
			}
		}
	})
}
