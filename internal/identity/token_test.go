package identity

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/identity/identitytest"
)

func encoded(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// Every kind of token, and of none: who it is, or the answer of the reference.
func TestTokens(t *testing.T) {
	t.Parallel()
	issuer, other := identitytest.Start(t), identitytest.Start(t)
	now := newClock().now()
	jane := clustermanager.Caller{Issuer: issuer.URL(), Subject: "subject-of-jane", Email: "jane@acme.example"}
	with := func(change func(*clustermanager.Caller)) *clustermanager.Caller {
		caller := jane
		change(&caller)
		return &caller
	}
	token := func(claims map[string]any) http.Header { return bearing(issuer.Token(t, claims)) }
	payload := encoded(fmt.Sprintf(`{"iss":%q,"aud":%q,"sub":"x","exp":4102444800}`, issuer.URL(), identitytest.Audience))
	for name, test := range map[string]struct {
		header http.Header
		// caller is who it is; nil: refused, for a reason that holds why.
		caller *clustermanager.Caller
		why    string
	}{
		"valid":                  {token(nil), &jane, ""},
		"groups":                 {token(map[string]any{"groups": []string{"a", "b"}}), with(func(c *clustermanager.Caller) { c.Groups = []string{"a", "b"} }), ""},
		"one group as a text":    {token(map[string]any{"groups": "a"}), with(func(c *clustermanager.Caller) { c.Groups = []string{"a"} }), ""},
		"one audience of many":   {token(map[string]any{"aud": []string{"x", "muster"}}), &jane, ""},
		"verified e-mail":        {token(map[string]any{"email_verified": true}), &jane, ""},
		"unverified e-mail":      {token(map[string]any{"email_verified": false}), with(func(c *clustermanager.Caller) { c.Email = "" }), ""},
		"unverified, as a text":  {token(map[string]any{"email_verified": "false"}), with(func(c *clustermanager.Caller) { c.Email = "" }), ""},
		"no e-mail":              {token(map[string]any{"email": nil}), with(func(c *clustermanager.Caller) { c.Email = "" }), ""},
		"scheme in another case": {http.Header{"Authorization": {"bEARER  " + issuer.Token(t, nil)}}, &jane, ""},
		"just expired":           {token(map[string]any{"exp": now.Add(-59 * time.Second).Unix()}), &jane, ""},
		"expired":                {token(map[string]any{"exp": now.Add(-60 * time.Second).Unix()}), nil, "the token expired at 2029-12-31T23:59:00Z: sign in again"},
		"valid in a moment":      {token(map[string]any{"nbf": now.Add(60 * time.Second).Unix()}), &jane, ""},
		"not valid yet":          {token(map[string]any{"nbf": now.Add(61 * time.Second).Unix()}), nil, "not valid yet"},
		"without an end":         {token(map[string]any{"exp": nil}), nil, "expired"},
		"wrong audience":         {token(map[string]any{"aud": []string{"argo", "grafana"}}), nil, `the token is for the audiences ["argo" "grafana"], and this server trusts ["cluster-manager" "muster"]`},
		"no audience":            {token(map[string]any{"aud": nil}), nil, `the token is for the audiences [], and`},
		"no subject":             {token(map[string]any{"sub": nil}), nil, "claims are not of the form"},
		"groups of another form": {token(map[string]any{"groups": map[string]any{"a": 1}}), nil, "claims are not of the form"},
		"wrong issuer":           {bearing(other.Token(t, nil)), nil, fmt.Sprintf("the token is of issuer %q, and this server trusts %s alone", other.URL(), issuer.URL())},
		"unknown key":            {bearing(issuer.Forged(t, "another", nil)), nil, "not signed by a key of " + issuer.URL()},
		"a key of the same name": {bearing(issuer.Forged(t, "1", nil)), nil, "not signed by a key of " + issuer.URL()},
		"unsigned":               {bearing(encoded(`{"alg":"none"}`) + "." + payload + ".x"), nil, "not signed by a key of"},
		"by a shared secret":     {bearing(encoded(`{"alg":"HS256","kid":"1"}`) + "." + payload + "." + encoded("signature")), nil, "not signed by a key of"},
		"no JSON":                {bearing("a." + encoded("no json") + ".c"), nil, "is no id_token"},
		"opaque":                 {bearing("gho_madeForTheTest0123456789"), nil, "is no id_token"},
		"another scheme":         {http.Header{"Authorization": {"Basic bWFkZSBmb3IgdGhlIHRlc3Q="}}, nil, "is not one"},
		"twice":                  {http.Header{"Authorization": {"Bearer " + issuer.Token(t, nil), "Bearer " + issuer.Token(t, nil)}}, nil, "is not one"},
		"more than a token":      {http.Header{"Authorization": {"Bearer " + issuer.Token(t, nil) + " x"}}, nil, "is not one"},
		"empty":                  {http.Header{"Authorization": {""}}, nil, "is not one"},
		"none":                   {http.Header{}, nil, "the request carries no token: sign in at " + issuer.URL()},
		"in another header":      {http.Header{IDTokenHeader: {issuer.Token(t, nil)}}, nil, "the request carries no token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newLoaded(t, issuer, nil).ask(t, test.header)
			if test.caller != nil {
				if got.caller == nil {
					t.Fatalf("refused: %s", got.description)
				}
				if token := got.caller.KubernetesToken.Reveal(); !strings.HasSuffix(test.header.Get("Authorization"), " "+token) || token == "" {
					t.Error("the caller has not the token that came")
				}
				got.caller.KubernetesToken = clustermanager.Secret{}
				if diff := cmp.Diff(test.caller, got.caller, cmp.AllowUnexported(clustermanager.Secret{})); diff != "" {
					t.Error(diff)
				}
				return
			}
			if got.caller != nil || got.status != http.StatusUnauthorized || got.code != "invalid_token" || !strings.Contains(got.description, test.why) {
				t.Errorf("%d %+v", got.status, got.description)
			}
			if cache := got.header.Get("Cache-Control"); cache != "no-store" {
				t.Errorf("Cache-Control %q", cache)
			}
		})
	}
}

