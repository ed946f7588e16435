package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Kinds of "no" that a caller may want to tell apart with errors.Is.
var (
	// ErrTokenRefused says that GitHub does not accept the token: the person has to connect again.
	ErrTokenRefused = errors.New("GitHub does not accept the token")
	// ErrLimited says that a rate limit is used up: the same call works later.
	ErrLimited = errors.New("a rate limit of GitHub is used up")
	// ErrUnreachable says that GitHub gave no usable answer. It is no refusal: only commit mode is off.
	ErrUnreachable = errors.New("GitHub gave no usable answer")

	errNotFound = errors.New("GitHub shows no such thing")
)

// IsNotFound says whether GitHub answered 404: what is asked for is not there, or may not be seen.
func IsNotFound(err error) bool { return errors.Is(err, errNotFound) }

// operation is what a call does, in the words of an error, and the permissions of the App that it needs.
type operation struct{ doing, permission string }

var (
	readingUser         = operation{"reading the signed-in account", "metadata=read"}
	readingRules        = operation{"reading the branch's rules", "metadata=read"}
	listingPullRequests = operation{"looking for the branch's pull requests", "pull_requests=read"}
	comparing           = operation{"comparing the branch with its base", "contents=read"}
	creating            = operation{"opening the pull request", "pull_requests=write"}
	updating            = operation{"updating the pull request", "pull_requests=write"}
)

// refusal is a clustermanager.Refusal that also is one of the kinds above.
type refusal struct {
	*clustermanager.Refusal
	kind error
}

func (r *refusal) Unwrap() []error {
	if r.kind == nil {
		return []error{r.Refusal}
	}
	return []error{r.Refusal, r.kind}
}

// rule is one kind of "no": how it is told, and its sentence after the object and the operation.
type rule struct {
	applies  func(*rejection) bool
	kind     error
	sentence func(*Client, operation, *rejection) string
}

// The first rule that applies counts. What names itself comes before limits, since any answer may be the last of an
// hour; limits come before everything that a person could take for a sign-in problem.
var rules = []rule{
	{func(n *rejection) bool { return n.status == http.StatusUnauthorized }, ErrTokenRefused, tokenRefused},
	{func(n *rejection) bool { return n.forbidden() && n.header.Get("X-GitHub-SSO") != "" }, nil, singleSignOn},
	{func(n *rejection) bool { return n.forbidden() && n.says("not accessible by integration") }, nil, permissionMissing},
	{func(n *rejection) bool { return n.forbidden() && n.says("archived") }, nil, archived},
	{(*rejection).limited, ErrLimited, limited},
	{(*rejection).forbidden, nil, forbidden},
	{func(n *rejection) bool { return n.status == http.StatusNotFound }, errNotFound, notFound},
	{func(n *rejection) bool { return n.status/100 == 3 }, nil, moved},
	{func(n *rejection) bool { return n.status/100 == 4 }, nil, invalid},
}

// explain turns the error of an API call into a refusal, or into a plain error when GitHub gave no usable answer.
func (c *Client) explain(o operation, err error) error {
	n := readRejection(err)
	if n == nil {
		return c.unreachable(o, failure(err), err)
	}
	n.withhold(c.token)
	for _, r := range rules {
		if r.applies(n) {
			text := fmt.Sprintf("GitHub %s: %s: %s", c.object(o), o.doing, r.sentence(c, o, n))
			return &refusal{clustermanager.Refuse("%s", c.clean(text, maximalSentence)), r.kind}
		}
	}
	return c.unreachable(o, "cannot be reached", fmt.Errorf("answer %d: %s", n.status, n.words()))
}

// object is what an error names first.
func (c *Client) object(o operation) string {
	if o == readingUser || c.owner == "" {
		return c.host
	}
	return c.fullName()
}

func (c *Client) unreachable(o operation, what string, err error) error {
	return &plainError{
		text:  c.clean(fmt.Sprintf("GitHub %s: %s: %s: %v", c.host, o.doing, what, err), maximalSentence),
		cause: errors.Join(ErrUnreachable, err),
	}
}

const unusable = "the answer cannot be used"

func (c *Client) unreadable(o operation, why string) error {
	return c.unreachable(o, unusable, errors.New(why))
}

// failure tells a host that did not answer from an answer that is none.
func failure(err error) string {
	var request *url.Error
	if errors.As(err, &request) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "cannot be reached"
	}
	return unusable
}

