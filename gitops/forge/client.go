package forge

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/google/go-github/v62/github"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Options say whose token is used where.
type Options struct {
	// APIURL is the root of the host's REST API, such as https://api.github.com or https://ghe.example.com/api/v3. It
	// is https, or http on loopback.
	APIURL string
	// Owner and Repository name the repository. Both may be empty for a client that only asks who the person is.
	Owner      string
	Repository string
	// Token is the person's App user token.
	Token clustermanager.Secret
	// Transport carries the requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
}

// Client makes the API calls of one tool call. It remembers a limit that GitHub has told it of, so each tool call has
// its own.
type Client struct {
	api      *github.Client
	owner    string
	name     string
	host     string
	token    clustermanager.Secret
	requests atomic.Int64
}

const userAgent = "cluster-manager"

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// New makes a client. It sends nothing.
func New(options Options) (*Client, error) {
	root, err := url.Parse(options.APIURL)
	if err != nil || root.Host == "" || root.User != nil || root.RawQuery != "" || root.Fragment != "" {
		return nil, clustermanager.Refuse("GitHub API address: not a plain URL: correct the setting git-hosts")
	}
	if !allowed(root) {
		return nil, clustermanager.Refuse("GitHub API address of %s: only https is spoken, and http on loopback: correct the setting git-hosts", root.Host)
	}
	if options.Owner != "" || options.Repository != "" {
		if !validName(options.Owner) || !validName(options.Repository) {
			return nil, clustermanager.Refuse("GitHub %s: repository %q is no owner/name: correct the GitRepository's URL", root.Host, options.Owner+"/"+options.Repository)
		}
	}
	if options.Token.IsZero() {
		return nil, clustermanager.Refuse("GitHub %s: the call carries no GitHub token: %s", root.Host, clustermanager.ConnectGitHub)
	}
	root.Path, root.RawPath = strings.TrimSuffix(root.Path, "/")+"/", ""
	client := &Client{owner: options.Owner, name: options.Repository, host: root.Host, token: options.Token}
	client.api = github.NewClient(&http.Client{
		Transport:     &transport{base: options.Transport, root: *root, token: options.Token, requests: &client.requests},
		CheckRedirect: checkRedirect,
	})
	client.api.BaseURL = root
	client.api.UserAgent = userAgent
	return client, nil
}

func validName(name string) bool {
	return namePattern.MatchString(name) && name != "." && name != ".."
}

// Requests is how many requests were sent so far, redirects included.
func (c *Client) Requests() int { return int(c.requests.Load()) }

// fullName is owner/name.
func (c *Client) fullName() string { return c.owner + "/" + c.name }
