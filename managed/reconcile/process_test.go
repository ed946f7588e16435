package reconcile

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/auth"

	double "github.com/clustermanager/cluster-manager/fixtures/gke"
	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/gke"
	"github.com/clustermanager/cluster-manager/managed/store"
	"github.com/clustermanager/cluster-manager/managed/store/storetest"
)

// The variables that make this test binary a process of its own: its name, the database, and the address of the provider,
// which has the clock too.
const (
	otherProcess  = "CLUSTER_MANAGER_TEST_OTHER_PROCESS"
	otherDatabase = "CLUSTER_MANAGER_TEST_OTHER_DATABASE"
	otherProvider = "CLUSTER_MANAGER_TEST_OTHER_PROVIDER"
)

// many is how many clusters the processes share.
const many = 12

// runOtherProcess reconciles, step by step with the others, until it is killed.
func runOtherProcess() int {
	address, name := os.Getenv(otherProvider), os.Getenv(otherProcess)
	opened, err := store.Open(context.Background(), os.Getenv(otherDatabase))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	clock := func() time.Time {
		now, err := time.Parse(time.RFC3339Nano, ask(address+"/clock"))
		if err != nil {
			os.Exit(1)
		}
		return now
	}
	provider := gke.New(gke.Options{Endpoint: address, Credentials: func(managed.Account) (*auth.Credentials, error) {
		return auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: bearer(name)}), nil
	}})
	r, err := New(Settings{}, Rooms{
		Store: opened, Catalogue: platform{}, Providers: map[string]Provider{"gcp": provider}, Clock: clock,
		Log: slog.New(slog.NewTextHandler(os.Stdout, nil)),
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	// A step takes half of the records at most, so that the other half is another process's.
	r.slots = make(chan struct{}, many/2)
	for ask(address+"/step?process="+name) != "" {
		r.start(context.Background())
		r.running.Wait()
		r.Jobs(context.Background())
	}
	return 0
}

func ask(address string) string {
	answer, err := http.Get(address)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	data, _ := io.ReadAll(answer.Body)
	return string(data)
}

type bearer string

func (b bearer) Token(context.Context) (*auth.Token, error) {
	return &auth.Token{Value: string(b)}, nil
}

// platform is a catalogue of one account.
type platform struct{}

func (platform) Current() *managed.Catalogue {
	return &managed.Catalogue{Accounts: []managed.Account{{ID: "PA", Provider: "gcp", Project: "platform"}}}
}

// world is a provider with a clock, for processes that make their steps together.
type world struct {
	*scene
	cloud   *double.Server
	address string
	// answered is called when a call of a process was taken and is about to be answered.
	answered func(process, call string)

	mu        sync.Mutex
	processes map[string]*exec.Cmd
	waiting   map[string]chan struct{}
	arrived   chan struct{}
	spoken    map[string]int
}

func newTestWorld(t *testing.T) (*world, string) {
	t.Helper()
	location := storetest.Postgres(t)
	w := &world{
		scene: newSceneAt(t, location), processes: map[string]*exec.Cmd{}, waiting: map[string]chan struct{}{},
		arrived: make(chan struct{}, 100), spoken: map[string]int{},
	}
	checker, err := double.LoadChecker(t.Context())
	w.must(err)
	w.cloud = double.New(double.Options{Clock: w.now, Checker: checker})
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.address = server.URL
	return w, location
}

func (w *world) ServeHTTP(to http.ResponseWriter, request *http.Request) {
	switch request.URL.Path {
	case "/clock":
		_, _ = io.WriteString(to, w.now().Format(time.RFC3339Nano))
	case "/step":
		release := make(chan struct{})
		w.mu.Lock()
		w.waiting[request.URL.Query().Get("process")] = release
		w.mu.Unlock()
		w.arrived <- struct{}{}
		<-release
		_, _ = io.WriteString(to, "go")
	default:
		process := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
		answer := httptest.NewRecorder()
		w.cloud.ServeHTTP(answer, request)
		w.mu.Lock()
		w.spoken[process]++
		w.mu.Unlock()
		if w.answered != nil && request.Method != http.MethodGet {
			w.answered(process, request.Method)
		}
		to.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		to.WriteHeader(answer.Code)
		_, _ = to.Write(answer.Body.Bytes())
	}
}

// begin starts a process.
func (w *world) begin(name, database string) {
	w.t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), otherProcess+"="+name, otherDatabase+"="+database, otherProvider+"="+w.address)
	command.Stdout, command.Stderr = &w.log, &w.log
	w.must(command.Start())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.processes[name] = command
	w.t.Cleanup(func() { _ = w.kill(name) })
}