// plainError keeps its causes for errors.Is while its text is bounded and clean.
type plainError struct {
	text  string
	cause error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.cause }

func tokenRefused(_ *Client, o operation, _ *rejection) string {
	if o == mintingToken {
		return "GitHub does not accept the App's signature (401): check the settings github-app-id and github-app-private-key-file, and the server's clock"
	}
	return "GitHub does not accept the token (401): " + clustermanager.ConnectGitHub
}

func singleSignOn(_ *Client, _ operation, n *rejection) string {
	address := ""
	if _, link, found := strings.Cut(n.header.Get("X-GitHub-SSO"), "url="); found && strings.HasPrefix(link, "https://") {
		link, _, _ = strings.Cut(link, "?")
		address = " at " + link
	}
	return "the organization wants single sign-on (SAML): start a session" + address + ", " + clustermanager.ConnectGitHub
}

func permissionMissing(c *Client, o operation, n *rejection) string {
	permission := o.permission
	if accepted := n.header.Get("X-Accepted-GitHub-Permissions"); accepted != "" {
		permission = c.clean(accepted, maximalRelay)
	}
	return fmt.Sprintf("not permitted (403, %s): the GitHub App needs the permission %s on the repository, and the account the same right there: have an owner grant what is missing, then call again", n.words(), permission)
}

func archived(*Client, operation, *rejection) string {
	return "the repository is archived, so nothing can be proposed: unarchive it, or let the GitRepository point to its successor"
}

func limited(_ *Client, _ operation, n *rejection) string {
	what := "too many requests in a short time (a secondary rate limit)"
	if n.header.Get("X-RateLimit-Remaining") == "0" || n.primary {
		what = "the account's requests of this hour are used up (the primary rate limit)"
	}
	return what + ": try again " + n.retry()
}

func forbidden(c *Client, o operation, n *rejection) string {
	return fmt.Sprintf("refused (403): %s: check the account's rights on the repository and the App's permission %s, then call again", n.words(), o.permission)
}

func notFound(c *Client, o operation, _ *rejection) string {
	if o == readingUser {
		return "no GitHub API answers at this address (404): correct the setting git-hosts"
	}
	if o == mintingToken {
		return "not found (404): the App of the setting github-app-id has no such installation any more: have an owner install it there"
	}
	also := ""
	if o == comparing {
		also = ", or one of the branches is gone"
	}
	if o == updating {
		also = ", or the pull request is gone"
	}
	return fmt.Sprintf("not found (404): the GitHub App is not installed on %s, or the account may not see it%s: have an owner of %s install the App there, then call again", c.fullName(), also, c.owner)
}

func moved(c *Client, _ operation, n *rejection) string {
	return fmt.Sprintf("the repository was renamed or moved (%d): write its new name into the GitRepository's URL, then call again", n.status)
}

func invalid(_ *Client, _ operation, n *rejection) string {
	wayOut := "correct what it names, then call again"
	switch {
	case slices.Contains(n.details, "base invalid"):
		wayOut = "the base branch does not exist: create it, or let the GitRepository follow one that does"
	case slices.Contains(n.details, "head invalid"):
		wayOut = "the branch does not exist any more: call again, which pushes it anew"
	}
	return fmt.Sprintf("GitHub refuses it (%d): %s: %s", n.status, n.words(), wayOut)
}

// retry says when to try again: as the answer says, else after the minute that GitHub advises.
func (n *rejection) retry() string {
	after := n.header.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); err == nil && seconds >= 0 {
		return fmt.Sprintf("in %d seconds", max(1, seconds))
	}
	if at, err := http.ParseTime(after); err == nil {
		return "after " + at.UTC().Format(time.RFC3339)
	}
	if n.wait > 0 {
		return fmt.Sprintf("in %d seconds", int(n.wait.Round(time.Second)/time.Second)+1)
	}
	reset := n.reset
	if seconds, err := strconv.ParseInt(n.header.Get("X-RateLimit-Reset"), 10, 64); err == nil && n.header.Get("X-RateLimit-Remaining") == "0" {
		reset = time.Unix(seconds, 0)
	}
	if !reset.IsZero() {
		return "after " + reset.UTC().Format(time.RFC3339)
	}
	return "in a minute"
}
