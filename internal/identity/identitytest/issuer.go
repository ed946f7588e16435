// Package identitytest is an identity provider for tests, in this process: metadata and keys over TLS on loopback, and tokens
// with whatever claims a test wants, by keys that it may change. It signs nobody in; the provider of internal/testbed does.
package identitytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// Audience is in a token that names none.
const Audience = "cluster-manager"

// Issuer is a running provider. Its methods may be called at the same time.
type Issuer struct {
	server *httptest.Server

	mutex    sync.Mutex
	provider *oidctest.Server
	key      *ecdsa.PrivateKey
	keys     int
	down     bool
	keyReads int
}

// Start starts a provider with one key, which ends with the test.
func Start(t testing.TB) *Issuer {
	t.Helper()
	issuer := &Issuer{}
	issuer.server = httptest.NewUnstartedServer(issuer)
	// What a client says of a certificate that it does not trust.
	issuer.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	issuer.server.StartTLS()
	t.Cleanup(issuer.server.Close)
	issuer.Rotate(t)
	return issuer
}

// ServeHTTP implements http.Handler.
func (i *Issuer) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	i.mutex.Lock()
	provider, down := i.provider, i.down
	if request.URL.Path == "/keys" {
		i.keyReads++
	}
	i.mutex.Unlock()
	if down {
		http.Error(writer, "down for the test", http.StatusBadGateway)
		return
	}
	provider.ServeHTTP(writer, request)
}

// URL is the issuer's.
func (i *Issuer) URL() string { return i.server.URL }

// Authority is the certificate authority that the provider is known by, PEM.
func (i *Issuer) Authority() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.server.Certificate().Raw}))
}

// Rotate replaces the key: the one before is no longer the issuer's.
func (i *Issuer) Rotate(t testing.TB) {
	t.Helper()
	key := newKey(t)
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.key, i.keys = key, i.keys+1
	i.provider = &oidctest.Server{
		Algorithms: []string{oidc.ES256},
		PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: strconv.Itoa(i.keys), Algorithm: oidc.ES256}},
	}
	i.provider.SetIssuer(i.server.URL)
}

// SetDown makes the provider answer 502, or mends it.
func (i *Issuer) SetDown(down bool) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.down = down
}

// KeyReads is how often the keys were asked for.
func (i *Issuer) KeyReads() int {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.keyReads
}

// Token is an id_token by the issuer's key. The claims stand beside those that every token has, and replace them; nil takes
// one out.
func (i *Issuer) Token(t testing.TB, claims map[string]any) string {
	t.Helper()
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return sign(t, i.key, strconv.Itoa(i.keys), i.server.URL, claims)
}

// Forged is a token like those of the issuer, by a key that is not its own: under the name of the issuer's, or another one.
func (i *Issuer) Forged(t testing.TB, keyID string, claims map[string]any) string {
	t.Helper()
	return sign(t, newKey(t), keyID, i.server.URL, claims)
}

func sign(t testing.TB, key *ecdsa.PrivateKey, keyID, issuer string, claims map[string]any) string {
	t.Helper()
	all := map[string]any{
		"iss": issuer, "aud": Audience, "sub": "subject-of-jane", "email": "jane@acme.example",
		// The year 2100.
		"exp": 4102444800,
	}
	maps.Copy(all, claims)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	content, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return oidctest.SignIDToken(key, keyID, oidc.ES256, string(content))
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
