package localforge

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// listReferences answers the branches whose names begin with what the path names, in the order of their names.
func (f *Forge) listReferences(c call) (int, any, error) {
	prefix := c.PathValue("prefix")
	output, err := c.repo.run(c.Context(), "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/")
	if err != nil {
		return 0, nil, err
	}
	answer := []any{}
	for line := range strings.Lines(output) {
		sha, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(ref, "refs/heads/"+prefix) {
			answer = append(answer, fill("reference", values{"api": c.api(), "full_name": c.repo.fullName(), "ref": ref, "sha": sha}))
		}
	}
	return http.StatusOK, answer, nil
}

// ofPullRequest answers a list of what the pull request of the path holds, a page of it.
func (f *Forge) ofPullRequest(list func(*Forge, call, *pullRequest) ([]any, error)) func(call) (int, any, error) {
	return func(c call) (int, any, error) {
		var answer []any
		_, _, err := f.withPullRequest(c, func(p *pullRequest) (err error) {
			answer, err = list(f, c, p)
			return err
		})
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, paginate(c, answer), nil
	}
}

func (f *Forge) commitsOf(c call, p *pullRequest) ([]any, error) {
	return f.commits(c, "--reverse", "--topo-order", p.BaseSHA+".."+p.HeadSHA)
}

func (f *Forge) filesOf(c call, p *pullRequest) ([]any, error) {
	statuses, err := c.repo.run(c.Context(), "diff", "--name-status", "--no-renames", "-z", p.BaseSHA+"..."+p.HeadSHA)
	if err != nil {
		return nil, err
	}
	counts, err := c.repo.run(c.Context(), "diff", "--numstat", "--no-renames", "-z", p.BaseSHA+"..."+p.HeadSHA)
	if err != nil {
		return nil, err
	}
	lines := map[string][2]int{}
	for record := range strings.SplitSeq(counts, "\x00") {
		if fields := strings.SplitN(record, "\t", 3); len(fields) == 3 {
			added, _ := strconv.Atoi(fields[0])
			deleted, _ := strconv.Atoi(fields[1])
			lines[fields[2]] = [2]int{added, deleted}
		}
	}
	words := map[string]string{"A": "added", "D": "removed"}
	answer := []any{}
	fields := strings.Split(statuses, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		name, of := fields[i+1], lines[fields[i+1]]
		status := words[fields[i]]
		if status == "" {
			status = "modified"
		}
		answer = append(answer, fill("file", values{
			"site": c.site, "api": c.api(), "full_name": c.repo.fullName(), "head_sha": p.HeadSHA, "filename": name, "escaped": (&url.URL{Path: name}).EscapedPath(),
			"status": status, "additions": of[0], "deletions": of[1], "changes": of[0] + of[1],
		}))
	}
	return answer, nil
}

// checkRun is a check run of a commit as the state file keeps it.
type checkRun struct {
	ID          int64      `json:"id"`
	HeadSHA     string     `json:"headSHA"`
	Name        string     `json:"name"`
	ExternalID  string     `json:"externalID,omitempty"`
	Status      string     `json:"status"`
	Conclusion  string     `json:"conclusion,omitempty"`
	Title       string     `json:"title,omitempty"`
	Summary     string     `json:"summary,omitempty"`
	StartedAt   time.Time  `json:"startedAt"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
}

// checkRunInput is the body of making or changing a check run; what is absent stays.
type checkRunInput struct {
	Name       string `json:"name"`
	HeadSHA    string `json:"head_sha"`
	ExternalID string `json:"external_id"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	Output     *struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
	} `json:"output"`
}

func (i checkRunInput) into(run *checkRun, now time.Time) {
	for to, from := range map[*string]string{&run.Name: i.Name, &run.ExternalID: i.ExternalID, &run.Status: i.Status, &run.Conclusion: i.Conclusion} {
		if from != "" {
			*to = from
		}
	}
	if i.Conclusion != "" {
		run.Status = "completed"
	}
	if run.CompletedAt = nil; run.Status == "completed" {
		run.CompletedAt = &now
	}
	if i.Output != nil {
		run.Title, run.Summary = i.Output.Title, i.Output.Summary
	}
}

func (a addresses) checkRun(repo repository, run *checkRun) map[string]any {
	return fill("check_run", values{
		"site": a.site, "api": a.api(), "full_name": repo.fullName(), "id": run.ID, "node": "CR_" + strconv.FormatInt(run.ID, 10),
		"head_sha": run.HeadSHA, "name": run.Name, "external_id": orNull(run.ExternalID), "status": run.Status, "conclusion": orNull(run.Conclusion),
		"title": orNull(run.Title), "summary": orNull(run.Summary), "started_at": run.StartedAt, "completed_at": run.CompletedAt,
	})
}

