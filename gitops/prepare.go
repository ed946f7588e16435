package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/partial"
)

// Forge is what a proposal needs of the repository's host, as the caller.
type Forge interface {
	// BranchRules are the rules that a branch of the name meets, whether it exists or not.
	BranchRules(ctx context.Context, branch string) ([]clustermanager.BranchRule, error)
	// PullRequests are those of all states with that head branch in this repository, newest first.
	PullRequests(ctx context.Context, branch string) ([]clustermanager.PullRequest, error)
	// Compare lists the commits that head has and base has not, oldest first.
	Compare(ctx context.Context, base, head string) ([]clustermanager.BranchCommit, error)
	// CreatePullRequest opens a pull request of request.Branch into base, with its title and body.
	CreatePullRequest(ctx context.Context, request clustermanager.PullRequest, base string) (clustermanager.PullRequest, error)
	// UpdatePullRequest sets title and body.
	UpdatePullRequest(ctx context.Context, number int, title, body string) (clustermanager.PullRequest, error)
}

// Decision is what a proposal would do.
type Decision string

const (
	// DecisionNothing: the base holds what is staged already.
	DecisionNothing Decision = "nothing"
	// DecisionKeep: the open pull request carries exactly what is staged, or that and what a person added to it.
	DecisionKeep Decision = "keep"
	// DecisionOpen: the branch carries exactly what is staged, a pull request is to be opened.
	DecisionOpen Decision = "open"
	// DecisionCreate: the branch is to be made.
	DecisionCreate Decision = "create"
	// DecisionReplace: the branch is ours or history, and starts again from the base.
	DecisionReplace Decision = "replace"
)

// Preparation is what a proposal would do, and what it was decided from.
type Preparation struct {
	Branch   string
	Decision Decision
	// PullRequest is the open one of the branch; nil where there is none.
	PullRequest *clustermanager.PullRequest
	// Foreign are the commits of others on a branch that is kept: what they change was neither planned nor proven here.
	Foreign []clustermanager.BranchCommit

	head partial.Hash
}

// maxAttempts is how often a branch that moves meanwhile is read again.
const maxAttempts = 3

// Prepare reads what decides about a proposal on the branch, and writes nothing: every refusal of Propose but that of
// the push itself comes from here, so a dry run shows it. At most four calls of the forge, none where nothing is staged
// that the base has not. Errors: a *clustermanager.Refusal for a rule that forbids the branch, for a branch name that
// clashes with another, and for commits of others on the branch.
func (w *Workspace) Prepare(ctx context.Context, forge Forge, branch string) (Preparation, error) {
	return retry(w, branch, func() (Preparation, error) { return w.prepare(ctx, forge, branch) })
}

// retry runs an attempt again while the branch moves under it.
func retry[T any](w *Workspace, branch string, attempt func() (T, error)) (T, error) {
	for tried := 1; ; tried++ {
		result, err := attempt()
		if err == nil || !errors.Is(err, partial.ErrStale) {
			return result, err
		}
		if tried == maxAttempts {
			return result, fmt.Errorf("repository %s: branch %s moved %d times while it was written: call again: %w", w.repository.FullName(), branch, tried, err)
		}
	}
}

// reads is what is known of a branch before anything is decided.
type reads struct {
	rules, baseRules []clustermanager.BranchRule
	pullRequests     []clustermanager.PullRequest
	head             partial.Hash
	clash            string
}

// open is the open pull request; nil where there is none.
func (r reads) open() *clustermanager.PullRequest {
	at := slices.IndexFunc(r.pullRequests, func(p clustermanager.PullRequest) bool { return p.State == clustermanager.PullRequestOpen })
	if at < 0 {
		return nil
	}
	return &r.pullRequests[at]
}

// history says whether the branch is what a closed or merged pull request left.
func (r reads) history() bool {
	return slices.ContainsFunc(r.pullRequests, func(p clustermanager.PullRequest) bool {
		return p.State != clustermanager.PullRequestOpen && p.HeadSHA == r.head.String()
	})
}

