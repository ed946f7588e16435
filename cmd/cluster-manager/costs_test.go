package main

import (
	"runtime/debug"
	"slices"
	"testing"

	"github.com/clustermanager/cluster-manager/fixtures/repos"
	"github.com/clustermanager/cluster-manager/internal/bench"
)

const (
	// mostMemory is what a call may take over the idle process, in bytes.
	mostMemory = 64 << 20
	// mostGrowth is how much more a call may cost in ten times the files.
	mostGrowth = 1.2
)

// raced says that the race detector is in this binary: it takes several times the memory.
func raced() bool {
	info, found := debug.ReadBuildInfo()
	return found && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// A call in a process of its own: what it costs hardly grows with the repository, its memory is bounded, and no file
// stays.
func TestAProposalCostsTheSameInTenTimesTheFiles(t *testing.T) {
	var costs [2]traffic
	for i, files := range []int{1_000, 10_000} {
		forge := newMeasuredForge(t, repos.Options{Files: files, Seed: 1})
		link := bench.NewLink(t, forge.address, 0)
		process := startMeasured(t, forge, link)
		call, err := process.call(measuredOrder{Memory: true})
		if err != nil {
			t.Fatal(err)
		}
		costs[i] = forge.traffic(link)
		t.Logf("%d files: %+v; %d KiB of memory over %d KiB", files, costs[i], call.Peak>>10, call.Idle>>10)
		if call.Peak <= 0 || call.Peak > mostMemory && !raced() {
			t.Errorf("%d files: the peak is %d bytes over the idle process, most %d", files, call.Peak, mostMemory)
		}
		if left := process.left(t); len(left) > 0 {
			t.Errorf("%d files: left in the temporary folder: %q", files, left)
		}
	}
	grown := func(what string, small, large int64) {
		if float64(large) > mostGrowth*float64(small) {
			t.Errorf("%s: %d in the small repository, %d in the large one: more than %v times", what, small, large, mostGrowth)
		}
	}
	grown("bytes of git's answers", costs[0].Fetched, costs[1].Fetched)
	grown("bytes down", costs[0].BytesDown, costs[1].BytesDown)
	grown("bytes up", costs[0].BytesUp, costs[1].BytesUp)
	grown("git requests", costs[0].GitRequests, costs[1].GitRequests)
	grown("API calls", costs[0].APIRequests, costs[1].APIRequests)
}
