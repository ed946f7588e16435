package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/internal/telemetry"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// held is a transport that holds the first request of a kind until it is let go.
type held struct {
	wire
	once    sync.Once
	reached chan struct{}
	letGo   context.Context
	release context.CancelFunc
}

// hold lets go at the latest when the test ends, so that one that failed does not wait for itself.
func hold(t *testing.T, matches func(*http.Request) bool) *held {
	t.Helper()
	made := &held{reached: make(chan struct{})}
	made.letGo, made.release = context.WithCancel(t.Context())
	made.cut(func(request *http.Request) bool {
		if matches(request) {
			made.once.Do(func() {
				close(made.reached)
				<-made.letGo.Done()
			})
		}
		return false
	}, nil)
	return made
}

// A SIGTERM while an apply writes and a commit pushes: nobody new is let in, and both finish and answer.
func TestAStopLosesNoStartedWrite(t *testing.T) {
	s := newScene(t, patient, func(t *testing.T, s *scene) {
		replace(t, filepath.Join(s.snapshot, "cluster-manager.yaml"), "installation: gazelle\n", "installation: gazelle\napply-budget: 120s\n")
	})
	pushes := hold(t, func(request *http.Request) bool {
		return request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/git-receive-pack")
	})
	writes := hold(t, func(request *http.Request) bool {
		return request.Method != http.MethodGet && request.URL.Query().Get("dryRun") == "" && strings.Contains(request.URL.Path, "/helmreleases")
	})
	ctx, ignore := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer ignore()
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- serve(ctx, serveOptions{
			Resolved: settings.Resolved{Server: settings.Server{Snapshot: s.snapshot, Listen: "127.0.0.1:0", MCPPath: "/mcp", MaxRequestBytes: 1 << 20}},
			forge:    &outsideForge{addresses: forgeAt(proxied(t, s.forge.URL(), pushes)), token: clustermanager.NewSecret(s.forgeToken)},
			through:  func(address string) string { return proxied(t, address, writes) },
		}, s.log, func(_ *installation, endpoint string) { ready <- endpoint })
	}()
	endpoint := <-ready
	answers := map[string]chan mcptools.Result{}
	// The apply comes last: its budget runs while it is held.
	for _, call := range []struct {
		mode, name string
		held       *held
	}{{"commit", "gpu-commit", pushes}, {"apply", "gpu-apply", writes}} {
		mode, name := call.mode, call.name
		client, answered := dial(t, endpoint), make(chan mcptools.Result, 1)
		answers[mode] = answered
		go func() {
			arguments, _ := json.Marshal(poolArguments("wc1", name, map[string]any{"mode": mode}))
			result, err := client.Call(t.Context(), "create_node_pool", arguments, nil)
			if err != nil {
				result = mcptools.Result{Reason: clustermanager.ReasonError, Texts: []string{err.Error()}}
			}
			answered <- result
		}()
		select {
		case <-call.held.reached:
		case result := <-answered:
			t.Fatalf("%s wrote nothing: %s %s", mode, result.Reason, result.Texts)
		}
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	nobodyIsLetIn(t, endpoint)
	select {
	case err := <-ended:
		t.Fatalf("the server ended before its calls: %v", err)
	default:
	}
	pushes.release()
	writes.release()
	for mode, answered := range answers {
		result := <-answered
		if result.Reason != "" {
			t.Errorf("%s: %s %s", mode, result.Reason, result.Texts)
			continue
		}
		answer := readAnswer(t, result)
		if answer.Partial || mode == "commit" && answer.Commit.Number == 0 {
			t.Errorf("%s: %s", mode, result.Texts)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("stopping: %v", err)
	}
	if got := s.forge.ReceivePacks(); got != 1 {
		t.Errorf("%d pushes", got)
	}
}

// nobodyIsLetIn waits until nobody new is let in.
func nobodyIsLetIn(t *testing.T, endpoint string) {
	t.Helper()
	address, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	for {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address.Host)
		if err != nil {
			return
		}
		_ = connection.Close()
		time.Sleep(time.Millisecond)
	}
}

// A body that does not come is not waited for.
func TestABodyThatDoesNotCome(t *testing.T) {
	served := make(chan struct{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: limited(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(served) }), 1<<20, 20*time.Millisecond)}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if _, err := connection.Write([]byte("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 64)
	count, err := connection.Read(answer)
	if err != nil || !strings.HasPrefix(string(answer[:count]), "HTTP/1.1 408 ") {
		t.Errorf("%v %q", err, answer[:count])
	}
	select {
	case <-served:
		t.Error("the handler was called")
	default:
	}
}

// Without MCP the probes are there and the endpoint is not.
func TestWithoutMCP(t *testing.T) {
	server := settings.Server{WithoutMCP: true, Listen: "127.0.0.1:0", MCPPath: "/mcp"}
	if err := (serveOptions{Resolved: settings.Resolved{Server: server}}).check(); err != nil {
		t.Error(err)
	}
	server.Stdio = true
	if err := (serveOptions{Resolved: settings.Resolved{Server: server}}).check(); err == nil || !strings.Contains(err.Error(), "setting mcp-enabled") {
		t.Errorf("%v", err)
	}
	observed, err := telemetry.Start(t.Context(), telemetry.Options{Variable: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := routes(&installation{}, nil, serveOptions{Resolved: settings.Resolved{Server: server}}, observed)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/mcp": http.StatusNotFound} {
		if got := statusOf(t, handler, path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}
