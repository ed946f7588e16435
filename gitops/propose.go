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
	// Commit is the branch's commit; "" where there was nothing to propose.
	Commit string
	// Pushed, Opened and Updated say what was written: the branch, a new pull request, an open one's title and body.
	Pushed, Opened, Updated bool
}

// Propose makes what is staged one commit on the branch, and one pull request of it. It prepares first; then it pushes
// at most once, and opens the pull request or brings the open one up to date. A branch that moved meanwhile is read
// again, three times in all. Errors: those of Prepare; a *clustermanager.Refusal with the host's words for a push that
// a rule or hook refuses; anything else that broke off after the push is put right by the same call again.
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
		return w.write(ctx, forge, proposal, preparation)
	})
}

func (w *Workspace) write(ctx context.Context, forge Forge, proposal Proposal, preparation Preparation) (Outcome, error) {
	outcome := Outcome{Decision: preparation.Decision}
	switch preparation.Decision {
	case DecisionNothing:
		return outcome, nil
	case DecisionKeep:
		outcome.PullRequest, outcome.Commit = *preparation.PullRequest, preparation.head.String()
		return outcome, nil
	case DecisionOpen:
		outcome.Commit = preparation.head.String()
	default:
		commit, pushed, err := w.push(ctx, proposal, preparation.head)
		if err != nil {
			return outcome, err
		}
		outcome.Commit, outcome.Pushed = commit.String(), pushed
	}
	return w.request(ctx, forge, proposal, preparation.PullRequest, outcome)
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
	return commit, err == nil, err
}

// request opens the pull request, or brings the open one up to date. One that somebody opened meanwhile, or that was
// opened though the answer was lost, is the one.
func (w *Workspace) request(ctx context.Context, forge Forge, proposal Proposal, open *clustermanager.PullRequest, outcome Outcome) (Outcome, error) {
	var err error
	if open == nil {
		wanted := clustermanager.PullRequest{Branch: proposal.Branch, HeadSHA: outcome.Commit, Title: proposal.Title, Body: proposal.Body}
		outcome.PullRequest, err = forge.CreatePullRequest(ctx, wanted, w.repository.Branch)
		outcome.Opened = err == nil
		if err == nil {
			return outcome, nil
		}
		existing, readErr := forge.PullRequests(ctx, proposal.Branch)
		if open = (reads{pullRequests: existing}).open(); readErr != nil || open == nil {
			return outcome, fmt.Errorf("repository %s: opening the pull request of branch %s, which is pushed (the same call again opens it): %w", w.repository.FullName(), proposal.Branch, err)
		}
	}
	outcome.PullRequest = *open
	outcome.PullRequest.HeadSHA = outcome.Commit
	if open.Title == proposal.Title && open.Body == proposal.Body {
		return outcome, nil
	}
	updated, err := forge.UpdatePullRequest(ctx, open.Number, proposal.Title, proposal.Body)
	if err != nil {
		return outcome, fmt.Errorf("repository %s: bringing title and body of pull request %s up to date: %w", w.repository.FullName(), open.URL, err)
	}
	outcome.PullRequest, outcome.Updated = updated, true
	outcome.PullRequest.HeadSHA = outcome.Commit
	return outcome, nil
}
