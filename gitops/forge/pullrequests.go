package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v62/github"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// ErrPullRequestExists says that the branch has an open pull request already: PullRequests finds it.
var ErrPullRequestExists = errors.New("a pull request of this branch is open already")

// PullRequests returns the pull requests of a branch of the repository itself, in every state, the newest first.
func (c *Client) PullRequests(ctx context.Context, branch string) ([]clustermanager.PullRequest, error) {
	options := &github.PullRequestListOptions{
		State: "all", Head: c.owner + ":" + branch, Sort: "created", Direction: "desc",
		ListOptions: github.ListOptions{PerPage: pageSize},
	}
	var found []clustermanager.PullRequest
	for range maximalPages {
		answer, response, err := c.api.PullRequests.List(ctx, c.owner, c.name, options)
		if err != nil {
			return nil, c.explain(listingPullRequests, err)
		}
		for _, p := range answer {
			// GitHub leaves the filter out when it does not understand it, and a fork may have a branch of the same name.
			if p.GetHead().GetRef() == branch && p.GetHead().GetRepo().GetID() == p.GetBase().GetRepo().GetID() {
				found = append(found, pullRequest(p))
			}
		}
		if response.NextPage == 0 {
			return found, nil
		}
		options.Page = response.NextPage
	}
	return nil, c.unreadable(listingPullRequests, "it does not end")
}

// CreatePullRequest opens a pull request of the request's branch with its title and body. One that is open already is
// ErrPullRequestExists.
func (c *Client) CreatePullRequest(ctx context.Context, request clustermanager.PullRequest, base string) (clustermanager.PullRequest, error) {
	answer, _, err := c.api.PullRequests.Create(ctx, c.owner, c.name, &github.NewPullRequest{
		Title: &request.Title, Body: &request.Body, Head: &request.Branch, Base: &base,
	})
	if rejected := readRejection(err); rejected != nil && rejected.status == http.StatusUnprocessableEntity && strings.Contains(rejected.words(), "pull request already exists") {
		return clustermanager.PullRequest{}, fmt.Errorf("GitHub %s: %s for branch %s: %w", c.fullName(), creating.doing, clustermanager.OneLine(request.Branch, maximalRelay), ErrPullRequestExists)
	}
	return c.single(creating, answer, err)
}

// UpdatePullRequest replaces a pull request's title and body.
func (c *Client) UpdatePullRequest(ctx context.Context, number int, title, body string) (clustermanager.PullRequest, error) {
	answer, _, err := c.api.PullRequests.Edit(ctx, c.owner, c.name, number, &github.PullRequest{Title: &title, Body: &body})
	return c.single(updating, answer, err)
}

func (c *Client) single(o operation, answer *github.PullRequest, err error) (clustermanager.PullRequest, error) {
	if err != nil {
		return clustermanager.PullRequest{}, c.explain(o, err)
	}
	if answer.GetNumber() == 0 || answer.GetHTMLURL() == "" {
		return clustermanager.PullRequest{}, c.unreadable(o, "no pull request in it")
	}
	return pullRequest(answer), nil
}

func pullRequest(p *github.PullRequest) clustermanager.PullRequest {
	state := clustermanager.PullRequestOpen
	switch {
	case p.MergedAt != nil:
		state = clustermanager.PullRequestMerged
	case p.GetState() == "closed":
		state = clustermanager.PullRequestClosed
	}
	return clustermanager.PullRequest{
		Number: p.GetNumber(), URL: p.GetHTMLURL(), State: state, Branch: p.GetHead().GetRef(), HeadSHA: p.GetHead().GetSHA(),
		Title: p.GetTitle(), Body: p.GetBody(),
	}
}
