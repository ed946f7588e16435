package live

import (
	"context"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// releasesAtOnce is how many releases are made at once, each with what it reads.
const releasesAtOnce = 8

// inOrder is the order of the writes: of Ensure steps next to each other those that create go first.
func inOrder(items []*item) []*item {
	ordered := slices.Clone(items)
	for start := 0; start < len(ordered); {
		end := start
		for end < len(ordered) && ordered[end].step.Verb == clustermanager.Ensure {
			end++
		}
		slices.SortStableFunc(ordered[start:end], func(a, b *item) int { return rank(a) - rank(b) })
		start = max(end, start+1)
	}
	return ordered
}

func rank(of *item) int {
	if of.objects[0].action == clustermanager.ActionCreate {
		return 0
	}
	return 1
}

// waves are the items in groups that follow each other. In a group are releases that nobody has made yet and that do
// not depend on each other, each with what it reads before it; any other item is a group of its own.
func waves(ordered []*item) [][][]*item {
	var all [][][]*item
	opened, last := false, false
	for _, of := range ordered {
		isNew := isNew(of)
		switch end := len(all) - 1; {
		case !isNew || !opened:
			all = append(all, [][]*item{{of}})
		case last:
			all[end] = append(all[end], []*item{of})
		default:
			release := len(all[end]) - 1
			all[end][release] = append(all[end][release], of)
		}
		opened, last = isNew, of.step.Object != nil && of.step.Object.GetKind() == "HelmRelease"
	}
	return all
}

// isNew says whether an item makes an object of a release. What is live in both modes tells others of a release, and so
// waits for it.
func isNew(of *item) bool {
	return of.step.Verb == clustermanager.Ensure && of.step.Lane == clustermanager.Declared && rank(of) == 0
}

// together does the releases of a group, each item after the one before it. The error, which stops the plan, is the first
// in their order; what is under way then comes to its end.
func (r *run) together(ctx context.Context, releases [][]*item) error {
	faults := make([]error, len(releases))
	var stopped atomic.Bool
	var writes errgroup.Group
	writes.SetLimit(releasesAtOnce)
	for index, release := range releases {
		writes.Go(func() error {
			for _, of := range release {
				if stopped.Load() {
					return nil
				}
				if faults[index] = r.carryOut(ctx, of); faults[index] != nil {
					stopped.Store(true)
					return nil
				}
			}
			return nil
		})
	}
	_ = writes.Wait()
	for _, fault := range faults {
		if fault != nil {
			return fault
		}
	}
	return nil
}
