package settings

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Defaults of the settings of signing in.
const (
	DefaultGitHubAPIURL = "https://api.github.com"
	// DefaultOAuthListen is where a server listens that knows its callers, unless it is told.
	DefaultOAuthListen = ":8080"
)

// OAuth says how a server knows who calls. The issuer and its authority are Settings.IssuerURL and Settings.IssuerCA.
type OAuth struct {
	// Enabled says that callers are asked who they are; without it the rest must not be set.
	Enabled bool
	// BaseURL is what clients know the server by, without a slash at its end.
	BaseURL string
	// Audiences are trusted: an id_token names at least one.
	Audiences []string
	// PrivateIssuer and PrivateKeys allow private and loopback addresses for the issuer's metadata and for its keys.
	PrivateIssuer, PrivateKeys bool
	// Downstream presents the caller's id_token to the API servers; without it the server's own credentials are.
	Downstream bool
	// GitHubAuthorizationServer is the GitHub App whose user tokens come with calls; "": none do. GitHubAPIURL is the API
	// root that they are checked at.
	GitHubAuthorizationServer, GitHubAPIURL string
}

// oauth are the settings of signing in.
func oauth() []Setting {
	boolean := func(field func(*OAuth) *bool) func(*Resolved, string) error {
		return takeBoolean(func(r *Resolved) *bool { return field(&r.OAuth) })
	}
	address := func(field func(*OAuth) *string) func(*Resolved, string) error {
		return func(r *Resolved, value string) error { return takeURL(field(&r.OAuth), value) }
	}
	rows := []Setting{
		{Name: "enable-oauth", Variable: "CLUSTER_MANAGER_OAUTH_ENABLED", Form: Boolean, Default: "false", Help: "answer only who brings an id_token of the issuer --dex-issuer-url", take: boolean(func(o *OAuth) *bool { return &o.Enabled })},
		{Name: "oauth-base-url", Variable: "CLUSTER_MANAGER_OAUTH_BASE_URL", Form: Text, Help: "URL that clients know this server by", take: address(func(o *OAuth) *string { return &o.BaseURL })},
		{Name: "oauth-trusted-audiences", Variable: "OAUTH_TRUSTED_AUDIENCES", Form: List, Help: "audiences of which an id_token names one", take: takeAudiences},
		{Name: "allow-private-oauth-urls", Variable: "CLUSTER_MANAGER_OAUTH_ALLOW_PRIVATE_URLS", Form: Boolean, Default: "false", Help: "the issuer may be at a private or loopback address", take: boolean(func(o *OAuth) *bool { return &o.PrivateIssuer })},
		{Name: "sso-allow-private-ips", Variable: "SSO_ALLOW_PRIVATE_IPS", Form: Boolean, Default: "false", Help: "the issuer's keys may be at a private or loopback address", take: boolean(func(o *OAuth) *bool { return &o.PrivateKeys })},
		{Name: "downstream-oauth", Variable: "CLUSTER_MANAGER_DOWNSTREAM_OAUTH", Form: Boolean, Default: "false", Help: "present the caller's id_token to the API servers; without it they see this server's own credentials", take: boolean(func(o *OAuth) *bool { return &o.Downstream })},
		{Name: "github-authorization-server", Variable: "CLUSTER_MANAGER_GITHUB_AUTHORIZATION_SERVER", Form: Text, Help: "URL of the GitHub App whose user tokens come as the bearer, beside the id_token in X-Muster-Id-Token; mode commit needs it", take: address(func(o *OAuth) *string { return &o.GitHubAuthorizationServer })},
		{Name: "github-api-url", Variable: "CLUSTER_MANAGER_GITHUB_API_URL", Form: Text, Default: DefaultGitHubAPIURL, Help: "root of the GitHub API that user tokens are checked at", take: address(func(o *OAuth) *string { return &o.GitHubAPIURL })},
	}
	for i := range rows {
		rows[i].Scope = Listener
	}
	return rows
}

// takeURL takes an https URL, or an http one of this machine.
func takeURL(field *string, value string) error {
	*field = strings.TrimSuffix(value, "/")
	if value == "" {
		return nil
	}
	return checkURL(*field)
}

func checkURL(value string) error {
	address, err := url.Parse(value)
	switch {
	case err != nil || address.Host == "" || address.Path != "" && path.Clean(address.Path) != address.Path || strings.ContainsAny(address.Path, "{}"):
		return fmt.Errorf("%q is no URL such as https://cluster-manager.example.com", value)
	case address.User != nil || address.RawQuery != "" || address.Fragment != "":
		return errors.New("a URL without user, query and fragment is wanted")
	case address.Scheme != "https" && !(address.Scheme == "http" && clustermanager.IsLoopback(address.Hostname())):
		return fmt.Errorf("%q is not https; http is for localhost, 127.0.0.1 and ::1 alone", value)
	}
	return nil
}

// takeAudiences takes a list that says what it means: a blank in it may be a variable that was never set.
func takeAudiences(r *Resolved, value string) error {
	r.OAuth.Audiences = elements(value)
	if slices.ContainsFunc(strings.Split(value, ","), func(one string) bool { return strings.TrimSpace(one) == "" }) {
		return errors.New("one of the audiences is blank: take it out of the list")
	}
	return nil
}

// completeOAuth sets the default that depends on signing in, and returns the faults of settings that do not go together.
// What is faulty is said already.
func (r *Resolved) completeOAuth(faulty map[string]bool) []string {
	if !r.OAuth.Enabled {
		return r.needOAuth()
	}
	if r.Given["listen"] == "" {
		r.Listen = DefaultOAuthListen
	}
	var faults []string
	for name, missing := range map[string]bool{
		"oauth-base-url": r.OAuth.BaseURL == "", "dex-issuer-url": r.Settings.IssuerURL == "", "oauth-trusted-audiences": len(r.OAuth.Audiences) == 0,
		"github-api-url": r.OAuth.GitHubAPIURL == "",
	} {
		if missing && !faulty[name] {
			faults = append(faults, "setting "+name+": enable-oauth needs it")
		}
	}
	slices.Sort(faults)
	if issuer, err := url.Parse(r.Settings.IssuerURL); r.Settings.IssuerURL != "" &&
		(err != nil || issuer.Scheme != "https" || issuer.Host == "" || issuer.User != nil || issuer.RawQuery != "" || issuer.Fragment != "") {
		faults = append(faults, "setting dex-issuer-url: enable-oauth needs an https URL without user, query and fragment")
	}
	if r.Stdio {
		faults = append(faults, "setting stdio: on standard input and output the kubeconfig is the caller, so it does not go with enable-oauth")
	}
	return faults
}

func (r *Resolved) needOAuth() []string {
	var faults []string
	if r.OAuth.Downstream {
		faults = append(faults, "setting downstream-oauth: it needs enable-oauth")
	}
	if r.OAuth.GitHubAuthorizationServer != "" {
		faults = append(faults, "setting github-authorization-server: it needs enable-oauth")
	}
	return faults
}
