package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// Made for the tests: a password with everything that encoders escape, and a variable of Flux's.
const (
	oddPassword    = `made-for "the test" <&>\/+é`
	secretVariable = "made-for-the-test: {a variable"
)

// oddCredentials gives wc3 a third registry whose password needs escaping, and its Kustomization a variable from a
// Secret.
func oddCredentials(t *testing.T, s *scene) {
	t.Helper()
	quoted, err := json.Marshal(oddPassword)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(s.snapshot, "management", "org-research", "configmap-wc3-values.yaml"),
		"            gsoci.azurecr.io:\n",
		"            registry.example.com:\n              - endpoint: registry.example.com\n                credentials:\n                  username: odd\n                  password: "+string(quoted)+"\n            gsoci.azurecr.io:\n")
	flux := filepath.Join(s.snapshot, "management", "flux-giantswarm")
	replace(t, filepath.Join(flux, "kustomization-wc3.yaml"), "        name: research-variables\n",
		"        name: research-variables\n      - kind: Secret\n        name: research-secrets\n")
	secret := "# Made for this test.\napiVersion: v1\nkind: Secret\nmetadata: {name: research-secrets, namespace: flux-giantswarm}\nstringData: {secret_variable: '" + secretVariable + "'}\n"
	if err := os.WriteFile(filepath.Join(flux, "secret-research-secrets.yaml"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *scene) needles() needles {
	return needles{
		"a registry's password":      "not-a-real-password-made-for-the-fixture",
		"a registry's auth":          "bm90LWEtcmVhbC1hdXRoLW1hZGUtZm9yLXRoZS1maXh0dXJl",
		"a registry's auth, decoded": "not-a-real-auth-made-for-the-fixture",
		"a password to be escaped":   oddPassword,
		"a variable from a Secret":   secretVariable,
		"a Secret of the cluster":    "not-a-real-passphrase-made-for-the-fixture",
		"the forge token":            s.forgeToken,
		"the Kubernetes token":       s.opened.offline.Caller.KubernetesToken.Reveal(),
	}
}

// search looks through every byte that left the process since the last search, and finds nothing.
func (s *scene) search(t *testing.T, results ...mcptools.Result) {
	t.Helper()
	for _, leak := range s.leaks(t, results...) {
		t.Error(leak)
	}
}

// leaks names every credential that left the process since the last look, with where it stands.
func (s *scene) leaks(t *testing.T, results ...mcptools.Result) []string {
	t.Helper()
	needles := s.needles()
	var found []string
	look := func(where string, data []byte) { found = append(found, needles.find(where, data)...) }
	for _, result := range results {
		structured, err := json.Marshal(result.Structured)
		if err != nil {
			t.Fatal(err)
		}
		look("an answer's text", []byte(strings.Join(result.Texts, "\n")))
		look("an answer's structured content", structured)
	}
	look("the answers on the wire", s.answers.take())
	look("a progress notification", []byte(strings.Join(s.progress, "\n")))
	look("the log", s.log.take())
	look("a temporary file", s.temporary.contents(t))
	pushed := newPacks(t, s.root)
	for _, request := range slices.Concat(s.git.take(), s.api.take()) {
		look("the address of "+request.method+" "+request.url, []byte(request.url))
		look("the header of "+request.method+" "+request.url, s.headerText(t, request))
		look("the body of "+request.method+" "+request.url, request.body)
		if request.push() {
			pushed.add(t, request.body)
		}
	}
	look("a pushed pack", pushed.contents(t))
	for _, repository := range s.bare(t) {
		look("a repository", objectsOf(t, repository))
	}
	state, _ := os.ReadFile(filepath.Join(s.kept, "forge.json"))
	look("a pull request", state)
	return found
}

// headerText is a request's header but for the one that may carry a token, where its host is the token's own.
func (s *scene) headerText(t *testing.T, request sent) []byte {
	t.Helper()
	header := request.header.Clone()
	address, err := url.Parse(request.url)
	if err != nil {
		t.Fatal(err)
	}
	forge, _ := url.Parse(s.forge.URL())
	own, _ := url.Parse(s.opened.offline.Config().Host)
	kubernetes := s.opened.offline.Caller.KubernetesToken.Reveal()
	basic := http.Request{Header: http.Header{}}
	basic.SetBasicAuth("x-access-token", s.forgeToken)
	allowed := map[string][]string{
		forge.Host: {"Bearer " + s.forgeToken, basic.Header.Get("Authorization")},
		own.Host:   {"Bearer " + kubernetes},
	}
	if slices.Contains(allowed[address.Host], header.Get("Authorization")) && len(header.Values("Authorization")) == 1 {
		header.Del("Authorization")
	}
	var text bytes.Buffer
	_ = header.Write(&text)
	return text.Bytes()
}

// The good path, from dry run to merge and back, with every credential that there is.
func TestNoCredentialLeavesOnTheGoodPath(t *testing.T) {
	s := newScene(t, oddCredentials)
	var results []mcptools.Result
	call := func(cluster, name string, more map[string]any) clustermanager.WriteResult {
		t.Helper()
		result := s.pool(t, cluster, name, more)
		if result.Reason != "" {
			t.Fatalf("%s of %s: %s", name, cluster, result.Texts)
		}
		results = append(results, result)
		return readAnswer(t, result)
	}
	if planned := call("wc3", "gpu-l4", map[string]any{"dryRun": true}); len(planned.Manifests) == 0 {
		t.Error("the dry run shows no manifests")
	}
	opened := call("wc3", "gpu-l4", nil)
	call("wc3", "gpu-l4", nil)
	call("wc3", "gpu-l4", map[string]any{"maxGpus": 4})
	call("wc1", "gpu-t4", map[string]any{"accelerator": "nvidia-t4"})
	if err := s.forge.Merge("research", "clusters", opened.Commit.Number); err != nil {
		t.Fatal(err)
	}
	call("wc3", "gpu-l4", map[string]any{"maxGpus": 4})
	call("wc3", "gpu-l4", map[string]any{"maxGpus": 8})
	info, err := s.client.Call(t.Context(), "get_info", json.RawMessage(`{}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.search(t, append(results, info)...)
	if sealed := s.gitIn(t, "research/clusters", "show", "main:clusters/wc3/cluster-manager/wc3-gpu-l4-values-secret.enc.yaml"); !strings.Contains(sealed, "ENC[AES256_GCM") {
		t.Errorf("nothing sealed was pushed, so nothing was looked for:\n%s", sealed)
	}
}

// stages are the requests of a call, in their order. The ones before the push leave everything as it was.
var stages = []struct {
	name       string
	matches    func(*http.Request) bool
	beforePush bool
}{
	{"capabilities", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/info/refs") }, true},
	{"fetch", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/git-upload-pack") }, true},
	{"user", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/api/v3/user") }, true},
	{"rules", func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/rules/branches/") }, true},
	{"pull requests", func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pulls")
	}, true},
	{"push", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/git-receive-pack") }, false},
	{"opening", func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pulls")
	}, false},
}

// echoes answers what matches with a status and everything that the request said, the token first of all.
func echoes(status int, header http.Header, words string, matches func(*http.Request) bool) fault {
	return func(request *http.Request) (int, http.Header, string, bool) {
		if !matches(request) {
			return 0, nil, "", false
		}
		_, token, basic := request.BasicAuth()
		if !basic {
			token = strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
		}
		said := fmt.Sprintf("%s: Authorization: %s (%s)", words, request.Header.Get("Authorization"), token)
		answered := header.Clone()
		if answered == nil {
			answered = http.Header{}
		}
		answered.Set("X-Accepted-GitHub-Permissions", said)
		answered.Set("WWW-Authenticate", said)
		if strings.Contains(request.URL.Path, "/api/v3/") {
			answered.Set("Content-Type", "application/json")
			body, _ := json.Marshal(map[string]any{"message": said, "errors": []any{map[string]any{"message": said}, said}, "documentation_url": "https://docs.example.com/?" + token})
			return status, answered, string(body), true
		}
		answered.Set("Content-Type", "text/plain; charset=utf-8")
		return status, answered, said, true
	}
}

// What a forge may answer in place of the right thing.
var badAnswers = []struct {
	status int
	header http.Header
	// words begin what is said.
	words string
}{
	{status: http.StatusUnauthorized},
	{status: http.StatusForbidden},
	{status: http.StatusForbidden, words: "Resource not accessible by integration"},
	{status: http.StatusForbidden, words: "Repository was archived so is read-only"},
	{status: http.StatusForbidden, header: http.Header{"X-Github-Sso": {"required; url=https://github.example.com/orgs/acme/sso?authorization_request=made-for-the-test"}}},
	{status: http.StatusForbidden, header: http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"4102444800"}}},
	{status: http.StatusTooManyRequests, header: http.Header{"Retry-After": {"30"}}},
	{status: http.StatusNotFound},
	{status: http.StatusUnprocessableEntity},
	{status: http.StatusInternalServerError},
	{status: http.StatusBadGateway},
}

// A forge that answers a fault, and repeats the token and the request in it, at every request of a call.
func TestNoCredentialLeavesOnAFaultOfTheForge(t *testing.T) {
	s := newScene(t, oddCredentials)
	for _, stage := range stages {
		for i, answer := range badAnswers {
			t.Run(fmt.Sprintf("%s %d %d", stage.name, answer.status, i), func(t *testing.T) {
				before, met := s.written(t), false
				s.git.answers(echoes(answer.status, answer.header, answer.words, func(request *http.Request) bool {
					meets := stage.matches(request)
					met = met || meets
					return meets
				}))
				result := s.pool(t, "wc3", fmt.Sprintf("fault-%d", i), nil)
				s.git.answers(nil)
				if result.Reason == "" || !met {
					t.Errorf("met %t: %s", met, result.Texts[0])
				}
				if stage.beforePush && s.written(t) != before {
					t.Error("something was written")
				}
				s.search(t, result)
			})
		}
	}
}

// A connection that breaks at every request, before it got there and before the answer came.
func TestNoCredentialLeavesWhenConnectionsBreak(t *testing.T) {
	s := newScene(t, oddCredentials)
	for i, stage := range stages {
		t.Run(stage.name, func(t *testing.T) {
			s.git.cut(stage.matches, nil)
			broken := s.pool(t, "wc3", fmt.Sprintf("cut-%d", i), nil)
			s.git.cut(nil, stage.matches)
			late := s.pool(t, "wc3", fmt.Sprintf("cut-%d", i), nil)
			s.git.cut(nil, nil)
			if broken.Reason == "" {
				t.Errorf("the call went well: %s", broken.Texts[0])
			}
			s.search(t, broken, late)
			s.created(t, "wc3", fmt.Sprintf("cut-%d", i), nil)
			s.search(t)
		})
	}
}
