package gitops

import (
	"context"
	"fmt"
	"maps"
	"slices"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/partial"
)

const (
	// maxInspected is how many commits of a branch are read to compare its content: ours has one.
	maxInspected = 100
	// maxStarts is how many commits of the base a branch may start from: one, and one for each merge of the base.
	maxStarts = 10
)

// inspected is what an existing branch holds.
type inspected struct {
	// same says that the branch is a commit of the base with exactly what is staged; holds, that what is staged would
	// change nothing on it, whatever else it has.
	same, holds bool
	// foreign are the commits that are not ours.
	foreign []clustermanager.BranchCommit
}

// inspect reads the commits of a branch, which Compare listed. A list without the head is one of another moment:
// partial.ErrStale.
func (w *Workspace) inspect(ctx context.Context, head partial.Hash, commits []clustermanager.BranchCommit) (inspected, error) {
	var result inspected
	listed := map[partial.Hash]bool{}
	for _, commit := range commits {
		hash, err := partial.ParseHash(commit.SHA)
		if err != nil {
			return result, fmt.Errorf("repository %s: the host's list of commits: %w", w.repository.FullName(), err)
		}
		listed[hash] = true
		if !isOurs(commit.Message) {
			result.foreign = append(result.foreign, commit)
		}
	}
	if len(commits) > 0 && !listed[head] {
		return result, fmt.Errorf("repository %s: commit %s is not in the host's list: %w", w.repository.FullName(), head, partial.ErrStale)
	}
	listed[head] = true
	if len(listed) > maxInspected {
		return result, nil
	}
	if err := w.remote.FetchCommits(ctx, slices.Collect(maps.Keys(listed))...); err != nil {
		return result, err
	}
	tip, err := w.remote.Objects.Commit(head)
	if err != nil {
		return result, fmt.Errorf("repository %s: %w", w.repository.FullName(), err)
	}
	// An empty list may be late. The branch may be replaced where the head itself shows that nothing is lost.
	if len(commits) == 0 && head != w.base && !isOurs(tip.Message) {
		result.foreign = []clustermanager.BranchCommit{{SHA: head.String()}}
	}
	if len(commits) == 0 {
		return result, nil
	}
	if result.same, err = w.carries(ctx, tip.Tree, listed); err != nil || result.same || len(result.foreign) == 0 {
		return result, err
	}
	result.holds, err = w.holds(ctx, tip.Tree)
	return result, err
}

// holds says whether what is staged would leave the tree as it is.
func (w *Workspace) holds(ctx context.Context, tree partial.Hash) (bool, error) {
	w.mutex.Lock()
	staged := w.staged
	w.mutex.Unlock()
	if err := w.fetchLevels(ctx, tree, staged.Paths()); err != nil {
		return false, err
	}
	edited, err := w.edit(tree, staged)
	if clustermanager.ReasonOf(err) == clustermanager.ReasonRefused {
		return false, nil
	}
	return err == nil && edited.root == tree, err
}

// carries says whether the tree is a commit of the base that the listed commits start from, with what is staged.
func (w *Workspace) carries(ctx context.Context, tree partial.Hash, listed map[partial.Hash]bool) (bool, error) {
	w.mutex.Lock()
	staged := w.staged
	w.mutex.Unlock()
	starts, err := w.starts(listed)
	if err != nil || len(starts) > maxStarts {
		return false, err
	}
	for _, start := range starts {
		if start != w.base {
			if err := w.remote.FetchCommit(ctx, start); err != nil {
				return false, err
			}
		}
		commit, err := w.remote.Objects.Commit(start)
		if err != nil {
			return false, fmt.Errorf("repository %s: %w", w.repository.FullName(), err)
		}
		if err := w.fetchLevels(ctx, commit.Tree, staged.Paths()); err != nil {
			return false, err
		}
		carried, err := w.edit(commit.Tree, staged)
		if clustermanager.ReasonOf(err) == clustermanager.ReasonRefused {
			continue
		}
		if err != nil {
			return false, err
		}
		if carried.root == tree {
			return true, nil
		}
	}
	return false, nil
}

// starts are the parents of the commits that are not among them: they are the base's.
func (w *Workspace) starts(listed map[partial.Hash]bool) ([]partial.Hash, error) {
	found := map[partial.Hash]bool{}
	for hash := range listed {
		commit, err := w.remote.Objects.Commit(hash)
		if err != nil {
			return nil, fmt.Errorf("repository %s: %w", w.repository.FullName(), err)
		}
		for _, parent := range commit.Parents {
			if !listed[parent] {
				found[parent] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b partial.Hash) int { return slices.Compare(a[:], b[:]) }), nil
}
