package gke

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	clustermanager "github.com/clustermanager/cluster-manager"
	double "github.com/clustermanager/cluster-manager/fixtures/gke"
	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/managed"
)

// plane is a cluster whose control plane is a real API server. The account's access token is its administrator's.
type plane struct {
	*world
	bed *testbed.Bed
}

func newPlane(t *testing.T, bed *testbed.Bed) *plane {
	t.Helper()
	admin := bed.Admin()
	authority, err := os.ReadFile(bed.CertificateAuthority())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(options *double.Options, _ *managed.Account) {
		options.Endpoint, options.Authority, options.Authorize = strings.TrimPrefix(admin.Host, "https://"), string(authority), nil
	})
	w.options.Credentials = Given(clustermanager.NewSecret(admin.BearerToken))
	w.until(10 * time.Minute)
	w.state(managed.StateReady)
	return &plane{world: w, bed: bed}
}

// connect is credentials' work: a client with the kubeconfig that a caller gets.
func (p *plane) connect(identity string, role managed.Role, ttl time.Duration) (dynamic.Interface, managed.Token) {
	p.t.Helper()
	name := managed.ServiceAccountName(identity, role)
	token, err := p.Token(p.t.Context(), p.account, p.row, name, role, ttl)
	if err != nil {
		p.t.Fatal(err)
	}
	kubeconfig, err := managed.NewKubeconfig(&p.row, name, token.Secret)
	if err != nil {
		p.t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig.Reveal()))
	if err != nil {
		p.t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		p.t.Fatal(err)
	}
	return client, token
}

// can says what a client may do: list pods, list secrets, make a ConfigMap, make a namespace.
func can(t *testing.T, client dynamic.Interface) [4]bool {
	t.Helper()
	core := func(resource string) dynamic.NamespaceableResourceInterface {
		return client.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource})
	}
	_, pods := core("pods").Namespace("default").List(t.Context(), metav1.ListOptions{})
	_, secrets := core("secrets").Namespace("default").List(t.Context(), metav1.ListOptions{})
	dry := metav1.CreateOptions{DryRun: []string{"All"}}
	_, maps := core("configmaps").Namespace("default").Create(t.Context(), object("ConfigMap"), dry)
	_, spaces := core("namespaces").Create(t.Context(), object("Namespace"), dry)
	var may [4]bool
	for i, err := range []error{pods, secrets, maps, spaces} {
		may[i] = err == nil
		if err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("not forbidden: %v", err)
		}
	}
	return may
}

func object(kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: fields{"apiVersion": "v1", "kind": kind, "metadata": fields{"name": "made-for-the-test"}}}
}

// TestOnARealCluster shares one API server, which takes its time to start.
func TestOnARealCluster(t *testing.T) {
	t.Parallel()
	bed := testbed.Start(t, testbed.Options{})
	for name, test := range map[string]func(*testing.T, *testbed.Bed){
		"K01 K07 K10 tokens work": tokensWork, "K04 the bounds are Kubernetes' own": boundsHold, "K12 by DNS endpoint": byDNSEndpoint,
	} {
		t.Run(name, func(t *testing.T) { test(t, bed) })
	}
}

// tokensWork: each role has its own account, bound to Kubernetes' own role, and a later view
// narrows no admin.
func tokensWork(t *testing.T, bed *testbed.Bed) {
	t.Helper()
	p := newPlane(t, bed)
	admin, _ := p.connect(alice.ID, managed.RoleAdmin, time.Hour)
	view, token := p.connect(alice.ID, managed.RoleView, 10*time.Minute)
	edit, _ := p.connect(alice.ID, managed.RoleEdit, 24*time.Hour)
	// A second token of a role meets its account and binding.
	again, _ := p.connect(alice.ID, managed.RoleView, time.Hour)
	equal(t, "view", [4]bool{true, false, false, false}, can(t, view))
	equal(t, "view again", [4]bool{true, false, false, false}, can(t, again))
	equal(t, "edit", [4]bool{true, true, true, false}, can(t, edit))
	equal(t, "admin", [4]bool{true, true, true, true}, can(t, admin))
	if left := time.Until(token.Expires); left < 9*time.Minute || left > 11*time.Minute {
		t.Errorf("a token of 600 s ends in %s", left)
	}

	root, err := dynamic.NewForConfig(p.bed.Admin())
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := root.Resource(serviceAccounts).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=cluster-manager"})
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]string{}
	for _, of := range accounts.Items {
		if !regexp.MustCompile(`^bc-u-[0-9a-f]{16}-(view|edit|admin)$`).MatchString(of.GetName()) || of.GetNamespace() != managed.AccessNamespace {
			t.Errorf("account %s/%s", of.GetNamespace(), of.GetName())
		}
		binding, err := root.Resource(bindings).Get(t.Context(), of.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		roles[of.GetName()[len("bc-u-0123456789abcdef-"):]], _, _ = unstructured.NestedString(binding.Object, "roleRef", "name")
	}
	equal(t, "roles", map[string]string{"view": "view", "edit": "edit", "admin": "cluster-admin"}, roles)
}

