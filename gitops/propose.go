package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/partial"
)

// Proposal is the text around what is staged.
type Proposal struct {
	// Branch is the head branch; see [BranchName].
	Branch string
	// Title is the pull request's and the commit's, Body the pull request's.
	Title string
	Body  string
	// Trailer is the value of the commit's trailer, without its key; see [clustermanager.GitHubUser] for the author and
	// [Trailer] for the form.
	Trailer string
	// AuthorName and AuthorEmail are the caller's, as author and committer.
	AuthorName  string
	AuthorEmail string
	// Time is the commit's.
	Time time.Time
	// Again, where it is set, stages anew before a further attempt on a branch that moved: what the branch holds by then
	// may count, as a sealed file that needs no other. Else what is staged stays.
	Again func(ctx context.Context) error
}

// Outcome is what a proposal did.
type Outcome struct {
	// Decision is what was found to be done.
	Decision Decision
	// PullRequest is the open one; zero where there was nothing to propose.
	PullRequest clustermanager.PullRequest
	// Foreign are the commits of others on a branch that was kept.
	Foreign []clustermanager.BranchCommit
	// Commit is the branch's commit; "" where there was nothing to propose.
	Commit string
	// Pushed, Opened and Updated say what was written: the branch, a new pull request, an open one's title and body.
	Pushed, Opened, Updated bool
}

// Propose makes what is staged one commit on the branch, and one pull request of it. It prepares first; then it pushes
// at most once, and opens the pull request or brings the open one up to date. A branch that moved meanwhile is read
// again, three times in all. Errors: those of Prepare; a *clustermanager.Refusal with the host's words for a push that
// a rule or hook refuses; ErrUnfinished, wrapped, where it broke off after the push: the same call again puts that right.
func (w *Workspace) Propose(ctx context.Context, forge Forge, proposal Proposal) (Outcome, error) {
	tried := false
	return retry(w, proposal.Branch, func() (Outcome, error) {
		if tried && proposal.Again != nil {
			if err := proposal.Again(ctx); err != nil {
				return Outcome{}, err
			}
		}
		tried = true
		preparation, err := w.prepare(ctx, forge, proposal.Branch)
		if err != nil {
			return Outcome{Decision: preparation.Decision}, err
		}
		if proposal.Again != nil && preparation.Decision == DecisionReplace && w.moved(preparation) {
			return Outcome{Decision: preparation.Decision}, fmt.Errorf("repository %s: branch %s: %w", w.repository.FullName(), proposal.Branch, partial.ErrStale)
		}
		return w.write(ctx, forge, proposal, preparation)
	})
}

// moved says whether a branch is no longer where it was when what is staged was made beside it.
func (w *Workspace) moved(preparation Preparation) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	looked, known := w.looked[preparation.Branch]
	return known && looked != preparation.head
}

func (w *Workspace) write(ctx context.Context, forge Forge, proposal Proposal, preparation Preparation) (Outcome, error) {
	outcome := Outcome{Decision: preparation.Decision}
	open := preparation.PullRequest
	switch preparation.Decision {
	case DecisionNothing:
		return outcome, nil
	case DecisionKeep:
		outcome.PullRequest, outcome.Commit, outcome.Foreign = *open, preparation.head.String(), preparation.Foreign
		return outcome, nil
	case DecisionOpen:
		outcome.Commit = preparation.head.String()
		return w.request(ctx, forge, proposal, outcome)
	}
	if open != nil {
		// The text goes before the push: a branch that has its content is left alone by the same call, its text with it.
		var err error
		if outcome, err = w.update(ctx, forge, proposal, *open, outcome); err != nil {
			return outcome, err
		}
	}
	commit, pushed, err := w.push(ctx, proposal, preparation.head)
	if err != nil {
		return outcome, begun(outcome, err)
	}
	outcome.Commit, outcome.Pushed = commit.String(), pushed
	if open == nil {
		return w.request(ctx, forge, proposal, outcome)
	}
	outcome.PullRequest.HeadSHA = outcome.Commit
	return outcome, nil
}

