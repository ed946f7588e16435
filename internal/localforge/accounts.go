package localforge

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// User is an account with the token that acts for it.
type User struct {
	Login string
	// Name and Email may be empty: GitHub answers null for them.
	Name  string
	Email string
	ID    int64
	Token clustermanager.Secret
	// Push says that the account may push and open pull requests; without it, it may read.
	Push bool
	// App says that the account is an installation of an App.
	App bool
}

// Rule is a rule of the host on branches.
type Rule struct {
	// Pattern chooses the branches by name: * stands for anything within a segment, ** for anything, "" and ~ALL for
	// every branch.
	Pattern string
	// Type is GitHub's name of the rule, such as "creation" or "branch_name_pattern".
	Type string
	// Parameters are the rule's own; for branch_name_pattern operator, pattern and negate.
	Parameters map[string]any
}

// accounts is what the forge knows of people and of who may do what. None of it is kept in the state file.
type accounts struct {
	mutex       sync.RWMutex
	users       []User
	uninstalled map[string]bool
	rules       map[string][]Rule
	// renamed are the repositories of today by the names that they had.
	renamed map[string]string
	// app is the App that may ask for tokens.
	app app
}

// AddUser adds an account, or replaces the one with the same login.
func (f *Forge) AddUser(user User) {
	f.accounts.mutex.Lock()
	defer f.accounts.mutex.Unlock()
	f.accounts.users = slices.DeleteFunc(f.accounts.users, func(u User) bool { return u.Login == user.Login })
	f.accounts.users = append(f.accounts.users, user)
}

// SetInstalled says whether the App is installed on a repository, as every one is at first. Where it is not, the
// repository is answered as if it did not exist.
func (f *Forge) SetInstalled(owner, name string, installed bool) {
	f.accounts.mutex.Lock()
	defer f.accounts.mutex.Unlock()
	if f.accounts.uninstalled == nil {
		f.accounts.uninstalled = map[string]bool{}
	}
	f.accounts.uninstalled[owner+"/"+name] = !installed
}

// SetRules replaces a repository's branch rules.
func (f *Forge) SetRules(owner, name string, rules []Rule) {
	f.accounts.mutex.Lock()
	defer f.accounts.mutex.Unlock()
	if f.accounts.rules == nil {
		f.accounts.rules = map[string][]Rule{}
	}
	f.accounts.rules[owner+"/"+name] = slices.Clone(rules)
}

func (a *accounts) installed(fullName string) bool {
	a.mutex.RLock()
	defer a.mutex.RUnlock()
	return !a.uninstalled[fullName]
}

// rulesOf returns the rules of a repository that count for a branch.
func (a *accounts) rulesOf(fullName, branch string) []Rule {
	a.mutex.RLock()
	defer a.mutex.RUnlock()
	var matching []Rule
	for _, rule := range a.rules[fullName] {
		if rule.covers(branch) {
			matching = append(matching, rule)
		}
	}
	return matching
}

// byToken returns the account of a request's token: Bearer and token as the API takes them, or Basic as git sends it,
// where the user name does not matter. given says that there was a token at all.
func (a *accounts) byToken(r *http.Request) (user User, given, known bool) {
	_, token, given := r.BasicAuth()
	if !given {
		scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		given = strings.EqualFold(scheme, "bearer") || strings.EqualFold(scheme, "token")
		token = strings.TrimSpace(rest)
	}
	if !given || token == "" {
		return User{}, given, false
	}
	user, known = a.find(func(u User) bool { return u.Token.Reveal() == token })
	return user, given, known
}

func (a *accounts) find(match func(User) bool) (User, bool) {
	a.mutex.RLock()
	defer a.mutex.RUnlock()
	index := slices.IndexFunc(a.users, match)
	if index < 0 {
		return User{}, false
	}
	return a.users[index], true
}
