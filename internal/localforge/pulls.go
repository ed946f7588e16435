package localforge

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// pullRequestInput is the body of opening or editing a pull request; a field that is absent stays as it is.
type pullRequestInput struct {
	Title *string `json:"title"`
	Body  *string `json:"body"`
	Head  string  `json:"head"`
	Base  string  `json:"base"`
	State string  `json:"state"`
}

func (f *Forge) listPullRequests(c call) (int, any, error) {
	f.pulls.Lock()
	defer f.pulls.Unlock()
	if err := f.refresh(c.Context(), c.repo); err != nil {
		return 0, nil, err
	}
	query := c.URL.Query()
	answer := []any{}
	for _, p := range slices.Backward(f.state.PullRequests[c.repo.fullName()]) {
		if listed(p, c.repo.owner, query.Get("state"), query.Get("head"), query.Get("base")) {
			answer = append(answer, c.pullRequest(c.repo, p, c.user.Push))
		}
	}
	if query.Get("direction") == "asc" {
		slices.Reverse(answer)
	}
	return http.StatusOK, paginate(c, answer), nil
}

// listed says whether a list with the given filters holds the pull request. As on GitHub a head without an owner filters
// nothing.
func listed(p *pullRequest, owner, state, head, base string) bool {
	headOwner, branch, hasOwner := strings.Cut(head, ":")
	switch {
	case state == "closed" && !p.Closed, (state == "" || state == "open") && p.Closed:
		return false
	case hasOwner && (!strings.EqualFold(headOwner, owner) || branch != p.Head):
		return false
	}
	return base == "" || base == p.Base
}

func (f *Forge) getPullRequest(c call) (int, any, error) {
	return f.withPullRequest(c, func(*pullRequest) error { return nil })
}

// withPullRequest does something with the pull request of the path and answers it.
func (f *Forge) withPullRequest(c call, do func(*pullRequest) error) (int, any, error) {
	f.pulls.Lock()
	defer f.pulls.Unlock()
	if err := f.refresh(c.Context(), c.repo); err != nil {
		return 0, nil, err
	}
	number, _ := strconv.Atoi(c.PathValue("number"))
	p := f.find(c.repo, number)
	if p == nil {
		return 0, nil, errNotFound
	}
	if err := do(p); err != nil {
		return 0, nil, err
	}
	return f.detail(c, p, http.StatusOK)
}

func (f *Forge) detail(c call, p *pullRequest, status int) (int, any, error) {
	s, err := c.repo.measure(c.Context(), p)
	if err != nil {
		return 0, nil, err
	}
	return status, c.pullRequestDetail(c.repo, p, c.user.Push, s), nil
}

func (f *Forge) createPullRequest(c call) (int, any, error) {
	if err := c.mayWrite(); err != nil {
		return 0, nil, err
	}
	var input pullRequestInput
	if err := c.decode(&input); err != nil {
		return 0, nil, err
	}
	f.pulls.Lock()
	defer f.pulls.Unlock()
	if err := f.refresh(c.Context(), c.repo); err != nil {
		return 0, nil, err
	}
	p, err := f.open(c, input)
	if err != nil {
		return 0, nil, err
	}
	return f.detail(c, p, http.StatusCreated)
}

