package partial

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"unicode"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var (
	// ErrBranchNotFound says that a repository has no branch of the name.
	ErrBranchNotFound = errors.New("branch not found")
	// ErrStale says that a push named an old value that the branch does not have: it moved, exists or is gone.
	ErrStale = errors.New("the branch is no longer where it was read")
	// ErrUnknown says that a push broke off and the branch could not be read afterwards.
	ErrUnknown = errors.New("whether the push was taken is unknown")
)

// Rejected is a push that the server's rules or hooks refused.
type Rejected struct {
	// Branch is the branch that was to be written.
	Branch string
	// Words are the server's own, on one line, cleaned of control characters and cut at 2 KiB.
	Words string
}

// Error names the branch and relays the words.
func (r *Rejected) Error() string {
	return fmt.Sprintf("pushing branch %s: the server refused it: %s", r.Branch, r.Words)
}

// serverError is what a server said in the protocol itself. Its words are cleaned where they leave the package.
type serverError struct{ words string }

func (s *serverError) Error() string { return "the server answered: " + s.words }

// statusRefusals are the HTTP statuses that a person can do something about, by words of the host where it has several
// reasons: what they mean and the way out. The first that fits counts.
var statusRefusals = []struct {
	status       int
	says, wayOut string
}{
	{http.StatusUnauthorized, "", "the host does not accept the sign-in: " + clustermanager.ConnectGitHub},
	{http.StatusForbidden, "archived", "the repository is archived, so nothing can be written: unarchive it, or let the GitRepository point to its successor"},
	{http.StatusForbidden, "saml", "the organization wants single sign-on (SAML): sign in to the organization in a browser, connect the server again, then call again"},
	{http.StatusForbidden, "", "the account may not do this: it needs write access to the repository, and the GitHub App must be installed on it with permission to write contents; then call again"},
	{http.StatusNotFound, "", "it does not exist for this account: the GitHub App must be installed on the repository and the account must be able to read it; then call again"},
}

// statusError turns an HTTP status other than 200 into an error; words are the body's.
func (r *Remote) statusError(doing string, status int, words string) error {
	words = r.clean(words)
	said := strings.ToLower(words)
	if words != "" {
		words = fmt.Sprintf(" (the host says: %s)", words)
	}
	for _, refusal := range statusRefusals {
		if refusal.status == status && strings.Contains(said, refusal.says) {
			return clustermanager.Refuse("repository %s: %s: %s%s", r.name, doing, refusal.wayOut, words)
		}
	}
	return fmt.Errorf("repository %s: %s: HTTP status %d %s%s", r.name, doing, status, http.StatusText(status), words)
}

// wrap names the repository and what was being done, and cleans what a server said.
func (r *Remote) wrap(doing string, err error) error {
	var said *serverError
	if errors.As(err, &said) {
		err = &serverError{words: r.clean(said.words)}
	}
	return fmt.Errorf("repository %s: %s: %w", r.name, doing, err)
}

// escapes are a terminal's colours.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// clean makes a server's words fit for an error: one line, no control characters, no counters, no token, bounded.
func (r *Remote) clean(words string) string {
	var lines []string
	words = escapes.ReplaceAllString(words, "")
	for line := range strings.FieldsFuncSeq(words, func(c rune) bool { return c == '\n' || c == '\r' }) {
		line = strings.Join(strings.FieldsFunc(line, func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) }), " ")
		if line != "" && !strings.Contains(line, "% (") {
			lines = append(lines, strings.TrimPrefix(line, "error: "))
		}
	}
	text := strings.ToValidUTF8(strings.Join(lines, " "), "")
	if plain := r.token.Reveal(); plain != "" {
		text = withhold(text, plain)
		text = withhold(text, base64.StdEncoding.EncodeToString([]byte(user+":"+plain)))
	}
	if len(text) > maxWordsBytes {
		text = strings.ToValidUTF8(text[:maxWordsBytes], "") + "…"
	}
	return text
}

// advice is what lets a server send less than whole branches.
var advice = map[Way]string{
	WayShallow:  "set uploadpack.allowFilter on the git server",
	WayVersion0: "let the git server speak protocol version 2, and set uploadpack.allowFilter there",
}

// Advice is what is to be done so that single objects can be fetched; "" for WayPartial, where they are.
func (w Way) Advice() string { return advice[w] }

// fetchError is the error of a fetch whose answer could not be read. Where whole branches are fetched, one that is too
// large is nothing unexpected: it is refused, with the limit.
func (r *Remote) fetchError(doing string, err error) error {
	limit := ""
	var large *tooLarge
	switch {
	case errors.As(err, &large):
		limit = large.limit
	case errors.Is(err, errTooLong):
		limit = mebibytes(maxPackBytes) + " packed"
	}
	if limit == "" || r.way == WayPartial {
		return r.wrap(doing, err)
	}
	return clustermanager.Refuse("repository %s: the git server sends whole branches alone, and this one is over the limit of %s that is taken into memory: %s", r.name, limit, r.way.Advice())
}

// withhold masks a secret in a text, and what of it stands at the end of a text that was cut inside of it.
func withhold(text, secret string) string {
	const shortest = 4
	text = strings.ReplaceAll(text, secret, clustermanager.Masked)
	for length := len(secret) - 1; length >= shortest; length-- {
		if start, cut := strings.CutSuffix(text, secret[:length]); cut {
			return start + clustermanager.Masked
		}
	}
	return text
}
