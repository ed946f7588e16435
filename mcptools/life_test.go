package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/charts"
	"github.com/clustermanager/cluster-manager/internal/localforge"
	"github.com/clustermanager/cluster-manager/internal/offline"
	"github.com/clustermanager/cluster-manager/internal/registry"
	"github.com/clustermanager/cluster-manager/live/session"
	"github.com/clustermanager/cluster-manager/live/survey"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// life is an installation of the fixtures that tools change, with every write to it counted.
type life struct {
	*Tools
	forge *localforge.Forge
	// kept is where every object is that was written, as it stands; address where the installation's API server answers.
	kept, address string
	token         clustermanager.Secret

	mu     sync.Mutex
	writes []string
	// meets is what happens to a write, which has a number from 1 on, instead of its answer; nil: it is done.
	meets func(write int) func(w http.ResponseWriter, do func())
	// uninstalls says that a release that is deleted is gone at once.
	uninstalls bool
}

// chartFolder holds the fixtures' charts.
func chartFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, from := range []string{"charts", filepath.Join("installations", "gazelle", "charts")} {
		trees, err := filepath.Glob(filepath.Join("..", "fixtures", from, "*-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, tree := range trees {
			if info, err := os.Stat(tree); err != nil || !info.IsDir() || os.CopyFS(filepath.Join(folder, filepath.Base(tree)), os.DirFS(tree)) != nil {
				continue
			}
		}
	}
	return folder
}

// chartReader reads the fixtures' charts from a registry.
func chartReader(t *testing.T) survey.Charts {
	t.Helper()
	served, err := registry.Serve(t.Context(), chartFolder(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = served.Close() })
	reader := charts.New(charts.Options{Address: func(string) string { return served.Address() }})
	return charts.NewSurvey(reader, func(platform, pin string, gatewayAPI bool) (string, string, error) {
		chart, err := catalog.SliceVersion(platform, pin, gatewayAPI)
		return chart.URL, chart.Version, err
	})
}

