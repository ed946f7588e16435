package localforge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// mergeInput is the body of a merge request.
type mergeInput struct {
	Title   string `json:"commit_title"`
	Message string `json:"commit_message"`
	SHA     string `json:"sha"`
	Method  string `json:"merge_method"`
}

// merge merges an open pull request into its base, for real, and returns the commit. Call it with the pull requests
// locked and refreshed.
func (f *Forge) merge(ctx context.Context, repo repository, p *pullRequest, by User, input mergeInput) (string, error) {
	method := cmp.Or(input.Method, "merge")
	switch {
	case p.Closed:
		return "", &problem{status: http.StatusMethodNotAllowed, message: "Pull Request is not mergeable"}
	case input.SHA != "" && input.SHA != p.HeadSHA:
		return "", &problem{status: http.StatusConflict, message: "Head branch was modified. Review and try the merge again."}
	case method != "merge" && method != "squash":
		return "", &problem{status: http.StatusMethodNotAllowed, message: "Rebase merges are not allowed on this repository."}
	}
	tree, err := repo.mergedTree(ctx, p)
	if err != nil {
		return "", err
	}
	title, body := fmt.Sprintf("Merge pull request #%d from %s/%s", p.Number, repo.owner, p.Head), p.Title
	parents := []string{"-p", p.BaseSHA, "-p", p.HeadSHA}
	if method == "squash" {
		title, body, parents = fmt.Sprintf("%s (#%d)", p.Title, p.Number), "", parents[:2]
	}
	message := strings.TrimSpace(cmp.Or(input.Title, title) + "\n\n" + cmp.Or(input.Message, body))
	sha, err := f.commitTree(ctx, repo, tree, message, by, parents)
	if err != nil {
		return "", err
	}
	if _, err := repo.run(ctx, "update-ref", "refs/heads/"+p.Base, sha, p.BaseSHA); err != nil {
		return "", &problem{status: http.StatusMethodNotAllowed, message: "Base branch was modified. Review and try the merge again."}
	}
	f.close(p)
	p.MergedAt, p.MergedBy, p.MergeCommitSHA = p.ClosedAt, &person{by.Login, by.ID}, sha
	return sha, f.save()
}

// mergedTree is the tree of the merge: the head's own where the base has nothing of its own, so that an older git
// without merge-tree's write mode will do.
func (r repository) mergedTree(ctx context.Context, p *pullRequest) (string, error) {
	behind, _, err := r.distance(ctx, p.BaseSHA, p.HeadSHA)
	if err != nil {
		return "", err
	}
	arguments := []string{"rev-parse", "--verify", p.HeadSHA + "^{tree}"}
	if behind > 0 {
		arguments = []string{"merge-tree", "--write-tree", p.BaseSHA, p.HeadSHA}
	}
	output, err := r.run(ctx, arguments...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return "", &problem{status: http.StatusMethodNotAllowed, message: "Pull Request is not mergeable"}
	}
	return strings.TrimSpace(output), err
}

func (f *Forge) commitTree(ctx context.Context, repo repository, tree, message string, by User, parents []string) (string, error) {
	name, email := clustermanager.GitHubUser{Login: by.Login, ID: by.ID, Name: by.Name, Email: by.Email}.Author()
	date := fmt.Sprintf("%d +0000", f.options.Now().Unix())
	environment := []string{
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + email, "GIT_COMMITTER_DATE=" + date,
	}
	arguments := append([]string{"commit-tree", tree, "-m", message}, parents...)
	output, err := repo.runWith(ctx, environment, arguments...)
	return strings.TrimSpace(output), err
}