// open opens a pull request, or says why it cannot be opened as GitHub does.
func (f *Forge) open(c call, input pullRequestInput) (*pullRequest, error) {
	if input.Title == nil || strings.TrimSpace(*input.Title) == "" {
		return nil, invalid(map[string]string{"code": "missing_field", "field": "title"})
	}
	headOwner, head, hasOwner := strings.Cut(input.Head, ":")
	if !hasOwner {
		headOwner, head = c.repo.owner, input.Head
	}
	heads, err := c.repo.heads(c.Context(), head, input.Base)
	switch {
	case err != nil:
		return nil, err
	case !strings.EqualFold(headOwner, c.repo.owner) || heads[head] == "":
		return nil, invalid(map[string]string{"code": "invalid", "field": "head"})
	case heads[input.Base] == "":
		return nil, invalid(map[string]string{"code": "invalid", "field": "base"})
	}
	if err := f.mayOpen(c.repo, head, input.Base); err != nil {
		return nil, err
	}
	_, ahead, err := c.repo.distance(c.Context(), heads[input.Base], heads[head])
	if err != nil {
		return nil, err
	}
	if ahead == 0 {
		return nil, invalid(map[string]string{"code": "custom", "message": "No commits between " + input.Base + " and " + head})
	}
	fullName, now := c.repo.fullName(), f.options.Now().UTC()
	number := len(f.state.PullRequests[fullName]) + 1
	p := &pullRequest{
		Number: number, URL: c.site + "/" + fullName + "/pull/" + strconv.Itoa(number), Title: *input.Title,
		Head: head, HeadSHA: heads[head], Base: input.Base, BaseSHA: heads[input.Base],
		Author: person{c.user.Login, c.user.ID}, CreatedAt: now, UpdatedAt: now,
	}
	if input.Body != nil {
		p.Body = *input.Body
	}
	f.state.PullRequests[fullName] = append(f.state.PullRequests[fullName], p)
	return p, f.save()
}

// mayOpen refuses a second open pull request of the same branches.
func (f *Forge) mayOpen(repo repository, head, base string) error {
	if slices.ContainsFunc(f.state.PullRequests[repo.fullName()], func(p *pullRequest) bool {
		return !p.Closed && p.Head == head && p.Base == base
	}) {
		return invalid(map[string]string{"code": "custom", "message": "A pull request already exists for " + repo.owner + ":" + head + "."})
	}
	return nil
}

func invalid(entry map[string]string) *problem {
	entry["resource"] = "PullRequest"
	return &problem{status: http.StatusUnprocessableEntity, message: "Validation Failed", errors: []map[string]string{entry}}
}

func (f *Forge) updatePullRequest(c call) (int, any, error) {
	if err := c.mayWrite(); err != nil {
		return 0, nil, err
	}
	var input pullRequestInput
	if err := c.decode(&input); err != nil {
		return 0, nil, err
	}
	return f.withPullRequest(c, func(p *pullRequest) error {
		if err := f.setState(c, p, input.State); err != nil {
			return err
		}
		if input.Title != nil {
			p.Title = *input.Title
		}
		if input.Body != nil {
			p.Body = *input.Body
		}
		p.UpdatedAt = f.options.Now().UTC()
		return f.save()
	})
}

// setState closes or reopens a pull request; "" leaves it.
func (f *Forge) setState(c call, p *pullRequest, state string) error {
	switch {
	case state == "closed" && !p.Closed:
		f.close(p)
	case state == "open" && p.MergedAt != nil:
		return invalid(map[string]string{"code": "invalid", "field": "state"})
	case state == "open" && p.Closed:
		if err := f.mayOpen(c.repo, p.Head, p.Base); err != nil {
			return err
		}
		heads, err := c.repo.heads(c.Context(), p.Head, p.Base)
		if err != nil {
			return err
		}
		if heads[p.Head] == "" || heads[p.Base] == "" {
			return invalid(map[string]string{"code": "invalid", "field": "state"})
		}
		p.Closed, p.ClosedAt, p.HeadSHA, p.BaseSHA = false, nil, heads[p.Head], heads[p.Base]
	}
	return nil
}

func (f *Forge) mergePullRequest(c call) (int, any, error) {
	if err := c.mayWrite(); err != nil {
		return 0, nil, err
	}
	var input mergeInput
	if c.ContentLength != 0 {
		if err := c.decode(&input); err != nil {
			return 0, nil, err
		}
	}
	var sha string
	if _, _, err := f.withPullRequest(c, func(p *pullRequest) (err error) {
		sha, err = f.merge(c.Context(), c.repo, p, c.user, input)
		return err
	}); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, fill("merge", values{"sha": sha}), nil
}
