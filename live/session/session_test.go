package session

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func callerWith(token string) clustermanager.Caller {
	return clustermanager.Caller{KubernetesToken: clustermanager.NewSecret(token)}
}

// apiServer records the headers of every request over TLS.
type apiServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []http.Header
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	server := &apiServer{}
	server.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.mu.Lock()
		server.requests = append(server.requests, r.Header.Clone())
		server.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":[]}`)
	}))
	t.Cleanup(server.Close)
	return server
}

func (s *apiServer) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func listOnce(t *testing.T, client *Client) error {
	_, err := client.Dynamic.Resource(configMaps).List(t.Context(), metav1.ListOptions{})
	return err
}

func TestOnlyTheCallersTokenIsPresented(t *testing.T) {
	server := newAPIServer(t)
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte("process-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	host := server.URL
	bases := map[string]*rest.Config{
		"token":       {Host: host, BearerToken: "process-token"},
		"token file":  {Host: host, BearerTokenFile: tokenFile},
		"password":    {Host: host, Username: "process", Password: "process-password"},
		"address":     {Host: strings.Replace(host, "://", "://process:process-password@", 1)},
		"impersonate": {Host: host, Impersonate: rest.ImpersonationConfig{UserName: "process-user", Groups: []string{"system:masters"}}},
		"exec":        {Host: host, ExecProvider: &clientcmdapi.ExecConfig{Command: "/does-not-exist"}},
		"provider":    {Host: host, AuthProvider: &clientcmdapi.AuthProviderConfig{Name: "oidc"}},
		"wrapper": {Host: host, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			t.Error("the base's transport wrapper is used")
			return next
		}},
	}
	for name, base := range bases {
		t.Run(name, func(t *testing.T) {
			base.TLSClientConfig.CAData = server.ca()
			server.requests = nil
			client, err := New(base, nil).Installation(callerWith("caller-token"))
			if err != nil {
				t.Fatal(err)
			}
			if err := listOnce(t, client); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Metadata.Resource(configMaps).List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Discovery.ServerVersion(); err != nil {
				t.Fatal(err)
			}
			if len(server.requests) != 3 {
				t.Fatalf("%d requests", len(server.requests))
			}
			for _, headers := range server.requests {
				if got := headers.Values("Authorization"); len(got) != 1 || got[0] != "Bearer caller-token" {
					t.Error("another credential than the caller's token is presented")
				}
				if got := headers.Get("User-Agent"); got != "cluster-manager" {
					t.Errorf("user agent %q", got)
				}
				for header := range headers {
					if strings.HasPrefix(header, "Impersonate-") {
						t.Errorf("%s is sent", header)
					}
				}
			}
		})
	}
}

func TestTrustIsKeptAndCertificatesAreDropped(t *testing.T) {
	server := newAPIServer(t)
	if client, err := New(&rest.Config{Host: server.URL}, nil).Installation(callerWith("a")); err != nil {
		t.Fatal(err)
	} else if err := listOnce(t, client); err == nil {
		t.Error("a server whose CA is not known is trusted")
	}
	config := anonymous(&rest.Config{Host: "https://api.example", TLSClientConfig: rest.TLSClientConfig{
		ServerName: "kubernetes", CAFile: "/ca", CAData: []byte("ca"), CertFile: "/cert", CertData: []byte("cert"),
		KeyFile: "/key", KeyData: []byte("key"),
	}})
	tls := config.TLSClientConfig
	if tls.ServerName != "kubernetes" || tls.CAFile != "/ca" || string(tls.CAData) != "ca" {
		t.Errorf("trust is lost: %v", tls)
	}
	if tls.CertFile != "" || tls.CertData != nil || tls.KeyFile != "" || tls.KeyData != nil {
		t.Error("the client certificate is kept")
	}
	if config.QPS != -1 || config.RateLimiter != nil || config.Timeout != requestTimeout {
		t.Errorf("limits: %v %v %v", config.QPS, config.RateLimiter, config.Timeout)
	}
}

func TestNoTokenNoClient(t *testing.T) {
	sessions := New(&rest.Config{Host: "https://api.example", BearerToken: "process-token"}, nil)
	client, err := sessions.Installation(clustermanager.Caller{Email: "jane@acme.example"})
	if client != nil || !errors.Is(err, ErrNoToken) {
		t.Errorf("%v, %v", client, err)
	}
}

func TestReuse(t *testing.T) {
	sessions := New(&rest.Config{Host: "https://api.example"}, nil)
	get := func(token string) *Client {
		t.Helper()
		client, err := sessions.Installation(callerWith(token))
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	first, second := get("0"), get("1")
	if first == second || get("0") != first {
		t.Error("clients are not reused by token")
	}
	for number := 2; number < maxClients; number++ {
		get(fmt.Sprint(number))
	}
	get("0")
	get("one more")
	if get("0") != first {
		t.Error("the one used recently is gone")
	}
	if kept := sessions.installation; len(kept.byKey) != maxClients || kept.order.Len() != maxClients {
		t.Errorf("%d are kept", len(kept.byKey))
	}
	if get("1") == second {
		t.Error("the one used least recently is kept")
	}
}

func TestConcurrentUse(t *testing.T) {
	sessions := New(&rest.Config{Host: "https://api.example"}, nil)
	var wait sync.WaitGroup
	for number := range 64 {
		wait.Go(func() {
			if _, err := sessions.Installation(callerWith(fmt.Sprint(number % 3))); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if kept := sessions.installation.byKey; len(kept) != 3 {
		t.Errorf("%d are kept", len(kept))
	}
}

func TestManyRequestsDoNotWait(t *testing.T) {
	server := newAPIServer(t)
	client, err := New(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: server.ca()}}, nil).
		Installation(callerWith("a"))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for range 60 {
		if err := listOnce(t, client); err != nil {
			t.Fatal(err)
		}
	}
	// client-go's default of 5 requests a second after a burst of 10 would take ten seconds.
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("60 requests took %s", took)
	}
}
