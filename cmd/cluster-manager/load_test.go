package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// loadVariable is how long the load lasts; make load sets it.
const loadVariable = "CLUSTER_MANAGER_TEST_LOAD"

const (
	loadCallers  = 50
	loadInFlight = 20
	// loadConcurrency is below what is in flight: all callers of a snapshot are one person, who then meets the limit.
	loadConcurrency = 16
	// mostHeapGrowth is how much more may be held after the second half than after the first, in bytes.
	mostHeapGrowth = 8 << 20
)

// statusOf gets a path of a handler.
func statusOf(t *testing.T, handler http.Handler, path string) int {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer.Code
}

// load counts what callers met.
type load struct {
	mutex sync.Mutex
	// took are the times of the calls of get_info that were done.
	took          []time.Duration
	done, limited atomic.Int64
}

// loadCalls are what callers ask for, in turn.
var loadCalls = []struct{ tool, arguments string }{
	{"get_info", `{}`}, {"get_info", `{}`}, {"get_info", `{}`}, {"get_info", `{}`}, {"get_info", `{}`}, {"get_info", `{}`},
	{"list_node_pools", `{"cluster":"wc1"}`},
	{"create_node_pool", `{"cluster":"wc1","name":"gpu-l4","serving":false,"dryRun":true}`},
}

// Fifty callers with twenty calls in flight: no error but the limit's, and nothing held that grows.
func TestLoad(t *testing.T) {
	lasts := 5 * time.Second
	if given := os.Getenv(loadVariable); given != "" {
		var err error
		if lasts, err = time.ParseDuration(given); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- serve(ctx, serveOptions{keep: t.TempDir(), Resolved: settings.Resolved{Server: settings.Server{
			Snapshot: filepath.Join("..", "..", "fixtures", "installations", "gazelle"), Listen: "127.0.0.1:0",
			MCPPath: settings.DefaultMCPPath, MaxRequestBytes: settings.DefaultMaxRequestBytes, CallerConcurrency: loadConcurrency,
		}}}, &lockedBuffer{}, func(_ *installation, endpoint string) { ready <- endpoint })
	}()
	endpoint := <-ready
	var callers []*mcptools.Client
	for range loadCallers {
		callers = append(callers, dial(t, endpoint))
	}
	met := &load{}
	met.run(t, callers, lasts/10)
	before := heldBytes()
	met.run(t, callers, lasts/2)
	half := heldBytes()
	met.run(t, callers, lasts/2)
	after := heldBytes()
	slices.Sort(met.took)
	t.Logf("%s: %d calls done, %d met the limit; get_info p50 %s, p99 %s; held %d, %d, %d KiB", lasts, met.done.Load(), met.limited.Load(),
		met.took[len(met.took)/2], met.took[len(met.took)*99/100], before>>10, half>>10, after>>10)
	if met.limited.Load() == 0 || met.done.Load() == 0 {
		t.Error("either no call was done, or none met the limit")
	}
	if after > half+mostHeapGrowth {
		t.Errorf("%d bytes are held after the second half, %d after the first", after, half)
	}
	for _, caller := range callers {
		_ = caller.Close()
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// run lets the callers call for a while.
func (l *load) run(t *testing.T, callers []*mcptools.Client, lasts time.Duration) {
	t.Helper()
	slots, until := make(chan struct{}, loadInFlight), time.Now().Add(lasts)
	var group sync.WaitGroup
	for number, caller := range callers {
		group.Go(func() {
			for turn := number; time.Now().Before(until); turn++ {
				slots <- struct{}{}
				l.call(t, caller, turn)
				<-slots
			}
		})
	}
	group.Wait()
}

func (l *load) call(t *testing.T, caller *mcptools.Client, turn int) {
	call := loadCalls[turn%len(loadCalls)]
	start := time.Now()
	result, err := caller.Call(t.Context(), call.tool, json.RawMessage(call.arguments), nil)
	took := time.Since(start)
	switch {
	case err != nil:
		t.Errorf("%s: %v", call.tool, err)
	case result.Reason == clustermanager.ReasonRefused && strings.Contains(result.Texts[0], "call again in 1 s"):
		l.limited.Add(1)
	case result.Reason != "":
		t.Errorf("%s: %s %s", call.tool, result.Reason, result.Texts)
	default:
		l.done.Add(1)
		if call.tool == "get_info" {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			l.took = append(l.took, took)
		}
	}
}

// heldBytes is what the heap holds once garbage is gone.
func heldBytes() uint64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}
