package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// patient gives calls time: many of them share few processors.
func patient(t *testing.T, s *scene) {
	t.Helper()
	replace(t, filepath.Join(s.snapshot, "cluster-manager.yaml"), "installation: gazelle\n", "installation: gazelle\ncommit-budget: 120s\n")
}

// job is one pool that a caller asks for.
type job struct{ cluster, name string }

// callAll lets each caller take jobs until none is left, all callers at once, and returns the answers by pool.
func callAll(t *testing.T, callers []*mcptools.Client, jobs []job) map[job]clustermanager.WriteResult {
	t.Helper()
	queue := make(chan job, len(jobs))
	for _, one := range jobs {
		queue <- one
	}
	close(queue)
	var (
		group   sync.WaitGroup
		mutex   sync.Mutex
		answers = map[job]clustermanager.WriteResult{}
	)
	for _, caller := range callers {
		group.Go(func() {
			for one := range queue {
				arguments, _ := json.Marshal(poolArguments(one.cluster, one.name, nil))
				result, err := caller.Call(t.Context(), "create_node_pool", arguments, nil)
				if err != nil || result.Reason != "" {
					t.Errorf("%v: %v %s %s", one, err, result.Reason, result.Texts)
					continue
				}
				var answer clustermanager.WriteResult
				if err := json.Unmarshal([]byte(result.Texts[0]), &answer); err != nil {
					t.Error(err)
				}
				mutex.Lock()
				answers[one] = answer
				mutex.Unlock()
			}
		})
	}
	group.Wait()
	return answers
}

