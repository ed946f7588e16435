//nolint:bodyclose // the answers are read to their end and closed by the helper that asks
package localforge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/clustermanager/cluster-manager/internal/localforge"
)

func TestFaultsInTheFormOfTheHost(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	for name, test := range map[string]struct {
		fault  localforge.Fault
		status int
		header map[string]string
		words  string
	}{
		"primary limit":           {localforge.PrimaryLimit(noon), 403, map[string]string{"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": fmt.Sprint(noon.Unix())}, "API rate limit exceeded"},
		"secondary limit":         {localforge.SecondaryLimit(403, 0), 403, map[string]string{"Retry-After": ""}, "secondary rate limit"},
		"secondary limit, 429":    {localforge.SecondaryLimit(429, 7), 429, map[string]string{"Retry-After": "7"}, "secondary rate limit"},
		"single sign-on":          {localforge.SingleSignOn("acme"), 403, map[string]string{"X-Github-Sso": "required; url=https://github.com/orgs/acme/sso?authorization_request=made-for-a-test"}, "SAML"},
		"archived":                {localforge.Archived(), 403, nil, "archived"},
		"not permitted":           {localforge.NotPermitted("contents=write"), 403, map[string]string{"X-Accepted-Github-Permissions": "contents=write"}, "not accessible by integration"},
		"bad token":               {localforge.BadToken(), 401, nil, "Bad credentials"},
		"not installed":           {localforge.NotInstalled(), 404, nil, "Not Found"},
		"unavailable":             {localforge.Unavailable(502), 502, nil, "Bad Gateway"},
		"an answer of the test's": {localforge.Fault{Status: 200, Body: "[]"}, 200, nil, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			forge.Inject(test.fault)
			status, data, header := rawAPI(t, forge, writer, http.MethodGet, "/user", nil)
			if status != test.status || !strings.Contains(string(data), test.words) || test.fault.Body == "" && !strings.Contains(string(data), `"message":`) {
				t.Errorf("API: %d %s", status, data)
			}
			for key, want := range test.header {
				if header.Get(key) != want {
					t.Errorf("%s: %q, want %q", key, header.Get(key), want)
				}
			}
			response, err := http.Get(forge.CloneURL("acme", "fleet") + "/info/refs?service=git-upload-pack")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			data, err = io.ReadAll(response.Body)
			if err != nil || response.StatusCode != test.status || !strings.Contains(string(data), test.words) || strings.Contains(string(data), `"message":`) {
				t.Errorf("git: %d %s %v", response.StatusCode, data, err)
			}
		})
	}
}

func TestAFaultMeetsWhatItIsAbout(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	forge.Inject(
		localforge.Unavailable(503).On(http.MethodGet, "**/pulls").For(1, 2),
		localforge.Unavailable(502).On(http.MethodPost, "**/pulls"),
	)
	for i, test := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, pulls, 200},
		{http.MethodGet, "/user", 200},
		{http.MethodGet, pulls, 503},
		{http.MethodPost, pulls, 502},
		{http.MethodGet, pulls + "/1", 404},
		{http.MethodGet, pulls, 503},
		{http.MethodGet, pulls, 200},
	} {
		if status, _, _ := rawAPI(t, forge, writer, test.method, test.path, nil); status != test.status {
			t.Errorf("request %d, %s %s: %d, want %d", i, test.method, test.path, status, test.status)
		}
	}
	if forge.Met() != 3 {
		t.Errorf("%d requests met a fault, want 3", forge.Met())
	}
	forge.Inject()
	if status, _, _ := rawAPI(t, forge, writer, http.MethodGet, pulls, nil); status != 200 || forge.Met() != 0 {
		t.Errorf("well again: %d, %d met", status, forge.Met())
	}
}

func TestAnAnswerThatWaits(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	wait, left := make(chan struct{}), errors.New("left")
	forge.Inject(localforge.Fault{Wait: wait})
	ctx, leave := context.WithCancelCause(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, forge.APIURL()+pulls, io.TeeReader(strings.NewReader("{}"), leaving{leave, left}))
	if err != nil {
		t.Fatal(err)
	}
	if response, err := http.DefaultClient.Do(request); !errors.Is(err, left) {
		t.Errorf("a client that leaves: %v %v", response, err)
	}
	close(wait)
	if status, _, _ := rawAPI(t, forge, writer, http.MethodGet, "/user", nil); status != 200 || forge.Met() == 0 {
		t.Errorf("after the wait: %d, %d met", status, forge.Met())
	}
}

