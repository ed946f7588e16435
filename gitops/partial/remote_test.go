package partial_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/partial"
	"github.com/clustermanager/cluster-manager/gitops/partial/gitserver"
)

// plainToken is made for these tests and opens nothing.
const plainToken = "ghu_made-for-the-test"

func dial(t *testing.T, url string) *partial.Remote {
	t.Helper()
	remote, err := partial.Dial(t.Context(), partial.Options{URL: url, Token: clustermanager.NewSecret(plainToken)})
	if err != nil {
		t.Fatal(err)
	}
	return remote
}

func hash(t *testing.T, text string) partial.Hash {
	t.Helper()
	parsed, err := partial.ParseHash(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// mustNotLeak fails when the error shows the token, plain or as basic authentication sends it.
func mustNotLeak(t *testing.T, err error) {
	t.Helper()
	if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, plainToken) || strings.Contains(text, "eC1hY2Nlc3MtdG9rZW46") {
		t.Errorf("the token is in the error: %s", text)
	}
}

type refusingTransport struct{ t *testing.T }

func (r refusingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	r.t.Errorf("request to %s", request.URL)
	return nil, errors.New("no request expected")
}

func TestDialRefusesAddresses(t *testing.T) {
	tests := []struct{ name, url, want string }{
		{"plain http", "http://git.example.com/acme/fleet.git", `repository git.example.com/acme/fleet.git: git is spoken to over https alone (http only on loopback), not over "http": use an https URL`},
		{"loopback as a label", "http://127.0.0.1.example.com/acme/fleet", `repository 127.0.0.1.example.com/acme/fleet: git is spoken to over https alone (http only on loopback), not over "http": use an https URL`},
		{"private address", "http://10.0.0.1/acme/fleet", `repository 10.0.0.1/acme/fleet: git is spoken to over https alone (http only on loopback), not over "http": use an https URL`},
		{"ssh", "ssh://git@github.com/acme/fleet", "the URL of the repository at github.com holds credentials: leave them out, the caller's own are used"},
		{"file", "file:///tmp/x", "the repository's URL is none that git is spoken to at: it must be https://host/owner/name"},
		{"ext", "ext://sh/x", `repository sh/x: git is spoken to over https alone (http only on loopback), not over "ext": use an https URL`},
		{"credentials", "https://me:secret@github.com/acme/fleet", "the URL of the repository at github.com holds credentials: leave them out, the caller's own are used"},
		{"broken", "https://%zz", "the repository's URL is none that git is spoken to at: it must be https://host/owner/name"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := partial.Dial(t.Context(), partial.Options{URL: test.url, Token: clustermanager.NewSecret(plainToken), Transport: refusingTransport{t}})
			if err == nil || err.Error() != test.want || clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestDialAnswers(t *testing.T) {
	advertisement := func(lines string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			_, _ = io.WriteString(w, lines)
		}
	}
	status := func(code int, words string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, words, code) }
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		reason  clustermanager.Reason
		want    string
	}{
		{"401", status(401, "Invalid "+plainToken), clustermanager.ReasonRefused, "the host does not accept the sign-in: connect GitHub where you signed in, then call again (the host says: Invalid <redacted>)"},
		{"403", status(403, "no"), clustermanager.ReasonRefused, "must be installed on it with permission to write contents; then call again (the host says: no)"},
		{"403, single sign-on", status(403, "SAML"), clustermanager.ReasonRefused, "the organization wants single sign-on (SAML): sign in to the organization in a browser, connect the server again"},
		{"403, archived", status(403, "This repository was archived so it is read-only."), clustermanager.ReasonRefused, "the repository is archived, so nothing can be written: unarchive it"},
		{"404", status(404, ""), clustermanager.ReasonRefused, "it does not exist for this account: the GitHub App must be installed on the repository"},
		{"500", status(500, "oops"), clustermanager.ReasonError, "reading the server's capabilities: HTTP status 500 Internal Server Error (the host says: oops)"},
		{"web page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, clustermanager.ReasonRefused, "no git server that this build can speak to"},
		{"version 0 not shallow", advertisement("001e# service=git-upload-pack\n0000" + "004a" + strings.Repeat("a", 40) + " refs/heads/main\x00side-band-64k" + "0000"), clustermanager.ReasonRefused, "does not offer shallow clones"},
		{"version 0 without bands", advertisement("001e# service=git-upload-pack\n0000" + "0044" + strings.Repeat("a", 40) + " refs/heads/main\x00shallow" + "0000"), clustermanager.ReasonRefused, "does not offer the capability side-band-64k"},
		{"version 0 cut", advertisement("001e# service=git-upload-pack\n0000" + "0044" + strings.Repeat("a", 40) + " refs/heads/main\x00shallow"), clustermanager.ReasonError, "unexpected EOF"},
		{"version 0 wrong hash", advertisement("001e# service=git-upload-pack\n0000" + "0044" + strings.Repeat("x", 40) + " refs/heads/main\x00shallow" + "0000"), clustermanager.ReasonError, "is no object name"},
		{"version 0 sha256", advertisement("001e# service=git-upload-pack\n0000" + "007f" + strings.Repeat("a", 64) + " refs/heads/main\x00shallow side-band-64k object-format=sha256" + "0000"), clustermanager.ReasonRefused, "its object format is sha256"},
		{"version 1 cut", advertisement("001e# service=git-upload-pack\n0000" + "000eversion 1\n"), clustermanager.ReasonError, "unexpected EOF"},
		{"no version", advertisement("0015once upon a time\n"), clustermanager.ReasonError, "neither a version nor a ref"},
		{"not shallow", advertisement("000eversion 2\n0011fetch=filter\n0000"), clustermanager.ReasonRefused, "does not offer shallow clones"},
		{"sha256", advertisement("000eversion 2\n0011fetch=filter\n0019object-format=sha256\n0000"), clustermanager.ReasonRefused, "its object format is sha256"},
		{"cut", advertisement("000eversion 2\n"), clustermanager.ReasonError, "unexpected EOF"},
		{"many capabilities", func(w http.ResponseWriter, r *http.Request) {
			advertisement("000eversion 2\n")(w, r)
			_, _ = io.WriteString(w, strings.Repeat("0010abcdefghijk\n", 10_000)+"0000")
		}, clustermanager.ReasonError, "longer than any that is expected"},
		{"endless flushes", func(w http.ResponseWriter, r *http.Request) {
			advertisement("")(w, r)
			repeat(w, strings.Repeat("0000", 1000))
		}, clustermanager.ReasonError, "longer than any that is expected"},
		{"endless refs", func(w http.ResponseWriter, r *http.Request) {
			advertisement("0044"+strings.Repeat("a", 40)+" refs/heads/main\x00shallow")(w, r)
			repeat(w, strings.Repeat("003d"+strings.Repeat("a", 40)+" refs/heads/topic", 100))
		}, clustermanager.ReasonRefused, "the server lists all its refs unasked, and they are more than the 8 MiB that are read: let it speak git's protocol version 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(test.handler)
			defer server.Close()
			_, err := partial.Dial(t.Context(), partial.Options{URL: server.URL + "/acme/fleet.git", Token: clustermanager.NewSecret(plainToken)})
			if err == nil || !strings.Contains(err.Error(), test.want) || clustermanager.ReasonOf(err) != test.reason {
				t.Errorf("got  %v (%s)\nwant %s (%s)", err, clustermanager.ReasonOf(err), test.want, test.reason)
			}
			mustNotLeak(t, err)
		})
	}
}

// repeat writes until the reader goes away.
func repeat(w io.Writer, text string) {
	for {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

// TestCapabilitiesAreOffered holds that a server is not told what it does not know, which it would refuse.
func TestCapabilitiesAreOffered(t *testing.T) {
	for offered, want := range map[string]string{
		"":                                      "0014command=ls-refs\n0001001fref-prefix refs/heads/main\n0000",
		"000cagent=x\n0017object-format=sha1\n": "0014command=ls-refs\n001aagent=cluster-manager\n0017object-format=sha1\n0001001fref-prefix refs/heads/main\n0000",
	} {
		asked := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
				_, _ = io.WriteString(w, "000eversion 2\n0019fetch=shallow filter\n"+offered+"0000")
				return
			}
			body, _ := io.ReadAll(r.Body)
			asked = string(body)
			_, _ = io.WriteString(w, "0000")
		}))
		_, err := dial(t, server.URL+"/acme/fleet.git").Branch(t.Context(), "main")
		server.Close()
		if !errors.Is(err, partial.ErrBranchNotFound) || asked != want {
			t.Errorf("got %q (%v), want %q", asked, err, want)
		}
	}
}