// kill kills a process as kill -9 does, and says whether it ran.
func (w *world) kill(name string) bool {
	w.mu.Lock()
	command := w.processes[name]
	delete(w.processes, name)
	if waits := w.waiting[name]; waits != nil {
		close(waits)
		delete(w.waiting, name)
	}
	w.mu.Unlock()
	if command == nil {
		return false
	}
	_ = command.Process.Kill()
	_ = command.Wait()
	return true
}

// steps lets all processes make a step every few seconds of the clock.
func (w *world) steps(by time.Duration) {
	w.t.Helper()
	const step = 30 * time.Second
	for gone := time.Duration(0); gone < by; gone += step {
		deadline := time.After(2 * time.Minute)
		for !w.allWait() {
			select {
			case <-w.arrived:
			case <-time.After(50 * time.Millisecond):
			case <-deadline:
				w.t.Fatalf("a process does not come to its end: %s", w.log.String())
			}
		}
		w.advance(step)
		w.mu.Lock()
		for name, waits := range w.waiting {
			close(waits)
			delete(w.waiting, name)
		}
		w.mu.Unlock()
	}
}

func (w *world) allWait() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting) == len(w.processes)
}

// accepted counts the writes that the provider took, by verb and cluster.
func (w *world) accepted() map[string]int {
	counts := map[string]int{}
	for _, request := range w.cloud.Requests() {
		if request.Method == http.MethodGet || request.Code != http.StatusOK {
			continue
		}
		name := request.Path[strings.LastIndex(request.Path, "/")+1:]
		if request.Method == http.MethodPost {
			_, rest, _ := strings.Cut(string(request.Body), "bc-k-")
			name = "bc-k-" + rest[:24]
		}
		counts[request.Method+" "+name]++
	}
	return counts
}

func TestTwoProcessesShareTheWorkAndOneIsKilled(t *testing.T) {
	t.Parallel()
	w, database := newTestWorld(t)
	var rows []managed.Cluster
	for i := range many {
		rows = append(rows, w.insert(fmt.Sprint("c", i)))
	}
	calls := map[string]int{}
	var mu sync.Mutex
	w.answered = func(process, _ string) {
		mu.Lock()
		calls[process]++
		kill := process == "first" && calls[process] == 4
		mu.Unlock()
		if kill && w.kill("first") {
			w.begin("third", database)
		}
	}
	w.begin("first", database)
	w.begin("second", database)
	w.steps(6 * time.Minute)
	for _, row := range rows {
		w.state(row, managed.StateReady)
		equal(t, row.Name, []string{"created", "ready"}, w.events(row))
	}
	equal(t, "clusters at the provider", many, len(w.cloud.Clusters("platform")))
	for _, process := range []string{"first", "second", "third"} {
		if w.spoken[process] == 0 {
			t.Errorf("process %s did nothing: %v", process, w.spoken)
		}
	}
	mu.Lock()
	calls["second"] = 0
	w.answered = func(process, _ string) {
		mu.Lock()
		calls[process]++
		kill := process == "second" && calls[process] == 3
		mu.Unlock()
		if kill {
			w.kill("second")
		}
	}
	mu.Unlock()
	for _, row := range rows {
		w.delete(row)
	}
	w.steps(5 * time.Minute)
	for _, row := range rows {
		w.state(row, managed.StateDeleted)
		equal(t, row.Name, []string{"created", "ready", "deleting", "deleted"}, w.events(row))
	}
	equal(t, "clusters at the provider", 0, len(w.cloud.Clusters("platform")))
	counts := w.accepted()
	for _, row := range rows {
		for _, method := range []string{http.MethodPost, http.MethodDelete} {
			equal(t, method+" of "+row.Name, 1, counts[method+" "+managed.ProviderName(row.ID)])
		}
	}
	if findings := w.cloud.Findings(); len(findings) > 0 {
		t.Errorf("R08: %s", slices.Compact(findings))
	}
}
