package localforge

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// PullRequest returns a pull request as it stands; an unknown number is fs.ErrNotExist.
func (f *Forge) PullRequest(owner, name string, number int) (clustermanager.PullRequest, error) {
	var answer clustermanager.PullRequest
	err := f.onPullRequest(owner, name, number, func(_ repository, p *pullRequest) error {
		answer = p.value()
		return nil
	})
	return answer, err
}

// Diff returns what a pull request changes, as git's unified diff.
func (f *Forge) Diff(owner, name string, number int) (string, error) {
	var diff string
	err := f.onPullRequest(owner, name, number, func(repo repository, p *pullRequest) (err error) {
		diff, err = repo.diff(f.context, p)
		return err
	})
	return diff, err
}

func (r repository) diff(ctx context.Context, p *pullRequest) (string, error) {
	return r.run(ctx, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", p.BaseSHA+"..."+p.HeadSHA)
}

// ClosePullRequest closes an open pull request without merging it.
func (f *Forge) ClosePullRequest(owner, name string, number int) error {
	return f.onPullRequest(owner, name, number, func(repo repository, p *pullRequest) error {
		if p.Closed {
			return fmt.Errorf("pull request %s#%d: closing: it is not open", repo.fullName(), number)
		}
		f.close(p)
		return f.save()
	})
}

// Merge merges an open pull request by a merge commit, as the person who opened it.
func (f *Forge) Merge(owner, name string, number int) error {
	return f.onPullRequest(owner, name, number, func(repo repository, p *pullRequest) error {
		_, err := f.merge(f.context, repo, p, User{Login: p.Author.Login, ID: p.Author.ID}, mergeInput{})
		return err
	})
}

// onPullRequest does something with a pull request as it stands, with the pull requests locked.
func (f *Forge) onPullRequest(owner, name string, number int, do func(repository, *pullRequest) error) error {
	repo, err := f.existing(owner, name)
	if err != nil {
		return err
	}
	f.pulls.Lock()
	defer f.pulls.Unlock()
	if err := f.refresh(f.context, repo); err != nil {
		return err
	}
	p := f.find(repo, number)
	if p == nil {
		return fmt.Errorf("pull request %s#%d: %w", repo.fullName(), number, fs.ErrNotExist)
	}
	return do(repo, p)
}

// value is the pull request as the product knows one.
func (p *pullRequest) value() clustermanager.PullRequest {
	state := clustermanager.PullRequestOpen
	if p.MergedAt != nil {
		state = clustermanager.PullRequestMerged
	} else if p.Closed {
		state = clustermanager.PullRequestClosed
	}
	return clustermanager.PullRequest{
		Number: p.Number, URL: p.URL, State: state, Branch: p.Head, HeadSHA: p.HeadSHA, Title: p.Title, Body: p.Body,
	}
}

func (f *Forge) find(repo repository, number int) *pullRequest {
	pulls := f.state.PullRequests[repo.fullName()]
	if number < 1 || number > len(pulls) {
		return nil
	}
	return pulls[number-1]
}

func (f *Forge) close(p *pullRequest) {
	now := f.options.Now().UTC()
	p.Closed, p.ClosedAt, p.UpdatedAt = true, &now, now
}

// refresh brings a repository's open pull requests up to their branches, which pushes move: a branch that is gone closes
// its pull request, a head that came into the base by a push has merged it. Call it with the pull requests locked.
func (f *Forge) refresh(ctx context.Context, repo repository) error {
	var open []*pullRequest
	var branches []string
	for _, p := range f.state.PullRequests[repo.fullName()] {
		if !p.Closed {
			open = append(open, p)
			branches = append(branches, p.Head, p.Base)
		}
	}
	if len(open) == 0 {
		return nil
	}
	heads, err := repo.heads(ctx, branches...)
	if err != nil {
		return err
	}
	changed := false
	for _, p := range open {
		moved, err := f.follow(ctx, repo, p, heads[p.Head], heads[p.Base])
		if err != nil {
			return err
		}
		changed = changed || moved
	}
	if !changed {
		return nil
	}
	return f.save()
}

// follow brings one open pull request to its branches' commits, "" for a branch that is gone.
func (f *Forge) follow(ctx context.Context, repo repository, p *pullRequest, head, base string) (moved bool, err error) {
	if head == p.HeadSHA && base == p.BaseSHA {
		return false, nil
	}
	if head == "" || base == "" {
		f.close(p)
		return true, nil
	}
	p.HeadSHA = head
	if base == p.BaseSHA {
		return true, nil
	}
	_, ahead, err := repo.distance(ctx, base, head)
	if err != nil {
		return false, err
	}
	if ahead == 0 {
		f.close(p)
		p.MergedAt, p.MergedBy, p.MergeCommitSHA = p.ClosedAt, &p.Author, head
		return true, nil
	}
	p.BaseSHA = base
	return true, nil
}

// measure counts what a pull request changes.
func (r repository) measure(ctx context.Context, p *pullRequest) (size, error) {
	_, commits, err := r.distance(ctx, p.BaseSHA, p.HeadSHA)
	if err != nil {
		return size{}, err
	}
	output, err := r.run(ctx, "diff", "--numstat", "--no-renames", p.BaseSHA+"..."+p.HeadSHA)
	if err != nil {
		return size{}, err
	}
	s := size{commits: commits}
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		// A binary file has dashes for numbers, which count as none.
		added, _ := strconv.Atoi(fields[0])
		deleted, _ := strconv.Atoi(fields[1])
		s.files, s.additions, s.deletions = s.files+1, s.additions+added, s.deletions+deleted
	}
	return s, nil
}