func TestDialSendsTheToken(t *testing.T) {
	server := gitserver.New(t)
	repository := server.Repository("acme/fleet")
	var seen []string
	server.Before(func(_ http.ResponseWriter, r *http.Request) bool {
		name, password, _ := r.BasicAuth()
		seen = append(seen, name+" "+password+" "+r.Header.Get("Git-Protocol"))
		return false
	})
	dial(t, repository.URL)
	if diff := cmp.Diff([]string{"x-access-token " + plainToken + " version=2"}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestRedirects(t *testing.T) {
	server := gitserver.New(t)
	repository := server.Repository("acme/fleet")
	want := repository.Commit("main", "", "first", gitserver.Change{"a": "1"})
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host was asked for %s with %q", r.URL, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	server.Before(func(w http.ResponseWriter, r *http.Request) bool {
		for prefix, target := range map[string]string{"/acme/old.git": server.URL + "/acme/fleet.git", "/acme/away.git": other.URL + "/acme/fleet.git", "/acme/loop.git": server.URL + "/acme/loop.git"} {
			if rest, found := strings.CutPrefix(r.URL.Path, prefix); found {
				http.Redirect(w, r, target+rest+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
				return true
			}
		}
		return false
	})
	got, err := dial(t, server.URL+"/acme/old.git").Branch(t.Context(), "main")
	if err != nil || got.String() != want {
		t.Errorf("renamed: %s, %v; want %s", got, err, want)
	}
	for name, wanted := range map[string]string{"away": "where the sign-in is not valid", "loop": "more than 5 redirects"} {
		_, err = partial.Dial(t.Context(), partial.Options{URL: server.URL + "/acme/" + name + ".git", Token: clustermanager.NewSecret(plainToken)})
		if err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%s: %v", name, err)
		}
		mustNotLeak(t, err)
	}
}