func boundsHold(t *testing.T, bed *testbed.Bed) {
	t.Helper()
	p := newPlane(t, bed)
	p.connect(alice.ID, managed.RoleView, 600*time.Second)
	p.connect(alice.ID, managed.RoleView, 86400*time.Second)
	_, err := p.Token(t.Context(), p.account, p.row, managed.ServiceAccountName(alice.ID, managed.RoleView), managed.RoleView, 599*time.Second)
	if err == nil || errors.Is(err, managed.ErrUnreachable) || !strings.Contains(err.Error(), "expirationSeconds") {
		t.Errorf("599 s: %v", err)
	}
}

// byDNSEndpoint: the address of the record lets nobody in, and the DNS endpoint has a certificate of its own.
func byDNSEndpoint(t *testing.T, bed *testbed.Bed) {
	t.Helper()
	transport, err := rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: bed.CertificateAuthority()}})
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(bed.CertificateAuthority())
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(bed.Admin().Host)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport,
	})
	t.Cleanup(front.Close)
	w := newWorld(t, func(options *double.Options, account *managed.Account) {
		options.Endpoint, options.Authority, options.Authorize = nobody(t), string(authority), nil
		options.DNSEndpoint = strings.TrimPrefix(front.URL, "https://")
		account.DNSEndpoint = true
	}, fields{"authorizedNetworks": []any{"10.0.0.0/8"}})
	w.options.DNSAuthorities = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	w.options.Credentials = Given(clustermanager.NewSecret(bed.Admin().BearerToken))
	w.until(10 * time.Minute)
	name := managed.ServiceAccountName(alice.ID, managed.RoleView)
	token, err := w.Token(t.Context(), w.account, w.row, name, managed.RoleView, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := managed.NewKubeconfig(&w.row, name, token.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if text := kubeconfig.Reveal(); !strings.Contains(text, "https://"+w.row.Endpoint) || strings.Contains(text, front.URL) {
		t.Error("the kubeconfig does not name the address of the record")
	}
	w.account.DNSEndpoint = false
	_, err = w.Token(t.Context(), w.account, w.row, name, managed.RoleView, time.Hour)
	if !errors.Is(err, managed.ErrUnreachable) {
		t.Errorf("without the DNS endpoint: %v", err)
	}
}

// nobody is an address where nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// TestFaultsOfAControlPlane: what it answers is not what keeps us from it, and no error holds a token.
func TestFaultsOfAControlPlane(t *testing.T) {
	t.Parallel()
	var status int
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "code": ` + http.StatusText(status) + `}`))
	}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	// What a client says of a certificate that it does not know.
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	w := newWorld(t, nil)
	w.row.Endpoint, w.row.Authority = strings.TrimPrefix(server.URL, "https://"), authority
	for name, test := range map[string]struct {
		status      int
		change      func(*world)
		unreachable bool
	}{
		"forbidden":                  {http.StatusForbidden, nil, false},
		"not signed in":              {http.StatusUnauthorized, nil, false},
		"out of order":               {http.StatusServiceUnavailable, nil, true},
		"an answer that is none":     {http.StatusOK, nil, true},
		"nobody there":               {http.StatusOK, func(w *world) { w.row.Endpoint = nobody(t) }, true},
		"another's certificate":      {http.StatusOK, func(w *world) { w.row.Authority = "" }, true},
		"a call that was broken off": {http.StatusOK, nil, true},
	} {
		status = test.status
		of := *w
		if test.change != nil {
			test.change(&of)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if name == "a call that was broken off" {
			cancel()
		}
		_, err := of.Token(ctx, of.account, of.row, "bc-u-0123456789abcdef-view", managed.RoleView, time.Hour)
		cancel()
		if err == nil || errors.Is(err, managed.ErrUnreachable) != test.unreachable || strings.Contains(err.Error(), madeToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
