package identity

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/identity/identitytest"
)

// userToken is made for the tests.
const userToken = "ghu_madeForTheTest0123456789"

// gitHub answers GET /user as a test says.
type gitHub struct {
	*httptest.Server
	mutex    sync.Mutex
	status   int
	header   map[string]string
	body     string
	requests []*http.Request
}

func newGitHub(t testing.TB) *gitHub {
	t.Helper()
	g := &gitHub{status: http.StatusOK, body: `{"login":"jane"}`}
	g.Server = httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		g.mutex.Lock()
		defer g.mutex.Unlock()
		g.requests = append(g.requests, request)
		for name, value := range g.header {
			writer.Header().Set(name, value)
		}
		writer.WriteHeader(g.status)
		_, _ = fmt.Fprint(writer, g.body)
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *gitHub) answers(status int, header map[string]string, body string) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.status, g.header, g.body = status, header, body
}

func (g *gitHub) asked() []*http.Request {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.requests
}

func paired(g *gitHub) func(*Options) {
	return func(o *Options) {
		o.GitHubAuthorizationServer, o.GitHubAPIURL = "https://github.com/apps/a-manager", g.URL+"/api/v3"
	}
}

func both(user, idToken string) http.Header {
	return http.Header{"Authorization": {"Bearer " + user}, IDTokenHeader: {idToken}}
}

// The two tokens of a call make one caller, and GitHub is asked once for a while.
func TestThePairing(t *testing.T) {
	t.Parallel()
	issuer, github := identitytest.Start(t), newGitHub(t)
	resource := newLoaded(t, issuer, paired(github))
	idToken := issuer.Token(t, nil)
	ask := func(user string, wanted int) {
		t.Helper()
		got := resource.ask(t, both(user, idToken))
		if got.caller == nil || got.caller.GitHub == nil || got.caller.GitHub.Login != "jane" || got.caller.NoGitHub != "" {
			t.Fatalf("%s: %+v", got.description, got.caller)
		}
		if got.caller.GitHub.Token.Reveal() != user || got.caller.KubernetesToken.Reveal() != idToken || got.caller.Subject != "subject-of-jane" {
			t.Error("a token is not where it belongs")
		}
		if got.request.Header.Get("Authorization") != "Bearer "+idToken || got.request.Header.Get(IDTokenHeader) != "" {
			t.Error("the id_token has not replaced the bearer")
		}
		if asked := len(github.asked()); asked != wanted {
			t.Errorf("GitHub was asked %d times, want %d", asked, wanted)
		}
	}
	ask(userToken, 1)
	ask(userToken, 1)
	ask("ghu_another0123456789", 2)
	resource.clock.pass(keepLogin - time.Second)
	ask(userToken, 2)
	resource.clock.pass(time.Second)
	ask(userToken, 3)
	ask(userToken, 3)
	request := github.asked()[0]
	if request.URL.Path != "/api/v3/user" || request.Header.Get("Accept") != "application/vnd.github+json" || request.Header.Get("Authorization") != "Bearer "+userToken || request.Header.Get("User-Agent") != "cluster-manager" {
		t.Errorf("%s %s", request.Method, request.URL)
	}
}

// Calls that the pairing refuses: GitHub is asked for nobody whom the issuer does not know.
func TestThePairingRefuses(t *testing.T) {
	t.Parallel()
	issuer := identitytest.Start(t)
	good := issuer.Token(t, nil)
	for name, test := range map[string]struct {
		header http.Header
		want   string
		asked  int
	}{
		"nothing":            {http.Header{}, "the request carries no GitHub authorization: " + clustermanager.ConnectGitHub, 0},
		"no bearer":          {http.Header{IDTokenHeader: {good}}, "the request carries no GitHub authorization", 0},
		"no id_token":        {bearing(userToken), "the header X-Muster-Id-Token is missing", 0},
		"empty id_token":     {both(userToken, ""), "the header X-Muster-Id-Token is missing", 0},
		"two id_tokens":      {http.Header{"Authorization": {"Bearer " + userToken}, IDTokenHeader: {good, good}}, "is not one token", 0},
		"id_token, scheme":   {both(userToken, "Bearer "+good), "is not one token", 0},
		"id_token is forged": {both(userToken, issuer.Forged(t, "1", nil)), "not signed by a key", 0},
		"id_token, audience": {both(userToken, issuer.Token(t, map[string]any{"aud": "argo"})), "this server trusts", 0},
		"GitHub refuses":     {both(userToken, good), "GitHub does not accept the authorization that came with the call: " + clustermanager.ConnectGitHub, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
				github := newGitHub(t)
				github.answers(status, nil, `{"message":"Bad credentials `+userToken+`"}`)
				got := newLoaded(t, issuer, paired(github)).ask(t, test.header)
				if got.caller != nil || got.status != http.StatusUnauthorized || !strings.Contains(got.description, test.want) || !strings.HasPrefix(got.challenge, `Bearer realm="cluster-manager", `) {
					t.Errorf("%d %s", got.status, got.description)
				}
				if asked := len(github.asked()); asked != test.asked {
					t.Errorf("GitHub was asked %d times", asked)
				}
			}
		})
	}
}

