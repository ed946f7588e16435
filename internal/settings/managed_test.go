package settings

import (
	"fmt"
	"strings"
	"testing"
)

// TestS05SettingsOfTheManagedAPI: a value out of bounds is a start-up fault that names its setting.
func TestS05SettingsOfTheManagedAPI(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given map[string]string
		want  string
	}{
		"credentials below 600":    {map[string]string{"credential-ttl-seconds": "599"}, "flag --credential-ttl-seconds: 599 is not 600 to 86400"},
		"credentials above a day":  {map[string]string{"credential-ttl-seconds": "86401"}, "flag --credential-ttl-seconds: 86401 is not 600 to 86400"},
		"no clusters":              {map[string]string{"max-clusters-per-tenant": "0"}, "flag --max-clusters-per-tenant: 0 is below 1, or too large"},
		"a rate below 0":           {map[string]string{"tenant-rate": "-1"}, "flag --tenant-rate: -1 is below 0, or too large"},
		"a retention below 0":      {map[string]string{"deleted-retention": "-1h"}, `flag --deleted-retention: "-1h" is no duration such as 9s`},
		"a webhook that is no URL": {map[string]string{"events-webhook-url": "made-for-the-test", "events-webhook-secret-file": "x"}, "flag --events-webhook-url: it is no URL such as https://events.example.com/hook"},
		"events without a secret":  {map[string]string{"events-webhook-url": "https://e.example"}, "setting events-webhook-secret-file: events are signed, so events-webhook-url needs it"},
		"a secret for no events":   {map[string]string{"events-webhook-secret-file": "x"}, "setting events-webhook-url: events-webhook-secret-file has no use without it"},
		"the bounds themselves":    {map[string]string{"credential-ttl-seconds": "86400", "max-clusters-per-tenant": "1", "tenant-rate": "0", "deleted-retention": "0"}, "<nil>"},
	} {
		if _, err := Resolve(Flags(test.given)); !strings.HasPrefix(fmt.Sprint(err), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestS01TheAPIIsServedWithBoth: one of database and catalogue alone names the other.
func TestS01TheAPIIsServedWithBoth(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		given   map[string]string
		served  bool
		missing string
	}{
		{nil, false, ""},
		{map[string]string{"database": "x"}, false, "catalog"},
		{map[string]string{"catalog": "x"}, false, "database"},
		{map[string]string{"database": "x", "catalog": "y"}, true, ""},
	} {
		got, err := Resolve(Flags(test.given))
		if err != nil || got.Managed.Served() != test.served || got.Managed.Missing() != test.missing {
			t.Errorf("%v: served %v, missing %q, %v", test.given, got.Managed.Served(), got.Managed.Missing(), err)
		}
	}
	got, err := Resolve(Flags(map[string]string{"database": "postgres://robot:made-for-the-test@db.example.com/x"}))
	if text := fmt.Sprintf("%+v", got.Managed); err != nil || strings.Contains(text, "made-for-the-test") {
		t.Errorf("the password shows: %v %s", err, text)
	}
}
