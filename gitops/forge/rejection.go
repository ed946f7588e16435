package forge

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// Runes of a text of GitHub's that are relayed, and of a whole sentence.
	maximalRelay    = 400
	maximalSentence = 900
)

// rejection is an answer of GitHub that is not the one asked for.
type rejection struct {
	status  int
	header  http.Header
	message string
	// details are the messages of a "Validation Failed".
	details []string
	// link is the documentation that GitHub names.
	link string
	// primary, reset and wait come from the library, which refuses by itself while a limit that it has seen lasts.
	primary bool
	reset   time.Time
	wait    time.Duration
	// refusedHere says that the library knew of the limit.
	refusedHere bool
}

// readRejection reads the answer behind an error of the library; nil when there was none.
func readRejection(err error) *rejection {
	var plainAnswer *github.ErrorResponse
	var primary *github.RateLimitError
	var secondary *github.AbuseRateLimitError
	var factor *github.TwoFactorAuthError
	switch {
	case errors.As(err, &primary):
		n := readResponse(primary.Response, primary.Message)
		n.primary, n.reset, n.refusedHere = true, primary.Rate.Reset.Time, true
		return n
	case errors.As(err, &secondary):
		n := readResponse(secondary.Response, secondary.Message)
		n.refusedHere = true
		if secondary.RetryAfter != nil {
			n.wait = *secondary.RetryAfter
		}
		return n
	case errors.As(err, &factor):
		return readResponse(factor.Response, factor.Message)
	case errors.As(err, &plainAnswer):
		return readResponse(plainAnswer.Response, plainAnswer.Message)
	}
	return nil
}

// readResponse reads the body that the library put back, and puts it back again. GitHub's form varies: details may be texts or objects.
func readResponse(response *http.Response, message string) *rejection {
	n := &rejection{status: response.StatusCode, header: response.Header, message: message}
	if n.header == nil {
		n.header = http.Header{}
	}
	var body struct {
		Message string          `json:"message"`
		Errors  json.RawMessage `json:"errors"`
		Link    string          `json:"documentation_url"`
	}
	data, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(data))
	if err != nil || json.Unmarshal(data, &body) != nil {
		return n
	}
	if body.Message != "" {
		n.message = body.Message
	}
	n.link = body.Link
	n.details = details(body.Errors)
	return n
}

func details(raw json.RawMessage) []string {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return []string{text}
	}
	var entries []json.RawMessage
	if json.Unmarshal(raw, &entries) != nil {
		return nil
	}
	var found []string
	for _, entry := range entries {
		var detail struct{ Message, Resource, Field, Code string }
		switch {
		case json.Unmarshal(entry, &text) == nil:
			found = append(found, text)
		case json.Unmarshal(entry, &detail) != nil:
		case detail.Message != "":
			found = append(found, detail.Message)
		default:
			found = append(found, strings.TrimSpace(detail.Field+" "+detail.Code))
		}
	}
	return found
}

// withhold masks the token in what GitHub says, before any of it is cut: a part of a token would not be found any more.
func (n *rejection) withhold(token clustermanager.Secret) {
	n.message = strings.ReplaceAll(n.message, token.Reveal(), token.String())
	for i, detail := range n.details {
		n.details[i] = strings.ReplaceAll(detail, token.Reveal(), token.String())
	}
}

// words is everything that GitHub says, in one line.
func (n *rejection) words() string {
	words := n.message
	if len(n.details) > 0 {
		words += ": " + strings.Join(n.details, "; ")
	}
	return clustermanager.OneLine(words, maximalRelay)
}

func (n *rejection) forbidden() bool { return n.status == http.StatusForbidden }

func (n *rejection) says(words string) bool {
	return strings.Contains(strings.ToLower(n.message), strings.ToLower(words))
}

// limited says whether the answer is a rate limit: a 429 always, a 403 by any of its marks.
func (n *rejection) limited() bool {
	return n.refusedHere || n.status == http.StatusTooManyRequests || n.forbidden() &&
		(n.header.Get("Retry-After") != "" || n.header.Get("X-RateLimit-Remaining") == "0" ||
			n.says("rate limit") || n.says("abuse detection") || strings.Contains(n.link, "rate-limit"))
}

// clean makes a text fit for an answer: one line, bounded, without the token.
func (c *Client) clean(text string, length int) string {
	return clustermanager.OneLine(strings.ReplaceAll(text, c.token.Reveal(), c.token.String()), length)
}
