package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// An API server that refuses and repeats the token in its words.
func TestNoCredentialLeavesOnAFaultOfTheAPIServer(t *testing.T) {
	s := newScene(t, oddCredentials)
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusInternalServerError} {
		for _, noun := range []string{"", "/clusters", "/configmaps", "/kustomizations", "/secrets", "/gitrepositories", "/helmreleases"} {
			t.Run(fmt.Sprintf("%d%s", status, noun), func(t *testing.T) {
				s.api.answers(func(request *http.Request) (int, http.Header, string, bool) {
					if !strings.Contains(request.URL.Path, noun) {
						return 0, nil, "", false
					}
					said := "no: Authorization: " + request.Header.Get("Authorization")
					body, _ := json.Marshal(map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "message": said, "reason": said, "code": status})
					return status, http.Header{"Content-Type": {"application/json"}, "Warning": {`299 - "` + said + `"`}}, string(body), true
				})
				s.search(t, s.pool(t, "wc3", "gpu-l4", nil))
			})
		}
	}
}

// An API server that sends on to another host, which must not see the token.
func TestTheKubernetesTokenFollowsNoRedirect(t *testing.T) {
	s := newScene(t)
	elsewhere := &sink{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) { _ = request.Write(elsewhere) }))
	defer server.Close()
	s.api.answers(func(request *http.Request) (int, http.Header, string, bool) {
		return http.StatusTemporaryRedirect, http.Header{"Location": {server.URL + request.URL.Path}}, "", true
	})
	if result := s.pool(t, "wc1", "gpu-l4", nil); result.Reason == "" {
		t.Errorf("the call went well: %s", result.Texts[0])
	}
	if got := elsewhere.take(); len(got) > 0 {
		t.Errorf("the other host was asked:\n%s", got)
	}
}

// A host's words are cut for an answer; a token that stands where they are cut is no part of it either.
func TestNoPartOfATokenLeaves(t *testing.T) {
	s := newScene(t)
	start := s.forgeToken[:12]
	for _, stage := range stages {
		for _, length := range []int{400, 900, 2048} {
			// The cut falls into the token, after its first twelve bytes.
			for _, before := range []int{8, 20} {
				fill := strings.Repeat("x", length-before-len(start))
				s.git.answers(func(request *http.Request) (int, http.Header, string, bool) {
					if !stage.matches(request) {
						return 0, nil, "", false
					}
					said := fill + " " + s.forgeToken
					if strings.Contains(request.URL.Path, "/api/v3/") {
						body, _ := json.Marshal(map[string]any{"message": said})
						return http.StatusForbidden, http.Header{"Content-Type": {"application/json"}}, string(body), true
					}
					return http.StatusForbidden, http.Header{"Content-Type": {"text/plain"}}, said, true
				})
				result := s.pool(t, "wc1", "gpu-l4", nil)
				if at := strings.Index(result.Texts[0], start); at >= 0 {
					t.Errorf("%s, %d bytes before the token: …%s", stage.name, len(fill), result.Texts[0][at:])
				}
			}
		}
	}
}

// A host that sends on to an address that is made of the token.
func TestNoCredentialLeavesInARedirect(t *testing.T) {
	s := newScene(t, oddCredentials)
	statuses := []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect}
	for _, stage := range stages {
		t.Run(stage.name, func(t *testing.T) {
			for i, address := range []string{
				"http://" + s.forgeToken + ".example.com/", "https://x:" + s.forgeToken + "@127.0.0.1:9/" + s.forgeToken, "/" + s.forgeToken + "?" + s.forgeToken, "//127.0.0.1:9/x",
			} {
				s.git.answers(func(request *http.Request) (int, http.Header, string, bool) {
					return statuses[i%2], http.Header{"Location": {address}}, "", stage.matches(request)
				})
				result := s.pool(t, "wc3", fmt.Sprintf("moved-%d", i), nil)
				s.git.answers(nil)
				if result.Reason == "" {
					t.Errorf("the call went well: %s", result.Texts[0])
				}
				// The host named the addresses itself; what counts is what is said of them.
				_ = s.git.take()
				s.search(t, result)
			}
		})
	}
}

