package identity

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

const (
	realm = "cluster-manager"
	// retryAfter is when a client may call again, in seconds, while keys cannot be read.
	retryAfter = "5"
	// maximalDescription bounds what is told of a token, in bytes: a header must stay one.
	maximalDescription = 1000
	invalidToken       = "invalid_token"
)

// Denial is why a request is not taken for a person's.
type Denial struct {
	// Status is 401, or 503 while tokens cannot be checked.
	Status int
	// Code is the error of RFC 6750, or temporarily_unavailable.
	Code string
	// Description is a sentence with the way out. It holds no token.
	Description string
	// missing says that there is no token to say a fault of, which the challenge then does not.
	missing bool
}

// Refuse writes the status and the body of a denial. The headers that clients act on are set already.
type Refuse func(http.ResponseWriter, *http.Request, Denial)

// RefuseJSON answers {"error", "error_description"}.
func RefuseJSON(writer http.ResponseWriter, _ *http.Request, denial Denial) {
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(denial.Status)
	_ = json.NewEncoder(writer).Encode(map[string]string{"error": denial.Code, "error_description": denial.Description})
}

// invalid is a denial of a token that is there.
func invalid(format string, arguments ...any) *Denial {
	return &Denial{Status: http.StatusUnauthorized, Code: invalidToken, Description: shortened(fmt.Sprintf(format, arguments...))}
}

// missing is a denial of a request without a token.
func missing(description string) *Denial {
	return &Denial{Status: http.StatusUnauthorized, Code: invalidToken, Description: description, missing: true}
}

func shortened(text string) string {
	if len(text) <= maximalDescription {
		return text
	}
	return strings.ToValidUTF8(text[:maximalDescription], "") + "…"
}

// challenge is the value of WWW-Authenticate: RFC 6750 with the parameter of RFC 9728.
func (d Denial) challenge(metadata string) string {
	fault := ""
	if !d.missing {
		fault = fmt.Sprintf("error=%q, error_description=\"%s\", ", d.Code, quotable(d.Description))
	}
	return fmt.Sprintf("Bearer realm=%q, %sresource_metadata=\"%s\"", realm, fault, quotable(metadata))
}

// quotable keeps what RFC 6750 allows in a description.
func quotable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case r < ' ' || r > '~' || r == '\\':
			return '?'
		}
		return r
	}, text)
}
