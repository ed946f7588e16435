package settings

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// signedIn are flags of a server that callers sign in to.
func signedIn(more map[string]string) map[string]string {
	flags := map[string]string{
		"enable-oauth": "true", "oauth-base-url": "https://manager.example.com/", "dex-issuer-url": "https://dex.example.com/", "oauth-trusted-audiences": "a, b",
	}
	maps.Copy(flags, more)
	return flags
}

func TestSigningIn(t *testing.T) {
	t.Parallel()
	got, err := Resolve(Flags(signedIn(map[string]string{
		"allow-private-oauth-urls": "true", "sso-allow-private-ips": "true", "downstream-oauth": "true",
		"github-authorization-server": "https://github.com/apps/a-manager", "github-api-url": "http://127.0.0.1:1/api/v3/",
	})))
	want := OAuth{
		Enabled: true, BaseURL: "https://manager.example.com", Audiences: []string{"a", "b"}, PrivateIssuer: true, PrivateKeys: true, Downstream: true,
		GitHubAuthorizationServer: "https://github.com/apps/a-manager", GitHubAPIURL: "http://127.0.0.1:1/api/v3",
	}
	if diff := cmp.Diff(want, got.OAuth); err != nil || diff != "" {
		t.Error(err, diff)
	}
	// An issuer is compared letter by letter.
	if got.Settings.IssuerURL != "https://dex.example.com/" || got.Listen != ":8080" {
		t.Errorf("issuer %s, listen %s", got.Settings.IssuerURL, got.Listen)
	}
	if got, err := Resolve(Flags(signedIn(map[string]string{"listen": "127.0.0.1:8080"}))); err != nil || got.Listen != "127.0.0.1:8080" {
		t.Errorf("%v, listen %s", err, got.Listen)
	}
}

// A value from the first source: flag, environment, file.
func TestSigningInFromEverySource(t *testing.T) {
	t.Parallel()
	file := File(write(t, "config.yaml", "enable-oauth: true\noauth-base-url: https://file.example.com\ndex-issuer-url: https://file.example.com\noauth-trusted-audiences: [file]\n"))
	got, err := Resolve(Flags(map[string]string{"oauth-base-url": "https://flag.example.com"}),
		environment(map[string]string{"DEX_ISSUER_URL": "https://environment.example.com", "CLUSTER_MANAGER_OAUTH_BASE_URL": "https://environment.example.com", "OAUTH_TRUSTED_AUDIENCES": ""}), file)
	if err != nil || got.OAuth.BaseURL != "https://flag.example.com" || got.Settings.IssuerURL != "https://environment.example.com" || !cmp.Equal(got.OAuth.Audiences, []string{"file"}) {
		t.Errorf("%v: %+v", err, got.OAuth)
	}
}

// Every fault of signing in, all of a start in one message.
func TestFaultsOfSigningIn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flags map[string]string
		want  string
	}{
		"nothing to sign in to": {map[string]string{"enable-oauth": "true"}, "setting dex-issuer-url: enable-oauth needs it; setting oauth-base-url: enable-oauth needs it; setting oauth-trusted-audiences: enable-oauth needs it"},
		"without signing in": {
			map[string]string{"downstream-oauth": "true", "github-authorization-server": "https://github.com/apps/a"},
			"setting downstream-oauth: it needs enable-oauth; setting github-authorization-server: it needs enable-oauth",
		},
		"blank audience":      {signedIn(map[string]string{"oauth-trusted-audiences": "a,,b"}), "flag --oauth-trusted-audiences: one of the audiences is blank: take it out of the list"},
		"blank at the end":    {signedIn(map[string]string{"oauth-trusted-audiences": "a, "}), "flag --oauth-trusted-audiences: one of the audiences is blank: take it out of the list"},
		"base URL in clear":   {signedIn(map[string]string{"oauth-base-url": "http://manager.example.com"}), `flag --oauth-base-url: "http://manager.example.com" is not https; http is for localhost, 127.0.0.1 and ::1 alone`},
		"base URL is none":    {signedIn(map[string]string{"oauth-base-url": "manager.example.com"}), `flag --oauth-base-url: "manager.example.com" is no URL such as https://cluster-manager.example.com`},
		"base URL, braces":    {signedIn(map[string]string{"oauth-base-url": "https://a/{b}"}), `flag --oauth-base-url: "https://a/{b}" is no URL such as https://cluster-manager.example.com`},
		"base URL, dots":      {signedIn(map[string]string{"oauth-base-url": "https://a/b/../c"}), `flag --oauth-base-url: "https://a/b/../c" is no URL such as https://cluster-manager.example.com`},
		"base URL with query": {signedIn(map[string]string{"oauth-base-url": "https://a?b"}), "flag --oauth-base-url: a URL without user, query and fragment is wanted"},
		"base URL, localhost": {signedIn(map[string]string{"oauth-base-url": "http://localhost:8080"}), ""},
		"base URL, ::1":       {signedIn(map[string]string{"oauth-base-url": "http://[::1]:8080"}), ""},
		"issuer in clear":     {signedIn(map[string]string{"dex-issuer-url": "http://127.0.0.1:1"}), "setting dex-issuer-url: enable-oauth needs an https URL without user, query and fragment"},
		"GitHub in clear":     {signedIn(map[string]string{"github-api-url": "http://ghe.example.com"}), `flag --github-api-url: "http://ghe.example.com" is not https; http is for localhost, 127.0.0.1 and ::1 alone`},
		"no GitHub API":       {signedIn(map[string]string{"github-api-url": ""}), "setting github-api-url: enable-oauth needs it"},
		"standard input":      {signedIn(map[string]string{"stdio": "true"}), "setting stdio: on standard input and output the kubeconfig is the caller, so it does not go with enable-oauth"},
		"several": {
			map[string]string{"enable-oauth": "true", "oauth-base-url": "x", "commit-budget": "9", "stdio": "true"},
			`flag --commit-budget: "9" is no duration such as 9s; flag --oauth-base-url: "x" is no URL such as https://cluster-manager.example.com; setting dex-issuer-url: enable-oauth needs it; setting oauth-trusted-audiences: enable-oauth needs it; setting stdio: on`,
		},
	} {
		_, err := Resolve(Flags(test.flags))
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)):
			t.Errorf("%s:\n%v\nwant\n%s", name, err, test.want)
		case name != "several" && err != nil && err.Error() != test.want:
			t.Errorf("%s: more than %s: %v", name, test.want, err)
		}
	}
}
