package catalog

import (
	"strings"
	"testing"
)

func TestSource(t *testing.T) {
	for _, test := range []struct{ pin, floor, tag, follows, version string }{
		{"", "0.8.0", "", ">=0.8.0 <1.0.0", "0.8.0"},
		{"", "v4.85", "", ">=4.85.0 <5.0.0", "4.85.0"},
		{"0.0.0-lab", "0.8.0", "0.0.0-lab", "", "0.0.0-lab"},
	} {
		source, err := newSource("oci://x", test.pin, test.floor)
		if err != nil || source.Tag != test.tag || source.Range != test.follows || source.Version() != test.version {
			t.Errorf("%+v: %+v, version %s, %v", test, source, source.Version(), err)
		}
	}
	if _, err := newSource("oci://x", "", "latest"); err == nil || !strings.HasPrefix(err.Error(), `chart oci://x: parsing the floor "latest"`) {
		t.Errorf("a floor that is no version: %v", err)
	}
}

func TestAhead(t *testing.T) {
	for _, test := range []struct {
		version, than string
		ahead, fails  bool
	}{
		{"1.31.4", "1.31.3", true, false}, {"1.31.4", "1.31.4", false, false}, {"1.31.4", "1.32.0", false, false},
		{"1.31.4", "1.31.4-eks-1a2b3c", false, false}, {"1.31.4", "1.30", false, true}, {"", "1.31.4", false, true},
	} {
		ahead, err := Ahead(test.version, test.than)
		if ahead != test.ahead || (err != nil) != test.fails {
			t.Errorf("%+v: %t, %v", test, ahead, err)
		}
	}
}