func TestPostIsNotRedirected(t *testing.T) {
	server := gitserver.New(t)
	repository := server.Repository("acme/fleet")
	repository.Commit("main", "", "first", gitserver.Change{"a": "1"})
	remote := dial(t, repository.URL)
	server.Before(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, "/acme/elsewhere.git/git-upload-pack", http.StatusFound)
		return true
	})
	_, err := remote.Branch(t.Context(), "main")
	if err == nil || !strings.Contains(err.Error(), "HTTP status 302 Found") {
		t.Errorf("got %v", err)
	}
	if count := server.Count("git-upload-pack"); count != 1 {
		t.Errorf("%d posts, want 1", count)
	}
}

func TestBranches(t *testing.T) {
	server := gitserver.New(t)
	repository := server.Repository("acme/fleet")
	main := repository.Commit("main", "", "first", gitserver.Change{"a": "1"})
	for _, branch := range []string{"main-2", "deep/er/one", "top", "in/x"} {
		repository.Git("branch", branch, "main")
	}
	repository.Git("pack-refs", "--all")
	remote := dial(t, repository.URL)
	if got, err := remote.Branch(t.Context(), "main"); err != nil || got.String() != main {
		t.Errorf("main: %s, %v", got, err)
	}
	if _, err := remote.Branch(t.Context(), "mai"); !errors.Is(err, partial.ErrBranchNotFound) || !strings.Contains(err.Error(), "branch mai: ") {
		t.Errorf("mai: %v", err)
	}
	tests := []struct {
		name, clash string
		found       bool
		requests    int
	}{
		{"main", "", true, 1},
		{"new", "", false, 1},
		{"top/new", "top", false, 1},
		{"top/a/b", "top", false, 2},
		{"deep", "deep/er/one", false, 1},
		{"deep/er", "deep/er/one", false, 1},
		{"deep/er/two", "", false, 1},
		{"deep/er/one/two", "deep/er/one", false, 1},
		{"deep/new/two", "", false, 2},
		{"main/x", "main", false, 1},
		{"mai/x", "", false, 1},
	}
	for _, test := range tests {
		before := remote.Stats().Requests
		found, clash, err := remote.Find(t.Context(), test.name)
		requests := remote.Stats().Requests - before
		if err != nil || clash != test.clash || found.IsZero() == test.found || requests != test.requests {
			t.Errorf("%s: found %s, clash %q, %d requests, %v", test.name, found, clash, requests, err)
		}
	}
}

// TestOneConnection holds that answers are read to their end, so that a call pays for one handshake.
func TestOneConnection(t *testing.T) {
	server := gitserver.New(t)
	repository := server.Repository("acme/fleet")
	head := repository.Commit("main", "", "first", gitserver.Change{"a": "1", "b/c": "2"})
	peers := map[string]bool{}
	server.Before(func(_ http.ResponseWriter, r *http.Request) bool {
		peers[r.RemoteAddr] = true
		return false
	})
	remote, err := partial.Dial(t.Context(), partial.Options{URL: repository.URL, Transport: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Branch(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if err := remote.FetchCommit(t.Context(), hash(t, head)); err != nil {
		t.Fatal(err)
	}
	if err := remote.Push(t.Context(), "topic", partial.Hash{}, hash(t, head)); err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Branch(t.Context(), "topic"); err != nil {
		t.Fatal(err)
	}
	if len(peers) != 1 {
		t.Errorf("%d connections", len(peers))
	}
}
