package main

import (
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
)

const (
	faultsBranch = "cluster-manager/gazelle/add-wc1-gpu-l4"

	// The requests that meet a fault, by their paths.
	api           = "/api/v3/**"
	rules         = "**/rules/branches/**"
	pulls         = "**/pulls"
	advertisement = "**/info/refs"
	fetch         = "**/git-upload-pack"
	push          = "**/git-receive-pack"
)

// limitEnds is when the primary limits of these tests end.
var limitEnds = time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)

// faultCase is a fault of the forge, what the call answers that meets it, and what it left. Afterwards the same call
// always finishes with one pull request of one commit.
type faultCase struct {
	faults []localforge.Fault
	// breaks and mends change the forge itself, before the call and before the same call afterwards.
	breaks, mends func(*localforge.Forge) error
	// earlier are the arguments of a call that worked before; nil: none.
	earlier map[string]any
	// budget is the time that a call may take; "" is the usual.
	budget string
	// name is the repository's name at the end; "" is fleet.
	name string

	reason clustermanager.Reason
	// says are words of the answer, lacks words that are not in it.
	says, lacks []string
	// pushed says that the branch is there after the call, opened that its pull request is.
	pushed, opened bool
}

// Ends that several cases share.
const (
	anew        = "; nothing was written, the same call again starts anew"
	opensIt     = "which is pushed (the same call again opens it)"
	inAMinute   = "(a secondary rate limit): try again in a minute"
	atReset     = "(the primary rate limit): try again after 2100-01-02T03:04:05Z"
	signInAgain = "connect"
)

