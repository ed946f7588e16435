package survey

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// urlSegment is what an owner or a repository may be called. It keeps what comes of a URL safe in another URL and in a
// path.
var urlSegment = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// hostName is what a host may be called, in lower case; an IPv6 address stands for itself.
var hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`)

// webPorts are the ports that an HTTP URL need not name.
var webPorts = map[string]string{"https": "443", "http": "80"}

var errNoURL = errors.New("it is no URL of a repository: correct the URL")

// gitURL is a repository's URL in its parts.
type gitURL struct {
	scheme string
	// host is in lower case, with the port when it is an HTTP URL that names another one than the scheme's.
	host string
	// path are the elements, the last without ".git".
	path []string
}

// ParseGitURL takes a repository's URL apart: https (or http), ssh://git@host[:port]/owner/name and the short form
// git@host:owner/name. The host is in lower case, with its port where an HTTP URL names one; owner and name are the last
// two elements of the path, the name without ".git". An error holds nothing of the URL but its host, since a URL may
// carry a password.
func ParseGitURL(address string) (host, owner, name string, err error) {
	parsed, err := parseGitURL(address)
	if err != nil {
		return "", "", "", err
	}
	return parsed.host, parsed.owner(), parsed.name(), nil
}

func (g gitURL) owner() string { return g.path[len(g.path)-2] }
func (g gitURL) name() string  { return g.path[len(g.path)-1] }

func parseGitURL(address string) (gitURL, error) {
	scheme, rest, hasScheme := strings.Cut(address, "://")
	if !hasScheme {
		return parseShortForm(address)
	}
	scheme = strings.ToLower(scheme)
	if scheme == "ssh" {
		if host := colonForm(rest); host != "" {
			return gitURL{}, fmt.Errorf("the URL mixes two forms: write ssh://git@%s/owner/name, with a slash after the host", host)
		}
	}
	parsed, err := url.Parse(address)
	if err != nil || !isHost(strings.ToLower(parsed.Hostname())) {
		return gitURL{}, errNoURL
	}
	if parsed.RawQuery != "" || parsed.Fragment != "" {
		return gitURL{}, errors.New("it has a query or a fragment, and a repository's URL has none: correct the URL")
	}
	defaultPort, isWeb := webPorts[scheme]
	if !isWeb && scheme != "ssh" {
		return gitURL{}, errors.New("its scheme is neither https nor ssh: correct the URL")
	}
	made := gitURL{scheme: scheme, host: strings.ToLower(parsed.Hostname())}
	switch port := parsed.Port(); {
	case isWeb && port != "" && port != defaultPort:
		made.host = net.JoinHostPort(made.host, port)
	case strings.Contains(made.host, ":"):
		made.host = "[" + made.host + "]"
	}
	made.path, err = repositoryPath(parsed.Path)
	return made, err
}

// parseShortForm reads [user@]host:owner/name.
func parseShortForm(address string) (gitURL, error) {
	authority, rest, hasColon := strings.Cut(address, ":")
	host := strings.ToLower(authority[strings.LastIndex(authority, "@")+1:])
	if !hasColon || !hostName.MatchString(host) || strings.Contains(authority, "/") {
		return gitURL{}, errNoURL
	}
	elements, err := repositoryPath(rest)
	return gitURL{scheme: "ssh", host: host, path: elements}, err
}

// colonForm returns the host of ssh://[user@]host:owner/name, where the port should be; "" for any other form.
func colonForm(rest string) string {
	authority, _, _ := strings.Cut(rest, "/")
	authority = authority[strings.LastIndex(authority, "@")+1:]
	if strings.HasPrefix(authority, "[") {
		return ""
	}
	host, port, hasColon := strings.Cut(authority, ":")
	isNumber := !strings.ContainsFunc(port, func(r rune) bool { return r < '0' || r > '9' })
	if host = strings.ToLower(host); !hasColon || isNumber || !hostName.MatchString(host) {
		return ""
	}
	return host
}

// isHost says whether a name, in lower case and without brackets, can be a host.
func isHost(name string) bool {
	address, err := netip.ParseAddr(name)
	return hostName.MatchString(name) || (err == nil && address.Zone() == "")
}

// repositoryPath splits the path of a URL and checks its elements.
func repositoryPath(raw string) ([]string, error) {
	elements := strings.Split(strings.TrimSuffix(strings.Trim(raw, "/"), ".git"), "/")
	if len(elements) < 2 {
		return nil, errors.New("its path is no owner/name: correct the URL")
	}
	if slices.ContainsFunc(elements, func(element string) bool {
		return !urlSegment.MatchString(element) || strings.Trim(element, ".") == ""
	}) {
		return nil, errors.New("its path holds an element that no owner or repository can be called: correct the URL")
	}
	return elements, nil
}

// HostResolver finds the repository of a URL on the hosts of the setting git-hosts, and refuses every other host. The
// repository's Source and Branch, and what else a GitRepository tells, are left empty.
func HostResolver(settings clustermanager.Settings) func(url string) (clustermanager.GitRepository, error) {
	return func(address string) (clustermanager.GitRepository, error) {
		parsed, err := parseGitURL(address)
		if err != nil {
			return clustermanager.GitRepository{}, clustermanager.Refuse("%s: correct it", err)
		}
		api, known := settings.GitHosts[parsed.host]
		if !known {
			return clustermanager.GitRepository{}, clustermanager.Refuse(
				"the host %q is none that this server writes to: add it to the setting git-hosts", parsed.host)
		}
		if len(parsed.path) != 2 {
			return clustermanager.GitRepository{}, clustermanager.Refuse("its path is no owner/name: correct it")
		}
		scheme := "https"
		if parsed.scheme == "http" {
			if !clustermanager.IsLoopback((&url.URL{Host: parsed.host}).Hostname()) {
				return clustermanager.GitRepository{}, clustermanager.Refuse(
					"it is a plain http URL, and a token must not travel in the clear: write https")
			}
			scheme = "http"
		}
		clone := url.URL{Scheme: scheme, Host: webHost(settings, parsed.host), Path: "/" + parsed.owner() + "/" + parsed.name() + ".git"}
		return clustermanager.GitRepository{
			Host: parsed.host, Owner: parsed.owner(), Name: parsed.name(), CloneURL: clone.String(), APIURL: api,
		}, nil
	}
}

// webHost is the host that speaks git over HTTP: a host such as ssh.github.com speaks SSH alone, for the host that is
// called so without "ssh." and has the same API.
func webHost(settings clustermanager.Settings, host string) string {
	if web, is := strings.CutPrefix(host, "ssh."); is && settings.GitHosts[web] == settings.GitHosts[host] {
		return web
	}
	return host
}
