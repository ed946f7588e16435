package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

const (
	// requestTimeout ends a request to the issuer that hangs.
	requestTimeout = 10 * time.Second
	// maximalAnswer bounds an answer: metadata, keys and a user are some kilobytes each.
	maximalAnswer = 1 << 20
	userAgent     = "cluster-manager"
)

// carrierNAT is the shared address space of RFC 6598, which netip does not call private.
var carrierNAT = netip.MustParsePrefix("100.64.0.0/10")

// newClient speaks to the issuer. Private addresses are for who allows them, by a setting that the fault names. Where the
// environment names a proxy, that is who looks addresses up.
func newClient(authority string, private bool, setting string) (*http.Client, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if authority != "" && !roots.AppendCertsFromPEM([]byte(authority)) {
		return nil, errors.New("setting dex-ca-file: holds no certificate")
	}
	proxied := newTransport(roots)
	direct := newTransport(roots)
	direct.Proxy = nil
	direct.DialContext = (&net.Dialer{Timeout: requestTimeout, Control: guard(private, setting)}).DialContext
	return &http.Client{Transport: route{direct: direct, proxied: proxied}, CheckRedirect: stay, Timeout: requestTimeout}, nil
}

func newTransport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: requestTimeout,
	}
}

// stay follows no redirect: what is asked for is where the settings say.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// route sends through the environment's proxy where there is one for a request.
type route struct{ direct, proxied *http.Transport }

// RoundTrip implements http.RoundTripper.
func (r route) RoundTrip(request *http.Request) (*http.Response, error) {
	if proxy, err := http.ProxyFromEnvironment(request); err == nil && proxy == nil {
		return r.direct.RoundTrip(request)
	}
	return r.proxied.RoundTrip(request)
}

// guard refuses addresses when they are dialled, after the DNS. Those of the link are refused always: the metadata of
// machines in clouds is there.
func guard(private bool, setting string) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		parsed, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%s is no address", address)
		}
		switch ip := parsed.Addr().Unmap(); {
		case ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified():
			return fmt.Errorf("%s is no address of a server", ip)
		case !private && (ip.IsPrivate() || ip.IsLoopback() || carrierNAT.Contains(ip)):
			return fmt.Errorf("%s is a private address: allow it with the setting %s", ip, setting)
		}
		return nil
	}
}

// answer is what a server said.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// get asks for a resource. The error never holds what the answer says.
func get(ctx context.Context, client *http.Client, address string, header http.Header) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer{}, err
	}
	request.Header = header.Clone()
	request.Header.Set("User-Agent", userAgent)
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maximalAnswer+1))
	if err == nil && len(body) > maximalAnswer {
		err = errors.New("the answer is larger than 1 MiB")
	}
	if err != nil {
		return answer{}, fmt.Errorf("Get %q: %w", address, err)
	}
	return answer{response.StatusCode, response.Header, body}, nil
}

// getDocument is get, of what must be there.
func getDocument(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	got, err := get(ctx, client, address, http.Header{"Accept": {"application/json"}})
	if err == nil && got.status != http.StatusOK {
		err = fmt.Errorf("Get %q: status %d %s", address, got.status, http.StatusText(got.status))
	}
	return got.body, err
}
