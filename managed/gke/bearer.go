package gke

import (
	"errors"
	"fmt"
	"net/http"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/httptransport"
)

// bearer puts the account's access token on each request. A token that could not be had is an error without the text of
// the token's endpoint, which may quote what it was sent.
type bearer struct {
	credentials *auth.Credentials
	below       http.RoundTripper
}

// RoundTrip sends a request as the account.
func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	token, err := b.credentials.Token(request.Context())
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, tokenFault(err)
	}
	request = request.Clone(request.Context())
	httptransport.SetAuthHeader(token, request)
	return b.below.RoundTrip(request)
}

// errNoToken is of an account whose credentials gave no access token.
var errNoToken = errors.New("the account's credentials gave no access token")

func tokenFault(err error) error {
	var answered *auth.Error
	if errors.As(err, &answered) && answered.Response != nil {
		return fmt.Errorf("%w: its endpoint answered %s", errNoToken, answered.Response.Status)
	}
	return errNoToken
}