func (w *Workspace) prepare(ctx context.Context, forge Forge, branch string) (Preparation, error) {
	preparation := Preparation{Branch: branch, Decision: DecisionNothing}
	if err := checkBranch(branch); err != nil {
		return preparation, err
	}
	if w.unchanged() {
		return preparation, nil
	}
	if branch == w.repository.Branch {
		return preparation, clustermanager.Refuse("branch %s of %s is the one that Flux follows: proposals are made on a branch of their own, change the setting branch-prefix", branch, w.repository.FullName())
	}
	read, err := w.read(ctx, forge, branch)
	if err != nil {
		return preparation, err
	}
	if read.clash != "" {
		return preparation, clustermanager.Refuse("branch %s of %s cannot be made beside its branch %s, as git keeps one's name as the other's folder: delete %s, or change the setting branch-prefix to another prefix",
			branch, w.repository.FullName(), read.clash, read.clash)
	}
	preparation.head, preparation.PullRequest = read.head, read.open()
	if preparation.Decision, preparation.Foreign, err = w.decide(ctx, forge, branch, read); err != nil {
		return preparation, err
	}
	if preparation.Decision == DecisionKeep {
		return preparation, nil
	}
	return preparation, w.refuseRules(branch, read.head.IsZero(), read.rules, read.baseRules)
}

// unchanged says whether what is staged leaves the base as it is.
func (w *Workspace) unchanged() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.proposed.root == w.root
}

// read makes the reads side by side.
func (w *Workspace) read(ctx context.Context, forge Forge, branch string) (reads, error) {
	var read reads
	var errs [4]error
	var group sync.WaitGroup
	group.Go(func() { read.rules, errs[0] = forge.BranchRules(ctx, branch) })
	group.Go(func() { read.baseRules, errs[1] = forge.BranchRules(ctx, w.repository.Branch) })
	group.Go(func() { read.pullRequests, errs[2] = forge.PullRequests(ctx, branch) })
	group.Go(func() { read.head, read.clash, errs[3] = w.remote.Find(ctx, branch) })
	group.Wait()
	doing := [4]string{"reading the rules of branch " + branch, "reading the rules of branch " + w.repository.Branch, "reading the pull requests of branch " + branch, ""}
	for i, err := range errs {
		switch {
		case err != nil && doing[i] != "":
			return read, fmt.Errorf("repository %s: %s: %w", w.repository.FullName(), doing[i], err)
		case err != nil:
			return read, err
		}
	}
	return read, nil
}

func (w *Workspace) decide(ctx context.Context, forge Forge, branch string, read reads) (Decision, []clustermanager.BranchCommit, error) {
	open := read.open()
	switch {
	case read.head.IsZero():
		return DecisionCreate, nil, nil
	case open == nil && read.history():
		return DecisionReplace, nil, nil
	}
	commits, err := forge.Compare(ctx, w.repository.Branch, branch)
	if err != nil {
		return "", nil, fmt.Errorf("repository %s: comparing branch %s with %s: %w", w.repository.FullName(), branch, w.repository.Branch, err)
	}
	own, err := w.inspect(ctx, read.head, commits)
	switch {
	case err != nil:
		return "", nil, err
	case (own.same || own.holds) && open != nil:
		return DecisionKeep, own.foreign, nil
	case len(own.foreign) > 0:
		return "", nil, w.refuseForeign(branch, open, own.foreign)
	case own.same:
		return DecisionOpen, nil, nil
	}
	return DecisionReplace, nil, nil
}

func (w *Workspace) refuseForeign(branch string, open *clustermanager.PullRequest, foreign []clustermanager.BranchCommit) error {
	const shown = 3
	var names []string
	for _, commit := range foreign[:min(shown, len(foreign))] {
		name := commit.SHA[:min(7, len(commit.SHA))]
		if commit.Login != "" {
			name += " by " + commit.Login
		}
		names = append(names, name)
	}
	if more := len(foreign) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	where, wayOut := "no pull request is open for it", "delete or rename the branch"
	if open != nil {
		where, wayOut = "pull request "+open.URL+" is open", "merge or close that pull request"
	}
	return clustermanager.Refuse("branch %s of %s holds commits that are not cluster-manager's (%s) and would be lost; %s: %s, then call again",
		branch, w.repository.FullName(), strings.Join(names, ", "), where, wayOut)
}
