package proof

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// substitutionScenarios are trees with variables.
func substitutionScenarios() map[string]scenario {
	return map[string]scenario{
		"postBuild": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": configMap("wc1", "${region}")}),
			after:  fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": configMap("wc1", "${region}")}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substitute": map[string]any{"region": "eu"}}})
			},
			built: true, objects: added("gpu"),
		},
		"an unknown variable": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu.yaml": configMap("gpu", "${zone}")}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substitute": map[string]any{"region": "eu"}}})
				in.Objects = []*unstructured.Unstructured{composed("gpu", "${zone}")}
			},
			refused: []string{"ConfigMap gpu: post-build substitution", `"zone"`},
		},
		"a variable in a value with the annotation": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu.yaml": strings.Replace(configMap("gpu", "${zone}"), "\ndata:", "\n  annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}\ndata:", 1)}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substitute": map[string]any{"zone": "eu"}}})
				in.Objects = []*unstructured.Unstructured{composed("gpu", "${zone}")}
			},
			built: true, objects: added("gpu"),
		},
		"a variable in a value without it": {
			before: fleet, after: fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu.yaml": configMap("gpu", "${zone}")}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substitute": map[string]any{"zone": "eu"}}})
				in.Objects = []*unstructured.Unstructured{composed("gpu", "${zone}")}
			},
			built: true, objects: added("gpu"), warnings: []string{"ConfigMap org-acme/gpu is built other than it was composed, at data.key"},
		},
		"variables that could not be read": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": configMap("wc1", "${region}")}),
			after:  fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": configMap("wc1", "${region}")}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substituteFrom": []any{map[string]any{"kind": "Secret", "name": "vars"}}}})
				in.Target.UnreadSubstitutes = []string{"Secret vars: forbidden"}
			},
			objects: added("gpu"), note: []string{"could not be read (Secret vars: forbidden)"},
		},
		"strategy Always": {
			before: fleet.with(files{"clusters/wc1/wc1.yaml": configMap("wc1", "${region:=eu}")}),
			after:  fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": configMap("wc1", "${region:=eu}")}),
			change: func(in *Input) {
				in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substituteStrategy": "Always"}})
			},
			built: true, objects: added("gpu"),
		},
	}
}

// TestSubstitution looks at what came out of the post-build step.
func TestSubstitution(t *testing.T) {
	for name, test := range map[string]struct {
		value, want string
		postBuild   map[string]any
		unread      []string
	}{
		"variable and default":  {"${region}-${zone:=a}", "eu-a", map[string]any{"substitute": map[string]any{"region": "eu"}}, nil},
		"no variables":          {"${zone:=a}", "${zone:=a}", map[string]any{}, nil},
		"no variables, Always":  {"${zone:=a}", "a", map[string]any{"substituteStrategy": "Always"}, nil},
		"variables not read":    {"${zone:=a}${b}", "a", map[string]any{}, []string{"Secret vars: forbidden"}},
		"no postBuild":          {"${zone:=a}", "${zone:=a}", nil, nil},
		"variables of sources":  {"${region}-${account}", "eu-1", map[string]any{"substitute": map[string]any{"region": "eu"}}, nil},
		"a dollar sign doubled": {"$${zone}", "${zone}", map[string]any{"substitute": map[string]any{"region": "eu"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			more := files{"clusters/wc1/wc1.yaml": configMap("wc1", test.value)}
			in := proposal(fleet.with(more), fleet.with(pool).with(more))
			if test.postBuild != nil {
				in.Target.Spec = spec(map[string]any{"postBuild": test.postBuild})
			}
			in.Target.UnreadSubstitutes = test.unread
			in.Target.Variables = map[string]clustermanager.Secret{}
			if name == "variables of sources" {
				in.Target.Variables["account"], in.Target.Variables["region"] = clustermanager.NewSecret("1"), clustermanager.NewSecret("below")
			}
			result, err := proven(t, in)
			if err != nil {
				t.Fatal(err)
			}
			built := byIdentity(result.Built)[object("ConfigMap", "wc1").Identity()]
			if got, _, _ := unstructured.NestedString(built.Object, "data", "key"); got != test.want {
				t.Errorf("data.key is %q, want %q", got, test.want)
			}
		})
	}
}

// TestSubstitutedValueStaysOut gives a variable a value that breaks the text: the refusal must not quote it.
func TestSubstitutedValueStaysOut(t *testing.T) {
	after := fleet.with(pool).with(files{"clusters/wc1/cluster-manager/gpu.yaml": strings.Replace(configMap("gpu", "x"), `"x"`, "${token}", 1)})
	in := proposal(fleet, after)
	in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substitute": map[string]any{"token": "*made-up-token"}}})
	_, err := proven(t, in)
	var refusal *clustermanager.Refusal
	if !errors.As(err, &refusal) || strings.Contains(err.Error(), "made-up") {
		t.Errorf("got %v, want a refusal without the value", err)
	}
}
