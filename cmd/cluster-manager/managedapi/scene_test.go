package managedapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	double "github.com/clustermanager/cluster-manager/fixtures/gke"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/gke"
)

var start = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

const accountToken = "account-token-made-for-the-test"

var (
	poolP = "pool_" + strings.Repeat("p", 26)
	poolZ = "pool_" + strings.Repeat("z", 26)
)

// catalogue is what may be handed out: alice operates acme, vera views it, otto operates other, nina has no right.
const catalogue = `
accounts:
- {id: PA, provider: gcp, project: platform, zones: [europe-west1-b, europe-west1-c, us-east1-b], egress: [192.0.2.0/24]}
- {id: HZ, provider: metal}
pools:
- {id: POOLP, account: PA, kind: provider, billing: metered}
- {id: POOLZ, account: HZ, kind: provider, billing: metered}
offers:
- {pool: POOLP, tenant: acme}
- {pool: POOLZ, tenant: acme}
- {pool: POOLP, tenant: other}
bindings:
- {tenant: acme, role: operator, users: ["https://id.example.com|alice"]}
- {tenant: acme, role: viewer, users: ["https://id.example.com|vera"]}
- {tenant: other, role: operator, users: ["https://id.example.com|otto"]}
`

// scene is the whole API over HTTP, with SQLite, the provider's double and a clock.
type scene struct {
	*API
	t      *testing.T
	clock  *double.Clock
	cloud  *double.Server
	url    string
	folder string
	log    locked
}

// locked is a log that may be read while it is written.
type locked struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (l *locked) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(data)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}

var checker = sync.OnceValues(func() (*double.Checker, error) { return double.LoadChecker(context.Background()) })

type change func(*Options, *double.Options)

func newScene(t *testing.T, changes ...change) *scene {
	t.Helper()
	check, err := checker()
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, clock: double.NewClock(start), folder: t.TempDir()}
	s.writeCatalogue(catalogue)
	cloudOptions := double.Options{Clock: s.clock.Now, Checker: check, Authority: "made for the test"}
	options := Options{
		Managed: settings.Managed{
			Database: s.databaseSetting(), Catalog: filepath.Join(s.folder, "catalog.yaml"),
			MaxClusters: 10, CredentialTTL: time.Hour,
		},
		Provider: gke.Options{Credentials: gke.Given(clustermanager.NewSecret(accountToken))},
		Identify: func(r *http.Request) (managed.Principal, error) {
			name, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if !is || name == "" {
				return managed.Principal{}, errors.New("there is no token")
			}
			return managed.Principal{ID: "https://id.example.com|" + name}, nil
		},
		Clock: s.clock.Now, Log: slog.New(slog.NewJSONHandler(&s.log, nil)),
	}
	for _, do := range changes {
		do(&options, &cloudOptions)
	}
	s.cloud = double.New(cloudOptions)
	google := httptest.NewServer(s.cloud)
	t.Cleanup(google.Close)
	options.Provider.Endpoint = google.URL
	if s.API, err = Open(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.API)
	s.url = web.URL
	t.Cleanup(func() {
		web.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, finding := range s.cloud.Findings() {
			t.Errorf("the discovery document has another word: %s", finding)
		}
	})
	return s
}

// databaseSetting is the setting that the scene was opened with.
func (s *scene) databaseSetting() clustermanager.Secret {
	return clustermanager.NewSecret(filepath.Join(s.folder, "records.db"))
}

func (s *scene) writeCatalogue(text string) {
	s.t.Helper()
	text = strings.NewReplacer("POOLP", poolP, "POOLZ", poolZ).Replace(text)
	if err := os.WriteFile(filepath.Join(s.folder, "catalog.yaml"), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

type fields = map[string]any

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   fields
}

// call makes a call as a person.
func (s *scene) call(person, method string, body fields) reply {
	s.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/api/compute/kubernetesClusters/"+method, bytes.NewReader(data))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+person)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	got := reply{status: response.StatusCode, header: response.Header}
	if err := json.Unmarshal(text, &got.body); err != nil {
		s.t.Fatalf("%s: %s: %v", method, text, err)
	}
	return got
}

// fault is the status, code and details of an answer.
func (r reply) fault() []any {
	of, _ := r.body["error"].(fields)
	return []any{r.status, of["code"], of["details"]}
}

// ok is the minimal valid create, with changes.
func ok(changes ...fields) fields {
	body := fields{
		"tenantId": "acme", "poolId": poolP, "name": "one", "mode": "standard", "location": "europe-west1-b", "idempotencyKey": "key-1",
		"nodePools": []any{fields{"name": "a", "machineType": "e2-standard-4", "nodeCount": 1}},
	}
	for _, change := range changes {
		for name, value := range change {
			body[name] = value
		}
	}
	return body
}

// create makes a cluster as alice and gives its id.
func (s *scene) create(changes ...fields) string {
	s.t.Helper()
	got := s.call("alice", "create", ok(changes...))
	id, is := got.body["clusterId"].(string)
	if got.status != http.StatusOK || !is {
		s.t.Fatalf("create: %v", got)
	}
	return id
}

func of(id string, more ...fields) fields {
	body := fields{"tenantId": "acme", "clusterId": id}
	for _, change := range more {
		for name, value := range change {
			body[name] = value
		}
	}
	return body
}

// wait lets time pass, with the passes that are due in it.
func (s *scene) wait(long time.Duration) {
	s.t.Helper()
	for end := s.clock.Now().Add(long); s.clock.Now().Before(end); {
		s.clock.Advance(10 * time.Second)
		s.Reconciler.Pass(s.t.Context())
		s.Reconciler.Jobs(s.t.Context())
	}
}

// get is a cluster as vera sees it.
func (s *scene) get(id string) fields {
	s.t.Helper()
	return s.call("vera", "get", of(id)).body
}

// events are the types of a cluster's events so far.
func (s *scene) events(id string) []string {
	s.t.Helper()
	all, err := s.Store.Events(s.t.Context(), "acme", id, 0, 500)
	if err != nil {
		s.t.Fatal(err)
	}
	var types []string
	for _, one := range all {
		var event struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(one.Body, &event); err != nil {
			s.t.Fatal(err)
		}
		types = append(types, strings.TrimPrefix(event.Type, "kubernetes.cluster."))
	}
	return types
}

// writes are the calls that changed something at the provider.
func (s *scene) writes() []string {
	var calls []string
	for _, request := range s.cloud.Requests() {
		if request.Method != http.MethodGet {
			calls = append(calls, request.Call)
		}
	}
	return calls
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