// Repositories and objects that make the product complain about what it read.
func TestNoCredentialLeavesWithABrokenRepository(t *testing.T) {
	wc3 := filepath.Join("research", "clusters", "clusters", "wc3")
	sops := filepath.Join("research", "clusters", ".sops.yaml")
	values := filepath.Join("management", "org-research", "configmap-wc3-values.yaml")
	write := func(path, content string) func(*testing.T, *scene) {
		return func(t *testing.T, s *scene) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(s.root, path), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	edit := func(path, old, replacement string) func(*testing.T, *scene) {
		return func(t *testing.T, s *scene) {
			t.Helper()
			replace(t, filepath.Join(s.root, path), old, replacement)
		}
	}
	trees, snapshot := func(path string) string { return filepath.Join("trees", path) }, func(path string) string { return filepath.Join("snapshot", path) }
	for name, test := range map[string]struct {
		edit   func(*testing.T, *scene)
		reason clustermanager.Reason
	}{
		"a tree that does not build":            {edit(trees(filepath.Join(wc3, "kustomization.yaml")), "- cluster.yaml", "- absent.yaml"), ""},
		"a document that is no YAML":            {edit(trees(filepath.Join(wc3, "alerts.yaml")), "data:", "data: ["), ""},
		"a variable that breaks its document":   {edit(trees(filepath.Join(wc3, "alerts.yaml")), "data:", "data:\n  broken: ${secret_variable}"), ""},
		"no .sops.yaml":                         {write(trees(sops), ""), clustermanager.ReasonRefused},
		"no rule for the path":                  {edit(trees(sops), "^clusters/", "^elsewhere/"), clustermanager.ReasonRefused},
		"a rule that leaves stringData":         {edit(trees(sops), "^(data|stringData)$", "^data$"), clustermanager.ReasonRefused},
		"a rule that encrypts everything":       {edit(trees(sops), "    encrypted_regex: ^(data|stringData)$\n", ""), clustermanager.ReasonRefused},
		"a rule with a plugin":                  {edit(trees(sops), "age: age1", "age: age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t,age1"), clustermanager.ReasonRefused},
		"a .sops.yaml that is none":             {write(trees(sops), "creation_rules: ["), clustermanager.ReasonRefused},
		"values that are no YAML":               {edit(snapshot(values), "    global:\n", "    global: [\n"), clustermanager.ReasonRefused},
		"a password that is a list":             {edit(snapshot(values), "password: not-a-real-password-made-for-the-fixture", "password: [not-a-real-password-made-for-the-fixture]"), clustermanager.ReasonRefused},
		"a password with a variable":            {edit(snapshot(values), "password: not-a-real-password", "password: ${x}not-a-real-password"), ""},
		"a Kustomization that does not decrypt": {edit(snapshot(filepath.Join("management", "flux-giantswarm", "kustomization-wc3.yaml")), "  decryption:\n    provider: sops\n    secretRef:\n      name: sops-age\n", ""), clustermanager.ReasonRefused},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, oddCredentials, test.edit)
			for _, dryRun := range []bool{true, false} {
				result := s.pool(t, "wc3", "gpu-l4", map[string]any{"dryRun": dryRun})
				if result.Reason != test.reason {
					t.Errorf("class %q, want %q: %s", result.Reason, test.reason, result.Texts)
				}
				t.Log(result.Texts[0][:min(400, len(result.Texts[0]))])
				s.search(t, result)
			}
		})
	}
}

// A git server that says no in the protocol itself, with the token in its words.
func TestNoCredentialLeavesInAServersReport(t *testing.T) {
	s := newScene(t, oddCredentials)
	packet := func(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
	for name, answer := range map[string]struct {
		path string
		body func(said string) string
	}{
		"an error for a fetch": {"/git-upload-pack", func(said string) string { return packet("ERR " + said) }},
		"an error for a push":  {"/git-receive-pack", func(said string) string { return packet("ERR " + said) }},
		"a hook's words": {"/git-receive-pack", func(said string) string {
			return packet("\x02"+said+"\n") + packet("\x01"+packet("unpack ok\n")+packet("ng refs/heads/"+wc3Branch+" "+said+"\n")+"0000") + "0000"
		}},
		"a fatal word":      {"/git-receive-pack", func(said string) string { return packet("\x03" + said) }},
		"a broken unpack":   {"/git-receive-pack", func(said string) string { return packet("\x01"+packet("unpack "+said+"\n")+"0000") + "0000" }},
		"no protocol":       {"/git-upload-pack", func(said string) string { return said }},
		"none for the push": {"/git-receive-pack", func(said string) string { return said }},
	} {
		t.Run(name, func(t *testing.T) {
			met := false
			s.git.answers(func(request *http.Request) (int, http.Header, string, bool) {
				meets := strings.HasSuffix(request.URL.Path, answer.path)
				met = met || meets
				service := strings.TrimPrefix(answer.path, "/")
				return http.StatusOK, http.Header{"Content-Type": {"application/x-" + service + "-result"}}, answer.body("no: " + request.Header.Get("Authorization") + " " + s.forgeToken), meets
			})
			before := s.written(t)
			result := s.pool(t, "wc3", "gpu-l4", nil)
			s.git.answers(nil)
			if result.Reason == "" || !met || s.written(t) != before {
				t.Errorf("met %t, written: %s", met, result.Texts[0])
			}
			s.search(t, result)
		})
	}
}