// The reports that name a case are in public trackers of tools that do the same job.
var faultCases = map[string]faultCase{
	"reset before git's first answer": {
		faults: faults(resets(localforge.ResetBefore).On("GET", advertisement)),
		reason: clustermanager.ReasonError, says: []string{"reading the server's capabilities", anew},
	},
	"reset of a fetch, once": {
		faults: faults(resets(localforge.ResetBefore).On("POST", fetch).For(1, 1)),
		pushed: true, opened: true,
	},
	"reset of every fetch": {
		faults: faults(resets(localforge.ResetBefore).On("POST", fetch)),
		reason: clustermanager.ReasonError, says: []string{"reading branch main", anew},
	},
	"reset of an API read, once": {
		faults: faults(resets(localforge.ResetBefore).On("GET", pulls).For(0, 1)),
		pushed: true, opened: true,
	},
	"reset of every API read": {
		faults: faults(resets(localforge.ResetBefore).On("GET", api)),
		reason: clustermanager.ReasonError, says: []string{"cannot be reached", anew},
	},
	"reset before a push": {
		faults: faults(resets(localforge.ResetBefore).On("POST", push)),
		reason: clustermanager.ReasonError, says: []string{"pushing branch " + faultsBranch, anew},
	},
	"reset within a push": {
		faults: faults(resets(localforge.ResetWithin).On("POST", push)),
		reason: clustermanager.ReasonError, says: []string{"pushing branch " + faultsBranch, anew},
	},
	"reset within a push over an open pull request": {
		faults: faults(resets(localforge.ResetWithin).On("POST", push)), earlier: map[string]any{"maxGpus": 2},
		reason: clustermanager.ReasonError, says: []string{"pushing branch " + faultsBranch, anew}, pushed: true, opened: true,
	},
	"reset after a push was taken": {
		faults: faults(resets(localforge.ResetAfter).On("POST", push)),
		pushed: true, opened: true,
	},
	"reset before the pull request": {
		faults: faults(resets(localforge.ResetBefore).On("POST", pulls)),
		reason: clustermanager.ReasonError, says: []string{opensIt}, lacks: []string{anew}, pushed: true,
	},
	"reset after the pull request was opened": {
		faults: faults(resets(localforge.ResetAfter).On("POST", pulls)),
		pushed: true, opened: true,
	},
	"primary limit of the account": {
		faults: faults(localforge.PrimaryLimit(limitEnds).On("GET", "**/user")),
		reason: clustermanager.ReasonRefused, says: []string{atReset}, lacks: []string{signInAgain},
	},
	"primary limit of the rules": {
		faults: faults(localforge.PrimaryLimit(limitEnds).On("GET", rules)),
		reason: clustermanager.ReasonRefused, says: []string{atReset}, lacks: []string{signInAgain},
	},
	"primary limit of the pull request": {
		faults: faults(localforge.PrimaryLimit(limitEnds).On("POST", pulls)),
		reason: clustermanager.ReasonError, says: []string{opensIt, atReset}, lacks: []string{signInAgain}, pushed: true,
	},
	"multi-gitter 276: secondary limit, 403 without a time": {
		faults: faults(localforge.SecondaryLimit(403, 0).On("GET", rules)),
		reason: clustermanager.ReasonRefused, says: []string{inAMinute}, lacks: []string{signInAgain, "permission"},
	},
	"create-pull-request 855: secondary limit of the pull request": {
		faults: faults(localforge.SecondaryLimit(403, 0).On("POST", pulls)),
		reason: clustermanager.ReasonError, says: []string{opensIt, inAMinute}, lacks: []string{signInAgain, "permission"}, pushed: true,
	},
	"go-github 2229: secondary limit, 429 without a time": {
		faults: faults(localforge.SecondaryLimit(429, 0).On("GET", rules)),
		reason: clustermanager.ReasonRefused, says: []string{inAMinute}, lacks: []string{signInAgain},
	},
	"secondary limit, 403 for 60 seconds": {
		faults: faults(localforge.SecondaryLimit(403, 60).On("GET", rules)),
		reason: clustermanager.ReasonRefused, says: []string{"try again in 60 seconds"}, lacks: []string{signInAgain},
	},
	"secondary limit of a read, a second long": {
		faults: faults(localforge.SecondaryLimit(429, 1).On("GET", rules).For(0, 1)),
		pushed: true, opened: true,
	},
	"secondary limit of a push, a second long": {
		faults: faults(localforge.SecondaryLimit(403, 1).On("POST", push).For(0, 1)),
		pushed: true, opened: true,
	},
	"secondary limit of the pull request, a second long": {
		faults: faults(localforge.SecondaryLimit(429, 1).On("POST", pulls).For(0, 1)),
		pushed: true, opened: true,
	},
	"secondary limit of the pull request, 30 seconds long": {
		faults: faults(localforge.SecondaryLimit(429, 30).On("POST", pulls)),
		reason: clustermanager.ReasonError, says: []string{opensIt, "try again in 30 seconds"}, pushed: true,
	},
	"secondary limit of git, 403": {
		faults: faults(localforge.SecondaryLimit(403, 0).On("GET", advertisement)),
		reason: clustermanager.ReasonRefused, says: []string{inAMinute}, lacks: []string{signInAgain, "permission"},
	},
	"secondary limit of git, 429": {
		faults: faults(localforge.SecondaryLimit(429, 60).On("POST", fetch)),
		reason: clustermanager.ReasonRefused, says: []string{"try again in 60 seconds"}, lacks: []string{signInAgain},
	},
	"secondary limit of a push, 60 seconds long": {
		faults: faults(localforge.SecondaryLimit(403, 60).On("POST", push)),
		reason: clustermanager.ReasonRefused, says: []string{"try again in 60 seconds"}, lacks: []string{signInAgain, "permission"},
	},
	"single sign-on of the API": {
		faults: faults(localforge.SingleSignOn("acme").On("", rules)),
		reason: clustermanager.ReasonRefused, says: []string{"start a session at https://github.com/orgs/acme/sso, connect GitHub where you signed in"}, lacks: []string{"authorization_request"},
	},
	"single sign-on of git": {
		faults: faults(localforge.SingleSignOn("acme").On("", advertisement)),
		reason: clustermanager.ReasonRefused, says: []string{"single sign-on (SAML): sign in to the organization in a browser, connect the server again"},
	},
	"archived, at the push": {
		faults: faults(localforge.Archived().On("POST", push)),
		reason: clustermanager.ReasonRefused, says: []string{"the repository is archived, so nothing can be written: unarchive it"}, lacks: []string{signInAgain},
	},
	"archived, at the pull request": {
		faults: faults(localforge.Archived().On("POST", pulls)),
		reason: clustermanager.ReasonError, says: []string{opensIt, "the repository is archived"}, pushed: true,
	},
	"not installed": {
		faults: faults(localforge.NotInstalled().On("", "**/acme/fleet**")),
		reason: clustermanager.ReasonRefused, says: []string{"the GitHub App must be installed on the repository"},
	},
	"not installed, for the API alone": {
		faults: faults(localforge.NotInstalled().On("", "**/repos/**")),
		reason: clustermanager.ReasonRefused, says: []string{"have an owner of acme install the App there"},
	},
	"a token that has ended": {
		faults: faults(localforge.BadToken()),
		reason: clustermanager.ReasonRefused, says: []string{signInAgain, "then call again"},
	},
	"no permission to read pull requests": {
		faults: faults(localforge.NotPermitted("pull_requests=read").On("GET", pulls)),
		reason: clustermanager.ReasonRefused, says: []string{"needs the permission pull_requests=read", "have an owner grant what is missing"},
	},
	"no permission to open pull requests": {
		faults: faults(localforge.NotPermitted("pull_requests=write").On("POST", pulls)),
		reason: clustermanager.ReasonError, says: []string{opensIt, "needs the permission pull_requests=write"}, pushed: true,
	},
	"502 of a read, once": {
		faults: faults(localforge.Unavailable(502).On("GET", rules).For(0, 1)),
		pushed: true, opened: true,
	},
	"503 of every read": {
		faults: faults(localforge.Unavailable(503).On("GET", rules)),
		reason: clustermanager.ReasonError, says: []string{"answer 503", anew},
	},
	"502 of every fetch": {
		faults: faults(localforge.Unavailable(502).On("POST", fetch)),
		reason: clustermanager.ReasonError, says: []string{"HTTP status 502", anew},
	},
	"503 of a push": {
		faults: faults(localforge.Unavailable(503).On("POST", push)),
		reason: clustermanager.ReasonError, says: []string{"HTTP status 503", anew},
	},
	"502 of the pull request": {
		faults: faults(localforge.Unavailable(502).On("POST", pulls)),
		reason: clustermanager.ReasonError, says: []string{opensIt, "answer 502"}, pushed: true,
	},
	"a host that repeats the token, as API": {
		faults: faults(localforge.Fault{Status: 403, Message: "no ${token}"}.On("GET", rules)),
		reason: clustermanager.ReasonRefused, says: []string{"refused (403): no <redacted>"},
	},
	"a host that repeats the token, as git": {
		faults: faults(localforge.Fault{Status: 500, Message: "no ${token}"}.On("", push)),
		reason: clustermanager.ReasonError, says: []string{"the host says: no <redacted>"},
	},
	"an answer that is late": {
		faults: faults(localforge.Fault{Wait: closed()}.On("", "**")),
		pushed: true, opened: true,
	},
	"no answer at the first step": {
		faults: faults(localforge.Fault{Wait: make(chan struct{})}.On("GET", advertisement)), budget: "4s",
		reason: clustermanager.ReasonError, says: []string{`the 4s that a call may take (setting commit-budget) ran out at the step "fetch"`, anew},
	},
	"no answer to the rules": {
		faults: faults(localforge.Fault{Wait: make(chan struct{})}.On("GET", rules)), budget: "4s",
		reason: clustermanager.ReasonError, says: []string{`(setting commit-budget) ran out at the step "propose"`, anew},
	},
	"no answer to the push": {
		faults: faults(localforge.Fault{Wait: make(chan struct{})}.On("POST", push)), budget: "4s",
		reason: clustermanager.ReasonError, says: []string{`ran out at the step "propose"`, "whether the push was taken is unknown", "the same call again looks at it first"}, lacks: []string{anew},
	},
	"no answer to the pull request": {
		faults: faults(localforge.Fault{Wait: make(chan struct{})}.On("POST", pulls)), budget: "4s",
		reason: clustermanager.ReasonError, says: []string{`ran out at the step "propose"`, opensIt}, lacks: []string{anew}, pushed: true,
	},
	"a renamed repository": {
		breaks: func(forge *localforge.Forge) error { return forge.Rename("acme", "fleet", "acme", "flotilla") }, name: "flotilla",
		says:   []string{`"repository":"acme/flotilla"`, "repository acme/fleet is called acme/flotilla today: write that into the URL of GitRepository default/fleet"},
		pushed: true, opened: true,
	},
	"a repository with another owner": {
		breaks: func(forge *localforge.Forge) error { return forge.Rename("acme", "fleet", "umbrella", "fleet") }, name: "umbrella/fleet",
		says: []string{`"repository":"umbrella/fleet"`}, pushed: true, opened: true,
	},
	"octopilot 134: the base branch is missing": {
		faults: faults(localforge.Fault{Status: 200, Body: "0000"}.On("POST", fetch).For(0, 1)),
		reason: clustermanager.ReasonRefused, says: []string{"branch main of acme/fleet does not exist, though GitRepository default/fleet follows it: create the branch"},
	},
	"nori 65: the pull request is there, though no list shows it": {
		faults: faults(localforge.Fault{Status: 200, Body: "[]"}.On("GET", pulls).For(0, 1)), earlier: map[string]any{},
		says: []string{`/acme/fleet/pull/1"`}, pushed: true, opened: true,
	},
	"github-mcp-server 3080: a rule that can be read forbids the branch": {
		breaks: func(forge *localforge.Forge) error { return setRules(forge, namedFeature) },
		mends:  func(forge *localforge.Forge) error { return setRules(forge) },
		reason: clustermanager.ReasonRefused, says: []string{`wants branch names that start with "feature/"`, "the setting branch-prefix"},
	},
	"github-mcp-server 3080: a rule that only the push meets forbids the branch": {
		faults: faults(localforge.Fault{Status: 200, Body: "[]"}.On("GET", rules)),
		breaks: func(forge *localforge.Forge) error { return setRules(forge, namedFeature) },
		mends:  func(forge *localforge.Forge) error { return setRules(forge) },
		reason: clustermanager.ReasonRefused, says: []string{"GH013", "Branch name must start with feature/", "the setting branch-prefix"},
	},
}

// namedFeature is a rule that no branch of the product keeps.
var namedFeature = localforge.Rule{Type: "branch_name_pattern", Pattern: "cluster-manager/**", Parameters: map[string]any{"operator": "starts_with", "pattern": "feature/"}}

func setRules(forge *localforge.Forge, rules ...localforge.Rule) error {
	forge.SetRules("acme", "fleet", rules)
	return nil
}

func faults(list ...localforge.Fault) []localforge.Fault { return list }

func resets(where localforge.Reset) localforge.Fault { return localforge.Fault{Reset: where} }

func closed() chan struct{} {
	channel := make(chan struct{})
	close(channel)
	return channel
}
