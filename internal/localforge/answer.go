package localforge

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"
	"sync"
)

// The templates hold every field that GitHub's description requires of an answer, one file a kind. A string that is
// exactly ${name} is replaced by the value of that name whatever its type, ${name} within a longer one by its text.
//
//go:embed answers/*.json
var answerFiles embed.FS

var templates = sync.OnceValues(func() (map[string]any, error) {
	entries, err := answerFiles.ReadDir("answers")
	if err != nil {
		return nil, err
	}
	read := map[string]any{}
	for _, entry := range entries {
		data, err := answerFiles.ReadFile(path.Join("answers", entry.Name()))
		if err != nil {
			return nil, err
		}
		var template any
		if err := json.Unmarshal(data, &template); err != nil {
			return nil, fmt.Errorf("template %s: %w", entry.Name(), err)
		}
		read[strings.TrimSuffix(entry.Name(), ".json")] = template
	}
	return read, nil
})

// values are what a template's names stand for.
type values map[string]any

// fill makes an answer of a kind. A name without a value is null.
func fill(kind string, with values) map[string]any {
	read, err := templates()
	if err != nil {
		return map[string]any{"message": err.Error()}
	}
	filled, _ := substitute(read[kind], with).(map[string]any)
	return filled
}

var placeholder = regexp.MustCompile(`\$\{(\w+)\}`)

func substitute(node any, with values) any {
	switch node := node.(type) {
	case map[string]any:
		filled := make(map[string]any, len(node))
		for key, value := range node {
			filled[key] = substitute(value, with)
		}
		return filled
	case []any:
		filled := make([]any, len(node))
		for i, value := range node {
			filled[i] = substitute(value, with)
		}
		return filled
	case string:
		if match := placeholder.FindStringSubmatch(node); match != nil && match[0] == node {
			return with[match[1]]
		}
		return placeholder.ReplaceAllStringFunc(node, func(name string) string {
			return fmt.Sprint(with[name[2:len(name)-1]])
		})
	}
	return node
}

// addresses are the roots of the links in an answer.
type addresses struct{ site string }

func (a addresses) api() string { return a.site + apiRoot }

func (a addresses) user(u person) map[string]any {
	return fill("user", values{"site": a.site, "api": a.api(), "login": u.Login, "id": u.ID, "node": fmt.Sprint("U_", u.ID)})
}

// account is the user that a token acts for, as they see themselves.
func (a addresses) account(u User) map[string]any {
	answer := a.user(person{u.Login, u.ID})
	maps.Copy(answer, fill("account", values{"name": orNull(u.Name), "email": orNull(u.Email)}))
	return answer
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// owner is the account that a repository belongs to; the forge knows nothing of it but its name.
func owner(repo repository) person { return person{Login: repo.owner, ID: repo.id() + 1} }

func (a addresses) repository(repo repository, push bool) map[string]any {
	return fill("repository", values{
		"site": a.site, "api": a.api(), "id": repo.id(), "node": fmt.Sprint("R_", repo.id()),
		"name": repo.name, "full_name": repo.fullName(), "owner": a.user(owner(repo)), "push": push,
	})
}

func (a addresses) pullRequest(repo repository, p *pullRequest, push bool) map[string]any {
	state := "open"
	if p.Closed {
		state = "closed"
	}
	id := repo.id()*1000 + int64(p.Number)
	return fill("pull_request", values{
		"api": a.api(), "full_name": repo.fullName(), "owner": repo.owner, "html_url": p.URL,
		"id": id, "node": fmt.Sprint("PR_", id), "number": p.Number, "state": state, "title": p.Title, "body": orNull(p.Body),
		"user": a.user(p.Author), "owner_user": a.user(owner(repo)), "repository": a.repository(repo, push),
		"head": p.Head, "head_sha": p.HeadSHA, "base": p.Base, "base_sha": p.BaseSHA,
		"created_at": p.CreatedAt, "updated_at": p.UpdatedAt, "closed_at": p.ClosedAt, "merged_at": p.MergedAt,
		"merge_commit_sha": orNull(p.MergeCommitSHA),
	})
}

// size is how much a pull request changes.
type size struct{ commits, files, additions, deletions int }

// pullRequestDetail is the answer about one pull request, which says more than a list does.
func (a addresses) pullRequestDetail(repo repository, p *pullRequest, push bool, s size) map[string]any {
	var mergedBy any
	if p.MergedBy != nil {
		mergedBy = a.user(*p.MergedBy)
	}
	answer := a.pullRequest(repo, p, push)
	maps.Copy(answer, fill("pull_request_detail", values{
		"merged": p.MergedAt != nil, "mergeable_state": "unknown", "merged_by": mergedBy,
		"commits": s.commits, "changed_files": s.files, "additions": s.additions, "deletions": s.deletions,
	}))
	return answer
}