// listCheckRuns answers the check runs of a commit: of each name the last one, as on GitHub.
func (f *Forge) listCheckRuns(c call) (int, any, error) {
	sha, err := c.repo.commit(c.Context(), c.PathValue("ref"))
	if err != nil || sha == "" {
		return 0, nil, orNotFound(err)
	}
	f.pulls.Lock()
	defer f.pulls.Unlock()
	found, seen := []any{}, map[string]bool{}
	for _, run := range slices.Backward(f.state.CheckRuns[c.repo.fullName()]) {
		name := c.URL.Query().Get("check_name")
		if run.HeadSHA == sha && !seen[run.Name] && (name == "" || name == run.Name) {
			seen[run.Name] = true
			found = append(found, c.checkRun(c.repo, run))
		}
	}
	return http.StatusOK, map[string]any{"total_count": len(found), "check_runs": paginate(c, found)}, nil
}

func orNotFound(err error) error {
	if err == nil {
		return errNotFound
	}
	return err
}

func (f *Forge) createCheckRun(c call) (int, any, error) {
	if err := c.asApp(); err != nil {
		return 0, nil, err
	}
	var input checkRunInput
	if err := c.decode(&input); err != nil {
		return 0, nil, err
	}
	sha, err := c.repo.commit(c.Context(), input.HeadSHA)
	if err != nil {
		return 0, nil, err
	}
	if sha != input.HeadSHA || sha == "" || input.Name == "" {
		return 0, nil, &problem{status: http.StatusUnprocessableEntity, message: "No commit found for SHA: " + input.HeadSHA}
	}
	f.pulls.Lock()
	defer f.pulls.Unlock()
	runs := f.state.CheckRuns[c.repo.fullName()]
	now := f.options.Now().UTC()
	run := &checkRun{ID: int64(len(runs) + 1), HeadSHA: sha, Status: "queued", StartedAt: now}
	input.into(run, now)
	f.state.CheckRuns[c.repo.fullName()] = append(runs, run)
	return http.StatusCreated, c.checkRun(c.repo, run), f.save()
}

func (f *Forge) updateCheckRun(c call) (int, any, error) {
	if err := c.asApp(); err != nil {
		return 0, nil, err
	}
	var input checkRunInput
	if err := c.decode(&input); err != nil {
		return 0, nil, err
	}
	f.pulls.Lock()
	defer f.pulls.Unlock()
	id, runs := c.number("id"), f.state.CheckRuns[c.repo.fullName()]
	if id < 1 || id > int64(len(runs)) {
		return 0, nil, errNotFound
	}
	input.into(runs[id-1], f.options.Now().UTC())
	return http.StatusOK, c.checkRun(c.repo, runs[id-1]), f.save()
}

// number is the number that a part of the path stands for, 0 for none.
func (c call) number(name string) int64 {
	value, err := strconv.ParseInt(c.PathValue(name), 10, 64)
	if err != nil {
		return 0
	}
	return value
}

// asApp refuses an account that is no installation of an App: GitHub lets nobody else write check runs.
func (c call) asApp() error {
	if c.user.App {
		return nil
	}
	return &problem{status: http.StatusForbidden, message: "You must authenticate via a GitHub App."}
}

// commitStatus is a status that another program gave a commit.
type commitStatus struct{ SHA, Context, State string }

// SetStatus gives a commit a status, as another program would; the state is success, failure, error or pending.
func (f *Forge) SetStatus(owner, name, sha, of, state string) {
	f.pulls.Lock()
	defer f.pulls.Unlock()
	if f.statuses == nil {
		f.statuses = map[string][]commitStatus{}
	}
	fullName := owner + "/" + name
	others := slices.DeleteFunc(f.statuses[fullName], func(s commitStatus) bool { return s.SHA == sha && s.Context == of })
	f.statuses[fullName] = append(others, commitStatus{SHA: sha, Context: of, State: state})
}

// getStatus answers the statuses of a commit; the state of all is pending where there is none, as on GitHub.
func (f *Forge) getStatus(c call) (int, any, error) {
	sha, err := c.repo.commit(c.Context(), c.PathValue("ref"))
	if err != nil || sha == "" {
		return 0, nil, orNotFound(err)
	}
	f.pulls.Lock()
	defer f.pulls.Unlock()
	found, state := []any{}, "success"
	for i, status := range f.statuses[c.repo.fullName()] {
		if status.SHA != sha {
			continue
		}
		if status.State != "success" {
			state = status.State
		}
		found = append(found, fill("status", values{
			"site": c.site, "api": c.api(), "full_name": c.repo.fullName(), "id": i + 1, "node": "SC_" + strconv.Itoa(i+1), "sha": sha,
			"state": status.State, "context": status.Context, "at": f.options.Now().UTC(),
		}))
	}
	if len(found) == 0 {
		state = "pending"
	}
	repository := c.repository(c.repo, c.user.Push)
	return http.StatusOK, map[string]any{
		"state": state, "sha": sha, "total_count": len(found), "statuses": paginate(c, found), "repository": repository,
		"commit_url": c.api() + "/repos/" + c.repo.fullName() + "/commits/" + sha, "url": c.api() + "/repos/" + c.repo.fullName() + "/commits/" + sha + "/status",
	}, nil
}
