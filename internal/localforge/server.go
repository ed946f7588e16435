package localforge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// apiRoot is the path of the REST API, as GitHub Enterprise Server has it.
const apiRoot = "/api/v3"

// Bodies of REST requests are read up to this size; a pull request's body may have 65,536 characters on GitHub.
const maximalBody = 1 << 20

// call is a REST request of a known account on a repository that it may see.
type call struct {
	*http.Request
	user User
	repo repository
	addresses
	// header is what the answer carries beside the usual.
	header http.Header
}

// problem is an error as the API answers it.
type problem struct {
	status  int
	message string
	// errors are the entries of a "Validation Failed".
	errors []map[string]string
}

// Error is the message.
func (p *problem) Error() string { return p.message }

var errNotFound = &problem{status: http.StatusNotFound, message: "Not Found"}

// newRoutes is the table of everything that the forge answers. A branch in the rules' path is one segment, so its
// slashes must be escaped.
func (f *Forge) newRoutes() *http.ServeMux {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /{owner}/{repo}/info/refs", f.git)
	routes.HandleFunc("POST /{owner}/{repo}/git-upload-pack", f.git)
	routes.HandleFunc("POST /{owner}/{repo}/git-receive-pack", f.git)

	routes.HandleFunc("GET "+apiRoot+"/user", f.authenticated(func(c call) (int, any, error) {
		return http.StatusOK, c.account(c.user), nil
	}))
	for pattern, handle := range map[string]func(call) (int, any, error){
		"GET ":                           f.getRepository,
		"GET /rules/branches/{branch}":   f.getRules,
		"GET /git/ref/heads/{branch...}": f.getReference,
		"GET /compare/{range...}":        f.getComparison,
		"GET /pulls":                     f.listPullRequests,
		"POST /pulls":                    f.createPullRequest,
		"GET /pulls/{number}":            f.getPullRequest,
		"PATCH /pulls/{number}":          f.updatePullRequest,
		"PUT /pulls/{number}/merge":      f.mergePullRequest,
		"GET /pulls/{number}/commits":    f.ofPullRequest((*Forge).commitsOf),
		"GET /pulls/{number}/files":      f.ofPullRequest((*Forge).filesOf),

		"GET /git/matching-refs/heads/{prefix...}": f.listReferences,
		"GET /commits/{ref}/check-runs":            f.listCheckRuns,
		"GET /commits/{ref}/status":                f.getStatus,
		"POST /check-runs":                         f.createCheckRun,
		"PATCH /check-runs/{id}":                   f.updateCheckRun,
		"GET /issues/{number}/comments":            f.listComments,
		"POST /issues/{number}/comments":           f.createComment,
		"PATCH /issues/comments/{id}":              f.updateComment,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		routes.HandleFunc(method+" "+apiRoot+"/repos/{owner}/{repo}"+path, f.authenticated(f.onRepository(handle)))
	}
	routes.HandleFunc("POST "+apiRoot+"/app/installations/{installation}/access_tokens", f.createToken)
	routes.HandleFunc("GET /{owner}/{repo}/pull/{number}", f.page)
	routes.Handle("POST /{owner}/{repo}/pull/{number}", http.NewCrossOriginProtection().Handler(http.HandlerFunc(f.page)))
	routes.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { writeProblem(w, errNotFound) })
	return routes
}

// ServeHTTP answers git's requests below /<owner>/<name>.git, the API's below /api/v3, and pages of pull requests.
func (f *Forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.serving.Add(1)
	defer f.serving.Done()
	f.log.add(r)
	if fault, met := f.faults.meet(r); met && f.suffer(w, r, fault) {
		return
	}
	if f.sendOn(w, r) {
		return
	}
	f.routes.ServeHTTP(w, r)
}

// authenticated lets only known accounts through and writes what the handler answers.
func (f *Forge) authenticated(handle func(call) (int, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user, given, known := f.accounts.byToken(r)
		switch {
		case !given:
			writeProblem(w, &problem{status: http.StatusUnauthorized, message: "Requires authentication"})
			return
		case !known:
			writeProblem(w, &problem{status: http.StatusUnauthorized, message: "Bad credentials"})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maximalBody)
		status, answer, err := handle(call{Request: r, user: user, addresses: addresses{"http://" + r.Host}, header: w.Header()})
		var refused *problem
		switch {
		case errors.As(err, &refused):
			writeProblem(w, refused)
		case err != nil:
			writeProblem(w, &problem{status: http.StatusInternalServerError, message: "Server Error: " + err.Error()})
		default:
			writeJSON(w, status, answer)
		}
	}
}

// onRepository hides what the App is not installed on, and what does not exist, in the same way.
func (f *Forge) onRepository(handle func(call) (int, any, error)) func(call) (int, any, error) {
	return func(c call) (int, any, error) {
		repo, found := f.repository(c.PathValue("owner"), c.PathValue("repo"))
		if !found || !f.accounts.installed(repo.fullName()) {
			return 0, nil, errNotFound
		}
		c.repo = repo
		return handle(c)
	}
}

// mayWrite refuses an account without push rights as GitHub refuses an App's user token.
func (c call) mayWrite() error {
	if c.user.Push {
		return nil
	}
	c.header.Set("X-Accepted-GitHub-Permissions", "pull_requests=write")
	return &problem{status: http.StatusForbidden, message: "Resource not accessible by integration"}
}

func (c call) decode(into any) error {
	if err := json.NewDecoder(c.Body).Decode(into); err != nil {
		return &problem{status: http.StatusBadRequest, message: "Problems parsing JSON"}
	}
	return nil
}

func writeProblem(w http.ResponseWriter, p *problem) {
	answer := fill("error", values{"message": p.message, "status": fmt.Sprint(p.status)})
	if p.errors != nil {
		answer["errors"] = p.errors
	}
	writeJSON(w, p.status, answer)
}

func writeJSON(w http.ResponseWriter, status int, answer any) {
	data, err := json.Marshal(answer)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"message":"Server Error"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
