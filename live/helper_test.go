package live_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/offline"
	"github.com/clustermanager/cluster-manager/live"
	"github.com/clustermanager/cluster-manager/live/session"
)

// begin is when every call starts.
var begin = time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)

// scene is an installation and its workload cluster wc1, whose requests pass through the test's hands.
type scene struct {
	// installation and target are the test's own hands; the product's go through the wire.
	installation, target           dynamic.Interface
	wiredInstallation, wiredTarget dynamic.Interface
	wire                           *wire
	// kubeconfig is that of a real API server.
	kubeconfig string
	clock      *clock
}

// newScene serves the objects of two YAML texts.
func newScene(t *testing.T, installation, target string) *scene {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"cluster-manager.yaml": "installation: gazelle\n", "management/a.yaml": installation, "clusters/wc1/a.yaml": target,
	} {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opened, err := offline.Open(t.Context(), offline.Options{Dir: folder, Now: func() time.Time { return begin }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	s := &scene{wire: &wire{}, clock: &clock{now: begin}}
	workload, err := opened.ClusterConfig("wc1")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		config       *rest.Config
		plain, wired *dynamic.Interface
	}{{opened.Config(), &s.installation, &s.wiredInstallation}, {workload, &s.target, &s.wiredTarget}} {
		one.config.BearerToken, one.config.QPS = opened.Caller.KubernetesToken.Reveal(), -1
		if *one.plain, err = dynamic.NewForConfig(one.config); err != nil {
			t.Fatal(err)
		}
		one.config.Wrap(func(base http.RoundTripper) http.RoundTripper { return s.wire.over(base) })
		if *one.wired, err = dynamic.NewForConfig(one.config); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *scene) clients() live.Clients {
	return live.Clients{
		Installation: &session.Client{Dynamic: s.wiredInstallation},
		Target:       func() (*session.Client, error) { return &session.Client{Dynamic: s.wiredTarget}, nil },
	}
}

// options are a call that starts now, with eight seconds.
func (s *scene) options() live.Options {
	return live.Options{
		Budget: clustermanager.Budget{Start: s.clock.Now(), Limit: 8 * time.Second},
		Tool:   "create_node_pool", Caller: "jane@acme.example", Time: begin,
		Clock: live.Clock{Now: s.clock.Now, Wait: s.clock.Wait},
	}
}

func (s *scene) plan(t *testing.T, steps []clustermanager.Step) *live.Planned {
	t.Helper()
	planned, err := live.Plan(t.Context(), s.clients(), steps)
	if err != nil {
		t.Fatal(err)
	}
	return planned
}

func (s *scene) apply(t *testing.T, steps []clustermanager.Step) live.Result {
	t.Helper()
	return s.applyWith(t, steps, s.options())
}

func (s *scene) applyWith(t *testing.T, steps []clustermanager.Step, options live.Options) live.Result {
	t.Helper()
	result, err := live.Apply(t.Context(), s.plan(t, steps), options)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// state is every object that both API servers hold of the kinds, without what changes with each write.
func (s *scene) state(t *testing.T) map[string]any {
	t.Helper()
	all := map[string]any{}
	for at, client := range map[string]dynamic.Interface{"installation": s.installation, "target": s.target} {
		for _, kind := range []string{
			"v1/configmaps", "v1/secrets", "v1/namespaces", "v1/persistentvolumeclaims", "apps/v1/deployments",
			"apiextensions.k8s.io/v1/customresourcedefinitions", "helm.toolkit.fluxcd.io/v2/helmreleases",
			"source.toolkit.fluxcd.io/v1/ocirepositories", "serving.kserve.io/v1alpha2/llminferenceserviceconfigs",
			"serving.kserve.io/v1alpha2/llminferenceservices", "karpenter.sh/v1/nodeclaims",
		} {
			version, resource, _ := strings.Cut(kind, "/")
			if group, rest, more := strings.Cut(resource, "/"); more {
				version, resource = version+"/"+group, rest
			}
			group, err := schema.ParseGroupVersion(version)
			if err != nil {
				t.Fatal(err)
			}
			list, err := client.Resource(group.WithResource(resource)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				continue
			}
			for _, object := range list.Items {
				for _, field := range []string{"resourceVersion", "uid", "generation"} {
					unstructured.RemoveNestedField(object.Object, "metadata", field)
				}
				all[at+" "+clustermanager.ReferenceTo(&object).String()] = object.Object
			}
		}
	}
	return all
}

// actions are the changes in words.
func actions(changes []clustermanager.Change) []string {
	var told []string
	for _, change := range changes {
		text := string(change.Action) + " " + change.ObjectReference.String()
		if len(change.Changes) > 0 {
			text += " " + strings.Join(change.Changes, " ")
		}
		told = append(told, text)
	}
	return told
}

// clock stands still but for waits and the requests that the test says.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	waits []time.Duration
	// waited is called after the n-th wait, from 1.
	waited func(n int)
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Wait(ctx context.Context, duration time.Duration) error {
	c.mu.Lock()
	c.now = c.now.Add(duration)
	c.waits = append(c.waits, duration)
	n, waited := len(c.waits), c.waited
	c.mu.Unlock()
	if waited != nil {
		waited(n)
	}
	return ctx.Err()
}

func (c *clock) pass(duration time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(duration)
}

// wire is the way to the API servers. It keeps what was written, and lets a test answer in their place.
type wire struct {
	mu     sync.Mutex
	writes []string
	bodies [][]byte
	// instead answers the n-th write, from 1; nil: the API server does. It may call the API server itself.
	instead func(n int, request *http.Request, ask func() (*http.Response, error)) (*http.Response, error, bool)
	// unreadable is the end of a path that no read is answered of.
	unreadable string
}

type over struct {
	*wire
	base http.RoundTripper
}

func (w *wire) over(base http.RoundTripper) http.RoundTripper { return &over{w, base} }

func (o *over) RoundTrip(request *http.Request) (*http.Response, error) {
	if o.unreadable != "" && request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, o.unreadable) {
		return nil, errors.New("unreachable by the test")
	}
	if request.Method == http.MethodGet || strings.HasSuffix(request.URL.Path, "/events") {
		return o.base.RoundTrip(request)
	}
	var body []byte
	if request.Body != nil {
		body, _ = io.ReadAll(request.Body)
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	o.mu.Lock()
	o.writes = append(o.writes, request.Method+" "+request.URL.Path)
	o.bodies = append(o.bodies, body)
	n, instead := len(o.writes), o.instead
	o.mu.Unlock()
	if instead != nil {
		response, err, answered := instead(n, request, func() (*http.Response, error) { return o.base.RoundTrip(request) })
		if answered {
			return response, err
		}
	}
	return o.base.RoundTrip(request)
}

func (w *wire) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes, w.bodies, w.instead = nil, nil, nil
}

// status is an API server's answer of a failure.
func status(code int, reason metav1.StatusReason) *http.Response {
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + string(reason) + `","message":"` + string(reason) + `","code":` + itoa(code) + `}`
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

func itoa(n int) string {
	text, _ := yaml.Marshal(n)
	return strings.TrimSpace(string(text))
}

var errClosed = errors.New("the connection was closed")

// object reads one from YAML.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	read := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &read.Object); err != nil {
		t.Fatal(err)
	}
	return read
}

// reference makes an object that is named and labelled alone.
func reference(apiVersion, kind, namespace, name string, labels map[string]string) *unstructured.Unstructured {
	named := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	named.SetNamespace(namespace)
	named.SetName(name)
	named.SetLabels(labels)
	return named
}

type sessionClient = session.Client

var eventsResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}

func unstructuredSet(fields map[string]any, value any, path ...string) {
	_ = unstructured.SetNestedField(fields, value, path...)
}

type unstructuredObject = unstructured.Unstructured

func resourceOf(group, version, kind string) schema.GroupVersionResource {
	name := strings.ToLower(kind) + "s"
	if strings.HasSuffix(kind, "y") {
		name = strings.ToLower(strings.TrimSuffix(kind, "y")) + "ies"
	}
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}
