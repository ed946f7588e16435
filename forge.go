package clustermanager

import "strconv"

// GitHubUser is an account as the host's API answers it. Name and Email may be empty.
type GitHubUser struct {
	Login string
	ID    int64
	Name  string
	Email string
}

// Author is the name and e-mail of the account's commits: the name or the login, the e-mail or
// <id>+<login>@users.noreply.github.com.
func (u GitHubUser) Author() (name, email string) {
	name, email = u.Name, u.Email
	if name == "" {
		name = u.Login
	}
	if email == "" {
		email = strconv.FormatInt(u.ID, 10) + "+" + u.Login + "@users.noreply.github.com"
	}
	return name, email
}

// BranchRule is one rule that the host applies to a branch name, as "rules/branches" answers it.
type BranchRule struct {
	// Type is the host's name of the rule, such as "creation" or "required_signatures".
	Type string
	// Parameters are the rule's own, as decoded JSON.
	Parameters map[string]any
}

// BranchCommit is a commit that a branch has and its base has not.
type BranchCommit struct {
	SHA     string
	Message string
	Login   string
}
