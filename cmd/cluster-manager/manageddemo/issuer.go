package manageddemo

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"time"
)

// audience is what the demonstration's tokens are for.
const audience = "cluster-manager-demo"

// issuer is an OpenID Connect issuer of the demonstration's own: metadata and keys over TLS on loopback, and signed tokens. It
// signs nobody in. Its key is made at its start and gone at its end.
type issuer struct {
	key         *rsa.PrivateKey
	certificate []byte
	url         string
}

func newIssuer() (*issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("issuer: making its key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("issuer: making its certificate: %w", err)
	}
	return &issuer{key: key, certificate: certificate}, nil
}

// authority is what the issuer is known by, PEM.
func (i *issuer) authority() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.certificate}))
}

func (i *issuer) tls() *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{i.certificate}, PrivateKey: i.key}}, MinVersion: tls.VersionTLS12,
	}
}

// ServeHTTP answers the metadata and the keys.
func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var document any
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		document = map[string]any{"issuer": i.url, "jwks_uri": i.url + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}}
	case "/keys":
		document = map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "demo", "n": encode(i.key.N.Bytes()), "e": encode(big.NewInt(int64(i.key.E)).Bytes()),
		}}}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document)
}

// token is an id_token of a person, good for an hour.
func (i *issuer) token(person string) (string, error) {
	now := time.Now()
	header, err := json.Marshal(map[string]any{"alg": "RS256", "kid": "demo", "typ": "JWT"})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"iss": i.url, "aud": audience, "sub": person, "email": person + "@acme.example", "email_verified": true,
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	if err != nil {
		return "", err
	}
	signed := encode(header) + "." + encode(claims)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("issuer: signing a token: %w", err)
	}
	return signed + "." + encode(signature), nil
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
