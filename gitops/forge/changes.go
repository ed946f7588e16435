package forge

import (
	"context"
	"strings"

	"github.com/google/go-github/v62/github"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var (
	listingBranches = operation{"listing the branches of a prefix", "contents=read"}
	listingNewest   = operation{"listing the newest pull requests", "pull_requests=read"}
	readingChange   = operation{"reading the pull request", "pull_requests=read"}
	readingRuns     = operation{"reading the commit's check runs", "checks=read"}
	readingStatuses = operation{"reading the commit's statuses", "statuses=read"}
)

// Branches returns the names of the branches that begin with a prefix, in the order of their names, in one request: the
// host filters, so that it costs nothing how many others there are.
func (c *Client) Branches(ctx context.Context, prefix string) ([]string, error) {
	found, _, err := c.api.Git.ListMatchingRefs(ctx, c.owner, c.name, &github.ReferenceListOptions{Ref: "heads/" + prefix})
	if err != nil {
		return nil, c.explain(listingBranches, err)
	}
	var names []string
	for _, reference := range found {
		if name, is := strings.CutPrefix(reference.GetRef(), "refs/heads/"); is && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, nil
}

// OpenOf returns the open pull requests of a branch of the repository itself.
func (c *Client) OpenOf(ctx context.Context, branch string) ([]clustermanager.PullRequestDetail, error) {
	answer, _, err := c.api.PullRequests.List(ctx, c.owner, c.name, &github.PullRequestListOptions{
		State: "open", Head: c.owner + ":" + branch, ListOptions: github.ListOptions{PerPage: pageSize},
	})
	if err != nil {
		return nil, c.explain(listingPullRequests, err)
	}
	var found []clustermanager.PullRequestDetail
	for _, p := range answer {
		// GitHub leaves the filter out when it does not understand it.
		if made := pullRequestDetail(p); made.Branch == branch && !made.Fork {
			found = append(found, made)
		}
	}
	return found, nil
}

// Newest returns a page of a hundred pull requests, those that were opened last first, closed ones alone or all; pages
// count from 1. more says that another page follows.
func (c *Client) Newest(ctx context.Context, closed bool, page int) (found []clustermanager.PullRequestDetail, more bool, err error) {
	options := &github.PullRequestListOptions{
		State: "all", Sort: "created", Direction: "desc", ListOptions: github.ListOptions{Page: page, PerPage: pageSize},
	}
	if closed {
		options.State = "closed"
	}
	answer, response, err := c.api.PullRequests.List(ctx, c.owner, c.name, options)
	if err != nil {
		return nil, false, c.explain(listingNewest, err)
	}
	for _, p := range answer {
		found = append(found, pullRequestDetail(p))
	}
	return found, response.NextPage != 0, nil
}

// Change returns one pull request. An unknown number is a *clustermanager.Refusal.
func (c *Client) Change(ctx context.Context, number int) (clustermanager.PullRequestDetail, error) {
	answer, _, err := c.api.PullRequests.Get(ctx, c.owner, c.name, number)
	if err != nil {
		return clustermanager.PullRequestDetail{}, c.explain(readingChange, err)
	}
	return pullRequestDetail(answer), nil
}

// CommitsOf returns the commits of a pull request, the oldest first; of more than a hundred the oldest hundred.
func (c *Client) CommitsOf(ctx context.Context, number int) ([]clustermanager.BranchCommit, error) {
	answer, _, err := c.api.PullRequests.ListCommits(ctx, c.owner, c.name, number, &github.ListOptions{PerPage: pageSize})
	if err != nil {
		return nil, c.explain(readingChange, err)
	}
	var commits []clustermanager.BranchCommit
	for _, commit := range answer {
		commits = append(commits, clustermanager.BranchCommit{
			SHA: commit.GetSHA(), Message: commit.GetCommit().GetMessage(), Login: commit.GetAuthor().GetLogin(),
		})
	}
	return commits, nil
}

// FilesOf returns the paths that a pull request changes; of more than a hundred the first hundred.
func (c *Client) FilesOf(ctx context.Context, number int) ([]string, error) {
	answer, _, err := c.api.PullRequests.ListFiles(ctx, c.owner, c.name, number, &github.ListOptions{PerPage: pageSize})
	if err != nil {
		return nil, c.explain(readingChange, err)
	}
	var paths []string
	for _, file := range answer {
		paths = append(paths, file.GetFilename())
	}
	return paths, nil
}

// Contains says whether a revision's history holds a commit: the commit itself, or a later one.
func (c *Client) Contains(ctx context.Context, revision, commit string) (bool, error) {
	if revision == commit {
		return true, nil
	}
	comparison, _, err := c.api.Repositories.CompareCommits(ctx, c.owner, c.name, commit, revision, &github.ListOptions{Page: 1, PerPage: 1})
	if err != nil {
		return false, c.explain(comparing, err)
	}
	return comparison.GetStatus() == "ahead" || comparison.GetStatus() == "identical", nil
}

// Checks returns what the check runs and the statuses of a commit come to; of more than a hundred of a kind, the first
// hundred.
func (c *Client) Checks(ctx context.Context, commit string) (clustermanager.Checks, error) {
	page := github.ListOptions{PerPage: pageSize}
	runs, _, err := c.api.Checks.ListCheckRunsForRef(ctx, c.owner, c.name, commit, &github.ListCheckRunsOptions{ListOptions: page})
	if err != nil {
		return clustermanager.Checks{}, c.explain(readingRuns, err)
	}
	statuses, _, err := c.api.Repositories.GetCombinedStatus(ctx, c.owner, c.name, commit, &page)
	if err != nil {
		return clustermanager.Checks{}, c.explain(readingStatuses, err)
	}
	made := clustermanager.Checks{State: clustermanager.ChecksNone}
	for _, run := range runs.CheckRuns {
		made.Add(run.GetName(), stateOfRun(run))
	}
	for _, status := range statuses.Statuses {
		made.Add(status.GetContext(), stateOfStatus(status.GetState()))
	}
	return made, nil
}

// stateOfRun reads a check run: what neither failed nor stopped the merge counts as passed.
func stateOfRun(run *github.CheckRun) clustermanager.ChecksState {
	if run.GetStatus() != "completed" {
		return clustermanager.ChecksPending
	}
	switch run.GetConclusion() {
	case "success", "neutral", "skipped":
		return clustermanager.ChecksSuccess
	}
	return clustermanager.ChecksFailure
}

func stateOfStatus(state string) clustermanager.ChecksState {
	switch state {
	case "success":
		return clustermanager.ChecksSuccess
	case "pending":
		return clustermanager.ChecksPending
	}
	return clustermanager.ChecksFailure
}

func pullRequestDetail(p *github.PullRequest) clustermanager.PullRequestDetail {
	made := clustermanager.PullRequestDetail{
		PullRequest: pullRequest(p), Base: p.GetBase().GetRef(), Author: p.GetUser().GetLogin(),
		CreatedAt: p.GetCreatedAt().UTC(), UpdatedAt: p.GetUpdatedAt().UTC(),
		Fork: p.GetHead().GetRepo().GetID() != p.GetBase().GetRepo().GetID(),
	}
	if made.State == clustermanager.PullRequestMerged {
		made.MergedAt, made.MergeSHA = p.GetMergedAt().UTC(), p.GetMergeCommitSHA()
	}
	return made
}
