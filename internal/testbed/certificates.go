package testbed

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is a certificate authority made for one bed.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// file holds the certificate, PEM.
	file string
}

// pair are the files of a certificate and its key, PEM.
type pair struct{ certificate, key string }

// newAuthority makes an authority and writes its certificate to <folder>/<name>.crt.
func newAuthority(folder, name string) (authority, error) {
	template := newTemplate(name)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, fmt.Errorf("certificate authority %s: making a key: %w", name, err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, fmt.Errorf("certificate authority %s: signing: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		return authority{}, fmt.Errorf("certificate authority %s: reading: %w", name, err)
	}
	file := filepath.Join(folder, name+".crt")
	return authority{certificate, key, file}, writePEM(file, "CERTIFICATE", raw)
}

// issue makes a certificate for both sides of a connection on loopback, for a server of other names too.
func (a authority) issue(folder, name string, others ...string) (pair, error) {
	files := pair{filepath.Join(folder, name+".crt"), filepath.Join(folder, name+".key")}
	key, err := writeKey(files.key)
	if err != nil {
		return pair{}, err
	}
	template := newTemplate(name)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames = append([]string{"localhost"}, others...)
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("certificate %s: signing: %w", name, err)
	}
	return files, writePEM(files.certificate, "CERTIFICATE", raw)
}

// newTemplate is valid for a day, from an hour ago for clocks that were set back.
func newTemplate(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
	}
}

func writeKey(file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key %s: making: %w", file, err)
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("key %s: encoding: %w", file, err)
	}
	return key, writePEM(file, "EC PRIVATE KEY", raw)
}

func writePEM(file, kind string, raw []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600)
}