// The challenge, to the letter.
func TestTheChallenge(t *testing.T) {
	t.Parallel()
	issuer := identitytest.Start(t)
	resource := newLoaded(t, issuer, nil)
	const metadata = `resource_metadata="https://manager.example.com/.well-known/oauth-protected-resource/mcp"`
	if got := resource.ask(t, http.Header{}); got.challenge != `Bearer realm="cluster-manager", `+metadata {
		t.Error(got.challenge)
	}
	got := resource.ask(t, bearing(issuer.Token(t, map[string]any{"aud": "a\\\"ü\n"})))
	want := `Bearer realm="cluster-manager", error="invalid_token", error_description="the token is for the audiences ['a???'??n'], and this server trusts ['cluster-manager' 'muster']: sign in for one of these", ` + metadata
	if got.challenge != want {
		t.Errorf("\n%s\n%s", got.challenge, want)
	}
	if !strings.Contains(resource.log.String(), "this server trusts") {
		t.Error("the log says nothing of it")
	}
	long := resource.ask(t, bearing(issuer.Token(t, map[string]any{"aud": strings.Repeat("ä", 5000)})))
	if len(long.challenge) > 2*maximalDescription || long.status != http.StatusUnauthorized {
		t.Errorf("a challenge of %d bytes", len(long.challenge))
	}
}

// What is behind sees the token where it always is, and no other header that carries one.
func TestWhatIsBehindGetsTheToken(t *testing.T) {
	t.Parallel()
	issuer := identitytest.Start(t)
	resource := newLoaded(t, issuer, func(o *Options) { o.Forward = false })
	token := issuer.Token(t, nil)
	header := bearing(token)
	header.Set(IDTokenHeader, "madeForTheTest0123456789")
	got := resource.ask(t, header)
	if got.caller == nil || !got.caller.KubernetesToken.IsZero() || got.caller.Subject == "" {
		t.Fatalf("caller %+v", got.caller)
	}
	if got.request.Header.Get("Authorization") != "Bearer "+token || got.request.Header.Get(IDTokenHeader) != "" {
		t.Error("headers are not as they must be")
	}
	if header.Get(IDTokenHeader) == "" {
		t.Error("the request itself was changed")
	}
	if _, err := CallerFrom(t.Context()); err != ErrNoCaller { //nolint:errorlint // it is returned as it is
		t.Errorf("a context without a caller: %v", err)
	}
}
