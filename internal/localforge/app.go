package localforge

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// comment is a comment of a pull request as the state file keeps it.
type comment struct {
	ID        int64     `json:"id"`
	Number    int       `json:"number"`
	Body      string    `json:"body"`
	Author    person    `json:"author"`
	App       bool      `json:"app,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// Comment is a comment as a reader sees it.
type Comment struct{ Author, Body string }

// Comments are the comments of a pull request, the oldest first.
func (f *Forge) Comments(owner, name string, number int) []Comment {
	f.pulls.Lock()
	defer f.pulls.Unlock()
	var found []Comment
	for _, c := range f.state.Comments[owner+"/"+name] {
		if c.Number == number {
			found = append(found, Comment{c.Author.Login, c.Body})
		}
	}
	return found
}

// CheckRun is a check run as a reader sees it.
type CheckRun struct{ Name, Conclusion, Title, Summary string }

// CheckRuns are all check runs of a commit, the oldest first.
func (f *Forge) CheckRuns(owner, name, sha string) []CheckRun {
	f.pulls.Lock()
	defer f.pulls.Unlock()
	var found []CheckRun
	for _, run := range f.state.CheckRuns[owner+"/"+name] {
		if run.HeadSHA == sha {
			found = append(found, CheckRun{run.Name, run.Conclusion, run.Title, run.Summary})
		}
	}
	return found
}

// Branch is the commit of a branch, "" for none.
func (f *Forge) Branch(owner, name, branch string) (string, error) {
	repo, err := f.existing(owner, name)
	if err != nil {
		return "", err
	}
	heads, err := repo.heads(f.context, branch)
	return heads[branch], err
}

func (a addresses) comment(repo repository, c *comment) map[string]any {
	user := a.user(c.Author)
	if c.App {
		user["type"] = "Bot"
	}
	return fill("comment", values{
		"site": a.site, "api": a.api(), "full_name": repo.fullName(), "number": c.Number, "id": c.ID, "node": "IC_" + strconv.FormatInt(c.ID, 10),
		"body": c.Body, "user": user, "created_at": c.CreatedAt, "updated_at": c.UpdatedAt,
	})
}

func (f *Forge) listComments(c call) (int, any, error) {
	f.pulls.Lock()
	defer f.pulls.Unlock()
	if f.find(c.repo, int(c.number("number"))) == nil {
		return 0, nil, errNotFound
	}
	answer := []any{}
	for _, comment := range f.state.Comments[c.repo.fullName()] {
		if int64(comment.Number) == c.number("number") {
			answer = append(answer, c.comment(c.repo, comment))
		}
	}
	return http.StatusOK, paginate(c, answer), nil
}

func (f *Forge) createComment(c call) (int, any, error) {
	body, err := c.commentBody()
	if err != nil {
		return 0, nil, err
	}
	f.pulls.Lock()
	defer f.pulls.Unlock()
	number := int(c.number("number"))
	if f.find(c.repo, number) == nil {
		return 0, nil, errNotFound
	}
	comments, now := f.state.Comments[c.repo.fullName()], f.options.Now().UTC()
	made := &comment{ID: int64(len(comments) + 1), Number: number, Body: body, Author: person{c.user.Login, c.user.ID}, App: c.user.App, CreatedAt: now, UpdatedAt: now}
	f.state.Comments[c.repo.fullName()] = append(comments, made)
	return http.StatusCreated, c.comment(c.repo, made), f.save()
}

func (f *Forge) updateComment(c call) (int, any, error) {
	body, err := c.commentBody()
	if err != nil {
		return 0, nil, err
	}
	f.pulls.Lock()
	defer f.pulls.Unlock()
	id, comments := c.number("id"), f.state.Comments[c.repo.fullName()]
	if id < 1 || id > int64(len(comments)) {
		return 0, nil, errNotFound
	}
	comments[id-1].Body, comments[id-1].UpdatedAt = body, f.options.Now().UTC()
	return http.StatusOK, c.comment(c.repo, comments[id-1]), f.save()
}

func (c call) commentBody() (string, error) {
	if err := c.mayWrite(); err != nil {
		return "", err
	}
	var input struct {
		Body string `json:"body"`
	}
	if err := c.decode(&input); err != nil {
		return "", err
	}
	if strings.TrimSpace(input.Body) == "" {
		return "", &problem{status: http.StatusUnprocessableEntity, message: "Validation Failed"}
	}
	return input.Body, nil
}

// SetApp lets an App ask for tokens of its installation: signed says whether a request's bearer is the App's. Such a
// token acts as the account app[bot], and is the given one.
func (f *Forge) SetApp(installation int64, token clustermanager.Secret, signed func(bearer string) bool) {
	f.AddUser(User{Login: "cluster-manager[bot]", ID: 900_000 + installation, Token: token, Push: true, App: true})
	f.accounts.mutex.Lock()
	defer f.accounts.mutex.Unlock()
	f.accounts.app = app{installation: installation, token: token, signed: signed}
}

type app struct {
	installation int64
	token        clustermanager.Secret
	signed       func(bearer string) bool
}

// createToken answers a token of the App's installation.
func (f *Forge) createToken(w http.ResponseWriter, r *http.Request) {
	f.accounts.mutex.RLock()
	known := f.accounts.app
	f.accounts.mutex.RUnlock()
	bearer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case known.signed == nil || !known.signed(bearer):
		writeProblem(w, &problem{status: http.StatusUnauthorized, message: "A JSON web token could not be decoded"})
		return
	case r.PathValue("installation") != strconv.FormatInt(known.installation, 10):
		writeProblem(w, errNotFound)
		return
	}
	var input map[string]any
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maximalBody)).Decode(&input); err != nil {
		writeProblem(w, &problem{status: http.StatusBadRequest, message: "Problems parsing JSON"})
		return
	}
	writeJSON(w, http.StatusCreated, map[string]any{
		"token": known.token.Reveal(), "expires_at": f.options.Now().UTC().Add(time.Hour), "repository_selection": "selected",
	})
}

// CommitFile puts one commit that writes a file on a branch, as somebody would by hand, and returns it.
func (f *Forge) CommitFile(owner, name, branch, file, content, message string) (string, error) {
	repo, err := f.existing(owner, name)
	if err != nil {
		return "", err
	}
	heads, err := repo.heads(f.context, branch)
	if err != nil || heads[branch] == "" {
		return "", orNotFound(err)
	}
	blob, err := repo.runInput(f.context, content, "hash-object", "-w", "--stdin")
	if err != nil {
		return "", err
	}
	listed, err := repo.run(f.context, "ls-tree", heads[branch])
	if err != nil {
		return "", err
	}
	tree, err := repo.runInput(f.context, listed+"100644 blob "+strings.TrimSpace(blob)+"\t"+file+"\n", "mktree")
	if err != nil {
		return "", err
	}
	commit, err := f.commitTree(f.context, repo, strings.TrimSpace(tree), message, User{Login: "somebody", ID: 1}, []string{"-p", heads[branch]})
	if err != nil {
		return "", err
	}
	_, err = repo.run(f.context, "update-ref", "refs/heads/"+branch, commit, heads[branch])
	return commit, err
}
