package forge_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/forge"
)

func TestOnlyPlainHTTPSOrLoopback(t *testing.T) {
	for address, accepted := range map[string]bool{
		"https://api.github.com": true, "https://ghe.example.com/api/v3/": true, "http://127.0.0.1:1/api/v3": true, "http://localhost:1": true, "http://[::1]:1": true,
		"http://api.github.com": false, "http://127.0.0.1.example.com": false, "ftp://127.0.0.1": false, "api.github.com": false, "": false,
		"https://user:made-for-this-test@api.github.com": false, "https://api.github.com?x=y": false, "::": false,
	} {
		_, err := forge.New(forge.Options{APIURL: address, Owner: "acme", Repository: "fleet", Token: token})
		if (err == nil) != accepted || err != nil && (clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || strings.Contains(err.Error(), "made-for-this-test")) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestWhatNewRefuses(t *testing.T) {
	for name, options := range map[string]forge.Options{
		"no token":          {Owner: "acme", Repository: "fleet"},
		"owner that climbs": {Owner: "..", Repository: "fleet", Token: token},
		"name with a slash": {Owner: "acme", Repository: "a/b", Token: token},
		"owner alone":       {Owner: "acme", Token: token},
	} {
		options.APIURL = "https://api.github.com"
		if _, err := forge.New(options); clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// seen is what a server was sent.
type seen struct {
	authorization, agent, method, path string
	body                               string
}

func recorder(t *testing.T, into *[]seen, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*into = append(*into, seen{r.Header.Get("Authorization"), r.UserAgent(), r.Method, r.URL.EscapedPath(), string(body)})
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestTheTokenGoesToItsHostAlone(t *testing.T) {
	var first, second []seen
	other := recorder(t, &second, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"login":"jane"}`) })
	server := recorder(t, &first, func(w http.ResponseWriter, r *http.Request) {
		target := other.URL + "/user"
		if r.URL.Path == "/user" {
			target = "/again"
		}
		http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	})
	client := newClient(t, forge.Options{APIURL: server.URL, Owner: "acme", Repository: "fleet", Token: token})
	if user, err := client.User(t.Context()); err != nil || user.Login != "jane" {
		t.Errorf("%+v, %v", user, err)
	}
	for _, s := range first {
		if s.authorization != "Bearer "+token.Reveal() || s.agent != "cluster-manager" {
			t.Errorf("to the host: %t %s", s.authorization != "", s.agent)
		}
	}
	if len(first) != 2 || len(second) != 1 || second[0].authorization != "" {
		t.Errorf("%d requests to the host, %d to another one, with a token: %t", len(first), len(second), len(second) > 0 && second[0].authorization != "")
	}
	if err := operations["create"](t.Context(), client); err == nil || len(second) != 1 {
		t.Errorf("a body went to another host: %v", err)
	}
}

func TestARedirectedPostStaysAPost(t *testing.T) {
	for status, wantSecond := range map[int]bool{http.StatusMovedPermanently: false, http.StatusFound: false, http.StatusTemporaryRedirect: true, http.StatusPermanentRedirect: true} {
		var requests []seen
		server := recorder(t, &requests, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/repos/") {
				http.Redirect(w, r, "/repositories/1/pulls", status)
				return
			}
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"number":1,"html_url":"https://example.com/1","state":"open"}`)
		})
		client := newClient(t, forge.Options{APIURL: server.URL, Owner: "acme", Repository: "fleet", Token: token})
		err := operations["create"](t.Context(), client)
		if (err == nil) != wantSecond || (len(requests) == 2) != wantSecond {
			t.Errorf("%d: %d requests, %v", status, len(requests), err)
		}
		if wantSecond && (requests[1].method != http.MethodPost || requests[1].body != requests[0].body || client.Requests() != 2) {
			t.Errorf("%d: the second request: %+v", status, requests[1])
		}
	}
}

func TestRedirectToPlainHTTPElsewhereIsNotFollowed(t *testing.T) {
	var requests []seen
	server := recorder(t, &requests, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://192.0.2.1/user", http.StatusTemporaryRedirect)
	})
	client := newClient(t, forge.Options{APIURL: server.URL, Token: token})
	if err := operations["user"](t.Context(), client); err == nil || !strings.Contains(err.Error(), "not https") || client.Requests() != 1 {
		t.Errorf("%d requests, %v", client.Requests(), err)
	}
}

func TestSlashesOfABranchAreEscaped(t *testing.T) {
	var requests []seen
	server := recorder(t, &requests, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") })
	client := newClient(t, forge.Options{APIURL: server.URL + "/api/v3", Owner: "acme", Repository: "fleet", Token: token})
	if err := operations["rules"](t.Context(), client); err != nil {
		t.Fatal(err)
	}
	if want := "/api/v3/repos/acme/fleet/rules/branches/cluster-manager%2Fgazelle%2Fadd-wc1-gpu"; requests[0].path != want {
		t.Errorf("path %s, want %s", requests[0].path, want)
	}
}

// A host may answer more than was asked for: a fork's branch of the same name, another branch, a fork that is gone.
func TestOnlyTheBranchsOwnPullRequestsCount(t *testing.T) {
	var requests []seen
	one := func(number, ref, head string) string {
		return `{"number":` + number + `,"html_url":"https://example.com/` + number + `","state":"open","head":{"ref":"` + ref + `","repo":` + head + `},"base":{"ref":"main","repo":{"id":1}}}`
	}
	server := recorder(t, &requests, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "["+strings.Join([]string{
			one("5", branch, `{"id":2}`), one("4", branch, "null"), one("3", "other", `{"id":1}`), one("2", branch, `{"id":1}`),
		}, ",")+"]")
	})
	client := newClient(t, forge.Options{APIURL: server.URL, Owner: "acme", Repository: "fleet", Token: token})
	if found := list(t, client, branch); len(found) != 1 || found[0].Number != 2 {
		t.Errorf("found %+v", found)
	}
}
