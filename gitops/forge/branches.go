package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v62/github"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	pageSize = 100
	// GitHub lists at most this many commits of a comparison.
	maximalComparison = 250
	// No list that is read here has more pages than this; one that goes on is an error, not a partial answer.
	maximalPages = 20
)

// User returns the account that the token acts for.
func (c *Client) User(ctx context.Context) (clustermanager.GitHubUser, error) {
	user, _, err := c.api.Users.Get(ctx, "")
	if err != nil {
		return clustermanager.GitHubUser{}, c.explain(readingUser, err)
	}
	if user.GetLogin() == "" {
		return clustermanager.GitHubUser{}, c.unreadable(readingUser, "no login in it")
	}
	return clustermanager.GitHubUser{Login: user.GetLogin(), ID: user.GetID(), Name: user.GetName(), Email: user.GetEmail()}, nil
}

// BranchRules returns the rules that a branch of this name meets, whether it exists or not. A host whose plan has no
// rules for the repository has none.
func (c *Client) BranchRules(ctx context.Context, branch string) ([]clustermanager.BranchRule, error) {
	var rules []clustermanager.BranchRule
	path := "repos/" + c.fullName() + "/rules/branches/" + url.PathEscape(branch)
	for page := range maximalPages {
		request, err := c.api.NewRequest(http.MethodGet, fmt.Sprintf("%s?per_page=%d&page=%d", path, pageSize, page+1), nil)
		if err != nil {
			return nil, fmt.Errorf("GitHub %s: %s: %w", c.fullName(), readingRules.doing, err)
		}
		// The library's own type fails on each kind of rule that is newer than it.
		var answer []struct {
			Type       string         `json:"type"`
			Parameters map[string]any `json:"parameters"`
		}
		response, err := c.api.Do(ctx, request, &answer)
		if noRulesInPlan(err) {
			return nil, nil
		}
		if err != nil {
			return nil, c.explain(readingRules, err)
		}
		for _, rule := range answer {
			rules = append(rules, clustermanager.BranchRule{Type: rule.Type, Parameters: rule.Parameters})
		}
		if response.NextPage == 0 {
			return rules, nil
		}
	}
	return nil, c.unreadable(readingRules, "it does not end")
}

// noRulesInPlan recognises the answer about a private repository of an account whose plan has no rules.
func noRulesInPlan(err error) bool {
	rejected := readRejection(err)
	return rejected != nil && rejected.status == http.StatusForbidden && strings.HasPrefix(rejected.message, "Upgrade to ")
}

// Compare returns the commits that the head has and the base has not, the oldest first. More than 250 are refused.
func (c *Client) Compare(ctx context.Context, base, head string) ([]clustermanager.BranchCommit, error) {
	var commits []clustermanager.BranchCommit
	for page := range maximalPages {
		comparison, _, err := c.api.Repositories.CompareCommits(ctx, c.owner, c.name, base, head, &github.ListOptions{Page: page + 1, PerPage: pageSize})
		if err != nil {
			return nil, c.explain(comparing, err)
		}
		total := comparison.GetTotalCommits()
		if total > maximalComparison {
			head, base := clustermanager.OneLine(head, maximalRelay), clustermanager.OneLine(base, maximalRelay)
			return nil, clustermanager.Refuse("GitHub %s: %s: branch %s has %d commits that %s has not, and more than %d are not read: delete the branch or bring it into %s, then call again",
				c.fullName(), comparing.doing, head, total, base, maximalComparison, base)
		}
		for _, commit := range comparison.Commits {
			commits = append(commits, clustermanager.BranchCommit{
				SHA: commit.GetSHA(), Message: commit.GetCommit().GetMessage(), Login: commit.GetAuthor().GetLogin(),
			})
		}
		if len(commits) == total {
			return commits, nil
		}
		if len(commits) > total || len(comparison.Commits) == 0 {
			break
		}
	}
	return nil, c.unreadable(comparing, "the number of commits does not fit the list")
}