// leaving ends a request as soon as its body is on the way.
type leaving struct {
	leave context.CancelCauseFunc
	why   error
}

func (l leaving) Write(data []byte) (int, error) {
	l.leave(l.why)
	return len(data), nil
}

func TestResets(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	mustGit(t, folder, "checkout", "--quiet", "-b", "topic")
	writeFile(t, folder+"/more", strings.Repeat("more\n", 1000))
	mustGit(t, folder, "add", "-A")
	mustGit(t, folder, "commit", "--quiet", "-m", "feat: more")
	for name, test := range map[string]struct {
		where localforge.Reset
		taken bool
	}{
		"before": {localforge.ResetBefore, false}, "within": {localforge.ResetWithin, false}, "after": {localforge.ResetAfter, true},
	} {
		t.Run(name, func(t *testing.T) {
			forge.Inject(localforge.Fault{Reset: test.where}.On(http.MethodPost, "**/git-receive-pack"))
			if output, err := gitIn(t, folder, writer, "push", "origin", "topic:"+name); err == nil {
				t.Errorf("the push worked: %s", output)
			}
			met := forge.Met()
			forge.Inject()
			_, err := forge.File("acme", "fleet", name, "more")
			if taken := err == nil; met == 0 || taken != test.taken {
				t.Errorf("%d met, taken: %t (%v), want %t", met, taken, err, test.taken)
			}
		})
	}
	forge.Inject(localforge.Fault{Reset: localforge.ResetBefore})
	client := http.Client{Transport: &http.Transport{}}
	if response, err := client.Get(forge.URL() + "/x"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("no reset: %v %v", response, err)
	}
}

func TestRename(t *testing.T) {
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	opened(t, forge, folder, "topic/one")
	if err := forge.Rename("acme", "fleet", "acme", "flotilla"); err != nil {
		t.Fatal(err)
	}
	if output, err := gitIn(t, folder, writer, "ls-remote", "origin", "refs/heads/topic/one"); err != nil || !strings.Contains(output, "refs/heads/topic/one") {
		t.Errorf("git by the old name: %v %s", err, output)
	}
	if status, data, _ := rawAPI(t, forge, writer, http.MethodGet, "/repos/acme/fleet/rules/branches/topic%2Fone?page=1", nil); status != 301 && status != 200 {
		t.Errorf("the API by the old name: %d %s", status, data)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, test := range []struct {
		method, path, location string
		status                 int
	}{
		{http.MethodGet, "/api/v3/repos/acme/fleet/rules/branches/a%2Fb?page=1", "/api/v3/repos/acme/flotilla/rules/branches/a%2Fb?page=1", 301},
		{http.MethodGet, "/api/v3/repos/acme/fleet", "/api/v3/repos/acme/flotilla", 301},
		{http.MethodPost, "/api/v3/repos/acme/fleet/pulls", "/api/v3/repos/acme/flotilla/pulls", 307},
		{http.MethodGet, "/acme/fleet.git/info/refs?service=git-upload-pack", "/acme/flotilla.git/info/refs?service=git-upload-pack", 301},
		{http.MethodGet, "/acme/fleets/info/refs", "", 403},
		{http.MethodGet, "/api/v3/repos/acme/flotilla/pulls", "", 401},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, forge.URL()+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if location := strings.TrimPrefix(response.Header.Get("Location"), forge.URL()); response.StatusCode != test.status || location != test.location {
			t.Errorf("%s %s: %d to %q, want %d to %q", test.method, test.path, response.StatusCode, location, test.status, test.location)
		}
	}
	if pull, err := forge.PullRequest("acme", "flotilla", 1); err != nil || pull.Branch != "topic/one" {
		t.Errorf("its pull request: %v %v", pull, err)
	}
	if err := forge.Rename("acme", "fleet", "acme", "other"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("renaming what is not there: %v", err)
	}
}