// newLife opens the fixtures' installation with objects beside it, by file, and without those that gone names.
func newLife(t *testing.T, reader survey.Charts, objects map[string]string, gone ...string) *life {
	t.Helper()
	folder := t.TempDir()
	snapshot := filepath.Join(folder, "snapshot")
	if err := os.CopyFS(snapshot, os.DirFS(filepath.Join("..", "fixtures", "installations", "gazelle"))); err != nil {
		t.Fatal(err)
	}
	for file, content := range objects {
		if err := os.WriteFile(filepath.Join(snapshot, filepath.FromSlash(file)), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range gone {
		if err := os.RemoveAll(filepath.Join(snapshot, filepath.FromSlash(file))); err != nil {
			t.Fatal(err)
		}
	}
	l := &life{kept: filepath.Join(folder, "kept")}
	opened, err := offline.Open(t.Context(), offline.Options{Dir: snapshot, Keep: l.kept})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	server := opened.Config()
	direct := server.Host
	l.address, l.token = direct, opened.Caller.KubernetesToken
	server.Host = l.through(t, direct)
	route := func(cluster clustermanager.Cluster, endpoint clustermanager.Endpoint) (*rest.Config, error) {
		config, err := opened.Route(cluster, endpoint)
		if err == nil {
			config.Host = replaceHost(config.Host, server.Host)
		}
		return config, err
	}
	l.Tools, err = New(Options{
		Settings: opened.Settings, Sessions: session.New(server, route), CommitOffered: true, Charts: reader, Now: time.Now,
		Caller: func(context.Context) (clustermanager.Caller, error) { return opened.Caller, nil },
		Resolve: func(address string) (clustermanager.GitRepository, error) {
			host, owner, name, err := survey.ParseGitURL(address)
			repository := clustermanager.GitRepository{Host: host, Owner: owner, Name: name}
			if l.forge != nil {
				repository.CloneURL, repository.APIURL = l.forge.CloneURL(owner, name), l.forge.APIURL()
			}
			return repository, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// life opens the state that a call is made over.
func (w written) life(t *testing.T, reader survey.Charts) *life {
	t.Helper()
	l := newLife(t, reader, w.objects, w.gone...)
	l.uninstalls = w.uninstalls
	return l
}

// startForge starts the forge that mode commit writes to.
func (l *life) startForge(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	caller, err := l.options.Caller(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.forge, err = localforge.Start(t.Context(), localforge.Options{Repositories: filepath.Join(folder, "repos"), State: filepath.Join(folder, "forge.json")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.forge.Close() })
	l.forge.AddUser(localforge.User{Login: "jane", Email: caller.Email, ID: 1, Token: caller.GitHub.Token, Push: true})
	if err := l.forge.Import("acme", "fleet", filepath.Join("..", "fixtures", "repos", "acme", "fleet")); err != nil {
		t.Fatal(err)
	}
}

// through is a proxy before the API servers, which breaks the connections of what it does not let by.
func (l *life) through(t *testing.T, address string) string {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	// What a test breaks off is no news.
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		do := func(w http.ResponseWriter) {
			proxy.ServeHTTP(w, r)
			if l.uninstalls && r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/helmreleases/") {
				_ = l.setFinalizers(path.Base(r.URL.Path), "[]")
			}
		}
		if r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/events") {
			if instead := l.comes(r.Method + " " + endOf(r.URL.Path)); instead != nil {
				instead(w, func() { do(httptest.NewRecorder()) })
				return
			}
		}
		do(w)
	}))
	t.Cleanup(server.Close)
	return server.URL + target.Path
}

// replaceHost is an address at another's host.
func replaceHost(address, other string) string {
	of, _ := url.Parse(address)
	at, _ := url.Parse(other)
	of.Host = at.Host
	return of.String()
}

// endOf is the end of an object's path.
func endOf(of string) string {
	parts := strings.Split(of, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

// comes counts a write, and says what happens to it.
func (l *life) comes(write string) func(w http.ResponseWriter, do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = append(l.writes, write)
	if l.meets == nil {
		return nil
	}
	return l.meets(len(l.writes))
}

// reset forgets the writes, and lets every one by.
func (l *life) reset() (writes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	writes = len(l.writes)
	l.writes, l.meets = nil, nil
	return writes
}

// run calls a tool, with more arguments over its own.
func (l *life) run(ctx context.Context, t *testing.T, of written, more map[string]any) Result {
	t.Helper()
	arguments := maps.Clone(of.arguments)
	maps.Copy(arguments, more)
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	index := slices.IndexFunc(l.list, func(tool Tool) bool { return tool.Name == of.tool })
	ctx, observed := l.observe(ctx, l.list[index], raw)
	defer observed.end()
	return l.call(ctx, observed, func(string) {})
}

// done calls a tool, and wants it done whole.
func (l *life) done(t *testing.T, of written, more map[string]any) clustermanager.WriteResult {
	t.Helper()
	result := l.run(t.Context(), t, of, more)
	if result.Reason != "" {
		t.Fatalf("%s: %s: %s", of.name, result.Reason, result.Texts)
	}
	var answer clustermanager.WriteResult
	if err := json.Unmarshal([]byte(result.Texts[0]), &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// state is every object that was written, without what differs from one run to another.
func (l *life) state(t *testing.T) map[string]any {
	t.Helper()
	state := map[string]any{}
	err := filepath.WalkDir(l.kept, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), "events-") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var object map[string]any
		if err := yaml.Unmarshal(text, &object); err != nil {
			return err
		}
		metadata, _ := object["metadata"].(map[string]any)
		for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
			delete(metadata, name)
		}
		if metadata["deletionTimestamp"] != nil {
			metadata["deletionTimestamp"] = "set"
		}
		annotations, _ := metadata["annotations"].(map[string]any)
		if mark, is := annotations[clustermanager.AnnotationRetired].(string); is {
			_, annotations[clustermanager.AnnotationRetired], _ = strings.Cut(mark, ": ")
		}
		relative, err := filepath.Rel(l.kept, file)
		state[filepath.ToSlash(relative)] = object
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return state
}

// finalizers sets those of a HelmRelease of org-acme, as helm-controller does: its own once it has taken the release up,
// none once it has uninstalled it.
func (l *life) finalizers(t *testing.T, release, list string) {
	t.Helper()
	if err := l.setFinalizers(release, list); err != nil {
		t.Fatalf("HelmRelease %s: %v", release, err)
	}
}

func (l *life) setFinalizers(release, list string) error {
	request, err := http.NewRequest(http.MethodPatch, l.address+"/apis/helm.toolkit.fluxcd.io/v2/namespaces/org-acme/helmreleases/"+release,
		strings.NewReader(`{"metadata":{"finalizers":`+list+`}}`))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/merge-patch+json")
	request.Header.Set("Authorization", "Bearer "+l.token.Reveal())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// changes are an answer's objects in words.
func changes(answer clustermanager.WriteResult) []string {
	words := []string{}
	for _, change := range answer.Objects {
		words = append(words, string(change.Action)+" "+change.Kind+" "+change.Name)
	}
	return words
}
