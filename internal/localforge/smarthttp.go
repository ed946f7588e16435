package localforge

import (
	"io"
	"net/http"
	"net/http/cgi"
	"net/url"
	"strings"
)

// git answers the two requests of a fetch or a push: the capabilities, and the service itself.
func (f *Forge) git(w http.ResponseWriter, r *http.Request) {
	service := strings.TrimPrefix(r.URL.Path[strings.LastIndex(r.URL.Path, "/"):], "/")
	if service == "refs" {
		service = r.URL.Query().Get("service")
	}
	if service != "git-upload-pack" && service != "git-receive-pack" {
		http.Error(w, "Please upgrade your git client.", http.StatusForbidden)
		return
	}
	user, _, known := f.accounts.byToken(r)
	if !known {
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, "Invalid username or token.", http.StatusUnauthorized)
		return
	}
	repo, found := f.repository(r.PathValue("owner"), strings.TrimSuffix(r.PathValue("repo"), ".git"))
	if !found || !f.accounts.installed(repo.fullName()) {
		http.Error(w, "Repository not found.", http.StatusNotFound)
		return
	}
	pushes := service == "git-receive-pack"
	if pushes && !user.Push {
		http.Error(w, "Permission to "+repo.fullName()+".git denied to "+user.Login+".", http.StatusForbidden)
		return
	}
	if pushes && r.Method == http.MethodPost {
		f.receivePack(w, r, repo)
		return
	}
	path := service
	if r.Method != http.MethodPost {
		path = "info/refs"
	}
	f.backend(w, r, repo, path)
}

// backend hands a request to git's http-backend. Of the request's header only what git reads goes on, so no token
// reaches the environment of a process.
func (f *Forge) backend(w http.ResponseWriter, r *http.Request, repo repository, path string) {
	handler := cgi.Handler{
		Path: f.program, Args: []string{"http-backend"}, Dir: repo.path, Stderr: io.Discard,
		Env: append(gitEnvironment(),
			"GIT_PROJECT_ROOT="+f.options.Repositories, "GIT_HTTP_EXPORT_ALL=1", "GIT_PROTOCOL="+r.Header.Get("Git-Protocol")),
	}
	inner := r.Clone(r.Context())
	inner.Header = http.Header{}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Accept"} {
		if value := r.Header.Get(name); value != "" {
			inner.Header.Set(name, value)
		}
	}
	// A body without a length is read to its end, so that the program ends with a request that is cut off: it would wait
	// for the rest of a length for ever. The handler alone minds that a body came in chunks.
	inner.TransferEncoding = nil
	if inner.ContentLength > 0 {
		inner.ContentLength = -1
	}
	inner.URL = &url.URL{Path: "/" + repo.fullName() + ".git/" + path, RawQuery: r.URL.RawQuery}
	handler.ServeHTTP(w, inner)
}
