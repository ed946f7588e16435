package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// refetchAfter is how old the keys must be before a token of an unknown key has them read again. So a stranger's tokens cost
// the issuer one request in that time, and a new key is known within it at the latest.
const refetchAfter = 10 * time.Second

// algorithms are those by which a token may be signed, where the issuer's metadata names them: with a key pair, each.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// issuer knows the issuer's keys.
type issuer struct {
	url string
	// metadata and keys ask for the two documents.
	metadata, keys *http.Client
	now            func() time.Time

	current atomic.Pointer[keySet]
	// failing says that the keys could not be read when last tried.
	failing atomic.Bool
}

// keySet is the issuer's keys at one address. The library behind keys asks for them through it, which answers from the
// last reading unless that is old.
type keySet struct {
	of         *issuer
	address    string
	algorithms []string
	verifier   *oidc.IDTokenVerifier

	mutex sync.Mutex
	body  []byte
	at    time.Time
}

// load reads the issuer's metadata and keys.
func (i *issuer) load(ctx context.Context) error {
	set, err := i.discover(ctx)
	if err == nil {
		set.body, err = set.read(ctx)
	}
	i.failing.Store(err != nil)
	if err != nil {
		return fmt.Errorf("issuer %s: reading its keys: %w", i.url, err)
	}
	set.at = i.now()
	// What the library made of keys that are the same is kept.
	if old := i.current.Load(); old == nil || !old.same(set) {
		i.current.Store(set)
	}
	return nil
}

// discover reads the issuer's metadata.
func (i *issuer) discover(ctx context.Context) (*keySet, error) {
	content, err := getDocument(ctx, i.metadata, strings.TrimSuffix(i.url, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return nil, err
	}
	var document struct {
		Issuer     string   `json:"issuer"`
		Keys       string   `json:"jwks_uri"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := json.Unmarshal(content, &document); err != nil {
		return nil, errors.New("its metadata is no JSON of the form that is expected")
	}
	address, err := url.Parse(document.Keys)
	switch {
	case document.Issuer != i.url:
		return nil, fmt.Errorf("its metadata is that of issuer %q: write the setting dex-issuer-url as it is there", document.Issuer)
	case err != nil || address.Scheme != "https" || address.Host == "":
		return nil, fmt.Errorf("its keys are not at an https address: %q", document.Keys)
	}
	signed := slices.DeleteFunc(document.Algorithms, func(name string) bool { return !slices.Contains(algorithms, name) })
	set := &keySet{of: i, address: document.Keys, algorithms: signed}
	remote := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), &http.Client{Transport: set}), set.address)
	// Issuer, audience and times are held by [Verifier.check], with an answer for each and a leeway.
	set.verifier = oidc.NewVerifier(i.url, remote, &oidc.Config{
		SupportedSigningAlgs: signed, SkipIssuerCheck: true, SkipClientIDCheck: true, SkipExpiryCheck: true,
	})
	return set, nil
}

// read asks the issuer for the keys.
func (s *keySet) read(ctx context.Context) ([]byte, error) {
	body, err := getDocument(ctx, s.of.keys, s.address)
	if err != nil {
		return nil, err
	}
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &document); err != nil || len(document.Keys) == 0 {
		return nil, fmt.Errorf("there are no keys at %s", s.address)
	}
	return body, nil
}

func (s *keySet) same(as *keySet) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.address == as.address && bytes.Equal(s.body, as.body) && slices.Equal(s.algorithms, as.algorithms)
}

// RoundTrip answers the library's request for the keys: it comes with each token that no known key has signed. Keys that
// cannot be read now are answered as they were.
func (s *keySet) RoundTrip(request *http.Request) (*http.Response, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if now := s.of.now(); now.Sub(s.at) >= refetchAfter {
		s.at = now
		body, err := s.read(request.Context())
		s.of.failing.Store(err != nil)
		if err == nil {
			s.body = body
		}
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(s.body)),
		ContentLength: int64(len(s.body)), Request: request,
	}, nil
}