// branches are a repository's branches with their commits, but for main.
func (s *scene) branches(t *testing.T, repository string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(s.gitIn(t, repository, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")) {
		name, hash, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "main" {
			found[name] = hash
		}
	}
	return found
}

// Two processes with five callers each open the pull requests of 20 pools in one repository, at once: none is lost and
// none comes twice. Some are merged, and the same calls again bring the others up to date; then there is nothing to do.
func TestTwoProcessesOpenTwentyPullRequests(t *testing.T) {
	const repository = "acme/fleet"
	s := newScene(t, patient)
	one, two := s.startReplica(t, s.forge.URL()), s.startReplica(t, s.forge.URL())
	var callers []*mcptools.Client
	for range 5 {
		callers = append(callers, dial(t, one.Endpoint), dial(t, two.Endpoint))
	}
	var jobs []job
	for i := range 10 {
		jobs = append(jobs, job{"wc1", fmt.Sprintf("pool-%d", i)}, job{"wc2", fmt.Sprintf("pool-%d", i)})
	}

	opened := callAll(t, callers, jobs)
	s.eachHasOne(t, repository, jobs, opened)
	if got := s.forge.ReceivePacks(); got != len(jobs) {
		t.Errorf("%d pushes, want %d", got, len(jobs))
	}

	merged := map[job]bool{}
	for _, one := range []job{jobs[0], jobs[9]} {
		if err := s.forge.Merge("acme", "fleet", opened[one].Commit.Number); err != nil {
			t.Fatal(err)
		}
		merged[one] = true
	}
	again := callAll(t, callers, jobs)
	for _, one := range jobs {
		commit := again[one].Commit
		switch {
		case commit == nil:
		case merged[one] && (commit.PullRequest != "" || !strings.HasPrefix(again[one].NextStep, "nothing to commit")):
			t.Errorf("%v is merged, and the call answers %s %s", one, commit.PullRequest, again[one].NextStep)
		case !merged[one] && commit.Number != opened[one].Commit.Number:
			t.Errorf("%v: pull request %d, want %d", one, commit.Number, opened[one].Commit.Number)
		case !merged[one]:
			s.holds(t, repository, commit, append(slices.Collect(maps.Keys(merged)), one))
		}
	}

	before, pushes := s.written(t), s.forge.ReceivePacks()
	callAll(t, callers, jobs)
	if s.written(t) != before || s.forge.ReceivePacks() != pushes {
		t.Errorf("the last calls wrote something, in %d pushes", s.forge.ReceivePacks()-pushes)
	}
	if got := len(s.pullRequests(t)[repository]); got != len(jobs) {
		t.Errorf("%d pull requests, want %d", got, len(jobs))
	}
	for _, replica := range []*startedReplica{one, two} {
		if printed := replica.stop(t); !strings.Contains(string(printed), "tool call") {
			t.Errorf("a process answered no call: %s", printed)
		}
	}
}

// eachHasOne wants one open pull request for each pool, with a branch of one commit that holds the pool.
func (s *scene) eachHasOne(t *testing.T, repository string, jobs []job, opened map[job]clustermanager.WriteResult) {
	t.Helper()
	requests, branches := s.pullRequests(t)[repository], s.branches(t, repository)
	if len(requests) != len(jobs) || len(branches) != len(jobs) || len(opened) != len(jobs) {
		t.Errorf("%d pull requests, %d branches and %d answers, want %d", len(requests), len(branches), len(opened), len(jobs))
	}
	heads := map[string]int{}
	for _, request := range requests {
		if request.Closed || heads[request.Head] != 0 || branches[request.Head] != request.HeadSHA {
			t.Errorf("pull request %d of %s: closed %t, another %d, at %s and the branch at %s", request.Number, request.Head, request.Closed, heads[request.Head], request.HeadSHA, branches[request.Head])
		}
		heads[request.Head] = request.Number
	}
	for _, one := range jobs {
		commit := opened[one].Commit
		if commit == nil {
			continue
		}
		if commit.Number == 0 || heads[commit.Branch] != commit.Number {
			t.Errorf("%v: answered pull request %d, and %s has %d", one, commit.Number, commit.Branch, heads[commit.Branch])
		}
		s.holds(t, repository, commit, []job{one})
	}
}

// holds wants a branch of one commit on main's that holds the pools and no other.
func (s *scene) holds(t *testing.T, repository string, commit *clustermanager.CommitResult, pools []job) {
	t.Helper()
	if count := s.gitIn(t, repository, "rev-list", "--count", "main.."+commit.Branch); count != "1" {
		t.Errorf("%s has %s commits", commit.Branch, count)
	}
	if behind := s.gitIn(t, repository, "rev-list", "--count", commit.Branch+"..main"); behind != "0" {
		t.Errorf("%s is %s commits behind main", commit.Branch, behind)
	}
	listed := s.gitIn(t, repository, "show", commit.Branch+":"+commit.Directory+"/kustomization.yaml")
	want := 1 // the GPU operator, which comes with every pool
	for _, pool := range pools {
		if !strings.Contains(commit.Directory, "/"+pool.cluster+"/") {
			continue
		}
		want++
		if entry := "- " + pool.cluster + "-" + pool.name + ".yaml"; !strings.Contains(listed, entry) {
			t.Errorf("%s lacks %s:\n%s", commit.Branch, entry, listed)
		}
	}
	if got := strings.Count(listed, "\n- "); got != want {
		t.Errorf("%s lists %d files, want %d:\n%s", commit.Branch, got, want, listed)
	}
}

// All callers of both processes ask for the same pool at once: one pull request, and everybody is told of it.
func TestTwoProcessesOpenOnePullRequestOnce(t *testing.T) {
	s := newScene(t, patient)
	one, two := s.startReplica(t, s.forge.URL()), s.startReplica(t, s.forge.URL())
	var callers []*mcptools.Client
	for range 3 {
		callers = append(callers, dial(t, one.Endpoint), dial(t, two.Endpoint))
	}
	var group sync.WaitGroup
	for _, caller := range callers {
		group.Go(func() {
			for _, answer := range callAll(t, []*mcptools.Client{caller}, []job{{"wc3", "gpu-l4"}}) {
				if answer.Commit.Number != 1 {
					t.Errorf("answered pull request %d", answer.Commit.Number)
				}
			}
		})
	}
	group.Wait()
	if got := s.pullRequests(t)["research/clusters"]; len(got) != 1 || len(s.branches(t, "research/clusters")) != 1 {
		t.Errorf("%v", got)
	}
	one.stop(t)
	two.stop(t)
}
