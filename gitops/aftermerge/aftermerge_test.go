package aftermerge_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/aftermerge"
	"github.com/clustermanager/cluster-manager/gitops/forge"
	"github.com/clustermanager/cluster-manager/internal/githubapi"
	"github.com/clustermanager/cluster-manager/internal/localforge"
)

const (
	branch       = "cluster-manager/gazelle/add-wc1-gpu"
	installation = 9
)

var (
	// Both are made for these tests, and must appear in no log, check run or comment.
	personToken = clustermanager.NewSecret("person-token-made-for-this-test")
	appToken    = clustermanager.NewSecret("installation-token-made-for-this-test")
	key         = sync.OnceValue(func() clustermanager.Secret {
		made, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return clustermanager.Secret{}
		}
		return clustermanager.NewSecret(string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(made)})))
	})
)

// scene is a forge with acme/fleet, the App installed there, and Flux as far as the test lets it get.
type scene struct {
	*localforge.Forge
	worker *aftermerge.Worker
	log    bytes.Buffer
	events int

	mutex   sync.Mutex
	applied string
	looked  chan struct{}
}

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: org-acme}\ndata: {key: " + value + "}\n"
}

func newScene(t *testing.T, patience time.Duration, watched bool) *scene {
	t.Helper()
	server, err := localforge.Start(t.Context(), localforge.Options{Repositories: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	tree := t.TempDir()
	for name, content := range map[string]string{"clusters/wc1/kustomization.yaml": "resources: [one.yaml]\n", "clusters/wc1/one.yaml": configMap("one", "value-of-one")} {
		file := filepath.Join(tree, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Import("acme", "fleet", tree); err != nil {
		t.Fatal(err)
	}
	server.AddUser(localforge.User{Login: "jane", ID: 7, Token: personToken, Push: true})
	server.SetApp(installation, appToken, func(bearer string) bool { return strings.Count(bearer, ".") == 2 })
	s := &scene{Forge: server, looked: make(chan struct{}, 1000)}
	transport := githubapi.Transport(t, http.DefaultTransport)
	app, err := forge.NewApp(1, key(), transport)
	if err != nil {
		t.Fatal(err)
	}
	settings := clustermanager.DefaultSettings()
	settings.Installation = "gazelle"
	settings.GitHosts[s.host(t)] = server.APIURL()
	options := aftermerge.Options{
		Settings: settings, App: app, Diff: paths, Transport: transport, Every: 5 * time.Millisecond, Patience: patience,
		Log: slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if watched {
		options.Followers = s.followers
	}
	s.worker = aftermerge.New(t.Context(), options)
	t.Cleanup(func() { s.close(t) })
	return s
}

// close ends the worker and looks for secrets in everything that was said.
func (s *scene) close(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s.worker.Close(ctx)
	said := s.log.String()
	for _, comment := range s.Comments("acme", "fleet", 1) {
		said += comment.Body
	}
	for _, secret := range []string{personToken.Reveal(), appToken.Reveal(), strings.Split(key().Reveal(), "\n")[1], "value-of-"} {
		if strings.Contains(said, secret) {
			t.Errorf("a secret is told:\n%s", said)
		}
	}
}

func (s *scene) host(t *testing.T) string {
	t.Helper()
	root, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	return root.Host
}

func (s *scene) followers(context.Context) ([]clustermanager.Follower, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	select {
	case s.looked <- struct{}{}:
	default:
	}
	return []clustermanager.Follower{{Commit: s.applied, Target: clustermanager.Target{
		Kustomization: clustermanager.NamespacedName{Namespace: "default", Name: "wc1"}, Path: "clusters/wc1", Spec: map[string]any{"path": "./clusters/wc1"},
		Repository: clustermanager.GitRepository{Owner: "acme", Name: "fleet", Branch: "main"},
	}}}, nil
}

func (s *scene) apply(commit string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.applied = commit
}

// paths is a comparison as render's: it tells paths alone.
func paths(before, after []*unstructured.Unstructured) (found []clustermanager.ObjectDiff) {
	old := map[string]bool{}
	for _, object := range before {
		old[object.GetName()] = true
	}
	for _, object := range after {
		if !old[object.GetName()] {
			found = append(found, clustermanager.ObjectDiff{ObjectReference: clustermanager.ReferenceTo(object), Action: clustermanager.DiffAdd})
		}
	}
	return found
}

// propose opens a pull request of ours with a second ConfigMap.
func (s *scene) propose(t *testing.T, files map[string]string) {
	t.Helper()
	of := clustermanager.GitRepository{Host: s.host(t), Owner: "acme", Name: "fleet", CloneURL: s.CloneURL("acme", "fleet"), APIURL: s.APIURL(), Branch: "main"}
	workspace, err := gitops.Open(t.Context(), gitops.Options{Repository: of, Token: personToken})
	if err != nil {
		t.Fatal(err)
	}
	staged := clustermanager.FileSet{}
	for name, content := range files {
		staged[name] = clustermanager.File{Content: []byte(content)}
	}
	client, err := forge.New(forge.Options{APIURL: s.APIURL(), Owner: "acme", Repository: "fleet", Token: personToken})
	if err == nil {
		err = workspace.Stage(staged)
	}
	if err == nil {
		_, err = workspace.Propose(t.Context(), client, gitops.Proposal{
			Branch: branch, Title: "feat(wc1): add GPU node pool gpu", Trailer: gitops.Trailer("create_node_pool", "gazelle/wc1/gpu"), AuthorName: "jane", AuthorEmail: "jane@acme.example", Time: time.Now(),
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

var second = map[string]string{"clusters/wc1/kustomization.yaml": "resources: [one.yaml, two.yaml]\n", "clusters/wc1/two.yaml": configMap("two", "value-of-two")}

// event gives the worker an event and waits until it was worked on.
func (s *scene) event(t *testing.T, event forge.Event) bool {
	t.Helper()
	s.events++
	event.Delivery, event.Host, event.Installation, event.ID = fmt.Sprint(s.events), s.host(t), installation, 5
	if event.Owner == "" {
		event.Owner, event.Name = "acme", "fleet"
	}
	event.CloneURL = s.CloneURL(event.Owner, event.Name)
	done := make(chan bool, 1)
	if err := s.worker.Take(event, func(ok bool) { done <- ok }); err != nil {
		t.Fatal(err)
	}
	return <-done
}

func pullEvent(action string) forge.Event {
	return forge.Event{Kind: forge.EventPullRequest, Action: action, Number: 1}
}

func (s *scene) head(t *testing.T) string {
	t.Helper()
	pull, err := s.PullRequest("acme", "fleet", 1)
	if err != nil {
		t.Fatal(err)
	}
	return pull.HeadSHA
}

func (s *scene) branchAt(t *testing.T, name string) string {
	t.Helper()
	commit, err := s.Branch("acme", "fleet", name)
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

// A check run shows the objects that change, is changed and not repeated, and is written anew when the base moves.
func TestTheCheckRunOfAPullRequest(t *testing.T) {
	t.Parallel()
	s := newScene(t, time.Minute, true)
	s.propose(t, second)
	for _, event := range []forge.Event{pullEvent("opened"), pullEvent("opened"), {Kind: forge.EventPush, Branch: "main"}} {
		if !s.event(t, event) {
			t.Fatalf("%+v failed: %s", event, s.log.String())
		}
		runs := s.CheckRuns("acme", "fleet", s.head(t))
		if len(runs) != 1 || runs[0].Name != "cluster-manager" || runs[0].Conclusion != "success" || runs[0].Title != "objects that change: 1" || !strings.Contains(runs[0].Summary, "ConfigMap org-acme/two") {
			t.Fatalf("check runs after %+v: %+v", event, runs)
		}
		if strings.Contains(runs[0].Summary, "value-of-") {
			t.Errorf("a value is told: %s", runs[0].Summary)
		}
	}
	if comments := s.Comments("acme", "fleet", 1); len(comments) != 0 || s.branchAt(t, branch) == "" {
		t.Errorf("an open pull request: %v", comments)
	}
}

// What would not build is a failure.
func TestATreeThatWouldNotBuild(t *testing.T) {
	t.Parallel()
	s := newScene(t, time.Minute, true)
	s.propose(t, map[string]string{"clusters/wc1/kustomization.yaml": "resources: [one.yaml, two.yaml]\n", "clusters/wc1/two.yaml": "kind: [\n"})
	if !s.event(t, pullEvent("opened")) {
		t.Fatal(s.log.String())
	}
	if runs := s.CheckRuns("acme", "fleet", s.head(t)); len(runs) != 1 || runs[0].Conclusion != "failure" {
		t.Errorf("check runs: %+v", runs)
	}
}

// After a merge the branch goes, and one comment follows what Flux does: it is changed, not repeated.
func TestTheOutcomeOfAMerge(t *testing.T) {
	t.Parallel()
	s := newScene(t, time.Minute, true)
	s.propose(t, second)
	s.event(t, pullEvent("opened"))
	if err := s.Merge("acme", "fleet", 1); err != nil {
		t.Fatal(err)
	}
	if !s.event(t, pullEvent("closed")) {
		t.Fatal(s.log.String())
	}
	if s.branchAt(t, branch) != "" {
		t.Error("the branch is there after the merge")
	}
	comments := s.Comments("acme", "fleet", 1)
	if len(comments) != 1 || comments[0].Author != "cluster-manager[bot]" || !strings.Contains(comments[0].Body, "has not applied it yet. This comment follows.") {
		t.Fatalf("comments: %+v", comments)
	}
	merge := s.branchAt(t, "main")
	s.apply(merge)
	s.until(t, "has applied it: it is at revision `"+merge+"`")
	if body := s.Comments("acme", "fleet", 1)[0].Body; !strings.Contains(body, "ConfigMap org-acme/two") {
		t.Errorf("the objects are missing: %s", body)
	}
	// The same event again, as a replay or a redelivery brings it, changes nothing.
	if !s.event(t, pullEvent("closed")) || len(s.Comments("acme", "fleet", 1)) != 1 {
		t.Errorf("again: %+v", s.Comments("acme", "fleet", 1))
	}
}

// until waits until the one comment says something.
func (s *scene) until(t *testing.T, words string) {
	t.Helper()
	for ended := time.Now().Add(time.Minute); time.Now().Before(ended); {
		if comments := s.Comments("acme", "fleet", 1); len(comments) == 1 && strings.Contains(comments[0].Body, words) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("the comment never says %q: %+v\n%s", words, s.Comments("acme", "fleet", 1), s.log.String())
}

// Watching ends with its patience, and with a stop; the comment says so both times.
func TestWatchingEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		patience time.Duration
		end      func(*testing.T, *scene)
		want     string
	}{
		"patience": {50 * time.Millisecond, func(*testing.T, *scene) {}, "It is not watched any more after 50ms: `get_change` tells."},
		"a stop":   {time.Hour, func(t *testing.T, s *scene) { t.Helper(); s.close(t) }, "The server stopped before that: `get_change` tells."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, test.patience, true)
			s.propose(t, second)
			if err := s.Merge("acme", "fleet", 1); err != nil {
				t.Fatal(err)
			}
			if !s.event(t, pullEvent("closed")) {
				t.Fatal(s.log.String())
			}
			test.end(t, s)
			s.until(t, test.want)
		})
	}
}

// A branch stays where a commit of it is a person's, where it moved on after the merge, and where the pull request was
// closed unmerged.
func TestBranchesThatStay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, after func(*testing.T, *scene)
		unmerged      bool
	}{
		"a person's commit": {before: func(t *testing.T, s *scene) { t.Helper(); s.commit(t, "chore: by hand") }},
		"moved on after the merge": {after: func(t *testing.T, s *scene) {
			t.Helper()
			s.commit(t, "feat(wc1): more\n\nCluster-Manager: create_node_pool gazelle/wc1/gpu")
		}},
		"closed unmerged": {unmerged: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, time.Minute, false)
			s.propose(t, second)
			if test.before != nil {
				test.before(t, s)
			}
			end := s.Merge
			if test.unmerged {
				end = s.ClosePullRequest
			}
			if err := end("acme", "fleet", 1); err != nil {
				t.Fatal(err)
			}
			if test.after != nil {
				test.after(t, s)
			}
			if !s.event(t, pullEvent("closed")) {
				t.Fatal(s.log.String())
			}
			if s.branchAt(t, branch) == "" {
				t.Error("the branch is gone")
			}
			// Without an account to watch with nothing else is written.
			if comments := s.Comments("acme", "fleet", 1); len(comments) != 0 {
				t.Errorf("comments: %+v", comments)
			}
		})
	}
}

// commit puts one more commit on the branch.
func (s *scene) commit(t *testing.T, message string) {
	t.Helper()
	if _, err := s.CommitFile("acme", "fleet", branch, "NOTES.md", message+"\n", message); err != nil {
		t.Fatal(err)
	}
}

// Each fault is told in the log, leaves nothing half done that the same event does not do later, and harms nobody else.
func TestFaultsOfTheHost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault localforge.Fault
		want  string
	}{
		"down":                {localforge.Unavailable(http.StatusServiceUnavailable), "answer 503"},
		"token refused":       {localforge.BadToken(), "401"},
		"not installed":       {localforge.NotInstalled(), "404"},
		"comment not allowed": {localforge.NotPermitted("pull_requests=write").On("POST", "**/comments"), "pull_requests=write"},
		"git is down":         {localforge.Unavailable(http.StatusBadGateway).On("", "**/git-receive-pack"), "502"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, time.Minute, true)
			s.propose(t, second)
			if err := s.Merge("acme", "fleet", 1); err != nil {
				t.Fatal(err)
			}
			s.Inject(test.fault)
			if s.event(t, pullEvent("closed")) {
				t.Error("it counts as done")
			}
			if !strings.Contains(s.log.String(), test.want) {
				t.Errorf("the log lacks %q: %s", test.want, s.log.String())
			}
			s.Inject()
			s.apply(s.branchAt(t, "main"))
			if !s.event(t, pullEvent("closed")) || s.branchAt(t, branch) != "" {
				t.Errorf("the same event later: %s", s.log.String())
			}
			s.until(t, "has applied it")
		})
	}
}

// Events of others are left alone: another repository, a pull request that is not ours, a host that is not known.
func TestEventsOfOthers(t *testing.T) {
	t.Parallel()
	s := newScene(t, time.Minute, true)
	s.propose(t, second)
	if s.event(t, forge.Event{Kind: forge.EventPullRequest, Action: "closed", Number: 1, Owner: "acme", Name: "elsewhere"}) {
		t.Error("another repository's event counts as done")
	}
	if s.branchAt(t, branch) == "" || len(s.CheckRuns("acme", "fleet", s.head(t))) != 0 {
		t.Error("another repository's event changed this one")
	}
	if !s.event(t, pullEvent("labeled")) || len(s.CheckRuns("acme", "fleet", s.head(t))) != 0 {
		t.Error("a label is of no interest")
	}
}
