package gitops

import (
	"context"
	"errors"

	"github.com/clustermanager/cluster-manager/gitops/partial"
)

// DeleteBranch deletes a branch where it is at a commit, and says whether it did; a branch that is gone or moved is left
// as it is. The server compares, so that no commit that comes meanwhile is lost. Errors: a *clustermanager.Refusal or
// *partial.Rejected with the host's words where it may not be deleted, else what failed.
func DeleteBranch(ctx context.Context, options Options, branch, at string) (bool, error) {
	remote, err := partial.Dial(ctx, partial.Options{URL: options.Repository.CloneURL, Token: options.Token, Transport: options.Transport})
	if err != nil {
		return false, err
	}
	head, err := remote.Branch(ctx, branch)
	switch {
	case errors.Is(err, partial.ErrBranchNotFound):
		return false, nil
	case err != nil:
		return false, err
	case head.String() != at:
		return false, nil
	}
	err = remote.Push(ctx, branch, head, partial.Hash{})
	if errors.Is(err, partial.ErrStale) {
		return false, nil
	}
	return err == nil, err
}
