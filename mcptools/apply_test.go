package mcptools

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
	"github.com/clustermanager/cluster-manager/internal/offline"
	"github.com/clustermanager/cluster-manager/live/session"
	"github.com/clustermanager/cluster-manager/live/survey"
	"github.com/clustermanager/cluster-manager/render/compose"
)

// doors are the tools over the fixtures' installation, with what each door was asked to write.
type doors struct {
	*Tools
	call  Call
	forge *localforge.Forge

	mu sync.Mutex
	// order are the writes of both doors.
	order []string
	// refuses says that the API server, or the forge, does not take a write.
	refuses func(write string) bool
	log     strings.Builder
}

func newDoors(t *testing.T) *doors {
	t.Helper()
	opened, err := offline.Open(t.Context(), offline.Options{Dir: filepath.Join("..", "fixtures", "installations", "gazelle")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	state := t.TempDir()
	d := &doors{}
	d.forge, err = localforge.Start(t.Context(), localforge.Options{Repositories: filepath.Join(state, "repos"), State: filepath.Join(state, "forge.json")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.forge.Close() })
	d.forge.AddUser(localforge.User{Login: "jane", Email: opened.Caller.Email, ID: 1, Token: opened.Caller.GitHub.Token, Push: true})
	if err := d.forge.Import("acme", "fleet", filepath.Join("..", "fixtures", "repos", "acme", "fleet")); err != nil {
		t.Fatal(err)
	}
	server := opened.Config()
	server.Host = d.through(t, server.Host)
	d.Tools, err = New(Options{
		Settings: opened.Settings, Sessions: session.New(server, opened.Route), CommitOffered: true, Transport: d.forgeTransport(),
		Log: slog.New(slog.NewTextHandler(&d.log, nil)),
		Resolve: func(address string) (clustermanager.GitRepository, error) {
			host, owner, name, err := survey.ParseGitURL(address)
			return clustermanager.GitRepository{Host: host, Owner: owner, Name: name, CloneURL: d.forge.CloneURL(owner, name), APIURL: d.forge.APIURL()}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.call = Call{Caller: opened.Caller, Start: time.Now(), Now: time.Now(), Progress: func(string) {}, bounds: &bounds{}}
	return d
}

// through is a proxy before the API server.
func (d *doors) through(t *testing.T, address string) string {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		write := r.Method + " " + r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/events") && d.wrote(write) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + target.Path
}

// wrote keeps a write, and says whether it is refused.
func (d *doors) wrote(write string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.order = append(d.order, write)
	return d.refuses != nil && d.refuses(write)
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (d *doors) forgeTransport() http.RoundTripper {
	return transportFunc(func(request *http.Request) (*http.Response, error) {
		write := ""
		switch {
		case strings.HasSuffix(request.URL.Path, "/git-receive-pack"):
			write = "push"
		case request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/pulls"):
			write = "open"
		}
		if write != "" && d.wrote(write) {
			return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody, Request: request}, nil
		}
		return http.DefaultTransport.RoundTrip(request)
	})
}

// pool is the change of create_node_pool for gpu-l4 on wc1, with a registration beside it.
func (d *doors) pool(t *testing.T, mode clustermanager.Mode, dryRun bool) change {
	t.Helper()
	request := clustermanager.CreateNodePoolRequest{Cluster: "wc1", Name: "gpu-l4", Serving: new(false), Mode: mode}.WithDefaults()
	reader, err := d.reader(d.call)
	if err != nil {
		t.Fatal(err)
	}
	surveyed, err := reader.NodePool(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := compose.NodePool(request, surveyed)
	if err != nil {
		t.Fatal(err)
	}
	backend := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"backend.yaml": "kind: kserve\n"},
		"metadata": map[string]any{"name": "model-backend-kserve-wc1", "namespace": "agent-platform", "labels": map[string]any{
			"app.kubernetes.io/managed-by": "cluster-manager", "giantswarm.io/cluster": "wc1",
		}},
	}}
	pool.Plan.Steps = append(pool.Plan.Steps, clustermanager.Step{Verb: clustermanager.Ensure, Lane: clustermanager.Runtime, Object: backend})
	return change{
		tool: "create_node_pool", mode: mode, dryRun: dryRun, verb: "add", names: []string{"wc1", "gpu-l4"}, scope: "wc1",
		summary: "add GPU node pool gpu-l4", changes: "change GPU node pool gpu-l4", subject: "wc1/gpu-l4", survey: surveyed, plan: pool.Plan,
	}
}

func (d *doors) carry(t *testing.T, mode clustermanager.Mode, dryRun bool) (clustermanager.WriteResult, error) {
	t.Helper()
	d.mu.Lock()
	d.order = nil
	d.mu.Unlock()
	d.call.Start = time.Now()
	ctx, cancel, err := d.begin(t.Context(), d.call, mode)
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	return d.carryOut(ctx, d.call, d.pool(t, mode, dryRun), clustermanager.WriteResult{})
}

func told(changes []clustermanager.Change) []string {
	list := []string{}
	for _, change := range changes {
		list = append(list, string(change.Action)+" "+change.Kind)
	}
	return list
}

func (d *doors) check(t *testing.T, what string, want []string, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

// The runtime lane follows the pull request in both directions, runs at once when there is nothing to propose, and on a dry
// run writes nothing.
func TestTheRuntimeLaneFollowsThePullRequest(t *testing.T) {
	d := newDoors(t)
	result, err := d.carry(t, clustermanager.ModeCommit, true)
	if err != nil {
		t.Fatal(err)
	}
	d.check(t, "dry run", []string{"would-create ConfigMap"}, told(result.Objects))
	d.check(t, "dry run", nil, d.order)
	if len(result.Manifests) != 5 {
		t.Errorf("manifests: %v", result.Manifests)
	}

	d.refuses = func(write string) bool { return write == "open" }
	if _, err := d.carry(t, clustermanager.ModeCommit, false); err == nil {
		t.Error("the pull request was opened")
	}
	if slices.ContainsFunc(d.order, func(write string) bool { return write != "push" && write != "open" }) {
		t.Errorf("a pull request that failed wrote to the installation: %v", d.order)
	}

	d.refuses = nil
	if result, err = d.carry(t, clustermanager.ModeCommit, false); err != nil {
		t.Fatal(err)
	}
	d.check(t, "commit", []string{"create ConfigMap"}, told(result.Objects))
	if last := d.order[len(d.order)-1]; last != "POST configmaps" || d.order[len(d.order)-2] != "open" || result.Commit.PullRequest == "" {
		t.Errorf("order %v, %v", d.order, result.Commit)
	}
	if result, err = d.carry(t, clustermanager.ModeCommit, false); err != nil {
		t.Fatal(err)
	}
	d.check(t, "again", []string{"unchanged ConfigMap"}, told(result.Objects))
	d.check(t, "again", nil, d.order)
}

// What the API server refuses once the pull request is open is in the answer beside it.
func TestARefusedRegistrationIsToldBesideThePullRequest(t *testing.T) {
	d := newDoors(t)
	d.refuses = func(write string) bool { return write == "POST configmaps" }
	result, err := d.carry(t, clustermanager.ModeCommit, false)
	if err != nil {
		t.Fatal(err)
	}
	d.check(t, "commit", []string{"pending ConfigMap"}, told(result.Objects))
	if !result.Partial || result.Commit.PullRequest == "" || !strings.Contains(result.NextStep, "; not all was written to the installation: ConfigMap agent-platform/model-backend-kserve-wc1: creating: the API server answered Forbidden") {
		t.Errorf("%v %s", result.Partial, result.NextStep)
	}
	d.refuses = nil
	if result, err = d.carry(t, clustermanager.ModeCommit, false); err != nil || result.Partial {
		t.Errorf("%v, %v", result, err)
	}
	d.check(t, "again", []string{"create ConfigMap"}, told(result.Objects))
}

// Mode apply needs no GitHub and asks the forge nothing.
func TestModeApplyWritesToTheInstallationAlone(t *testing.T) {
	d := newDoors(t)
	d.call.Caller.GitHub = nil
	d.refuses = func(write string) bool { return write == "POST helmreleases" }
	result, err := d.carry(t, clustermanager.ModeApply, false)
	if err != nil {
		t.Fatal(err)
	}
	// The operator's source is made beside the pool's, when it comes before the refusal.
	operator := told(result.Objects)[2]
	d.check(t, "a release that is refused", []string{"create OCIRepository", "pending HelmRelease", operator, "pending HelmRelease", "pending ConfigMap"}, told(result.Objects))
	done := map[string]string{"create OCIRepository": "2 done, 3 pending", "pending OCIRepository": "1 done, 4 pending"}[operator]
	if !result.Partial || !strings.Contains(result.NextStep, ": creating: the API server answered Forbidden") || done == "" || !strings.Contains(result.NextStep, done) {
		t.Errorf("%v %s", result.Partial, result.NextStep)
	}
	d.refuses = nil
	if result, err = d.carry(t, clustermanager.ModeApply, false); err != nil || result.Partial || result.NextStep != "" {
		t.Fatalf("%v, %v", result, err)
	}
	d.check(t, "again", []string{"unchanged OCIRepository", "create HelmRelease", strings.Replace(strings.Replace(operator, "create", "unchanged", 1), "pending", "create", 1), "create HelmRelease", "create ConfigMap"}, told(result.Objects))
	if last := len(d.order) - 1; last < 2 || d.order[last] != "POST configmaps" {
		t.Errorf("again: %v", d.order)
	}
	if result, err = d.carry(t, clustermanager.ModeApply, true); err != nil || result.Commit != nil || result.NextStep != "everything stands as it should, nothing is to be written" {
		t.Errorf("%v, %v", result, err)
	}
	if line := d.log.String(); !strings.Contains(line, `msg="live writes" tool=create_node_pool cluster=wc1 pool=gpu-l4 dryRun=false objects=5 written=`+done[:1]+` partial=true`) {
		t.Error(line)
	}
}

// The first answer of a workload cluster is not counted: who waits for it has as long for the writes.
func TestTheFirstAnswerOfAWorkloadClusterIsNotCounted(t *testing.T) {
	d := newDoors(t)
	ctx, cancel, err := d.begin(t.Context(), d.call, clustermanager.ModeApply)
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	limit := d.options.Settings.ApplyBudget
	if deadline, _ := ctx.Deadline(); !deadline.Equal(d.call.Start.Add(limit + maxFirstAnswer)) {
		t.Errorf("the call ends %v after its start", deadline.Sub(d.call.Start))
	}
	client, err := d.options.Sessions.Workload(d.call.Caller, clustermanager.Cluster{Name: "wc1"}, clustermanager.Endpoint{})
	if err != nil {
		t.Fatal(err)
	}
	d.call.hear(client)
	if took := d.call.budget().Start.Sub(d.call.Start); took <= 0 || took > maxFirstAnswer || took != d.call.bounds.firstAnswer {
		t.Errorf("not counted is %v", took)
	}
	before := d.call.bounds.firstAnswer
	if _, cancel, err = d.begin(t.Context(), d.call, clustermanager.ModeCommit); err != nil {
		t.Fatal(err)
	}
	defer cancel()
	d.call.hear(client)
	if d.call.bounds.firstAnswer != before {
		t.Error("mode commit does not wait")
	}
}
