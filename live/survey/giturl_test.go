package survey_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
)

func TestParseGitURL(t *testing.T) {
	for address, want := range map[string]string{
		"https://github.com/acme/fleet":              "github.com acme fleet",
		"https://GitHub.com/acme/fleet.git":          "github.com acme fleet",
		"HTTPS://github.com/acme/fleet/":             "github.com acme fleet",
		"https://github.com/acme/fleet.git/":         "github.com acme fleet",
		"https://github.com:443/acme/fleet":          "github.com acme fleet",
		"https://ghe.example.com:8443/acme/fleet":    "ghe.example.com:8443 acme fleet",
		"https://jane:hunter2@github.com/acme/fleet": "github.com acme fleet",
		"https://git.example.com/deep/er/acme/fleet": "git.example.com acme fleet",
		"http://127.0.0.1:8080/acme/fleet":           "127.0.0.1:8080 acme fleet",
		"http://[::1]:8080/acme/fleet":               "[::1]:8080 acme fleet",
		"https://[::1]/acme/fleet":                   "[::1] acme fleet",
		"ssh://git@github.com/acme/fleet.git":        "github.com acme fleet",
		"ssh://git@ssh.github.com:443/acme/fleet":    "ssh.github.com acme fleet",
		"ssh://github.com:22/acme/fleet":             "github.com acme fleet",
		"ssh://git@github.com:/acme/fleet":           "github.com acme fleet",
		"git@github.com:acme/fleet.git":              "github.com acme fleet",
		"git@GitHub.com:acme/fleet":                  "github.com acme fleet",
		"github.com:acme/fleet/":                     "github.com acme fleet",
		"git@github.com:/acme/.github":               "github.com acme .github",
	} {
		host, owner, name, err := survey.ParseGitURL(address)
		if got := host + " " + owner + " " + name; err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", address, got, err, want)
		}
	}
}

func TestParseGitURLRefuses(t *testing.T) {
	for address, want := range map[string]string{
		"":                                    "it is no URL of a repository",
		"fleet":                               "it is no URL of a repository",
		"./acme/fleet":                        "it is no URL of a repository",
		"/srv/git:acme/fleet":                 "it is no URL of a repository",
		"https:///acme/fleet":                 "it is no URL of a repository",
		"https://github.com:port/acme/fleet":  "it is no URL of a repository",
		"https://github.com":                  "its path is no owner/name",
		"https://github.com/fleet":            "its path is no owner/name",
		"https://github.com/acme/.git":        "its path holds an element",
		"https://github.com/../fleet":         "its path holds an element",
		"https://github.com/acme/..":          "its path holds an element",
		"https://github.com/acme/%2e%2e":      "its path holds an element",
		"https://github.com/acme//fleet":      "its path holds an element",
		"https://github.com/acme/a%20b":       "its path holds an element",
		"https://github.com/acme/fleet?ref=x": "it has a query or a fragment",
		"https://github.com/acme/fleet#x":     "it has a query or a fragment",
		"git://github.com/acme/fleet":         "its scheme is neither https nor ssh",
		"file:///acme/fleet":                  "it is no URL of a repository",
		"ssh://git@github.com:acme/fleet":     "the URL mixes two forms: write ssh://git@github.com/owner/name",
		"ssh://GitHub.com:acme/fleet.git":     "the URL mixes two forms: write ssh://git@github.com/owner/name",
		"ssh://git@github.com:22:acme/fleet":  "the URL mixes two forms",
		"git@github.com:fleet":                "its path is no owner/name",
	} {
		_, _, _, err := survey.ParseGitURL(address)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}

func TestAURLsPasswordStaysSecret(t *testing.T) {
	resolve := survey.HostResolver(clustermanager.DefaultSettings())
	for _, address := range []string{
		"https://jane:hunter2@ghe.example.com/acme/fleet", "https://jane:hunter2@github.com/acme", "https://jane:hunter2@github.com:x/acme/fleet",
		"hunter2:x@github.com/acme/fleet", "jane:hunter2@github.com:acme/fleet", "ssh://jane:hunter2@github.com:acme/fleet",
		"https://jane:hun/ter2@github.com/acme/fleet", "git://jane:hunter2@github.com/acme/fleet", "https://hunter2%zz@github.com/acme/fleet",
	} {
		if _, err := resolve(address); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "ter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestHostResolver(t *testing.T) {
	settings := clustermanager.DefaultSettings()
	settings.GitHosts["ghe.example.com:8443"] = "https://ghe.example.com:8443/api/v3"
	settings.GitHosts["ssh.other.example"] = "https://other.example/api/v3"
	settings.GitHosts["127.0.0.1:8080"] = "http://127.0.0.1:8080"
	for address, want := range map[string]clustermanager.GitRepository{
		"https://jane:hunter2@github.com/acme/fleet": {Host: "github.com", Owner: "acme", Name: "fleet",
			CloneURL: "https://github.com/acme/fleet.git", APIURL: "https://api.github.com"},
		"ssh://git@ssh.github.com:443/acme/fleet.git": {Host: "ssh.github.com", Owner: "acme", Name: "fleet",
			CloneURL: "https://github.com/acme/fleet.git", APIURL: "https://api.github.com"},
		"git@ssh.other.example:acme/fleet": {Host: "ssh.other.example", Owner: "acme", Name: "fleet",
			CloneURL: "https://ssh.other.example/acme/fleet.git", APIURL: "https://other.example/api/v3"},
		"https://ghe.example.com:8443/acme/fleet": {Host: "ghe.example.com:8443", Owner: "acme", Name: "fleet",
			CloneURL: "https://ghe.example.com:8443/acme/fleet.git", APIURL: "https://ghe.example.com:8443/api/v3"},
		"http://127.0.0.1:8080/acme/fleet": {Host: "127.0.0.1:8080", Owner: "acme", Name: "fleet",
			CloneURL: "http://127.0.0.1:8080/acme/fleet.git", APIURL: "http://127.0.0.1:8080"},
	} {
		got, err := survey.HostResolver(settings)(address)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", address, err, diff)
		}
	}
}

func FuzzParseGitURL(f *testing.F) {
	for _, seed := range []string{
		"https://github.com/acme/fleet.git", "ssh://git@github.com:acme/fleet", "git@github.com:acme/fleet", "ssh://[::1]:22/a/b",
		"https://a:b@c/d/e?f#g", "://", "::/", "a:b/c", "https://h/../..", "http://[fe80::1%25en0]:1/a/b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		host, owner, name, err := survey.ParseGitURL(address)
		if err != nil {
			if host+owner+name != "" {
				t.Error("an error with a result")
			}
			return
		}
		if host == "" || host != strings.ToLower(host) {
			t.Errorf("host %q", host)
		}
		for _, element := range []string{owner, name} {
			if element == "" || strings.Trim(element, ".") == "" || strings.ContainsAny(element, "/\\@:?#% \x00") {
				t.Errorf("element %q", element)
			}
		}
		again, sameOwner, sameName, err := survey.ParseGitURL("https://" + host + "/" + owner + "/" + name + ".git")
		if err == nil && (again != host || sameOwner != owner || sameName != name) {
			t.Errorf("%s %s %s is read again as %s %s %s", host, owner, name, again, sameOwner, sameName)
		}
	})
}
