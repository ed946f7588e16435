package githubapi

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatASchemaFindsFault(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		schema, value string
		want          []string
	}{
		{`{"type":"string"}`, `"a"`, nil},
		{`{"type":"string"}`, `1`, []string{"v is of type integer, described is string"}},
		{`{"type":"string"}`, `null`, []string{"v is of type null, described is string"}},
		{`{"type":"string","nullable":true}`, `null`, nil},
		{`{"type":"integer"}`, `9007199254740993`, nil},
		{`{"type":"integer"}`, `1.5`, []string{"v is of type number, described is integer"}},
		{`{"type":"number"}`, `1`, nil},
		{`{"type":"boolean"}`, `"true"`, []string{"v is of type string, described is boolean"}},
		{`{"type":"object"}`, `[]`, []string{"v is of type array, described is object"}},
		{`{"type":"string","enum":["open","closed"]}`, `"open"`, nil},
		{`{"type":"string","enum":["open","closed"]}`, `"merged"`, []string{`v is "merged", described are ["open" "closed"]`}},
		{`{"type":"integer","minimum":1,"maximum":3}`, `3`, nil},
		{`{"type":"integer","minimum":1,"maximum":3}`, `4`, []string{"v is 4, outside of the described range"}},
		{`{"type":"integer","minimum":1,"maximum":3}`, `0`, []string{"v is 0, outside of the described range"}},
		{`{"type":"string","minLength":2,"maxLength":2}`, `"äö"`, nil},
		{`{"type":"string","minLength":2,"maxLength":2}`, `"a"`, []string{"v has 1 characters, outside of the described range"}},
		{`{"type":"string","minLength":2,"maxLength":2}`, `"abc"`, []string{"v has 3 characters, outside of the described range"}},
		{`{"type":"string","format":"date-time"}`, `"2026-01-01T00:00:00Z"`, nil},
		{`{"type":"string","format":"date-time"}`, `"yesterday"`, []string{"v is no date-time"}},
		{`{"type":"string","format":"uri"}`, `"/user"`, []string{"v is no uri"}},
		{`{"type":"string","format":"email"}`, `"jane"`, []string{"v is no email"}},
		{`{"type":"string","format":"repo.nwo"}`, `"x"`, nil},
		{`{"type":"object","required":["a","b"],"properties":{"a":{"type":"string"}}}`, `{"a":1,"c":1}`, []string{"v.b is missing", "v.a is of type integer, described is string"}},
		{`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}}}`, `{"b":1}`, []string{"v.b is not described"}},
		{`{"type":"array","items":{"type":"string"}}`, `["a",1,"b",null]`, []string{"v[1] is of type integer, described is string", "v[3] is of type null, described is string"}},
		{`{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, []string{"v.a is missing", "v.b is missing"}},
		{`{"oneOf":[{"type":"string"},{"type":"integer"}]}`, `1`, nil},
		{`{"oneOf":[{"required":["a","b"]},{"required":["c"]}]}`, `{}`, []string{"v.c is missing"}},
		{`{"nullable":true,"oneOf":[{"type":"string"}]}`, `null`, nil},
	} {
		var s schema
		if err := json.Unmarshal([]byte(test.schema), &s); err != nil {
			t.Fatal(err)
		}
		value, err := parse([]byte(test.value))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, s.faults("v", value)); diff != "" {
			t.Errorf("%s against %s:\n%s", test.value, test.schema, diff)
		}
	}
}

func TestUnknownFields(t *testing.T) {
	t.Parallel()
	const described = `{"properties":{"a":{"properties":{"b":{}}},"list":{"items":{"properties":{"c":{}}}},"free":{"additionalProperties":true}},
		"allOf":[{"properties":{"all":{}}}],"oneOf":[{"properties":{"one":{"properties":{"d":{}}}}}]}`
	var s schema
	if err := json.Unmarshal([]byte(described), &s); err != nil {
		t.Fatal(err)
	}
	value, err := parse([]byte(`{"a":{"b":1,"x":1},"list":[{"c":1},{"x":1}],"free":{"x":1},"all":1,"one":{"d":1,"x":1},"x":1}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"v.a.x is not described", "v.list[1].x is not described", "v.one.x is not described", "v.x is not described"}
	if diff := cmp.Diff(want, s.unknown("v", value)); diff != "" {
		t.Error(diff)
	}
}
