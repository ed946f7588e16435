package survey_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/offline"
	"github.com/clustermanager/cluster-manager/live/survey"
)

var now = time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)

// files are the snapshot's, path to content. A test edits them before it opens them.
type files map[string]string

// snapshot reads testdata/installation.
func snapshot(t *testing.T) files {
	t.Helper()
	read := files{}
	tree := os.DirFS("testdata/installation")
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		read[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

const (
	wc1  = "management/org-acme/wc1.yaml"
	flux = "management/flux/flux.yaml"
)

// replace replaces a text that must stand in the file once.
func (f files) replace(t *testing.T, name, old, with string) files {
	t.Helper()
	if count := strings.Count(f[name], old); count != 1 {
		t.Fatalf("%q stands %d times in %s", old, count, name)
	}
	f[name] = strings.Replace(f[name], old, with, 1)
	return f
}

// drop takes the document out that starts with the lines given.
func (f files) drop(t *testing.T, name, start string) files {
	t.Helper()
	documents := strings.Split(f[name], "---\n")
	for index, document := range documents {
		if strings.HasPrefix(document, start) {
			documents[index] = ""
			f[name] = strings.Join(documents, "---\n")
			return f
		}
	}
	t.Fatalf("no document of %s starts with %q", name, start)
	return f
}

// add adds documents.
func (f files) add(documents string) files {
	f[fmt.Sprintf("management/added-%d.yaml", len(f))] = documents
	return f
}

// target adds documents of the workload cluster's own API server.
func (f files) target(documents string) files {
	f[fmt.Sprintf("clusters/wc1/added-%d.yaml", len(f))] = documents
	return f
}

// wire records the requests between clients and server, and answers some itself.
type wire struct {
	// forbid are parts of a request's method and path that are answered 403, fail those that are answered 500.
	forbid, fail []string

	mu       sync.Mutex
	requests []string
	// secrets are the Secrets that were asked for whole.
	secrets []string
}

func (w *wire) requested() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

func (w *wire) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		line := request.Method + " " + strings.TrimPrefix(request.URL.Path, "/installation")
		if query := request.URL.RawQuery; query != "" {
			line += "?" + query
		}
		w.mu.Lock()
		w.requests = append(w.requests, line)
		if strings.Contains(line, "/secrets/") && !strings.Contains(request.Header.Get("Accept"), "PartialObjectMetadata") {
			w.secrets = append(w.secrets, line)
		}
		w.mu.Unlock()
		for _, part := range w.forbid {
			if strings.Contains(line+"$", part) {
				return refused(request, http.StatusForbidden, "Forbidden"), nil
			}
		}
		for _, part := range w.fail {
			if strings.Contains(line+"$", part) {
				return refused(request, http.StatusInternalServerError, "InternalError"), nil
			}
		}
		return next.RoundTrip(request)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func refused(request *http.Request, code int, reason string) *http.Response {
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Status","status":"Failure","message":"%s by the test","reason":"%s","code":%d}`,
		strings.ToLower(reason), reason, code)
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Request: request, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewBufferString(body)),
	}
}

// readerWith is reader beside a registry.
func (f files) readerWith(t *testing.T, over *wire, charts survey.Charts) *survey.Reader {
	t.Helper()
	return f.reader(t, over, func(options *survey.Options) { options.Charts = charts })
}

// reader opens the snapshot and returns a reader of it, over the wire.
func (f files) reader(t *testing.T, over *wire, changes ...func(*survey.Options)) *survey.Reader {
	t.Helper()
	folder := t.TempDir()
	for name, content := range f {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return openFolder(t, folder, over, changes...)
}

// openFolder returns a reader of the snapshot in a folder, over the wire.
func openFolder(t *testing.T, folder string, over *wire, changes ...func(*survey.Options)) *survey.Reader {
	t.Helper()
	installation, err := offline.Open(t.Context(), offline.Options{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = installation.Close() })
	connect := func(config *rest.Config) survey.Client {
		config.BearerToken = installation.Caller.KubernetesToken.Reveal()
		config.QPS = -1
		if over != nil {
			config.Wrap(over.wrap)
		}
		return clients(t, config)
	}
	options := survey.Options{Settings: installation.Settings, Now: now}
	options.Workload = func(cluster clustermanager.Cluster, _ clustermanager.Endpoint) (survey.Client, error) {
		config, err := installation.ClusterConfig(cluster.Name)
		if err != nil {
			return survey.Client{}, err
		}
		return connect(config), nil
	}
	for _, change := range changes {
		change(&options)
	}
	return survey.New(connect(installation.Config()), options)
}

func clients(t testing.TB, config *rest.Config) survey.Client {
	t.Helper()
	made := survey.Client{}
	var err error
	if made.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if made.Metadata, err = metadata.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if made.Discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		t.Fatal(err)
	}
	return made
}
