package compose

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// canary is a credential made for this test; it must appear in no output.
const canary = "made-for-this-test-0123456789"

// shapes are forms in which a credential may stand in the values, wanted or not.
var shapes = []any{
	canary, object{canary: canary}, []any{canary}, object{"username": canary, "password": canary, "auth": canary},
	object{"password": []any{canary}}, object{"password": object{"x": canary}}, object{"auth": 17.5, "username": canary}, nil, true,
}

// plant puts a shape in place of every node below path, in a copy of the values for each.
func plant(values object, path ...string) []object {
	var planted []object
	for _, shape := range shapes {
		for _, copied := range replaced(lookup(values, path...), shape) {
			text, _ := json.Marshal(values)
			whole := object{}
			_ = json.Unmarshal(text, &whole)
			set(whole, copied, path...)
			planted = append(planted, whole)
		}
	}
	return planted
}

// replaced are the copies of a value with one node replaced.
func replaced(value, shape any) []any {
	all := []any{shape}
	switch value := value.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			inside := shape
			// An endpoint is an address and goes into the object: a credential can only be a part of it.
			if text, plain := shape.(string); plain && key == "endpoint" {
				inside = "https://user:" + text + "@mirror.example"
			}
			for _, entry := range replaced(value[key], inside) {
				copied := maps.Clone(value)
				copied[key] = entry
				all = append(all, copied)
			}
		}
	case []any:
		for i := range value {
			for _, entry := range replaced(value[i], shape) {
				copied := slices.Clone(value)
				copied[i] = entry
				all = append(all, copied)
			}
		}
	}
	return all
}

// Whatever the values look like, a credential is in no object, error, warning or other output; where it is sealed it is
// in SecretData.
func TestNoCredentialLeavesTheSecret(t *testing.T) {
	original := surveyOf(t, "wc3")
	effective, _ := original.Values.Get()
	registries := plant(effective.Values.Reveal(), "global", "components", "containerd", "containerRegistries")
	for _, values := range registries {
		// A map under the registries may be keyed by anything; its keys are hosts and are shown.
		found, _ := lookup(values, "global", "components", "containerd", "containerRegistries").(object)
		delete(found, canary)
	}
	proxies := plant(effective.Values.Reveal(), "global", "connectivity", "proxy", "credentials")
	for _, address := range []string{"http://user:" + canary + "@proxy:3128", "user:" + canary + "@proxy:3128", "http://" + canary + "@proxy"} {
		text, _ := json.Marshal(effective.Values.Reveal())
		values := object{}
		_ = json.Unmarshal(text, &values)
		set(values, object{"enabled": true, "httpProxy": address, "httpsProxy": address}, "global", "connectivity", "proxy")
		proxies = append(proxies, values)
	}
	sealed, refused := 0, 0
	for i, values := range append(registries, proxies...) {
		survey := surveyOf(t, "wc3")
		survey.Values = clustermanager.Known(clustermanager.EffectiveValues{Values: clustermanager.NewValues(values), Owner: effective.Owner})
		pool, err := NodePool(pool("wc3", "gpu-l4"), survey)
		if err != nil {
			refused++
		}
		if output := everything(t, pool, err) + fmt.Sprintf("%v %+v %#v", survey, survey, survey); leaks(output) {
			t.Errorf("values %d: the credential is in\n%s", i, output)
		}
		for _, step := range pool.Plan.Steps {
			for _, secret := range step.SecretData {
				if strings.Contains(secret.Reveal(), canary) {
					sealed++
				}
			}
		}
	}
	if sealed < 10 || refused < 10 {
		t.Errorf("of %d values %d were sealed and %d refused: the test misses its point", len(registries)+len(proxies), sealed, refused)
	}
}

// everything is all that a pool and an error show.
func everything(t *testing.T, pool Pool, err error) string {
	t.Helper()
	text, jsonErr := json.Marshal(pool)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	output := string(text) + documents(t, pool.Plan) + fmt.Sprintf("%v %+v %#v %v %#v", pool, pool, pool, err, err)
	for _, step := range pool.Plan.Steps {
		output += fmt.Sprintf("%+v", step.Object.Object)
	}
	return output
}

func leaks(output string) bool {
	return strings.Contains(output, canary) || strings.Contains(output, base64.StdEncoding.EncodeToString([]byte(canary)))
}
