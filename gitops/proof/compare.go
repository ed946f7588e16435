package proof

import (
	"context"
	"fmt"
	"path"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Compare builds base and proposal as [Prove] does and tells what differs, whoever changed it: for a pull request that
// people may have written to. Input's Staged, Meant and Objects do not count. A proposal that does not build where its
// base does is a [clustermanager.Refusal]; what could not be built is in the result's Proof.Note, with Built false.
func Compare(ctx context.Context, in Input) (Result, error) {
	p, err := newProver(in)
	if err != nil {
		return Result{}, err
	}
	whole, cancel := p.until(ctx, p.in.Deadline, true)
	defer cancel()
	before, after, err := p.both(whole, path.Clean(p.target().Path), p.spec)
	switch limit := overLimit(whole, err); {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case limit != nil:
		return Result{Proof: clustermanager.Proof{Note: p.notes("the whole tree was not built: " + limit.Error())}}, nil
	case err != nil:
		return Result{}, fmt.Errorf("%s: comparing: %w", p.owner(), err)
	}
	doubts := unchecked(before.tree, after.tree)
	switch {
	case after.fault != nil && before.fault == nil && doubts == "":
		return Result{}, p.doesNotBuild(after)
	case after.fault != nil:
		return Result{Broken: true, Proof: clustermanager.Proof{Note: p.notes(doubts, "the tree does not build after the merge: "+words(after.fault))}}, nil
	case before.fault != nil:
		return Result{Built: after.objects, Proof: clustermanager.Proof{Note: p.notes(doubts, "the tree does not build today: "+words(before.fault), "the tree builds after the merge")}}, nil
	}
	return Result{
		Proof:   clustermanager.Proof{Built: doubts == "" && len(p.target().UnreadSubstitutes) == 0, Note: p.notes(doubts)},
		Objects: p.in.Diff(before.objects, after.objects), Built: after.objects,
	}, nil
}
