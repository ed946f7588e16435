package forge

import (
	"context"
	"strings"

	"github.com/google/go-github/v62/github"
)

var (
	writingRun      = operation{"writing the check run", "checks=write"}
	readingComments = operation{"reading the pull request's comments", "pull_requests=read"}
	writingComment  = operation{"writing the comment", "pull_requests=write"}
)

const (
	// maximalSummary and maximalComment are GitHub's limits of the two texts, in characters, counted in bytes here.
	maximalSummary = 65_535
	maximalComment = 65_536
	// typeOfApps is the type of an App's account.
	typeOfApps = "Bot"
	// maximalCommentPages is how many pages of comments are looked through for ours, which comes soon after the merge.
	maximalCommentPages = 10
)

// CheckRun is a check run that is over.
type CheckRun struct {
	Name string
	// Conclusion is success, failure or neutral.
	Conclusion string
	Title      string
	// Summary is Markdown; what is beyond GitHub's limit is cut.
	Summary string
}

// SetCheckRun writes a commit's check run: the one of the name that is there is changed.
func (c *Client) SetCheckRun(ctx context.Context, commit string, run CheckRun) error {
	output := &github.CheckRunOutput{Title: &run.Title, Summary: github.String(cutText(run.Summary, maximalSummary))}
	found, err := c.checkRun(ctx, commit, run.Name)
	if err != nil {
		return err
	}
	if found != nil {
		_, _, err = c.api.Checks.UpdateCheckRun(ctx, c.owner, c.name, found.GetID(), github.UpdateCheckRunOptions{
			Name: run.Name, Status: github.String("completed"), Conclusion: &run.Conclusion, Output: output,
		})
	} else {
		_, _, err = c.api.Checks.CreateCheckRun(ctx, c.owner, c.name, github.CreateCheckRunOptions{
			Name: run.Name, HeadSHA: commit, Status: github.String("completed"), Conclusion: &run.Conclusion, Output: output,
		})
	}
	if err != nil {
		return c.explain(writingRun, err)
	}
	return nil
}

// CheckRunSummary is the summary of a commit's check run of a name; "": there is none.
func (c *Client) CheckRunSummary(ctx context.Context, commit, name string) (string, error) {
	found, err := c.checkRun(ctx, commit, name)
	return found.GetOutput().GetSummary(), err
}

func (c *Client) checkRun(ctx context.Context, commit, name string) (*github.CheckRun, error) {
	runs, _, err := c.api.Checks.ListCheckRunsForRef(ctx, c.owner, c.name, commit, &github.ListCheckRunsOptions{CheckName: &name})
	switch {
	case err != nil:
		return nil, c.explain(readingRuns, err)
	case len(runs.CheckRuns) == 0:
		return nil, nil
	}
	return runs.CheckRuns[0], nil
}

// SetComment writes a pull request's comment with a marker in it: the App's own that holds the marker is changed, so
// that there is one. One that says so already is left.
func (c *Client) SetComment(ctx context.Context, number int, marker, body string) error {
	body = cutText(body, maximalComment)
	found, err := c.comment(ctx, number, marker)
	switch {
	case err != nil:
		return err
	case found == nil:
		_, _, err = c.api.Issues.CreateComment(ctx, c.owner, c.name, number, &github.IssueComment{Body: &body})
	case found.GetBody() != body:
		_, _, err = c.api.Issues.EditComment(ctx, c.owner, c.name, found.GetID(), &github.IssueComment{Body: &body})
	}
	if err != nil {
		return c.explain(writingComment, err)
	}
	return nil
}

// comment is the first comment of an App with the marker; a person's who wrote it too is none.
func (c *Client) comment(ctx context.Context, number int, marker string) (*github.IssueComment, error) {
	options := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: pageSize}}
	for range maximalCommentPages {
		comments, response, err := c.api.Issues.ListComments(ctx, c.owner, c.name, number, options)
		if err != nil {
			return nil, c.explain(readingComments, err)
		}
		for _, comment := range comments {
			if strings.Contains(comment.GetBody(), marker) && comment.GetUser().GetType() == typeOfApps {
				return comment, nil
			}
		}
		if response.NextPage == 0 {
			break
		}
		options.Page = response.NextPage
	}
	return nil, nil
}

// cutText cuts a text at a line's end so that it has at most so many bytes.
func cutText(text string, most int) string {
	const more = "\n\n… (cut)"
	if len(text) <= most {
		return text
	}
	text = text[:most-len(more)]
	if end := strings.LastIndexByte(text, '\n'); end > 0 {
		text = text[:end]
	}
	return strings.ToValidUTF8(text, "") + more
}
