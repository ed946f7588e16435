package forge_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/forge"
)

// answer is what a host says to every request.
type answer struct {
	status int
	header map[string]string
	body   string
}

func (a answer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

func message(text string) string {
	return `{"message":"` + text + `","documentation_url":"https://docs.github.com/rest"}`
}

// operations are the calls by their names.
var operations = map[string]func(context.Context, *forge.Client) error{
	"user":    func(ctx context.Context, c *forge.Client) error { _, err := c.User(ctx); return err },
	"rules":   func(ctx context.Context, c *forge.Client) error { _, err := c.BranchRules(ctx, branch); return err },
	"list":    func(ctx context.Context, c *forge.Client) error { _, err := c.PullRequests(ctx, branch); return err },
	"compare": func(ctx context.Context, c *forge.Client) error { _, err := c.Compare(ctx, "main", branch); return err },
	"create": func(ctx context.Context, c *forge.Client) error {
		_, err := c.CreatePullRequest(ctx, clustermanager.PullRequest{Branch: branch, Title: "t"}, "main")
		return err
	},
	"update": func(ctx context.Context, c *forge.Client) error {
		_, err := c.UpdatePullRequest(ctx, 1, "t", "b")
		return err
	},
}

var kinds = map[string]error{
	"token": forge.ErrTokenRefused, "limited": forge.ErrLimited, "unreachable": forge.ErrUnreachable, "exists": forge.ErrPullRequestExists,
}

func TestEachKindOfNo(t *testing.T) {
	for _, test := range []struct {
		name, operation string
		answer          answer
		reason          clustermanager.Reason
		kind            string
		want            string
	}{
		{"token refused", "user", answer{401, nil, message("Bad credentials")}, "refused", "token",
			"GitHub HOST: reading the signed-in account: GitHub does not accept the token (401): connect GitHub where you signed in, then call again"},
		{"token refused with a one-time code", "list", answer{401, map[string]string{"X-GitHub-OTP": "required; app"}, message("Must specify two-factor authentication OTP code.")}, "refused", "token",
			"GitHub acme/fleet: looking for the branch's pull requests: GitHub does not accept the token (401): connect GitHub where you signed in, then call again"},
		{"permission missing", "create", answer{403, nil, message("Resource not accessible by integration")}, "refused", "",
			"GitHub acme/fleet: opening the pull request: not permitted (403, Resource not accessible by integration): the GitHub App needs the permission pull_requests=write on the repository, and the account the same right there: have an owner grant what is missing, then call again"},
		{"the permission that GitHub names", "rules", answer{403, map[string]string{"X-Accepted-GitHub-Permissions": "metadata=read,administration=read"}, message("Resource not accessible by integration")}, "refused", "",
			"GitHub acme/fleet: reading the branch's rules: not permitted (403, Resource not accessible by integration): the GitHub App needs the permission metadata=read,administration=read on the repository, and the account the same right there: have an owner grant what is missing, then call again"},
		{"a permission on the last request of the hour", "create", answer{403, map[string]string{"X-RateLimit-Remaining": "0"}, message("Resource not accessible by integration")}, "refused", "",
			"GitHub acme/fleet: opening the pull request: not permitted (403, Resource not accessible by integration): the GitHub App needs the permission pull_requests=write on the repository, and the account the same right there: have an owner grant what is missing, then call again"},
		{"single sign-on", "list", answer{403, map[string]string{"X-GitHub-SSO": "required; url=https://github.example/orgs/acme/sso?authorization_request=made-for-this-test"}, message("Resource protected by organization SAML enforcement.")}, "refused", "",
			"GitHub acme/fleet: looking for the branch's pull requests: the organization wants single sign-on (SAML): start a session at https://github.example/orgs/acme/sso, connect GitHub where you signed in, then call again"},
		{"archived", "create", answer{403, nil, message("Repository was archived so is read-only.")}, "refused", "",
			"GitHub acme/fleet: opening the pull request: the repository is archived, so nothing can be proposed: unarchive it, or let the GitRepository point to its successor"},
		{"forbidden otherwise", "list", answer{403, nil, message("Your IP address is not permitted to access this resource.")}, "refused", "",
			"GitHub acme/fleet: looking for the branch's pull requests: refused (403): Your IP address is not permitted to access this resource.: check the account's rights on the repository and the App's permission pull_requests=read, then call again"},
		{"not installed", "create", answer{404, nil, message("Not Found")}, "refused", "",
			"GitHub acme/fleet: opening the pull request: not found (404): the GitHub App is not installed on acme/fleet, or the account may not see it: have an owner of acme install the App there, then call again"},
		{"not found when comparing", "compare", answer{404, nil, message("Not Found")}, "refused", "",
			"GitHub acme/fleet: comparing the branch with its base: not found (404): the GitHub App is not installed on acme/fleet, or the account may not see it, or one of the branches is gone: have an owner of acme install the App there, then call again"},
		{"no API there", "user", answer{404, nil, "<html>"}, "refused", "",
			"GitHub HOST: reading the signed-in account: no GitHub API answers at this address (404): correct the setting git-hosts"},

		{"primary limit", "create", answer{403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4102444800"}, message("API rate limit exceeded for user ID 7.")}, "refused", "limited",
			"GitHub acme/fleet: opening the pull request: the account's requests of this hour are used up (the primary rate limit): try again after 2100-01-01T00:00:00Z"},
		{"primary limit as 429", "list", answer{429, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4102444800"}, message("API rate limit exceeded")}, "refused", "limited",
			"GitHub acme/fleet: looking for the branch's pull requests: the account's requests of this hour are used up (the primary rate limit): try again after 2100-01-01T00:00:00Z"},
		{"secondary limit with Retry-After", "create", answer{403, map[string]string{"Retry-After": "60"}, message("You have exceeded a secondary rate limit.")}, "refused", "limited",
			"GitHub acme/fleet: opening the pull request: too many requests in a short time (a secondary rate limit): try again in 60 seconds"},
		{"secondary limit known by its link", "create", answer{403, map[string]string{"Retry-After": "60"}, `{"message":"Slow down","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`}, "refused", "limited",
			"GitHub acme/fleet: opening the pull request: too many requests in a short time (a secondary rate limit): try again in 60 seconds"},
		{"secondary limit with a date", "create", answer{403, map[string]string{"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"}, message("wait")}, "refused", "limited",
			"GitHub acme/fleet: opening the pull request: too many requests in a short time (a secondary rate limit): try again after 2100-01-01T00:00:00Z"},
		{"secondary limit without Retry-After", "create", answer{403, nil, message("You have exceeded a secondary rate limit. Please wait a few minutes.")}, "refused", "limited",
			"GitHub acme/fleet: opening the pull request: too many requests in a short time (a secondary rate limit): try again in a minute"},
		{"429 with Retry-After", "user", answer{429, map[string]string{"Retry-After": "5"}, message("Too many requests")}, "refused", "limited",
			"GitHub HOST: reading the signed-in account: too many requests in a short time (a secondary rate limit): try again in 5 seconds"},
		{"429 without anything", "rules", answer{429, nil, ""}, "refused", "limited",
			"GitHub acme/fleet: reading the branch's rules: too many requests in a short time (a secondary rate limit): try again in a minute"},

		{"invalid", "create", answer{422, nil, `{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"No commits between main and topic"}]}`}, "refused", "",
			"GitHub acme/fleet: opening the pull request: GitHub refuses it (422): Validation Failed: No commits between main and topic: correct what it names, then call again"},
		{"invalid base", "create", answer{422, nil, `{"message":"Validation Failed","errors":[{"resource":"PullRequest","field":"base","code":"invalid"}]}`}, "refused", "",
			"GitHub acme/fleet: opening the pull request: GitHub refuses it (422): Validation Failed: base invalid: the base branch does not exist: create it, or let the GitRepository follow one that does"},
		{"invalid in another form", "update", answer{422, nil, `{"message":"Validation Failed","errors":["body is too long"]}`}, "refused", "",
			"GitHub acme/fleet: updating the pull request: GitHub refuses it (422): Validation Failed: body is too long: correct what it names, then call again"},
		{"invalid with one text", "update", answer{422, nil, `{"message":"Validation Failed","errors":"body is too long"}`}, "refused", "",
			"GitHub acme/fleet: updating the pull request: GitHub refuses it (422): Validation Failed: body is too long: correct what it names, then call again"},
		{"exists", "create", answer{422, nil, `{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"A pull request already exists for acme:topic."}]}`}, "error", "exists",
			"GitHub acme/fleet: opening the pull request for branch " + branch + ": a pull request of this branch is open already"},
		{"renamed", "create", answer{301, map[string]string{"Location": "/api/v3/repositories/1/pulls"}, message("Moved Permanently")}, "refused", "",
			"GitHub acme/fleet: opening the pull request: the repository was renamed or moved (301): write its new name into the GitRepository's URL, then call again"},

		{"down", "create", answer{502, nil, "<html>\nBad\tGateway"}, "error", "unreachable",
			"GitHub HOST: opening the pull request: cannot be reached: answer 502: "},
		{"unavailable", "user", answer{503, map[string]string{"Retry-After": "60"}, message("Service unavailable")}, "error", "unreachable",
			"GitHub HOST: reading the signed-in account: cannot be reached: answer 503: Service unavailable"},
		{"no JSON", "list", answer{200, nil, "<html>"}, "error", "unreachable",
			"GitHub HOST: looking for the branch's pull requests: the answer cannot be used: invalid character '<' looking for beginning of value"},
		{"no user", "user", answer{200, nil, "{}"}, "error", "unreachable", "GitHub HOST: reading the signed-in account: the answer cannot be used: no login in it"},
		{"no pull request", "create", answer{201, nil, "{}"}, "error", "unreachable", "GitHub HOST: opening the pull request: the answer cannot be used: no pull request in it"},
		{"a comparison that is partial", "compare", answer{200, nil, `{"total_commits":2,"commits":[]}`}, "error", "unreachable", "GitHub HOST: comparing the branch with its base: the answer cannot be used: the number of commits does not fit the list"},
		{"rules not in the plan", "rules", answer{403, nil, message("Upgrade to GitHub Pro or make this repository public to enable this feature.")}, "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(test.answer)
			defer server.Close()
			client := newClient(t, forge.Options{APIURL: server.URL, Owner: "acme", Repository: "fleet", Token: token})
			err := operations[test.operation](t.Context(), client)
			if reason := clustermanager.ReasonOf(err); reason != test.reason {
				t.Errorf("reason %q, want %q: %v", reason, test.reason, err)
			}
			if err == nil {
				return
			}
			want := strings.ReplaceAll(test.want, "HOST", strings.TrimPrefix(server.URL, "http://"))
			if diff := cmp.Diff(want, err.Error()); diff != "" && (!strings.HasSuffix(want, ": ") || !strings.HasPrefix(err.Error(), strings.TrimSpace(want))) {
				t.Error(diff)
			}
			for kind, sentinel := range kinds {
				if errors.Is(err, sentinel) != (kind == test.kind) {
					t.Errorf("is %s: %t: %v", kind, errors.Is(err, sentinel), err)
				}
			}
		})
	}
}

func TestALimitIsRememberedAndStillALimit(t *testing.T) {
	for name, limit := range map[string]answer{
		"primary":   {403, map[string]string{"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4102444800"}, message("API rate limit exceeded")},
		"secondary": {403, map[string]string{"Retry-After": "60"}, `{"message":"secondary","documentation_url":"https://docs.github.com/rest#secondary-rate-limits"}`},
	} {
		server := httptest.NewServer(limit)
		client := newClient(t, forge.Options{APIURL: server.URL, Owner: "acme", Repository: "fleet", Token: token})
		for range 2 {
			if err := operations["list"](t.Context(), client); !errors.Is(err, forge.ErrLimited) || !strings.Contains(err.Error(), name+" rate limit): try again ") || strings.HasSuffix(err.Error(), "in a minute") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if client.Requests() != 1 {
			t.Errorf("%s: %d requests", name, client.Requests())
		}
		server.Close()
	}
}

func TestNobodyThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	client := newClient(t, forge.Options{APIURL: server.URL, Owner: "acme", Repository: "fleet", Token: token})
	for name, call := range operations {
		err := call(t.Context(), client)
		if !errors.Is(err, forge.ErrUnreachable) || clustermanager.ReasonOf(err) != clustermanager.ReasonError || !strings.Contains(err.Error(), ": cannot be reached: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := operations["list"](ended, client); !errors.Is(err, context.Canceled) || !errors.Is(err, forge.ErrUnreachable) {
		t.Errorf("a call that was ended: %v", err)
	}
}

func TestWhatIsRelayedIsCleanBoundedAndWithoutTheToken(t *testing.T) {
	long := `a\u001b[31mb\u202ec\nd ` + token.Reveal() + " " + strings.Repeat("x", 5000)
	for _, status := range []int{403, 422, 500} {
		server := httptest.NewServer(answer{status, map[string]string{"X-Accepted-GitHub-Permissions": strings.Repeat("p", 5000)}, message(long)})
		client := newClient(t, forge.Options{APIURL: server.URL, Owner: "acme", Repository: "fleet", Token: token})
		text := operations["create"](t.Context(), client).Error()
		if strings.ContainsAny(text, "\x1b\u202e\n") || strings.Contains(text, token.Reveal()) || len(text) > 1000 || !strings.Contains(text, "a [31mb c d <redacted>") {
			t.Errorf("%d: %d bytes: %q", status, len(text), text)
		}
		server.Close()
	}
}

func TestAnAnswerIsBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `[{"title":"`)
		chunk := strings.Repeat("x", 1<<20)
		for range 64 {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	client := newClient(t, forge.Options{APIURL: server.URL, Owner: "acme", Repository: "fleet", Token: token})
	if err := operations["list"](t.Context(), client); !errors.Is(err, forge.ErrUnreachable) || !strings.Contains(err.Error(), "too large") {
		t.Errorf("an endless answer: %v", err)
	}
}
