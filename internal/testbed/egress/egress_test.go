package egress_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/clustermanager/cluster-manager/internal/testbed/egress"
)

func TestOneHostAnswersAndNoOther(t *testing.T) {
	// A server of the standard library's for its certificate, which names example.com.
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	asked := 0
	proxy, err := egress.Start(t.Context(), "example.com", server.TLS.Certificates[0], http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		asked++
		_, _ = io.WriteString(answer, request.Host+request.URL.Path)
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	through, err := url.Parse(proxy.URL())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	client := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(through), TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}
	t.Cleanup(client.CloseIdleConnections)

	for _, test := range []struct{ url, want string }{
		{"https://example.com/v2/x", "example.com/v2/x"},
		{"https://example.org/", "Forbidden"},
		{"https://example.com:8443/", "Forbidden"},
	} {
		got := ""
		if response, err := client.Get(test.url); err != nil {
			got = err.Error()
		} else {
			content, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			got = string(content)
		}
		if !strings.HasSuffix(got, test.want) {
			t.Errorf("%s: %s, want %s", test.url, got, test.want)
		}
	}
	response, err := client.Get("http://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusForbidden || asked != 1 {
		t.Errorf("plain HTTP: %s; the handler was asked %d times", response.Status, asked)
	}
}
