package clustermanager

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
