package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustermanager/cluster-manager/internal/identity/identitytest"
	"github.com/clustermanager/cluster-manager/internal/testbed"
)

// People of a real identity provider call a server beside a real API server: each token is answered as it deserves, and
// each person reads what their own rights let them.
func TestPeopleOfARealIssuer(t *testing.T) {
	bed := testbed.Start(t, testbed.Options{
		Users:       []testbed.User{{Email: engineer, Groups: []string{"acme:platform-engineers"}}, {Email: guest, Groups: []string{"acme:visitors"}}},
		Definitions: slices.Clone(testbed.PoolPath),
	})
	grant(t, bedClient(t, bed), "cluster-manager-read", "", "acme:platform-engineers")
	authority, err := os.ReadFile(bed.CertificateAuthority())
	if err != nil {
		t.Fatal(err)
	}
	serveFor := func(audience string) (string, *lockedBuffer) {
		return signInServer(t, signInFlags(t, bed.Issuer(), string(authority), map[string]string{
			"oauth-trusted-audiences": audience, "installation": "gazelle",
			"kubeconfig": filepath.Join(filepath.Dir(bed.Logs()), "kubeconfig"),
		}))
	}
	// The provider's one client is the audience of its tokens.
	endpoint, log := serveFor("kubernetes")
	elsewhere, _ := serveFor("another")
	other := identitytest.Start(t)
	jane, rita := bed.Token(engineer).Reveal(), bed.Token(guest).Reveal()
	parts := strings.Split(jane, ".")
	for name, test := range map[string]struct {
		endpoint string
		header   map[string]string
		status   int
	}{
		"valid":          {endpoint, bearing(jane), http.StatusOK},
		"wrong audience": {elsewhere, bearing(jane), http.StatusUnauthorized},
		"wrong issuer":   {endpoint, bearing(other.Token(t, nil)), http.StatusUnauthorized},
		"unknown key":    {endpoint, bearing(other.Forged(t, "unknown", map[string]any{"iss": bed.Issuer(), "aud": "kubernetes"})), http.StatusUnauthorized},
		"another's text": {endpoint, bearing(parts[0] + "." + strings.Split(rita, ".")[1] + "." + parts[2]), http.StatusUnauthorized},
		"none":           {endpoint, nil, http.StatusUnauthorized},
	} {
		if status, _ := signedCall(t, test.endpoint, test.header, "get_info", nil); status != test.status {
			t.Errorf("%s: %d, want %d", name, status, test.status)
		}
	}
	for token, allowed := range map[string]bool{jane: true, rita: false} {
		_, result := signedCall(t, endpoint, bearing(token), "list_clusters", nil)
		if result == nil || result.IsError == allowed {
			t.Errorf("reads clusters %t, want %t: %+v", !allowed, allowed, result)
		}
	}
	secrets := needles{"jane's token": jane, "its signature": parts[2], "rita's token": rita}
	for _, leak := range secrets.find("the log", []byte(log.String())) {
		t.Error(leak)
	}
}
