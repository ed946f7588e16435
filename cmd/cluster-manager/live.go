package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/proof"
	"github.com/clustermanager/cluster-manager/internal/charts"
	"github.com/clustermanager/cluster-manager/internal/dns"
	"github.com/clustermanager/cluster-manager/internal/identity"
	"github.com/clustermanager/cluster-manager/internal/limits"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/internal/telemetry"
	"github.com/clustermanager/cluster-manager/live/session"
	"github.com/clustermanager/cluster-manager/live/survey"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// The variables of a person's own GitHub token, for a lab on their machine; a server that signs people in takes none. They
// are no settings, because a token belongs in no flag and no file of settings.
const (
	githubTokenVariable = "CLUSTER_MANAGER_GITHUB_TOKEN"
	githubHostVariable  = "CLUSTER_MANAGER_GITHUB_TOKEN_HOST"
	defaultGitHubHost   = "github.com"
)

// What get_info says of a live installation in this build.
const (
	ownIdentity     = "the kubeconfig's own user: nobody is asked who they are"
	ownIdentityNote = "this server asks nobody who they are: every call reads and writes with the credentials of its own kubeconfig, at %s"
	noGitHubNote    = "mode commit is not offered: start the server with a GitHub token of your own in the environment variable " + githubTokenVariable
	githubNote      = "mode commit opens pull requests with the GitHub token that the server was started with, on %s alone"
)

// liveOptions say which live installation is spoken to, and how.
type liveOptions struct {
	settings.Resolved
	// github is the token that mode commit acts with; the zero one: it is not offered.
	github githubToken
	// signIn asks callers who they are; nil: the process is the caller.
	signIn *signIn
	now    func() time.Time
	log    *slog.Logger
	// transport carries git's and GitHub's requests; nil is http.DefaultTransport.
	transport http.RoundTripper
	// registry is the address that is asked in place of a chart's registry; nil: each itself.
	registry func(host string) string
	// limits bound what one caller may ask; nil: nothing does.
	limits *limits.Table
	// observe begins the observation of a call; nil: nobody observes.
	observe func(ctx context.Context, tool string) (context.Context, func(telemetry.Outcome))
}

// githubToken is a token for one host of the setting git-hosts.
type githubToken struct {
	clustermanager.Secret
	host string
}

// takeGitHubToken takes the person's token out of the environment, where programs that the kubeconfig starts would find
// it.
func takeGitHubToken() githubToken {
	token := githubToken{clustermanager.NewSecret(os.Getenv(githubTokenVariable)), os.Getenv(githubHostVariable)}
	_ = os.Unsetenv(githubTokenVariable)
	if token.host == "" {
		token.host = defaultGitHubHost
	}
	return token
}

// resolverConfiguration names the nameservers that are asked for the zone of a models host.
const resolverConfiguration = "/etc/resolv.conf"

// openLive makes the tools over a live installation, for callers who sign in or for a process whose own kubeconfig is the
// caller.
func openLive(options liveOptions) (*installation, error) {
	// What another user of the machine left behind cannot be removed, and stops nobody.
	_ = proof.Sweep(time.Now())
	base, err := session.Load(options.Kubeconfig, options.KubeContext, options.InCluster)
	if err != nil {
		return nil, err
	}
	if _, known := options.Settings.GitHosts[options.github.host]; !options.github.IsZero() && !known {
		return nil, fmt.Errorf("environment variable %s: %q is no host of the setting git-hosts", githubHostVariable, options.github.host)
	}
	resolver, err := dns.FromConfiguration(resolverConfiguration)
	if err != nil {
		return nil, err
	}
	tools := mcptools.Options{
		Version: version, Settings: options.Settings, Resolver: resolver, Transport: options.transport, Now: options.now, Log: options.log,
		ReadOnly: options.ReadOnly, Picked: options.Tools, Limits: options.limits, Observe: options.observe,
	}
	opened := &installation{settings: options.Settings, given: options.Given}
	opened.chartFiles = charts.NewSurvey(charts.New(charts.Options{Address: options.registry}), sliceRule)
	tools.Charts = opened.charts()
	switch in := options.signIn; {
	case in != nil && !options.github.IsZero():
		return nil, errTokenOfOne
	case in != nil:
		connect := session.New
		if !in.Downstream {
			connect = session.NewShared
		}
		opened.sessions, opened.callers = connect(base, nil), in.identityNote()
		tools.Caller, tools.Resolve, tools.CommitOffered, tools.NoCommit = identity.CallerFrom, in.resolve(options.Settings), in.commitOffered(), noAppNote
		tools.Notes = []string{in.identityNote(), in.commitNote()}
	default:
		opened.sessions, opened.callers = session.NewOwn(base, nil), ownIdentity
		tools.Caller = func(context.Context) (clustermanager.Caller, error) { return options.github.caller(), nil }
		tools.Resolve, tools.CommitOffered, tools.NoCommit = options.github.resolve(options.Settings), !options.github.IsZero(), noGitHubNote
		tools.Notes = []string{fmt.Sprintf(ownIdentityNote, opened.sessions.Host()), options.github.note()}
	}
	opened.sessions.LogTo(options.log)
	tools.Sessions = opened.sessions
	opened.tools, err = mcptools.New(tools)
	return opened, err
}

// caller is the process itself; what GitHub calls the token's owner is asked of GitHub with each proposal.
func (t githubToken) caller() clustermanager.Caller {
	if t.IsZero() {
		return clustermanager.Caller{}
	}
	return clustermanager.Caller{GitHub: &clustermanager.GitHubIdentity{Token: t.Secret}}
}

// resolve finds the repository of a URL, and refuses to present the token to a host that it is not for.
func (t githubToken) resolve(of clustermanager.Settings) func(string) (clustermanager.GitRepository, error) {
	find := survey.HostResolver(of)
	if t.IsZero() {
		return find
	}
	return func(url string) (clustermanager.GitRepository, error) {
		found, err := find(url)
		if err == nil && found.APIURL != of.GitHosts[t.host] {
			return clustermanager.GitRepository{}, clustermanager.Refuse("the repository is on %s, and the GitHub token that the server was started with is for %s: start it with the token of that host, and its name in %s", found.Host, t.host, githubHostVariable)
		}
		return found, err
	}
}

func (t githubToken) note() string {
	if t.IsZero() {
		return noGitHubNote
	}
	return fmt.Sprintf(githubNote, t.host)
}
