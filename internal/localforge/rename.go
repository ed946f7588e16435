package localforge

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Rename gives a repository another name, its pull requests with it. Requests to the old name are sent on as GitHub
// does: with 301, and with 307 where they write through the API. The state file does not keep the old name.
func (f *Forge) Rename(owner, name, newOwner, newName string) error {
	old, err := f.existing(owner, name)
	if err != nil {
		return err
	}
	renamed, err := f.place(newOwner, newName)
	if err != nil {
		return err
	}
	if _, err := os.Stat(renamed.path); err == nil {
		return fmt.Errorf("repository %s: renaming to %s: %w", old.fullName(), renamed.fullName(), fs.ErrExist)
	}
	f.pulls.Lock()
	defer f.pulls.Unlock()
	if err := os.MkdirAll(filepath.Dir(renamed.path), 0o755); err != nil {
		return fmt.Errorf("repository %s: renaming: %w", old.fullName(), err)
	}
	if err := os.Rename(old.path, renamed.path); err != nil {
		return fmt.Errorf("repository %s: renaming: %w", old.fullName(), err)
	}
	f.accounts.rename(old.fullName(), renamed.fullName())
	f.state.PullRequests[renamed.fullName()] = f.state.PullRequests[old.fullName()]
	delete(f.state.PullRequests, old.fullName())
	return f.save()
}

func (a *accounts) rename(from, to string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.renamed == nil {
		a.renamed = map[string]string{}
	}
	a.renamed[from] = to
	delete(a.renamed, to)
	if a.uninstalled[from] {
		a.uninstalled[to] = true
	}
	if rules := a.rules[from]; rules != nil {
		a.rules[to] = rules
	}
}

// sendOn redirects a request to a repository that was renamed.
func (f *Forge) sendOn(w http.ResponseWriter, r *http.Request) bool {
	f.accounts.mutex.RLock()
	defer f.accounts.mutex.RUnlock()
	// The escaped form, as the slashes of a branch's name are escaped.
	path := r.URL.EscapedPath()
	api, ofAPI := strings.CutPrefix(path, apiRoot+"/repos/")
	for from, to := range f.accounts.renamed {
		rest, found := strings.CutPrefix(strings.TrimPrefix(api, "/"), from)
		if !found || rest != "" && rest[0] != '/' && !strings.HasPrefix(rest, ".git/") {
			continue
		}
		location, status := "/"+to+rest, http.StatusMovedPermanently
		if ofAPI {
			location = apiRoot + "/repos" + location
		}
		if ofAPI && r.Method != http.MethodGet {
			status = http.StatusTemporaryRedirect
		}
		if r.URL.RawQuery != "" {
			location += "?" + r.URL.RawQuery
		}
		w.Header().Set("Location", "http://"+r.Host+location)
		w.WriteHeader(status)
		return true
	}
	return false
}
