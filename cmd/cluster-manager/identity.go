package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/identity"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/live/survey"
)

// What get_info and the log say of a server that knows its callers.
const (
	forwardedNote = "callers sign in at %s: every call reads and writes with the caller's own id_token"
	sharedNote    = "callers sign in at %s, yet every call reads and writes the installation with this server's own credentials, and no workload cluster is read: downstream-oauth is off"
	standInNote   = "callers sign in at %s, and every call reads and writes this folder"
	pairedNote    = "mode commit opens pull requests as the caller, with the GitHub authorization that comes with the call, from %s"
	noAppNote     = "mode commit is not offered: this server is not registered with a GitHub App (github-authorization-server): use mode apply"
)

// errTokenOfOne refuses to be a server of many people with the GitHub token of one.
var errTokenOfOne = errors.New("environment variable " + githubTokenVariable + ": a server that callers sign in to opens pull requests with their own authorization alone: unset it")

// signIn asks callers who they are. The nil one asks nobody.
type signIn struct {
	*identity.Verifier
	settings.OAuth
	issuer string
}

// newSignIn is nil where the settings do not have callers sign in.
func newSignIn(resolved settings.Resolved, log *slog.Logger) (*signIn, error) {
	if !resolved.OAuth.Enabled {
		return nil, nil
	}
	verifier, err := identity.New(identity.Options{
		Issuer: resolved.Settings.IssuerURL, Authority: resolved.Settings.IssuerCA, Audiences: resolved.OAuth.Audiences,
		PrivateIssuer: resolved.OAuth.PrivateIssuer, PrivateKeys: resolved.OAuth.PrivateKeys,
		BaseURL: resolved.OAuth.BaseURL, Path: resolved.MCPPath, Forward: resolved.OAuth.Downstream,
		GitHubAuthorizationServer: resolved.OAuth.GitHubAuthorizationServer, GitHubAPIURL: resolved.OAuth.GitHubAPIURL, Log: log,
	})
	if err != nil {
		return nil, err
	}
	return &signIn{Verifier: verifier, OAuth: resolved.OAuth, issuer: resolved.Settings.IssuerURL}, nil
}

// run keeps the issuer's keys until the context ends.
func (s *signIn) run(ctx context.Context) {
	if s != nil {
		go s.Run(ctx)
	}
}

// protect lets callers through.
func (s *signIn) protect(handler http.Handler) http.Handler {
	if s == nil {
		return handler
	}
	return s.Protect(handler, nil)
}

// mount adds the paths on which a client finds out where to sign in.
func (s *signIn) mount(mux *http.ServeMux) {
	if s == nil {
		return
	}
	for _, path := range s.MetadataPaths() {
		mux.Handle("GET "+path, s.Metadata())
	}
}

// readyz answers whether callers can be told apart.
func (s *signIn) readyz(writer http.ResponseWriter, _ *http.Request) {
	if s != nil && !s.Ready() {
		http.Error(writer, "the issuer's keys are not read yet", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(writer, "ok")
}

// fromElsewhere turns pages of other sites away, which must not call tools as the person in front of the browser. Where
// nobody is asked who they are on this machine alone, so are requests by another name than its own.
func (s *signIn) fromElsewhere(handler http.Handler, thisMachine bool) (http.Handler, error) {
	protection := http.NewCrossOriginProtection()
	if s == nil {
		if thisMachine {
			handler = byLoopbackName(handler)
		}
		return protection.Handler(handler), nil
	}
	// Behind a gateway the server's own pages come by another name than the request's.
	base, err := url.Parse(s.BaseURL)
	if err == nil {
		err = protection.AddTrustedOrigin(base.Scheme + "://" + base.Host)
	}
	return protection.Handler(handler), err
}

// identityNote says as whom calls run.
func (s *signIn) identityNote() string {
	if s.Downstream {
		return fmt.Sprintf(forwardedNote, s.issuer)
	}
	return fmt.Sprintf(sharedNote, s.issuer)
}

func (s *signIn) commitOffered() bool { return s.GitHubAuthorizationServer != "" }

// commitNote says with what mode commit opens pull requests, or why it does not.
func (s *signIn) commitNote() string {
	if s.commitOffered() {
		return fmt.Sprintf(pairedNote, s.GitHubAuthorizationServer)
	}
	return noAppNote
}

// resolve finds the repository of a URL, and refuses to present callers' GitHub tokens to a host that they are not for.
func (s *signIn) resolve(of clustermanager.Settings) func(string) (clustermanager.GitRepository, error) {
	find := survey.HostResolver(of)
	return func(url string) (clustermanager.GitRepository, error) {
		found, err := find(url)
		if err == nil && found.APIURL != s.GitHubAPIURL {
			return clustermanager.GitRepository{}, clustermanager.Refuse("the repository is on %s, and callers' GitHub authorization is for %s alone: use mode apply", found.Host, s.GitHubAPIURL)
		}
		return found, err
	}
}

// onFolder makes the caller of a folder's installation of the one who signed in: its API server and its forge know the
// tokens of one person alone.
func (s *signIn) onFolder(ctx context.Context, standIn clustermanager.Caller) (clustermanager.Caller, error) {
	caller, err := identity.CallerFrom(ctx)
	if err != nil {
		return clustermanager.Caller{}, err
	}
	caller.KubernetesToken = standIn.KubernetesToken
	if caller.GitHub != nil {
		caller.GitHub = standIn.GitHub
	}
	return caller, nil
}