// GitHub that says nothing of a token takes mode commit from the call, and the next call asks it again.
func TestGitHubCannotSay(t *testing.T) {
	t.Parallel()
	issuer := identitytest.Start(t)
	for name, test := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   string
	}{
		"no login":           {http.StatusOK, nil, `{"message":"` + userToken + `"}`, "GitHub cannot say whose authorization this is: its answer has no login"},
		"no JSON":            {http.StatusOK, nil, userToken, "its answer has no login"},
		"broken":             {http.StatusBadGateway, nil, userToken, "status 502 Bad Gateway"},
		"not found":          {http.StatusNotFound, nil, userToken, "status 404 Not Found"},
		"moved":              {http.StatusMovedPermanently, map[string]string{"Location": "/elsewhere"}, "", "status 301 Moved Permanently"},
		"too many":           {http.StatusTooManyRequests, nil, "", "GitHub takes no more requests for now: status 429"},
		"primary limit":      {http.StatusForbidden, map[string]string{"X-RateLimit-Remaining": "0"}, "", "GitHub takes no more requests for now: status 403"},
		"secondary limit":    {http.StatusForbidden, map[string]string{"Retry-After": "30"}, "", "GitHub takes no more requests for now: status 403"},
		"an endless answer":  {http.StatusOK, nil, strings.Repeat("x", maximalAnswer+1), "GitHub cannot be reached: "},
		"nobody is there":    {0, nil, "", "connection refused"},
		"it does not answer": {-1, nil, "", "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			github := newGitHub(t)
			resource := newLoaded(t, issuer, paired(github))
			switch test.status {
			case 0:
				github.Close()
			case -1:
				resource.github.client.Timeout = 0
				resource.github.client.Transport = hanging{}
			default:
				github.answers(test.status, test.header, test.body)
			}
			for range 2 {
				got := resource.ask(t, both(userToken, issuer.Token(t, nil)))
				if got.caller == nil || got.caller.GitHub != nil || !strings.Contains(got.caller.NoGitHub, test.want) || got.caller.KubernetesToken.IsZero() {
					t.Fatalf("%d %s: %+v", got.status, got.description, got.caller)
				}
				resource.holdsNone(t, "user token", userToken, got.caller.NoGitHub)
			}
			if asked := len(github.asked()); test.status > 0 && asked != 2 {
				t.Errorf("GitHub was asked %d times", asked)
			}
			if test.status < 1 {
				return
			}
			github.answers(http.StatusOK, nil, `{"login":"jane"}`)
			if got := resource.ask(t, both(userToken, issuer.Token(t, nil))); got.caller == nil || got.caller.GitHub == nil {
				t.Error("GitHub answers again, and mode commit stays off")
			}
		})
	}
}

// hanging never answers within the time that there is, which is over at once.
type hanging struct{}

// RoundTrip implements http.RoundTripper.
func (hanging) RoundTrip(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded }

// The logins that are kept are bounded, and the oldest go first.
func TestLoginsAreBounded(t *testing.T) {
	t.Parallel()
	clock := newClock()
	pairing := newPairing("https://api.github.example.com", clock.now)
	of := func(i int) digest { return digest{byte(i), byte(i >> 8), byte(i >> 16)} }
	for i := range maximalLogins + 5 {
		clock.pass(time.Millisecond)
		pairing.keep(of(i), "jane")
		pairing.keep(of(i), "jane")
	}
	for i, want := range map[int]bool{0: false, 4: false, 5: true, maximalLogins + 4: true} {
		if _, there := pairing.known(of(i)); there != want {
			t.Errorf("login %d: %t, want %t", i, there, want)
		}
	}
	if len(pairing.logins) != maximalLogins || len(pairing.order) != maximalLogins {
		t.Errorf("%d logins in %d places", len(pairing.logins), len(pairing.order))
	}
	clock.pass(keepLogin)
	pairing.keep(of(0), "jane")
	if len(pairing.logins) != 1 || len(pairing.order) != 1 {
		t.Errorf("%d logins in %d places once they ended", len(pairing.logins), len(pairing.order))
	}
}
