package clustermanager

import (
	"slices"
	"time"
)

// PullRequestState is the state of a pull request.
type PullRequestState string

const (
	PullRequestOpen   PullRequestState = "open"
	PullRequestMerged PullRequestState = "merged"
	PullRequestClosed PullRequestState = "closed"
)

// PullRequest is a pull request of a proposal.
type PullRequest struct {
	Number int
	URL    string
	State  PullRequestState
	// Branch is the head branch, HeadSHA its commit.
	Branch  string
	HeadSHA string
	Title   string
	Body    string
}

// PullRequestDetail is a pull request with what a reader of it asks for beside its content.
type PullRequestDetail struct {
	PullRequest
	// Base is the branch that it goes into.
	Base string
	// Author is the login of who opened it.
	Author               string
	CreatedAt, UpdatedAt time.Time
	// MergedAt and MergeSHA are when it was merged and the commit that brought it into the base; zero before.
	MergedAt time.Time
	MergeSHA string
	// Fork says that its head is a branch of another repository.
	Fork bool
}

// ChecksState is what the checks of a commit come to.
type ChecksState string

const (
	ChecksNone    ChecksState = "none"
	ChecksPending ChecksState = "pending"
	ChecksSuccess ChecksState = "success"
	ChecksFailure ChecksState = "failure"
)

// Checks are the checks of a commit: check runs of Apps and commit statuses together.
type Checks struct {
	State ChecksState
	// Failed and Pending are the names of those that failed or are not over.
	Failed, Pending []string
}

// gravity orders the states of checks: the gravest of all is that of the commit.
var gravity = []ChecksState{ChecksNone, ChecksSuccess, ChecksPending, ChecksFailure}

// Add counts one more check.
func (c *Checks) Add(name string, state ChecksState) {
	switch state {
	case ChecksFailure:
		c.Failed = append(c.Failed, name)
	case ChecksPending:
		c.Pending = append(c.Pending, name)
	}
	if slices.Index(gravity, state) > slices.Index(gravity, c.State) {
		c.State = state
	}
}
