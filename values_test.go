package clustermanager

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// credentials are values with the canary wherever a fleet's values may hold a credential.
func credentials() Values {
	address := func(before, after string) map[string]any {
		return map[string]any{"httpProxy": before + canary + after, "httpsProxy": "http://u:p@" + canary + after}
	}
	return NewValues(map[string]any{
		"global": map[string]any{
			"components": map[string]any{"containerd": map[string]any{"containerRegistries": map[string]any{
				"docker.io": []any{
					map[string]any{"endpoint": "mirror.example", "credentials": map[string]any{"username": "u", "password": canary, "auth": []any{canary}}},
					map[string]any{"endpoint": "https://u:" + canary + "@mirror.example"},
					map[string]any{"endpoint": map[string]any{"x": canary}, "auth": canary},
					canary,
				},
				"quay.io": canary,
			}}},
			"connectivity": map[string]any{"proxy": address("http://u:", "@proxy:3128")},
		},
		"other": []any{map[string]any{"clientSecret": canary, "dockerPassword": canary, "apiToken": canary, "privateKey": canary}, "u:" + canary + "@proxy"},
	})
}

func TestValuesInJSONLackTheirCredentialsAlone(t *testing.T) {
	values := NewValues(map[string]any{
		"list": []any{"a", 1.5, true, nil, map[string]any{}}, "baseDomain": "acme.example.io", "structuredAuthentication": map[string]any{"issuerUrl": "https://issuer"},
		"containerRegistries": map[string]any{"docker.io": []any{map[string]any{
			"endpoint": "mirror.example", "credentials": map[string]any{"password": "made-for-a-test", "auth": 17.5, "none": nil, "username": ""},
		}}},
		"proxy":    map[string]any{"httpProxy": "http://u:made/for@a-test@proxy:3128", "httpsProxy": "http://proxy:3128", "noProxy": "a,b"},
		"identity": map[string]any{"existingSecret": "identity", "clientSecret": "made-for-a-test", "credentials": map[string]any{"secretName": "made-for-a-test"}},
		"tls":      map[string]any{"secretName": "tls", "caSecretRef": map[string]any{"name": "ca", "password": "made-for-a-test"}, "secretNames": "made-for-a-test"},
	})
	want := map[string]any{
		"list": []any{"a", 1.5, true, nil, map[string]any{}}, "baseDomain": "acme.example.io", "structuredAuthentication": map[string]any{"issuerUrl": "https://issuer"},
		"containerRegistries": map[string]any{"docker.io": []any{map[string]any{
			"endpoint": "mirror.example", "credentials": map[string]any{"password": Masked, "auth": Masked, "none": nil, "username": ""},
		}}},
		"proxy":    map[string]any{"httpProxy": "http://" + Masked + "@proxy:3128", "httpsProxy": "http://proxy:3128", "noProxy": "a,b"},
		"identity": map[string]any{"existingSecret": "identity", "clientSecret": Masked, "credentials": map[string]any{"secretName": Masked}},
		"tls":      map[string]any{"secretName": "tls", "caSecretRef": map[string]any{"name": "ca", "password": Masked}, "secretNames": Masked},
	}
	data, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	var back Values
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, back.Reveal()); diff != "" {
		t.Error(diff)
	}
}

func TestValuesReadFromAFile(t *testing.T) {
	var values Values
	if err := json.Unmarshal([]byte(`{"credentials":"`+canary+`"}`), &values); err != nil || values.Reveal()["credentials"] != canary {
		t.Errorf("decoding: %v", err)
	}
	if err := json.Unmarshal([]byte(`["`+canary+`"]`), &values); err == nil || err.Error() != "values: decoding: not a mapping" {
		t.Errorf("decoding a list: %v", err)
	}
	if !(Values{}).IsZero() || (Values{}).Reveal() != nil || !NewValues(nil).IsZero() {
		t.Error("the zero Values hold something")
	}
}
