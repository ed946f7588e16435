package localforge

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// A comparison without pages holds at most this many commits, as on GitHub.
const maximalComparison = 250

func (f *Forge) getRepository(c call) (int, any, error) {
	answer := c.repository(c.repo, c.user.Push)
	maps.Copy(answer, fill("repository_detail", nil))
	return http.StatusOK, answer, nil
}

func (f *Forge) getRules(c call) (int, any, error) {
	answer := []any{}
	for i, rule := range f.accounts.rulesOf(c.repo.fullName(), c.PathValue("branch")) {
		filled := fill("rule", values{"type": rule.Type, "full_name": c.repo.fullName(), "id": i + 1})
		if rule.Parameters != nil {
			filled["parameters"] = rule.Parameters
		}
		answer = append(answer, filled)
	}
	return http.StatusOK, paginate(c, answer), nil
}

func (f *Forge) getReference(c call) (int, any, error) {
	branch := c.PathValue("branch")
	heads, err := c.repo.heads(c.Context(), branch)
	if err != nil {
		return 0, nil, err
	}
	if heads[branch] == "" {
		return 0, nil, errNotFound
	}
	return http.StatusOK, fill("reference", values{
		"api": c.api(), "full_name": c.repo.fullName(), "ref": "refs/heads/" + branch, "sha": heads[branch],
	}), nil
}

// getComparison answers the commits that the head has and the base has not, the oldest first.
func (f *Forge) getComparison(c call) (int, any, error) {
	from, to, found := strings.Cut(c.PathValue("range"), "...")
	if !found {
		return 0, nil, errNotFound
	}
	base, baseError := c.repo.commit(c.Context(), from)
	head, headError := c.repo.commit(c.Context(), to)
	if baseError != nil || headError != nil || base == "" || head == "" {
		return 0, nil, errNotFound
	}
	behind, ahead, err := c.repo.distance(c.Context(), base, head)
	if err != nil {
		return 0, nil, err
	}
	mergeBase, err := c.repo.run(c.Context(), "merge-base", base, head)
	if err != nil {
		return 0, nil, errNotFound
	}
	own, err := f.commits(c, "--reverse", "--topo-order", base+".."+head)
	if err != nil {
		return 0, nil, err
	}
	ends, err := f.commits(c, "--no-walk=unsorted", base, strings.TrimSpace(mergeBase))
	if err != nil || len(ends) == 0 {
		return 0, nil, err
	}
	if c.URL.Query().Has("page") || c.URL.Query().Has("per_page") {
		own = paginate(c, own)
	}
	return http.StatusOK, fill("comparison", values{
		"site": c.site, "api": c.api(), "full_name": c.repo.fullName(), "base_sha": base, "head_sha": head,
		"base_commit": ends[0], "merge_base_commit": ends[len(ends)-1], "status": relation(behind, ahead),
		"ahead": ahead, "behind": behind, "commits": own[:min(len(own), maximalComparison)],
	}), nil
}

func relation(behind, ahead int) string {
	switch {
	case behind > 0 && ahead > 0:
		return "diverged"
	case behind > 0:
		return "behind"
	case ahead > 0:
		return "ahead"
	}
	return "identical"
}

// commits answers the commits that "git log" lists.
func (f *Forge) commits(c call, arguments ...string) ([]any, error) {
	names := []string{"sha", "tree", "parents", "author_name", "author_email", "author_date",
		"committer_name", "committer_email", "committer_date", "message"}
	const format = "--format=%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%cn%x1f%ce%x1f%cI%x1f%B"
	output, err := c.repo.run(c.Context(), append([]string{"log", "-z", format}, arguments...)...)
	if err != nil {
		return nil, err
	}
	answer := []any{}
	for record := range strings.SplitSeq(output, "\x00") {
		fields := strings.SplitN(record, "\x1f", len(names))
		if len(fields) != len(names) {
			continue
		}
		with := values{"site": c.site, "api": c.api(), "full_name": c.repo.fullName()}
		for i, name := range names {
			with[name] = fields[i]
		}
		with["message"] = strings.TrimRight(fields[len(fields)-1], "\n")
		with["author"], with["committer"] = f.byEmail(c, fields[4]), f.byEmail(c, fields[7])
		parents := []any{}
		for sha := range strings.FieldsSeq(fields[2]) {
			location := c.api() + "/repos/" + c.repo.fullName() + "/commits/" + sha
			parents = append(parents, map[string]any{"sha": sha, "url": location, "html_url": c.site + "/" + c.repo.fullName() + "/commit/" + sha})
		}
		with["parents"] = parents
		answer = append(answer, fill("commit", with))
	}
	return answer, nil
}

// byEmail answers the account that a commit's address belongs to, null for none.
func (f *Forge) byEmail(c call, email string) any {
	user, known := f.accounts.find(func(u User) bool {
		return email == u.Email || email == fmt.Sprintf("%d+%s@users.noreply.github.com", u.ID, u.Login)
	})
	if !known || email == "" {
		return nil
	}
	return c.addresses.user(person{user.Login, user.ID})
}

// paginate cuts the page that the query asks for and links the next one.
func paginate(c call, all []any) []any {
	number := func(name string, otherwise int) int {
		if value, err := strconv.Atoi(c.URL.Query().Get(name)); err == nil && value > 0 {
			return value
		}
		return otherwise
	}
	page, size := number("page", 1), min(number("per_page", 30), 100)
	start, end := min((page-1)*size, len(all)), min(page*size, len(all))
	if end < len(all) {
		query := c.URL.Query()
		query.Set("page", strconv.Itoa(page+1))
		next := url.URL{Path: c.URL.Path, RawPath: c.URL.RawPath, RawQuery: query.Encode()}
		c.header.Set("Link", fmt.Sprintf(`<%s%s>; rel="next"`, c.site, next.String()))
	}
	return all[start:end]
}
