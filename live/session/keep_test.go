package session

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// tokenUntil is an unsigned JWT, made for the tests, that expires at the time given.
func tokenUntil(name string, expires time.Time) string {
	payload := fmt.Sprintf(`{"sub":%q,"exp":%d}`, name, expires.Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
}

func TestExpiryOfTokens(t *testing.T) {
	at := time.Unix(1_900_000_000, 0)
	for token, want := range map[string]time.Time{
		tokenUntil("jane", at): at,
		"opaque":               {},
		"a.b.c":                {},
		"e30.!.c":              {},
		"e30.e30.c":            {},
		"e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":"soon"}`)) + ".c": {},
	} {
		if got := expiry(clustermanager.NewSecret(token)); !got.Equal(want) {
			t.Errorf("%s: %s, want %s", token, got, want)
		}
	}
}

func TestExpiredTokensGoFirst(t *testing.T) {
	sessions := New(&rest.Config{Host: "https://api.example"}, nil)
	get := func(token string) *Client {
		t.Helper()
		client, err := sessions.Installation(callerWith(token))
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	oldest := get(tokenUntil("oldest", future))
	for number := range maxClients - 3 {
		get(tokenUntil(fmt.Sprint(number), future))
	}
	get(tokenUntil("late", past))
	get(tokenUntil("later", past))
	get("one more")
	kept := sessions.installation
	if got := len(kept.byKey); got != maxClients-1 {
		t.Errorf("%d are kept, and both expired ones should have gone", got)
	}
	if get(tokenUntil("oldest", future)) != oldest {
		t.Error("a live client went while expired ones were kept")
	}
	get("two more")
	get("three more")
	if got := len(kept.byKey); got != maxClients {
		t.Errorf("%d are kept: live ones went all at once", got)
	}
	if get(tokenUntil("oldest", future)) != oldest {
		t.Error("the one used recently is gone")
	}
}

func TestExpiredTokenIsPresentedAndLoggedOnce(t *testing.T) {
	server := newAPIServer(t)
	var log bytes.Buffer
	sessions := New(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: server.ca()}}, nil)
	sessions.LogTo(slog.New(slog.NewTextHandler(&log, nil)))
	token := tokenUntil("jane", time.Now().Add(-time.Hour))
	for range 3 {
		client, err := sessions.Installation(callerWith(token))
		if err != nil {
			t.Fatal(err)
		}
		if err := listOnce(t, client); err != nil {
			t.Fatal(err)
		}
	}
	if got := server.requests[2].Get("Authorization"); got != "Bearer "+token {
		t.Error("the expired token is not presented")
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || strings.Contains(log.String(), token) {
		t.Errorf("%d lines:\n%s", lines, log.String())
	}
	if _, err := sessions.Installation(callerWith(tokenUntil("live", time.Now().Add(time.Hour)))); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 {
		t.Errorf("a live token is logged:\n%s", log.String())
	}
}

func TestWorkloadClientsAreReusedByTokenAndEndpoint(t *testing.T) {
	sessions := New(&rest.Config{Host: "https://api.example"}, nil)
	get := func(token, name, server string) *Client {
		t.Helper()
		client, err := sessions.Workload(callerWith(token), clustermanager.Cluster{Namespace: "org-acme", Name: name}, clustermanager.Endpoint{Server: server})
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	first := get("a", "wc1", "https://one.example")
	if get("a", "wc1", "https://one.example") != first {
		t.Error("a client is not reused")
	}
	for name, other := range map[string]*Client{
		"another token":    get("b", "wc1", "https://one.example"),
		"another endpoint": get("a", "wc1", "https://two.example"),
		"another cluster":  get("a", "wc2", "https://one.example"),
	} {
		if other == first {
			t.Errorf("%s gets the same client", name)
		}
	}
	for number := range 2 * maxClients {
		get("a", fmt.Sprint(number), "https://one.example")
	}
	if got := len(sessions.workload.byKey); got != maxClients {
		t.Errorf("%d are kept", got)
	}
	if len(sessions.installation.byKey) != 0 {
		t.Error("clients of workload clusters stand among the installation's")
	}
}

func TestOneConnectionPerEndpoint(t *testing.T) {
	var mu sync.Mutex
	connections := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":[]}`)
	}))
	server.EnableHTTP2 = true
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			mu.Lock()
			connections++
			mu.Unlock()
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	sessions := New(&rest.Config{Host: "https://api.example"}, nil)
	endpoint := clustermanager.Endpoint{Server: server.URL, CABundle: string((&apiServer{Server: server}).ca())}
	call := func() {
		client, err := sessions.Workload(callerWith("a"), clustermanager.Cluster{Namespace: "org-acme", Name: "wc1"}, endpoint)
		if err != nil {
			t.Error(err)
			return
		}
		if err := listOnce(t, client); err != nil {
			t.Error(err)
		}
	}
	call()
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(call)
	}
	calls.Wait()
	mu.Lock()
	defer mu.Unlock()
	if connections != 1 {
		t.Errorf("%d connections", connections)
	}
}
