package clustermanager

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Follower is a Flux Kustomization that applies a folder of a repository's branch, with how far it got.
type Follower struct {
	Target
	// Commit is the one of status.lastAppliedRevision; "" before the first.
	Commit string
	// ReadyAt is since when the Kustomization is ready; zero while it is not.
	ReadyAt time.Time
	// NotReady is what its condition Ready says while it is not true; "" where it is, or says nothing.
	NotReady string
}

// AppliersOf are the Kustomizations that apply files of a repository's branch, each file the one with the deepest folder
// that holds it; the one of most files first.
func AppliersOf(followers []Follower, repository, branch string, files []string) []Follower {
	held := map[int]int{}
	for _, file := range files {
		deepest := -1
		for i, follower := range followers {
			follows := strings.EqualFold(follower.Repository.FullName(), repository) && follower.Repository.Branch == branch
			if follows && follower.holds(file) && (deepest < 0 || len(follower.Path) > len(followers[deepest].Path)) {
				deepest = i
			}
		}
		if deepest >= 0 {
			held[deepest]++
		}
	}
	order := slices.SortedFunc(maps.Keys(held), func(a, b int) int { return cmp.Or(held[b]-held[a], a-b) })
	var found []Follower
	for _, i := range order {
		found = append(found, followers[i])
	}
	return found
}

func (f Follower) holds(file string) bool { return f.Path == "" || strings.HasPrefix(file, f.Path+"/") }
