package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// leeway is how far this machine's clock and the issuer's may be apart.
const leeway = time.Minute

// claims are what is read of an id_token beside what the library reads.
type claims struct {
	NotBefore float64 `json:"nbf"`
	Email     string  `json:"email"`
	// EmailVerified is a boolean, or its text with some issuers.
	EmailVerified any    `json:"email_verified"`
	Groups        groups `json:"groups"`
}

// groups is a list, or a text where there is one alone: API servers take both.
type groups []string

// UnmarshalJSON implements json.Unmarshaler.
func (g *groups) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*g = groups{}
		if one != "" {
			*g = groups{one}
		}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(g))
}

// caller makes a caller of an id_token, or says why not.
func (v *Verifier) caller(ctx context.Context, token clustermanager.Secret) (clustermanager.Caller, *Denial) {
	keys := v.issuer.current.Load()
	if keys == nil {
		return clustermanager.Caller{}, v.unavailable()
	}
	// Another issuer's token is told from its own words, before this issuer is asked for a key that it does not have.
	if named, ok := issuerOf(token.Reveal()); !ok {
		return clustermanager.Caller{}, invalid("the bearer is no id_token: send one of %s", v.options.Issuer)
	} else if named != v.options.Issuer {
		return clustermanager.Caller{}, invalid("the token is of issuer %q, and this server trusts %s alone", named, v.options.Issuer)
	}
	verified, err := keys.verifier.Verify(ctx, token.Reveal())
	switch {
	case ctx.Err() != nil:
		return clustermanager.Caller{}, v.unavailable()
	case err != nil && v.issuer.failing.Load():
		return clustermanager.Caller{}, v.unavailable()
	case err != nil:
		// The library's words may repeat a part of the token.
		return clustermanager.Caller{}, invalid("the token is not signed by a key of %s: sign in again", v.options.Issuer)
	}
	return v.check(verified, token)
}

// check holds the claims of a token whose signature holds.
func (v *Verifier) check(verified *oidc.IDToken, token clustermanager.Secret) (clustermanager.Caller, *Denial) {
	var said claims
	now := v.options.Now()
	switch err := verified.Claims(&said); {
	case err != nil || verified.Subject == "":
		return clustermanager.Caller{}, invalid("the token's claims are not of the form that is expected: it needs sub and exp, and may have email, email_verified and groups")
	case verified.Issuer != v.options.Issuer:
		return clustermanager.Caller{}, invalid("the token is of issuer %q, and this server trusts %s alone", verified.Issuer, v.options.Issuer)
	case !slices.ContainsFunc(verified.Audience, func(one string) bool { return slices.Contains(v.options.Audiences, one) }):
		return clustermanager.Caller{}, invalid("the token is for the audiences %q, and this server trusts %q: sign in for one of these", verified.Audience, v.options.Audiences)
	case !now.Before(verified.Expiry.Add(leeway)):
		return clustermanager.Caller{}, invalid("the token expired at %s: sign in again", verified.Expiry.UTC().Format(time.RFC3339))
	case said.NotBefore > float64(now.Add(leeway).Unix()):
		return clustermanager.Caller{}, invalid("the token is not valid yet: compare the clocks of the issuer and of this server")
	}
	caller := clustermanager.Caller{Issuer: verified.Issuer, Subject: verified.Subject, Email: said.Email, Groups: said.Groups}
	if fmt.Sprint(said.EmailVerified) == "false" {
		// Whoever may write any address into their account would be taken for its owner.
		caller.Email = ""
	}
	if v.options.Forward {
		caller.KubernetesToken = token
	}
	return caller, nil
}

// issuerOf reads the issuer that a token names, without believing it.
func issuerOf(token string) (string, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", false
	}
	var said struct {
		Issuer string `json:"iss"`
	}
	if err := json.Unmarshal(payload, &said); err != nil {
		return "", false
	}
	return said.Issuer, true
}
