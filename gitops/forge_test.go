package gitops_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/partial/gitserver"
)

// fakeForge keeps pull requests in memory and reads commits from the repository.
type fakeForge struct {
	repository *gitserver.Repository

	mutex        sync.Mutex
	rules        map[string][]clustermanager.BranchRule
	pullRequests []clustermanager.PullRequest
	calls        []string
	// The next creations fail: before or after the pull request is made. The next updates fail.
	failBefore, failAfter, failUpdate bool
	// compared is called before each comparison.
	compared func()
	// late is how many comparisons miss the newest commit, as a host's replica does.
	late int
}

func newForge(repository *gitserver.Repository) *fakeForge { return &fakeForge{repository: repository} }

func (f *fakeForge) called(name string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.calls = append(f.calls, name)
}

// taken returns the calls so far, sorted, and forgets them.
func (f *fakeForge) taken() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	calls := slices.Sorted(slices.Values(f.calls))
	f.calls = nil
	return strings.Join(calls, " ")
}

func (f *fakeForge) BranchRules(_ context.Context, branch string) ([]clustermanager.BranchRule, error) {
	f.called("rules")
	return f.rules[branch], nil
}

func (f *fakeForge) PullRequests(_ context.Context, branch string) ([]clustermanager.PullRequest, error) {
	f.called("list")
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var found []clustermanager.PullRequest
	for _, one := range slices.Backward(f.pullRequests) {
		if one.Branch != branch {
			continue
		}
		if head := f.repository.Try("rev-parse", "--verify", "--quiet", "refs/heads/"+branch); head != "" && one.State == clustermanager.PullRequestOpen {
			one.HeadSHA = head
		}
		found = append(found, one)
	}
	return found, nil
}

func (f *fakeForge) Compare(_ context.Context, base, head string) ([]clustermanager.BranchCommit, error) {
	f.called("compare")
	if f.compared != nil {
		f.compared()
	}
	var commits []clustermanager.BranchCommit
	for line := range strings.FieldsSeq(f.repository.Git("rev-list", "--reverse", "--topo-order", base+".."+head)) {
		commits = append(commits, clustermanager.BranchCommit{SHA: line, Message: f.repository.Git("log", "-1", "--format=%B", line), Login: "jane"})
	}
	if f.late > 0 {
		f.late--
		commits = commits[:len(commits)-1]
	}
	return commits, nil
}

func (f *fakeForge) CreatePullRequest(_ context.Context, request clustermanager.PullRequest, base string) (clustermanager.PullRequest, error) {
	f.called("create")
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if base != "main" || f.failBefore {
		return clustermanager.PullRequest{}, errors.New("the forge broke")
	}
	for _, one := range f.pullRequests {
		if one.Branch == request.Branch && one.State == clustermanager.PullRequestOpen {
			return clustermanager.PullRequest{}, errors.New("a pull request already exists")
		}
	}
	request.Number = len(f.pullRequests) + 1
	request.URL = "https://git.example.com/acme/fleet/pull/" + string(rune('0'+request.Number))
	request.State = clustermanager.PullRequestOpen
	f.pullRequests = append(f.pullRequests, request)
	if f.failAfter {
		return clustermanager.PullRequest{}, errors.New("the forge broke")
	}
	return request, nil
}

func (f *fakeForge) UpdatePullRequest(_ context.Context, number int, title, body string) (clustermanager.PullRequest, error) {
	f.called("update")
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.failUpdate {
		return clustermanager.PullRequest{}, clustermanager.Refuse("not now")
	}
	f.pullRequests[number-1].Title, f.pullRequests[number-1].Body = title, body
	return f.pullRequests[number-1], nil
}

// settle ends an open pull request.
func (f *fakeForge) settle(number int, state clustermanager.PullRequestState) {
	one := &f.pullRequests[number-1]
	one.State, one.HeadSHA = state, f.repository.Git("rev-parse", one.Branch)
}

// proposal is one of the tests' own, always at the same time.
func proposal(branch string) gitops.Proposal {
	return gitops.Proposal{
		Branch: branch, Title: "feat(wc1): add GPU node pool gpu-l4", Body: "The body.",
		Trailer:    gitops.Trailer("create_node_pool", "gazelle/wc1/gpu-l4"),
		AuthorName: "Jane Doe", AuthorEmail: "jane@example.com", Time: time.Unix(1750000000, 0),
	}
}