// push puts one commit on today's base and moves the branch from old to it.
func (w *Workspace) push(ctx context.Context, proposal Proposal, old partial.Hash) (commit partial.Hash, pushed bool, err error) {
	w.mutex.Lock()
	proposed := w.proposed
	w.mutex.Unlock()
	commit, err = w.remote.Objects.AddCommit(partial.Commit{
		Tree:    proposed.root,
		Parents: []partial.Hash{w.base},
		Name:    proposal.AuthorName,
		Email:   proposal.AuthorEmail,
		Time:    proposal.Time,
		Message: message(proposal.Title, proposal.Trailer),
	})
	if err != nil {
		return commit, false, fmt.Errorf("repository %s: writing the commit: %w", w.repository.FullName(), err)
	}
	if commit == old {
		return commit, false, nil
	}
	err = w.remote.Push(ctx, proposal.Branch, old, commit, append(slices.Clone(proposed.objects), commit)...)
	var rejected *partial.Rejected
	if errors.As(err, &rejected) {
		return commit, false, clustermanager.Refuse("%s refuses branch %s: %s; allow it in the repository's rules, or change the setting branch-prefix to a prefix that they allow",
			w.repository.FullName(), proposal.Branch, rejected.Words)
	}
	if errors.Is(err, partial.ErrUnknown) {
		err = &unfinished{fmt.Errorf("repository %s: pushing branch %s (the same call again looks at it first): %w", w.repository.FullName(), proposal.Branch, err)}
	}
	return commit, err == nil, err
}

// request opens the pull request. One that somebody opened meanwhile, or that was opened though the answer was lost, is
// the one.
func (w *Workspace) request(ctx context.Context, forge Forge, proposal Proposal, outcome Outcome) (Outcome, error) {
	wanted := clustermanager.PullRequest{Branch: proposal.Branch, HeadSHA: outcome.Commit, Title: proposal.Title, Body: proposal.Body}
	created, err := forge.CreatePullRequest(ctx, wanted, w.repository.Branch)
	if err == nil {
		outcome.PullRequest, outcome.Opened = created, true
		return outcome, nil
	}
	existing, readErr := forge.PullRequests(ctx, proposal.Branch)
	open := (reads{pullRequests: existing}).open()
	if readErr != nil || open == nil {
		return outcome, begun(outcome, fmt.Errorf("repository %s: opening the pull request of branch %s, which is pushed (the same call again opens it): %w", w.repository.FullName(), proposal.Branch, err))
	}
	return w.update(ctx, forge, proposal, *open, outcome)
}

// update brings title and body of an open pull request up to date.
func (w *Workspace) update(ctx context.Context, forge Forge, proposal Proposal, open clustermanager.PullRequest, outcome Outcome) (Outcome, error) {
	if open.Title != proposal.Title || open.Body != proposal.Body {
		updated, err := forge.UpdatePullRequest(ctx, open.Number, proposal.Title, proposal.Body)
		if err != nil {
			return outcome, begun(outcome, fmt.Errorf("repository %s: bringing title and body of pull request %s up to date: %w", w.repository.FullName(), open.URL, err))
		}
		open, outcome.Updated = updated, true
	}
	outcome.PullRequest = open
	if outcome.Commit != "" {
		outcome.PullRequest.HeadSHA = outcome.Commit
	}
	return outcome, nil
}

// ErrUnfinished says that something was written, or may have been: the same call again goes on from there.
var ErrUnfinished = errors.New("the proposal is unfinished")

// unfinished is an error that is ErrUnfinished. Its cause may be a refusal; it is none itself, since a refusal promises
// that nothing was written.
type unfinished struct{ cause error }

func (u *unfinished) Error() string { return u.cause.Error() }
func (u *unfinished) Is(target error) bool {
	return target == ErrUnfinished || errors.Is(u.cause, target)
}

// begun is err itself while nothing was written.
func begun(outcome Outcome, err error) error {
	switch {
	case outcome.Pushed:
		return &unfinished{err}
	case outcome.Updated:
		return &unfinished{fmt.Errorf("title and body of pull request %s are up to date, its branch is not (the same call again pushes it): %w", outcome.PullRequest.URL, err)}
	}
	return err
}
