package settings

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// DefaultGitHubWebhookPath is where GitHub's deliveries are taken.
const DefaultGitHubWebhookPath = "/github/webhook"

// GitHubApp are the settings of what is done as the GitHub App itself; with ID 0 nothing is.
type GitHubApp struct {
	ID int64
	// Key is the App's private key, PEM; WebhookSecret what its deliveries are signed with. Both are read at start.
	Key, WebhookSecret clustermanager.Secret
	WebhookPath        string
	// WatcherTokenFile holds the token of the ServiceAccount that watches what Flux applies. It is read with each use,
	// since a cluster renews it; "": nothing is watched.
	WatcherTokenFile string
}

// githubApp are the rows of the App's settings.
func githubApp() []Setting {
	return []Setting{
		{Name: "github-app-id", Variable: "CLUSTER_MANAGER_GITHUB_APP_ID", Form: Text, Scope: Listener, Help: "id of the GitHub App, for what is done after a merge; empty: nothing is", take: takeAppID},
		{Name: "github-app-private-key-file", Variable: "CLUSTER_MANAGER_GITHUB_APP_PRIVATE_KEY_FILE", Form: Path, Scope: Listener, Help: "file with the App's private key, PEM", take: takeSecret(func(r *Resolved) *clustermanager.Secret { return &r.GitHubApp.Key })},
		{Name: "github-webhook-secret-file", Variable: "CLUSTER_MANAGER_GITHUB_WEBHOOK_SECRET_FILE", Form: Path, Scope: Listener, Help: "file with the secret that the App's deliveries are signed with", take: takeSecret(func(r *Resolved) *clustermanager.Secret { return &r.GitHubApp.WebhookSecret })},
		{Name: "github-webhook-path", Variable: "CLUSTER_MANAGER_GITHUB_WEBHOOK_PATH", Form: Text, Scope: Listener, Default: DefaultGitHubWebhookPath, Help: "path of the App's deliveries", take: takeWebhookPath},
		{Name: "watcher-token-file", Variable: "CLUSTER_MANAGER_WATCHER_TOKEN_FILE", Form: Path, Scope: Listener, Help: "file with the token that Flux's objects are watched with, for check runs and outcomes; empty: they are not", take: func(r *Resolved, value string) error {
			r.GitHubApp.WatcherTokenFile = value
			return nil
		}},
	}
}

func takeAppID(r *Resolved, value string) (err error) {
	if value == "" {
		return nil
	}
	if r.GitHubApp.ID, err = strconv.ParseInt(value, 10, 64); err != nil || r.GitHubApp.ID < 1 {
		return fmt.Errorf("%q is no id of a GitHub App: it is the number on the App's own page", value)
	}
	return nil
}

// takeSecret reads a file whose content goes no further than into the Secret: a fault names the file alone.
func takeSecret(field func(*Resolved) *clustermanager.Secret) func(*Resolved, string) error {
	return func(r *Resolved, file string) error {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, errors.Unwrap(err))
		}
		text := strings.TrimSpace(string(content))
		if text == "" {
			return fmt.Errorf("%s: the file is empty", file)
		}
		*field(r) = clustermanager.NewSecret(text)
		return nil
	}
}

func takeWebhookPath(r *Resolved, value string) error {
	if !mcpPath.MatchString(value) || value == "/healthz" || value == "/readyz" {
		return fmt.Errorf("%q is no path such as %s", value, DefaultGitHubWebhookPath)
	}
	r.GitHubApp.WebhookPath = value
	return nil
}

// checkTogether says what of the App's settings misses another one: id, key and webhook secret are there together or not
// at all, and the rest is for nothing without them.
func (a GitHubApp) checkTogether(mcpPath string) []string {
	given := map[string]bool{"github-app-id": a.ID != 0, "github-app-private-key-file": !a.Key.IsZero(), "github-webhook-secret-file": !a.WebhookSecret.IsZero()}
	var there, missing []string
	for _, name := range []string{"github-app-id", "github-app-private-key-file", "github-webhook-secret-file"} {
		if given[name] {
			there = append(there, name)
		} else {
			missing = append(missing, name)
		}
	}
	switch {
	case len(there) > 0 && len(missing) > 0:
		return []string{fmt.Sprintf("setting %s: it is for nothing without %s: give all three or none", strings.Join(there, " and "), strings.Join(missing, " and "))}
	case len(there) > 0 && a.WebhookPath == mcpPath:
		return []string{"setting github-webhook-path: it is the path of the MCP endpoint (setting mcp-path): choose another one"}
	}
	return nil
}
